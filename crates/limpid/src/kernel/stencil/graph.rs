//! The operations of a closure, recorded as a graph.

use super::value::{Mask, Number, Value};
use std::cell::RefCell;
use std::collections::HashMap;

/// Selects a plane of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Plane {
    /// The output plane plus this index.
    Each(usize),
    /// A fixed plane.
    Fixed(usize),
}

/// Operations on one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum One {
    Neg,
    Abs,
    Sqrt,
    /// [`crate::kernel::fast_exp`].
    Exp,
    Ln,
    Not,
}

/// Operations on two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Two {
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
    Less,
    AtMost,
    And,
    Or,
}

/// A node of the graph. Operands are indices of earlier nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// A constant, as bits.
    Constant(u32),
    /// A parameter.
    Param(usize),
    /// A pixel at an offset, clamped to the border.
    Read {
        slot: usize,
        plane: Plane,
        dx: i32,
        dy: i32,
    },
    /// The first value of a slot of any size.
    First {
        slot: usize,
    },
    /// The previous value of a written slot.
    Old {
        slot: usize,
        plane: Plane,
    },
    /// Whether the pixel at an offset is inside the image.
    Inside {
        dx: i32,
        dy: i32,
    },
    /// Whether the pixel is on a black square of a checkerboard with squares of this side.
    Odd {
        side: usize,
    },
    One(One, usize),
    Two(Two, usize, usize),
    /// The second operand where the first holds, otherwise the third.
    Pick(usize, usize, usize),
}

impl Node {
    /// The nodes that it uses.
    pub(super) fn operands(&self) -> impl Iterator<Item = usize> {
        let list = match *self {
            Self::One(_, a) => [Some(a), None, None],
            Self::Two(_, a, b) => [Some(a), Some(b), None],
            Self::Pick(c, a, b) => [Some(c), Some(a), Some(b)],
            _ => [None; 3],
        };
        list.into_iter().flatten()
    }

    /// Whether it is the same at all pixels.
    pub(super) fn is_number(&self) -> bool {
        matches!(
            self,
            Self::Constant(_) | Self::Param(_) | Self::First { .. }
        )
    }

    /// The plane of a node that depends on it.
    fn plane(&self) -> Option<Plane> {
        match self {
            Self::Read { plane, .. } | Self::Old { plane, .. } => Some(*plane),
            _ => None,
        }
    }
}

/// The output of a slot.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Write {
    /// The same expression for each plane.
    Each(usize),
    /// One expression per plane, in order.
    Planes(Vec<usize>),
    /// The sum of this over the pixels and planes of each row.
    Sum(usize),
}

impl Write {
    /// The nodes that are written.
    pub(super) fn nodes(&self) -> &[usize] {
        match self {
            Self::Each(node) | Self::Sum(node) => std::slice::from_ref(node),
            Self::Planes(nodes) => nodes,
        }
    }
}

/// The recorded operations of a closure.
#[derive(Debug, Clone, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) params: Vec<f32>,
    /// Number of slots read.
    pub(super) reads: usize,
    pub(super) writes: Vec<Write>,
}

impl Graph {
    /// The halo in x and in y.
    pub(super) fn halo(&self) -> (usize, usize) {
        let (mut across, mut down) = (0, 0);
        for node in &self.nodes {
            if let Node::Read { dx, dy, .. } = node {
                across = across.max(dx.unsigned_abs() as usize);
                down = down.max(dy.unsigned_abs() as usize);
            }
        }
        (across, down)
    }

    /// Whether no pixels of a slot are read except its first value.
    pub(super) fn single(&self, slot: usize) -> bool {
        let reads = |n: &Node| matches!(n, Node::Read { slot: s, .. } if *s == slot);
        !self.nodes.iter().any(reads)
    }

    /// Whether written slots are read.
    pub(super) fn updates(&self) -> bool {
        self.nodes.iter().any(|n| matches!(n, Node::Old { .. }))
    }

    /// Whether rows are summed.
    pub(super) fn sums(&self) -> bool {
        self.writes.iter().any(|w| matches!(w, Write::Sum(_)))
    }

    /// The slot whose planes are computed separately, as an index over reads and then writes, and the number of planes it skips.
    pub(super) fn counted(&self) -> Option<(usize, usize)> {
        let each = |w: &Write| matches!(w, Write::Each(_));
        if let Some(k) = self.writes.iter().position(each) {
            return Some((self.reads + k, 0));
        }
        self.nodes.iter().find_map(|node| match node {
            Node::Read { slot, plane, .. } => match plane {
                Plane::Each(first) => Some((*slot, *first)),
                Plane::Fixed(_) => None,
            },
            _ => None,
        })
    }

    /// An image of the full size, as an index over reads and then writes: the first written one, or the first that is read if
    /// only sums are written.
    pub(super) fn image(&self) -> usize {
        let written = |w: &Write| !matches!(w, Write::Sum(_));
        match self.writes.iter().position(written) {
            Some(k) => self.reads + k,
            None => (0..self.reads).find(|k| !self.single(*k)).unwrap_or(0),
        }
    }

