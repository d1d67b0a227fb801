"""Wavelet packets: trees in which high bands are split like low ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any
from weakref import ref

import numpy as np

from .. import _limpid
from .._gpu import GpuArray
from ._multilevel import dwt_max_level
from ._single import Array, analysis, as_numbers, check, dwt_coeff_len, join, normal_axes, split, synthesis
from ._wavelet import as_wavelet, mode_name


class _Kept:
    """What a tree keeps of a node: its data, and what is below it.

    Nothing here leads upwards, and nodes, which do, are made when they are asked for. So a tree has no cycles: its memory is free as soon as nobody
    has a node of it, and not only when the garbage collector comes by.
    """

    __slots__ = ("data", "shape", "below", "node")

    def __init__(self, data: Any) -> None:
        self.data = data
        self.shape = data.shape if type(data) is np.ndarray else None if data is None else np.shape(data)
        self.below: dict[str, _Kept] = {}
        #: The node, as long as somebody has it.
        self.node: ref[BaseNode] | None = None

    def __getstate__(self) -> Any:
        return self.data, self.shape, self.below

    def __setstate__(self, state: Any) -> None:
        self.data, self.shape, self.below = state
        self.node = None


class BaseNode:
    """A node of a tree: its coefficients in ``data``, its place in ``path``, and below it a node for each of ``PARTS``.

    Nodes are made when they are asked for: ``tree["ad"]`` splits what is above it.
    """

    #: Names of a node's parts.
    PARTS: Any = None
    #: Letters of a name.
    PART_LEN: Any = None
    #: Keys of the bands that the parts are.
    _KEYS: Sequence[str] = ()
    _maxlevel: int | None = None

    def __init__(self, parent: BaseNode | None, data: Any, node_name: str) -> None:
        self.parent = parent
        self._kept = data if type(data) is _Kept else _Kept(data)
        self._kept.node = ref(self)
        self._name = node_name
        if parent is not None:
            self.wavelet: Any = parent.wavelet
            self.mode: Any = parent.mode
            self.axes: tuple[int, ...] = parent.axes
            self.level: int = parent.level + 1
            self.path: str = parent.path + node_name
        else:
            self.level, self.path = 0, node_name

    def _new(self, part: str, data: Any) -> BaseNode:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in (self.PARTS or ()):
            return self._child(name)
        raise AttributeError(f"a node has no '{name}'")

    @property
    def data(self) -> Any:
        """The coefficients."""
        return self._kept.data

    @data.setter
    def data(self, data: Any) -> None:
        self._kept.data = data

    def _child(self, part: str) -> BaseNode | None:
        """A part, if it is there."""
        kept = self._kept.below.get(part)
        return None if kept is None else self._node(part, kept)

    def _node(self, part: str, kept: _Kept) -> BaseNode:
        node = None if kept.node is None else kept.node()
        return self._new(part, kept) if node is None else node

    def _children(self) -> list[BaseNode]:
        """All parts that are there."""
        return [self._node(part, kept) for part, kept in self._kept.below.items()]

    @property
    def path_tuple(self) -> tuple[str, ...]:
        """The names of the parts that lead here."""
        return () if self.parent is None else (*self.parent.path_tuple, self._name)

    @property
    def node_name(self) -> str:
        """The last part of the path."""
        return "" if self.parent is None else self._name

    @property
    def maxlevel(self) -> int | None:
        """The deepest level, or None where that is not known yet."""
        if self._maxlevel is None:
            self._maxlevel = self._deepest(True, True)
        return self._maxlevel

    def _deepest(self, above: bool, below: bool) -> int | None:
        if self._maxlevel is not None:
            return self._maxlevel
        if self.data is not None:
            shape = np.shape(self.data)
            return self.level + dwt_max_level(min(shape[axis] for axis in self.axes), self.wavelet)
        if above and self.parent is not None:
            found = self.parent._deepest(True, False)
            if found is not None:
                return found
        if below:
            for child in self._children():
                found = child._deepest(False, True)
                if found is not None:
                    return found
        return None

    @property
    def is_empty(self) -> bool:
        """Whether there is no data."""
        return self.data is None

    @property
    def has_any_subnode(self) -> bool:
        """Whether the node was split."""
        return bool(self._kept.below)

    def _banks(self, back: bool) -> list[Any]:
        bank = synthesis if back else analysis
        return [bank(self.wavelet, mode_name(self.mode)) for _ in self.axes]

    def decompose(self) -> tuple[BaseNode, ...]:
        """Splits the node; the parts, in the order of ``PARTS``."""
        if self.maxlevel is not None and self.level >= self.maxlevel:
            raise ValueError("Maximum decomposition level reached.")
        if self.data is None:
            raise ValueError("Node data is None, cannot decompose.")
        x = as_numbers(self.data)
        bands = split(x, normal_axes(self.axes, x.ndim), self._banks(False))
        for part, key in zip(self.PARTS, self._KEYS):
            self._kept.below[part] = _Kept(bands[key])
        return tuple(self._children())

    def _checked(self, part: Any) -> None:
        if part not in self.PARTS:
            raise ValueError(f"Subnode name must be in {list(self.PARTS)}, not '{part}'.")

    def get_subnode(self, part: str, decompose: bool = True) -> BaseNode | None:
        """A part, or None where it is not there and must not or cannot be made."""
        self._checked(part)
        if part not in self._kept.below and decompose and self.data is not None:
            self.decompose()
        return self._child(part)

    def _steps(self, path: Any) -> list[str]:
        """A path as names of parts."""
        if isinstance(path, str):
            length = int(self.PART_LEN)
            if self.maxlevel is not None and len(path) > (self.maxlevel - self.level) * length:
                raise IndexError("Path length is out of range.")
            return [path[i : i + length] for i in range(0, len(path), length)]
        if isinstance(path, tuple):
            if not all(isinstance(part, str) for part in path):
                raise TypeError("Invalid path parameter type - expected string or tuple of strings.")
            if self.maxlevel is not None and len(path) > self.maxlevel - self.level:
                raise IndexError("Path length is out of range.")
            return list(path)
        raise TypeError(f"Invalid path parameter type - expected string or tuple of strings, not {type(path).__name__}.")

    def __getitem__(self, path: Any) -> BaseNode:
        node: BaseNode = self
        for part in self._steps(path):
            below = node.get_subnode(part)
            if below is None:
                raise TypeError(f"there is no node '{part}' below '{node.path}', and no data to make it from")
            node = below
        return node

    def __setitem__(self, path: Any, data: Any) -> None:
        node: BaseNode = self
        for part in self._steps(path):
            below = node.get_subnode(part, False)
            if below is None:
                node._kept.below[part] = _Kept(None)
                below = node._new(part, node._kept.below[part])
            node = below
        node.data = data.data if isinstance(data, BaseNode) else as_numbers(data)
        node._kept.shape = np.shape(node.data)

    def __delitem__(self, path: Any) -> None:
        node: BaseNode | None = self
        *above, last = self._steps(path)
        for part in above:
            node = None if node is None else node.get_subnode(part, False)
        if node is not None:
            node._checked(last)
            node._kept.below.pop(last, None)

    def reconstruct(self, update: bool = False) -> Any:
        """The data from that of the parts, where there are any; with ``update`` it becomes the node's own."""
        if not self._kept.below:
            return self.data
        made = self._whole()
        if made is None:
            made = self._joined({part: node.reconstruct() for part, node in zip(self._kept.below, self._children())})
        if update:
            self.data, self._kept.shape = made, made.shape
        return made

    def _joined(self, parts: Mapping[str, Any]) -> Array:
        bands = {key: as_numbers(parts[part]) for part, key in zip(self.PARTS, self._KEYS) if parts.get(part) is not None}
        if not bands:
            raise ValueError("Node is a leaf node and cannot be reconstructed from subnodes.")
        # A part that was joined itself may have one sample too many.
        least = tuple(min(sides) for sides in zip(*(band.shape for band in bands.values())))
        bands = {key: band[tuple(slice(side) for side in least)] for key, band in bands.items()}
        made = join(bands, normal_axes(self.axes, len(least)), self._banks(True))
        shape = self._kept.shape
        return made if shape is None else made[tuple(slice(side) for side in shape)]

    def _whole(self) -> Array | None:
        """The data from that of a whole level, all nodes of a level at a time; None where the tree has another form."""
        levels = [[self._kept]]
        while any(node.below for node in levels[-1]):
            if any(len(node.below) != len(self.PARTS) for node in levels[-1]):
                return None
            levels.append([node.below[part] for node in levels[-1] for part in self.PARTS])
        bottom = [node.data for node in levels[-1]]
        shapes = [{node.shape for node in nodes} for nodes in levels]
        if len(levels) < 3 or any(data is None for data in bottom) or any(len(shape) != 1 for shape in shapes[1:]):
            return None
        stack = np.stack([as_numbers(data) for data in bottom])
        axes = tuple(axis + 1 for axis in normal_axes(self.axes, stack.ndim - 1))
        for (shape,) in reversed(shapes[:-1]):
            bands = stack.reshape(-1, len(self.PARTS), *stack.shape[1:])
            stack = join({key: bands[:, i] for i, key in enumerate(self._KEYS)}, axes, self._banks(True))
            if shape is not None:
                stack = stack[(slice(None), *(slice(side) for side in shape))]
        return stack[0]

    def get_leaf_nodes(self, decompose: bool = False) -> list[BaseNode]:
        """Nodes that nothing is below; with ``decompose`` those of the deepest level."""
        found = []

        def look(node: BaseNode) -> bool:
            if (node.level == node.maxlevel and not node.is_empty) or (not decompose and not node.has_any_subnode):
                found.append(node)
                return False
            return True

        self.walk(look, decompose=decompose)
        return found

    def walk(self, func: Callable[..., Any], args: Any = (), kwargs: Any = None, decompose: bool = True) -> None:
        """Calls a function with every node, from the root on; below a node only if it returned true for it."""
        if func(self, *args, **(kwargs or {})) and (self.maxlevel is None or self.level < self.maxlevel):
            for node in self._below(decompose):
                node.walk(func, args, kwargs, decompose)

    def walk_depth(self, func: Callable[..., Any], args: Any = (), kwargs: Any = None, decompose: bool = True) -> None:
        """Calls a function with every node, a node after those below it."""
        if self.maxlevel is None or self.level < self.maxlevel:
            for node in self._below(decompose):
                node.walk_depth(func, args, kwargs, decompose)
        func(self, *args, **(kwargs or {}))

    def _below(self, decompose: bool) -> Iterator[BaseNode]:
        for part in self.PARTS:
            node = self.get_subnode(part, decompose)
            if node is not None:
                yield node

    def _level(self, level: int, decompose: bool) -> list[BaseNode]:
        """All nodes of a level from left to right, split level by level where they are to be."""
        if self.maxlevel is not None and level > self.maxlevel:
            raise ValueError(f"The level cannot be greater than the maximum decomposition level value ({self.maxlevel})")
        nodes: list[BaseNode] = [self]
        stack: Array | None = None
        room: list[Array] = []
        for done in range(level):
            if decompose and stack is None:
                stack = self._stack(nodes)
                room = [] if stack is None else self._room(stack, level - done)
            if decompose and stack is not None:
                stack, nodes = self._split_all(nodes, stack, room[level - done - 1])
            else:
                nodes = [below for node in nodes for below in node._below(decompose)]
        return nodes

    def _stack(self, nodes: list[BaseNode]) -> Array | None:
        """The data of nodes that can be split in one call: they have one shape and nothing below them. None where they cannot."""
        if any(node._kept.below or node.data is None for node in nodes):
            return None
        data = [as_numbers(node.data) for node in nodes]
        if len({(x.shape, x.dtype) for x in data}) > 1 or isinstance(data[0], GpuArray) or data[0].dtype.kind == "c":
            return None
        stack = data[0][None] if len(data) == 1 else np.stack(data)
        axes = normal_axes(self.axes, stack.ndim - 1)
        return stack if axes in ((stack.ndim - 2,), (stack.ndim - 3, stack.ndim - 2)) else None

    def _room(self, stack: Array, levels: int) -> list[Array]:
        """Memory for the parts of a stack of nodes in as many levels, the last one first; all of it is asked of the system together, which gives the
        memory of one tree to the next without clearing it again."""
        banks, parts = self._banks(False), len(self.PARTS)
        count, shape, shapes = len(stack), list(stack.shape[1:]), []
        for _ in range(levels):
            count *= parts
            for axis, (_, mode, taps) in zip(range(-len(banks), 0), banks):
                shape[axis] = dwt_coeff_len(shape[axis], taps, mode)
            shapes.append((count, *shape))
        # Each level begins at a cache line.
        sizes = [-(-int(np.prod(shape)) // 16) * 16 for shape in shapes]
        whole, ends = np.empty(sum(sizes), stack.dtype), np.cumsum(sizes)
        made = [whole[end - size :][: int(np.prod(shape))].reshape(shape) for end, size, shape in zip(ends, sizes, shapes)]
        return made[::-1]

    def _split_all(self, nodes: list[BaseNode], stack: Array, made: Array) -> tuple[Array, list[BaseNode]]:
        """Splits nodes in one call. ``stack`` is their data, and ``made`` becomes that of their parts, which are returned with it."""
        banks = self._banks(False)
        check(stack[0], range(-len(banks), 0), banks)
        split_entries: Any = _limpid.parts if len(banks) == 1 else _limpid.parts2
        split_entries(stack, *(bank[0] for bank in banks), made)
        parts, found = iter(made), []
        for node in nodes:
            below = node._kept.below
            for name, part in zip(node.PARTS, parts):
                kept = below[name] = _Kept(part)
                found.append(node._new(name, kept))
        return made, found

    def __str__(self) -> str:
        return f"{self.path}: {self.data}"


class Node(BaseNode):
    """A node of a :class:`WaveletPacket`."""

    A, D = "a", "d"
    PARTS = ("a", "d")
    PART_LEN = 1
    _KEYS = ("a", "d")

    def _new(self, part: str, data: Any) -> BaseNode:
        return Node(self, data, part)


class Node2D(BaseNode):
    """A node of a :class:`WaveletPacket2D`."""

    LL, HL, LH, HH = "a", "h", "v", "d"
    PARTS = ("a", "h", "v", "d")
    PART_LEN = 1
    _KEYS = ("aa", "da", "ad", "dd")

    def _new(self, part: str, data: Any) -> BaseNode:
        return Node2D(self, data, part)

    def expand_2d_path(self, path: str) -> tuple[str, str]:
        """The path along columns and that along rows, by ``l`` and ``h``."""
        names = {"a": "ll", "h": "hl", "v": "lh", "d": "hh"}
        return "".join(names[p][0] for p in path), "".join(names[p][1] for p in path)


class NodeND(BaseNode):
    """A node of a :class:`WaveletPacketND`, whose parts have a letter for each axis."""

    def __init__(self, parent: BaseNode | None, data: Any, node_name: str, ndim: int, ndim_transform: int) -> None:
        self.ndim, self.ndim_transform = ndim, ndim_transform
        self.PART_LEN = ndim_transform
        self.PARTS = self._KEYS = tuple("".join(letters) for letters in product("ad", repeat=ndim_transform))
        super().__init__(parent, data, node_name)

    def _new(self, part: str, data: Any) -> BaseNode:
        return NodeND(self, data, part, self.ndim, self.ndim_transform)


def _by_frequency(level: int, letters: str) -> list[str]:
    """Paths in the order of frequency: that of a Gray code, because a high band turns the order of what is below it."""
    order = [""]
    for _ in range(level):
        order = [letters[0] + path for path in order] + [letters[1] + path for path in reversed(order)]
    return order


def _ordered(order: str) -> None:
    if order not in ("natural", "freq"):
        raise ValueError(f"Invalid order name: {order}; expected natural or freq.")


def _start(root: BaseNode, data: Any, wavelet: Any, mode: Any, maxlevel: int | None, axes: tuple[int, ...]) -> None:
    root.wavelet, root.mode, root.axes = as_wavelet(wavelet), mode, axes
    mode_name(mode)
    if data is not None:
        root._maxlevel = maxlevel if maxlevel is not None else root._deepest(False, False)
    else:
        root._maxlevel = maxlevel


class WaveletPacket(Node):
    """Packets along one axis.

    >>> tree = WaveletPacket([1, 2, 3, 4, 5, 6, 7, 8], "db1")
    >>> tree["aa"].data
    array([ 5., 13.])
    >>> [node.path for node in tree.get_level(2, "freq")]
    ['aa', 'ad', 'dd', 'da']
    """

    def __init__(self, data: Any, wavelet: Any, mode: Any = "symmetric", maxlevel: int | None = None, axis: int = -1) -> None:
        super().__init__(None, data, "")
        ndim = 1 if data is None else np.ndim(data)
        axes = normal_axes(axis, max(ndim, 1)) if data is not None else (axis,)
        _start(self, data, wavelet, mode, maxlevel, axes)

    def reconstruct(self, update: bool = True) -> Any:
        """The data from that of the nodes; with ``update`` it becomes the tree's own."""
        return super().reconstruct(update)

    def get_level(self, level: int, order: str = "natural", decompose: bool = True) -> list[BaseNode]:
        """All nodes of a level, from left to right or (``freq``) from low to high frequencies."""
        _ordered(order)
        nodes = self._level(level, decompose)
        if order == "natural":
            return nodes
        found = {node.path: node for node in nodes}
        return [found[path] for path in _by_frequency(level, "ad") if path in found]


class WaveletPacket2D(Node2D):
    """Packets of a picture: parts ``a``, ``h``, ``v``, ``d``.

    >>> import numpy as np
    >>> tree = WaveletPacket2D(np.ones((8, 8)), "db1")
    >>> tree["ah"].data.shape, len(tree.get_level(2))
    ((2, 2), 16)
    """

    def __init__(self, data: Any, wavelet: Any, mode: Any = "smooth", maxlevel: int | None = None, axes: Any = (-2, -1)) -> None:
        super().__init__(None, data, "")
        axes = tuple(axes)
        if len(axes) != 2 or axes[0] == axes[1]:
            raise ValueError("Expected two unique axes.")
        if data is not None:
            if np.ndim(data) < 2:
                raise ValueError("WaveletPacket2D requires data with 2 or more dimensions.")
            axes = normal_axes(axes, np.ndim(data), unique=True)
        _start(self, data, wavelet, mode, maxlevel, axes)

    def reconstruct(self, update: bool = True) -> Any:
        """The data from that of the nodes; with ``update`` it becomes the tree's own."""
        return super().reconstruct(update)

    def get_level(self, level: int, order: str = "natural", decompose: bool = True) -> list[Any]:
        """All nodes of a level; with order ``freq`` rows of nodes, from low to high frequencies both ways."""
        _ordered(order)
        nodes = self._level(level, decompose)
        if order == "natural":
            return nodes
        found = {self.expand_2d_path(node.path): node for node in nodes}
        paths = _by_frequency(level, "lh")
        rows = [[found[down, across] for across in paths if (down, across) in found] for down in paths]
        return [row for row in rows if row]


class WaveletPacketND(NodeND):
    """Packets along several axes: parts with a letter ``a`` or ``d`` for each axis.

    >>> import numpy as np
    >>> tree = WaveletPacketND(np.ones((8, 8, 8)), "db1")
    >>> tree["aad"].data.shape, tree["aad" + "ddd"].path
    ((4, 4, 4), 'aadddd')
    """

    def __init__(self, data: Any, wavelet: Any, mode: Any = "smooth", maxlevel: int | None = None, axes: Any = None) -> None:
        if axes is None:
            if data is None:
                raise ValueError("If data is None, axes must be specified.")
            axes = range(np.ndim(data))
        axes = tuple(axes) if np.iterable(axes) else (int(axes),)
        if len(set(axes)) != len(axes):
            raise ValueError("Expected a set of unique axes.")
        ndim = len(axes) if data is None else np.ndim(data)
        if data is not None:
            if ndim < len(axes):
                raise ValueError("The number of axes exceeds the number of data dimensions.")
            axes = normal_axes(axes, ndim, unique=True)
        super().__init__(None, data, "", ndim, len(axes))
        _start(self, data, wavelet, mode, maxlevel, axes)

    def reconstruct(self, update: bool = True) -> Any:
        """The data from that of the nodes; with ``update`` it becomes the tree's own."""
        return super().reconstruct(update)

    def get_level(self, level: int, decompose: bool = True) -> list[BaseNode]:
        """All nodes of a level."""
        return self._level(level, decompose)
