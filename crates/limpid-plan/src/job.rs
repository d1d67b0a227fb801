//! The input of a CPU body: a band of rows, read views with their halo, written rows.

use bytemuck::Pod;
use fearless_simd::Level;
use limpid_core::Size;
use std::ops::Range;

/// Read-only view of a slot, limited to the rows that the contract allows.
#[derive(Debug, Clone)]
pub struct View<'a> {
    data: &'a [f32],
    size: Size,
    words: usize,
    planes: usize,
    rows: Range<usize>,
}

impl<'a> View<'a> {
    /// A view of the rows `rows` of a slot whose elements have `words` words each.
    pub fn new(data: &'a [f32], size: Size, words: usize, rows: Range<usize>) -> Self {
        let plane = (size.pixels() * words).max(1);
        Self {
            data,
            size,
            words,
            planes: data.len() / plane,
            rows,
        }
    }

    /// Size of the slot.
    #[inline]
    pub fn size(&self) -> Size {
        self.size
    }

    /// Number of planes.
    #[inline]
    pub fn planes(&self) -> usize {
        self.planes
    }

    /// One row of one plane, as 4-byte words. Reading rows outside the contract is a bug in the kernel.
    #[inline]
    pub fn row(&self, plane: usize, y: usize) -> &'a [f32] {
        debug_assert!(
            self.rows.contains(&y),
            "row {y} is outside the contract {:?}",
            self.rows
        );
        let width = self.size.width * self.words;
        &self.data[(plane * self.size.height + y) * width..][..width]
    }

    /// One row of one plane, as elements such as `[f32; 4]` or `[u32; 4]`.
    #[inline]
    pub fn row_as<T: Pod>(&self, plane: usize, y: usize) -> &'a [T] {
        bytemuck::cast_slice(self.row(plane, y))
    }

    /// A whole plane, for kernels that gather.
    #[inline]
    pub fn plane(&self, plane: usize) -> &'a [f32] {
        debug_assert!(
            self.rows == (0..self.size.height),
            "a whole plane is outside the contract"
        );
        let count = self.size.pixels() * self.words;
        &self.data[plane * count..][..count]
    }
}

/// The written rows of a slot.
#[derive(Debug)]
pub struct ViewMut<'a> {
    planes: Vec<&'a mut [f32]>,
    size: Size,
    words: usize,
    first: usize,
}

impl<'a> ViewMut<'a> {
    /// The rows of a slot from row `first` on, one slice for each plane.
    pub fn new(planes: Vec<&'a mut [f32]>, size: Size, words: usize, first: usize) -> Self {
        Self {
            planes,
            size,
            words,
            first,
        }
    }

    /// Size of the whole slot.
    #[inline]
    pub fn size(&self) -> Size {
        self.size
    }

    /// Number of planes.
    #[inline]
    pub fn planes(&self) -> usize {
        self.planes.len()
    }

    /// One row of one plane, as 4-byte words.
    #[inline]
    pub fn row(&mut self, plane: usize, y: usize) -> &mut [f32] {
        let width = self.size.width * self.words;
        &mut self.planes[plane][(y - self.first) * width..][..width]
    }

    /// One row of one plane, as elements.
    #[inline]
    pub fn row_as<T: Pod>(&mut self, plane: usize, y: usize) -> &mut [T] {
        bytemuck::cast_slice_mut(self.row(plane, y))
    }

    /// The same row of all planes.
    #[inline]
    pub fn rows(&mut self, y: usize) -> impl Iterator<Item = &mut [f32]> {
        let width = self.size.width * self.words;
        let at = (y - self.first) * width;
        self.planes.iter_mut().map(move |p| &mut p[at..at + width])
    }

    /// The same row of the first `N` planes.
    pub fn rows_n<const N: usize>(&mut self, y: usize) -> [&mut [f32]; N] {
        let width = self.size.width * self.words;
        let at = (y - self.first) * width;
        let mut planes = self.planes.iter_mut();
        std::array::from_fn(|_| match planes.next() {
            Some(plane) => &mut plane[at..at + width],
            None => &mut [],
        })
    }

    /// The band of one plane, all rows of it.
    #[inline]
    pub fn band(&mut self, plane: usize) -> &mut [f32] {
        self.planes[plane]
    }
}

/// A band of work for a CPU body.
#[derive(Debug)]
pub struct Job<'a> {
    /// SIMD level to dispatch on.
    pub level: Level,
    /// Rows to compute, in the written slots.
    pub rows: Range<usize>,
    /// Slots read, in the order of the contract.
    pub reads: Vec<View<'a>>,
    /// Slots written, in the order of the contract.
    pub writes: Vec<ViewMut<'a>>,
    /// Scratch memory of at least the requested size; contents undefined.
    pub scratch: &'a mut [f32],
}
