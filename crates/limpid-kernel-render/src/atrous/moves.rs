//! Reordering of pixels within a row on the CPU.

use super::{Atrous, Walk};
use limpid_plan::Phases;
use std::ops::Range;

/// The target positions of the pixels of a row.
pub(super) struct Moves {
    pub(super) spans: Vec<Range<usize>>,
    places: Option<Vec<usize>>,
}

impl Moves {
    pub(super) fn new(kernel: &Atrous, width: usize) -> Self {
        let Walk::Permuted { from, to, .. } = kernel.walk else {
            return Self {
                spans: std::iter::once(0..width).collect(),
                places: None,
            };
        };
        let mut spans: Vec<Range<usize>> = Vec::new();
        while spans.last().map_or(0, |s| s.end) < width {
            let next = spans.last().map_or(0, |s| s.end);
            spans.push(from.span(width, next));
        }
        let to = |x: usize| to.map_or(x, |t: Phases| t.place(width, x));
        Self {
            spans,
            places: Some((0..width).map(|x| to(from.pixel(width, x))).collect()),
        }
    }

    /// Stores the pixels of a range of columns at their target positions.
    pub(super) fn put(&self, columns: Range<usize>, from: &[f32], to: &mut [f32]) {
        match &self.places {
            None => to[columns].copy_from_slice(from),
            Some(places) => {
                for (v, place) in from.iter().zip(&places[columns]) {
                    to[*place] = *v;
                }
            }
        }
    }
}
