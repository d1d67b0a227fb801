//! The CPU bodies: levels, bands for threads, strips for the cache.
//!
//! A level is one pass over memory: rows are lifted as they stream in, and columns directly after them in registers and in
//! state that stays in the cache. A thread gets a band of rows and recomputes the rows it needs beyond its ends, so that bands
//! are independent. Invariants: the result does not depend on threads, strips or SIMD level.

use super::forward::{self, OutputRows, split_out};
use super::four::FourTaps;
use super::inverse;
use super::lift::TwoTap;
use super::pieces::{Piece, Span, Threading, ahead, split_rows, strips};
use super::plane::{Bands, Plane, PlaneMut, halves};
use super::share::run;
use super::streamed::{Streamed, Taps};
use fearless_simd::Level;
use limpid_core::simd::dispatch;
use limpid_plan::stream::STREAM_BYTES;

/// Division of a level: rows into pieces for threads, columns into strips for the cache.
struct Cut<'a> {
    layout: &'a Threading,
    /// Low columns of the level.
    columns: usize,
    /// Low columns between the start of the result's first cache line and the result.
    head: usize,
}

impl Cut<'_> {
    fn strips(&self) -> impl Iterator<Item = Span> {
        strips(self.columns, self.layout.strip_columns(), self.head)
    }

    fn pieces(&self) -> usize {
        self.layout.pieces(self.strips().count())
    }

    /// Runs `body` for each strip of all parts of the result.
    fn run<T: Send>(
        &self,
        parts: Vec<(Span, T)>,
        state: &mut [f32],
        body: impl Fn(&mut T, &Piece, &mut [f32]) + Sync,
    ) {
        let threads = self.layout.threads;
        let lasts = self.pieces() > threads;
        run(
            parts,
            state,
            threads,
            |(rows, mut part), scratch, goes_on| {
                for columns in self.strips() {
                    let piece = Piece {
                        rows: rows.clone(),
                        columns,
                        goes_on: goes_on && lasts,
                    };
                    body(&mut part, &piece, scratch);
                }
            },
        );
    }
}

/// One forward level: stores the detail bands, shrunk, in the packed image, and `LL` there too or separately.
pub(super) fn forward_level(
    (steps, limits): (&Streamed, [f32; 3]),
    layout: &Threading,
    src: &Plane<'_>,
    (packed, stride): (&mut [f32], usize),
    apart: Option<(&mut [f32], usize)>,
    state: &mut [f32],
) {
    let past_cache = size_of_val(&*packed) > STREAM_BYTES;
    let cut = Cut {
        layout,
        columns: halves(src.size.width).0,
        head: ahead(packed),
    };
    let bands = split_out((packed, stride), src.size, apart, cut.pieces());
    cut.run(bands, state, |out, piece, scratch| {
        (out.past_cache, out.limits) = (past_cache, limits);
        forward_strip(steps, layout.level, src, piece, out, scratch);
    });
}

/// One inverse level.
pub(super) fn inverse_level(
    steps: &Streamed,
    layout: &Threading,
    bands: &Bands<'_>,
    (out, stride): (&mut [f32], usize),
    state: &mut [f32],
) {
    let past_cache = 4 * bands.size.pixels() > STREAM_BYTES;
    let cut = Cut {
        layout,
        columns: halves(bands.size.width).0,
        head: ahead(out) / 2,
    };
    let parts = split_rows(out, stride, bands.size, cut.pieces());
    cut.run(parts, state, |out, piece, scratch| {
        inverse_strip(
            steps,
            layout.level,
            bands,
            piece,
            (out, past_cache),
            scratch,
        );
    });
}

/// Runs a body with the lifting steps as the type for their number and taps.
macro_rules! with_steps {
    ($streamed:expr, $steps:ident => $body:expr) => {{
        let scales = $streamed.scales;
        match $streamed.taps {
            Taps::OnePair(taps) => {
                let pairs = [taps];
                let $steps = TwoTap::<1, false> { pairs, scales };
                $body
            }
            Taps::OnePairMirrored(taps) => {
                let pairs = [taps];
                let $steps = TwoTap::<1, true> { pairs, scales };
                $body
            }
            Taps::TwoPairsMirrored(pairs) => {
                let $steps = TwoTap::<2, true> { pairs, scales };
                $body
            }
            Taps::OneWidePair(predict, update) => {
                let $steps = FourTaps {
                    predict,
                    update,
                    scales,
                };
                $body
            }
        }
    }};
}

fn forward_strip(
    steps: &Streamed,
    level: Level,
    src: &Plane<'_>,
    part: &Piece,
    out: &mut OutputRows<'_>,
    scratch: &mut [f32],
) {
    with_steps!(steps, steps => dispatch!(level, simd => forward::strip(simd, &steps, src, part, out, scratch)));
}

fn inverse_strip(
    steps: &Streamed,
    level: Level,
    bands: &Bands<'_>,
    part: &Piece,
    out: (&mut PlaneMut<'_>, bool),
    scratch: &mut [f32],
) {
    with_steps!(steps, steps => dispatch!(level, simd => inverse::strip(simd, &steps, bands, part, out, scratch)));
}
