//! Logical images of a plan.

use super::Layout;
use limpid_core::{Layer, Size};
use std::sync::Arc;

/// The identifier of a slot of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(pub usize);

/// The purpose and lifetime of a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// Filled from a layer of the frame before the first pass.
    Input(Layer),
    /// Becomes a layer of the result after the last pass.
    Output(Layer),
    /// Lives within one run; shares memory with slots of disjoint lifetimes.
    Transient,
    /// Kept from run to run; zero before the first.
    History,
    /// Constant data of the plan as 4-byte words: tables.
    Data(Arc<[u32]>),
}

/// The type of one element of a plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    /// One `f32`.
    F32,
    /// Four `f32` side by side.
    F32x4,
    /// Four half floats side by side, 8 bytes.
    F16x4,
    /// One `u32`.
    U32,
    /// Four `u32` side by side: packed features.
    U32x4,
}

impl Element {
    /// Size in 4-byte words.
    pub const fn words(self) -> usize {
        match self {
            Self::F32 | Self::U32 => 1,
            Self::F16x4 => 2,
            Self::F32x4 | Self::U32x4 => 4,
        }
    }

    /// The WGSL type of a backing array's element.
    pub const fn wgsl(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F32x4 => "vec4<f32>",
            Self::F16x4 => "vec2<u32>",
            Self::U32 => "u32",
            Self::U32x4 => "vec4<u32>",
        }
    }
}

/// Where a slot is stored on a GPU. The CPU keeps all slots in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backing {
    /// A backing buffer.
    Buffer,
    /// A texture of `rgba32float` (or the element's four-channel format), which fragment passes read and draw to.
    Texture,
    /// A texture of `rgba8unorm`, to reproduce the papers' 8-bit figures.
    Texture8,
}

/// A logical image of a plan: `planes` arrays of `size` elements, one after the other.
#[derive(Debug, Clone)]
pub struct Slot {
    /// A name for messages.
    pub name: String,
    /// Its purpose and lifetime.
    pub role: Role,
    /// Elements per row, and number of rows.
    pub size: Size,
    /// Number of planes.
    pub planes: usize,
    /// The element type.
    pub element: Element,
    /// The order of pixels.
    pub layout: Layout,
    /// Where it is stored on a GPU.
    pub backing: Backing,
}

impl Slot {
    /// A slot of planar `f32` in rows.
    pub fn new(name: impl Into<String>, role: Role, size: Size, planes: usize) -> Self {
        Self {
            name: name.into(),
            role,
            size,
            planes,
            element: Element::F32,
            layout: Layout::Rows,
            backing: Backing::Buffer,
        }
    }

    /// The slot with a different element type.
    #[must_use]
    pub fn element(mut self, element: Element) -> Self {
        self.element = element;
        self
    }

    /// The slot with a different layout.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// The slot with a different location.
    #[must_use]
    pub fn backing(mut self, backing: Backing) -> Self {
        self.backing = backing;
        self
    }

    /// Whether the other slot has the same purpose and memory; the contents of tables may differ.
    pub(super) fn same_form(&self, other: &Self) -> bool {
        let form = |s: &Self| (s.size, s.planes, s.element, s.layout, s.backing);
        let role = match (&self.role, &other.role) {
            (Role::Data(a), Role::Data(b)) => a.len() == b.len(),
            (a, b) => a == b,
        };
        role && form(self) == form(other)
    }

    /// Size in 4-byte words.
    pub fn words(&self) -> usize {
        let elements = self.size.pixels().saturating_mul(self.planes);
        elements.saturating_mul(self.element.words())
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.words().saturating_mul(4)
    }
}
