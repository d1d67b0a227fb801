//! The values that a stencil's closure computes with.

use super::graph::{Build, Node, One, Two};
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

/// A number at each pixel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'g> {
    pub(super) build: &'g Build,
    pub(super) node: usize,
}

/// A condition at each pixel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mask<'g>(pub(super) Value<'g>);

/// A value, or a constant.
pub(crate) trait Number<'g> {
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
    fn one(self, op: One) -> Self {
        self.build.value(Node::One(op, self.node))
    }

    fn two(self, op: Two, other: impl Number<'g>) -> Self {
        let other = other.on(self.build);
        self.build.value(Node::Two(op, self.node, other.node))
    }

    /// The smaller of two.
    pub(crate) fn min(self, other: impl Number<'g>) -> Self {
        self.two(Two::Min, other)
    }

    /// The larger of two.
    pub(crate) fn max(self, other: impl Number<'g>) -> Self {
        self.two(Two::Max, other)
    }

    /// The absolute value.
    pub(crate) fn abs(self) -> Self {
        self.one(One::Abs)
    }

    /// The square root.
    pub(crate) fn sqrt(self) -> Self {
        self.one(One::Sqrt)
    }

    /// `e^x` for `x <= 0`.
    pub(crate) fn exp(self) -> Self {
        self.one(One::Exp)
    }

    /// The natural logarithm of a positive normal number.
    pub(crate) fn ln(self) -> Self {
        self.one(One::Ln)
    }

    /// Its square.
    pub(crate) fn squared(self) -> Self {
        self * self
    }

    /// `<`.
    pub(crate) fn lt(self, other: impl Number<'g>) -> Mask<'g> {
        Mask(self.two(Two::Less, other))
    }

    /// `<=`.
    pub(crate) fn le(self, other: impl Number<'g>) -> Mask<'g> {
        Mask(self.two(Two::AtMost, other))
    }

    /// `>=`.
    pub(crate) fn ge(self, other: impl Number<'g>) -> Mask<'g> {
        other.on(self.build).le(self)
    }

    /// `>`.
    pub(crate) fn gt(self, other: impl Number<'g>) -> Mask<'g> {
        other.on(self.build).lt(self)
    }
}

impl<'g> Mask<'g> {
    /// `yes` where it holds, `no` elsewhere.
    pub(crate) fn pick(self, yes: impl Number<'g>, no: impl Number<'g>) -> Value<'g> {
        let build = self.0.build;
        let (yes, no) = (yes.on(build), no.on(build));
        build.value(Node::Pick(self.0.node, yes.node, no.node))
    }

    /// 1 where it holds, 0 elsewhere.
    pub(crate) fn number(self) -> Value<'g> {
        self.pick(1.0, 0.0)
    }
}

impl BitAnd for Mask<'_> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0.two(Two::And, other.0))
    }
}

impl BitOr for Mask<'_> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0.two(Two::Or, other.0))
    }
}

impl Not for Mask<'_> {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0.one(One::Not))
    }
}

impl Neg for Value<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        self.one(One::Neg)
    }
}

/// Implements an operator between values, and between a value and a constant on either side.
macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl<'g, N: Number<'g>> $trait<N> for Value<'g> {
            type Output = Value<'g>;

            fn $method(self, other: N) -> Value<'g> {
                self.two(Two::$trait, other)
            }
        }

        impl<'g> $trait<Value<'g>> for f32 {
            type Output = Value<'g>;

            fn $method(self, other: Value<'g>) -> Value<'g> {
                self.on(other.build).two(Two::$trait, other)
            }
        }
    };
}

operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);
operator!(Div, div);
