//! The operations of a closure, recorded as a graph.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

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
pub(super) enum Unary {
    Neg,
    Abs,
    Sqrt,
    /// [`crate::fast_exp`].
    Exp,
    Ln,
    Not,
}

/// Operations on two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Binary {
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
    Unary(Unary, usize),
    Binary(Binary, usize, usize),
    /// The second operand where the first holds, otherwise the third.
    Pick(usize, usize, usize),
}

impl Node {
    /// The nodes that it uses.
    pub(super) fn operands(&self) -> impl Iterator<Item = usize> {
        let list = match *self {
            Self::Unary(_, a) => [Some(a), None, None],
            Self::Binary(_, a, b) => [Some(a), Some(b), None],
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
    /// Unary expression per plane, in order.
    Planes(Vec<usize>),
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

    /// For each node, whether it differs from plane to plane.
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
            match write {
                Write::Each(node) => used[*node] = true,
                Write::Planes(nodes) => nodes.iter().for_each(|node| used[*node] = true),
            }
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
                Node::Unary(op, a) => Node::Unary(op, number[a]),
                Node::Binary(op, a, b) => Node::Binary(op, number[a], number[b]),
                Node::Pick(c, a, b) => Node::Pick(number[c], number[a], number[b]),
                leaf => leaf,
            });
        }
        let renumbered = |write: Write| match write {
            Write::Each(node) => Write::Each(number[node]),
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
pub struct Build {
    graph: RefCell<Graph>,
    /// Equal nodes are shared.
    known: RefCell<HashMap<Node, usize>>,
}

impl Build {
    /// The next slot that is read.
    pub fn read(&self) -> Read<'_> {
        let mut graph = self.graph.borrow_mut();
        graph.reads += 1;
        Read {
            build: self,
            slot: graph.reads - 1,
            plane: Plane::Each(0),
        }
    }

    /// The next slots that are read.
    pub fn reads<const N: usize>(&self) -> [Read<'_>; N] {
        std::array::from_fn(|_| self.read())
    }

    /// A uniform, which is not part of the shader's text.
    pub fn param(&self, value: f32) -> Value<'_> {
        let mut graph = self.graph.borrow_mut();
        graph.params.push(value);
        let number = graph.params.len() - 1;
        drop(graph);
        self.value(Node::Param(number))
    }

    /// A constant, which is part of the shader's text.
    pub fn constant(&self, value: f32) -> Value<'_> {
        self.value(Node::Constant(value.to_bits()))
    }

    /// Whether the pixel at an offset is inside the image.
    pub fn inside(&self, dx: i32, dy: i32) -> Mask<'_> {
        Mask(self.value(Node::Inside { dx, dy }))
    }

    /// Whether the pixel is on a black square of a checkerboard with squares of `side` pixels; the first one is white.
    pub fn odd(&self, side: usize) -> Mask<'_> {
        Mask(self.value(Node::Odd { side }))
    }

    /// Writes each plane of the next slot.
    pub fn write<'g>(&'g self, value: impl Number<'g>) {
        let value = value.on(self);
        self.graph.borrow_mut().writes.push(Write::Each(value.node));
    }

    /// Writes each plane of the next slot, from what it held before.
    pub fn update<'g>(&'g self, change: impl FnOnce(Value<'g>) -> Value<'g>) {
        let slot = self.graph.borrow().writes.len();
        let plane = Plane::Each(0);
        self.write(change(self.value(Node::Old { slot, plane })));
    }

    /// Writes the planes of the next slot, in order.
    pub fn write_planes<'g>(&self, values: impl IntoIterator<Item = Value<'g>>) {
        let nodes = values.into_iter().map(|v| v.node).collect();
        self.graph.borrow_mut().writes.push(Write::Planes(nodes));
    }

    fn value(&self, node: Node) -> Value<'_> {
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
pub struct Read<'g> {
    build: &'g Build,
    slot: usize,
    plane: Plane,
}

impl<'g> Read<'g> {
    /// Unary plane of it.
    pub fn plane(self, plane: usize) -> Self {
        Self {
            plane: Plane::Fixed(plane),
            ..self
        }
    }

    /// Its planes starting at this one.
    pub fn planes_from(self, first: usize) -> Self {
        Self {
            plane: Plane::Each(first),
            ..self
        }
    }