    /// For each node, whether it depends on the plane.
    pub(super) fn by_plane(&self) -> Vec<bool> {
        let mut by_plane: Vec<bool> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let own = matches!(node.plane(), Some(Plane::Each(_)));
            by_plane.push(own || node.operands().any(|i| by_plane[i]));
        }
        by_plane
    }

    /// Removes the nodes that no output depends on.
    fn pruned(self) -> Self {
        let mut used = vec![false; self.nodes.len()];
        for write in &self.writes {
            write.nodes().iter().for_each(|node| used[*node] = true);
        }
        for (i, node) in self.nodes.iter().enumerate().rev() {
            if used[i] {
                node.operands().for_each(|o| used[o] = true);
            }
        }
        let mut number = vec![0; used.len()];
        let mut nodes = Vec::new();
        for (i, node) in self.nodes.into_iter().enumerate().filter(|(i, _)| used[*i]) {
            number[i] = nodes.len();
            nodes.push(match node {
                Node::One(op, a) => Node::One(op, number[a]),
                Node::Two(op, a, b) => Node::Two(op, number[a], number[b]),
                Node::Pick(c, a, b) => Node::Pick(number[c], number[a], number[b]),
                leaf => leaf,
            });
        }
        let renumbered = |write: Write| match write {
            Write::Each(node) => Write::Each(number[node]),
            Write::Sum(node) => Write::Sum(number[node]),
            Write::Planes(list) => Write::Planes(list.into_iter().map(|n| number[n]).collect()),
        };
        Self {
            nodes,
            writes: self.writes.into_iter().map(renumbered).collect(),
            ..self
        }
    }
}

/// The argument of a stencil's closure: slots to read, parameters, slots to write.
#[derive(Debug, Default)]
pub(crate) struct Build {
    graph: RefCell<Graph>,
    /// Equal nodes are shared.
    known: RefCell<HashMap<Node, usize>>,
}

impl Build {
    /// The next slot that is read.
    pub(crate) fn read(&self) -> Read<'_> {
        let mut graph = self.graph.borrow_mut();
        graph.reads += 1;
        Read {
            build: self,
            slot: graph.reads - 1,
            plane: Plane::Each(0),
        }
    }

    /// The next slots that are read.
    pub(crate) fn reads<const N: usize>(&self) -> [Read<'_>; N] {
        std::array::from_fn(|_| self.read())
    }

    /// A uniform, which is not part of the shader's text.
    pub(crate) fn param(&self, value: f32) -> Value<'_> {
        let mut graph = self.graph.borrow_mut();
        graph.params.push(value);
        let number = graph.params.len() - 1;
        drop(graph);
        self.value(Node::Param(number))
    }

    /// A constant, which is part of the shader's text.
    pub(crate) fn constant(&self, value: f32) -> Value<'_> {
        self.value(Node::Constant(value.to_bits()))
    }

    /// Whether the pixel at an offset is inside the image.
    pub(crate) fn inside(&self, dx: i32, dy: i32) -> Mask<'_> {
        Mask(self.value(Node::Inside { dx, dy }))
    }

    /// Whether the pixel is on a black square of a checkerboard with squares of `side` pixels; the first one is white.
    pub(crate) fn odd(&self, side: usize) -> Mask<'_> {
        Mask(self.value(Node::Odd { side }))
    }

    /// Writes each plane of the next slot.
    pub(crate) fn write<'g>(&'g self, value: impl Number<'g>) {
        let value = value.on(self);
        self.graph.borrow_mut().writes.push(Write::Each(value.node));
    }

    /// Writes each plane of the next slot, based on its previous value. Returns the new value.
    pub(crate) fn update<'g>(&'g self, change: impl FnOnce(Value<'g>) -> Value<'g>) -> Value<'g> {
        let slot = self.graph.borrow().writes.len();
        let plane = Plane::Each(0);
        let value = change(self.value(Node::Old { slot, plane }));
        self.write(value);
        value
    }

    /// Writes row sums over all planes to the next slot: a column with one value per row.
    pub(crate) fn sum(&self, value: Value<'_>) {
        self.graph.borrow_mut().writes.push(Write::Sum(value.node));
    }

    /// Writes the planes of the next slot, in order.
    pub(crate) fn write_planes<'g>(&self, values: impl IntoIterator<Item = Value<'g>>) {
        let nodes = values.into_iter().map(|v| v.node).collect();
        self.graph.borrow_mut().writes.push(Write::Planes(nodes));
    }

    pub(super) fn value(&self, node: Node) -> Value<'_> {
        let add = || {
            let nodes = &mut self.graph.borrow_mut().nodes;
            nodes.push(node);
            nodes.len() - 1
        };
        let node = *self.known.borrow_mut().entry(node).or_insert_with(add);
        Value { build: self, node }
    }

    pub(super) fn finish(self) -> Graph {
        self.graph.into_inner().pruned()
    }
}

/// A slot that is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Read<'g> {
    build: &'g Build,
    slot: usize,
    plane: Plane,
}

impl<'g> Read<'g> {
    /// One plane of it.
    pub(crate) fn plane(self, plane: usize) -> Self {
        Self {
            plane: Plane::Fixed(plane),
            ..self
        }
    }

    /// Its planes starting at this one.
    pub(crate) fn planes_from(self, first: usize) -> Self {
        Self {
            plane: Plane::Each(first),
            ..self
        }
    }

    /// The first value of the slot at every pixel: for sums and other scalars, of slots of any size.
    pub(crate) fn first(self) -> Value<'g> {
        self.build.value(Node::First { slot: self.slot })
    }

    /// The pixel itself.
    pub(crate) fn here(self) -> Value<'g> {
        self.at(0, 0)
    }

    /// The pixel at an offset, clamped to the border.
    pub(crate) fn at(self, dx: i32, dy: i32) -> Value<'g> {
        let Self { build, slot, plane } = self;
        build.value(Node::Read {
            slot,
            plane,
            dx,
            dy,
        })
    }
}