    /// The first value of the slot at every pixel: for sums and other scalars, of slots of any size.
    pub fn first(self) -> Value<'g> {
        self.build.value(Node::First { slot: self.slot })
    }

    /// The pixel itself.
    pub fn here(self) -> Value<'g> {
        self.at(0, 0)
    }

    /// The pixel at an offset, clamped to the border.
    pub fn at(self, dx: i32, dy: i32) -> Value<'g> {
        let Self { build, slot, plane } = self;
        build.value(Node::Read {
            slot,
            plane,
            dx,
            dy,
        })
    }
}

/// A number at each pixel.
#[derive(Debug, Clone, Copy)]
pub struct Value<'g> {
    build: &'g Build,
    node: usize,
}

/// Something that holds or not at each pixel.
#[derive(Debug, Clone, Copy)]
pub struct Mask<'g>(Value<'g>);

/// A value, or a constant.
pub trait Number<'g> {
    /// As a value.
    fn on(self, build: &'g Build) -> Value<'g>;
}

impl<'g> Number<'g> for Value<'g> {
    fn on(self, _build: &'g Build) -> Value<'g> {
        self
    }
}

impl<'g> Number<'g> for f32 {
    fn on(self, build: &'g Build) -> Value<'g> {
        build.constant(self)
    }
}

impl<'g> Value<'g> {
    fn one(self, op: Unary) -> Self {
        self.build.value(Node::Unary(op, self.node))
    }

    fn two(self, op: Binary, other: impl Number<'g>) -> Self {
        let other = other.on(self.build);
        self.build.value(Node::Binary(op, self.node, other.node))
    }

    /// The smaller of two.
    pub fn min(self, other: impl Number<'g>) -> Self {
        self.two(Binary::Min, other)
    }

    /// The larger of two.
    pub fn max(self, other: impl Number<'g>) -> Self {
        self.two(Binary::Max, other)
    }

    /// Without its sign.
    pub fn abs(self) -> Self {
        self.one(Unary::Abs)
    }

    /// The square root.
    pub fn sqrt(self) -> Self {
        self.one(Unary::Sqrt)
    }

    /// `e` to the power of a number that is not above 0.
    pub fn exp(self) -> Self {
        self.one(Unary::Exp)
    }

    /// The natural logarithm of a number that is above 0 and not denormal.
    pub fn ln(self) -> Self {
        self.one(Unary::Ln)
    }

    /// Its square.
    pub fn squared(self) -> Self {
        self * self
    }

    /// `<`.
    pub fn lt(self, other: impl Number<'g>) -> Mask<'g> {
        Mask(self.two(Binary::Less, other))
    }

    /// `<=`.
    pub fn le(self, other: impl Number<'g>) -> Mask<'g> {
        Mask(self.two(Binary::AtMost, other))
    }

    /// `>=`.
    pub fn ge(self, other: impl Number<'g>) -> Mask<'g> {
        other.on(self.build).le(self)
    }

    /// `>`.
    pub fn gt(self, other: impl Number<'g>) -> Mask<'g> {
        other.on(self.build).lt(self)
    }
}

impl<'g> Mask<'g> {
    /// `yes` where it holds, `no` elsewhere.
    pub fn pick(self, yes: impl Number<'g>, no: impl Number<'g>) -> Value<'g> {
        let build = self.0.build;
        let (yes, no) = (yes.on(build), no.on(build));
        build.value(Node::Pick(self.0.node, yes.node, no.node))
    }

    /// 1 where it holds, 0 elsewhere.
    pub fn number(self) -> Value<'g> {
        self.pick(1.0, 0.0)
    }
}

impl BitAnd for Mask<'_> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0.two(Binary::And, other.0))
    }
}

impl BitOr for Mask<'_> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0.two(Binary::Or, other.0))
    }
}

impl Not for Mask<'_> {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0.one(Unary::Not))
    }
}

impl Neg for Value<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        self.one(Unary::Neg)
    }
}

/// An operator between values, and between a value and a constant on either side.
macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl<'g, N: Number<'g>> $trait<N> for Value<'g> {
            type Output = Value<'g>;

            fn $method(self, other: N) -> Value<'g> {
                self.two(Binary::$trait, other)
            }
        }

        impl<'g> $trait<Value<'g>> for f32 {
            type Output = Value<'g>;

            fn $method(self, other: Value<'g>) -> Value<'g> {
                self.on(other.build).two(Binary::$trait, other)
            }
        }
    };
}

operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);
operator!(Div, div);
