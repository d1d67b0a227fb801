//! The CPU bodies: levels, bands for threads, strips for the cache.
//!
//! A level is one pass over memory: rows are lifted as they stream in, columns right behind them in registers and state
//! that stays in the cache. A thread gets a band of rows and recomputes what it needs beyond its ends, so that bands share
//! nothing. What always holds: the result does not depend on threads, strips or SIMD level.

use super::forward::{self, Out};
use super::four::Four;
use super::inverse;
use super::lift::Two;
use super::plane::{Bands, Plane, PlaneMut, halves};
use super::share::run;
pub(crate) use super::streamed::Streamed;
use super::streamed::Taps;
use crate::Size;
use crate::kernel::stream::STREAM_BYTES;
use fearless_simd::{Level, dispatch};

/// Low columns of a strip: its state stays in the second-level cache. Narrower ones would fit the first, but rows that end
/// soon cost more than that gains.
const STRIP: usize = 2048;

/// Row pairs of the pieces that threads share, at least.
const PIECE: usize = 8;

/// How the work is laid out on the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// The SIMD level.
    pub level: Level,
    /// Bands: one per thread.
    pub threads: usize,
    /// Low columns of a strip.
    pub strip: usize,
}

impl Layout {
    /// Strips of the usual width.
    pub(crate) fn new(level: Level, threads: usize) -> Self {
        Self {
            level,
            threads,
            strip: STRIP,
        }
    }

    /// Pieces that threads share. The state of one strip lasts from piece to piece; of several it does not, so that each
    /// thread gets one piece.
    fn pieces(&self, strips: usize) -> usize {
        match (self.threads, strips) {
            (2.., 1) => 8 * self.threads,
            (threads, _) => threads,
        }
    }

    fn strip_columns(&self) -> usize {
        self.strip.max(16).next_multiple_of(16)
    }
}

/// Words of state for levels of this width on this many threads.
pub(super) fn state_words(width: usize, layout: &Layout) -> usize {
    let columns = halves(width).0.min(layout.strip_columns());
    let columns = columns.next_multiple_of(16);
    // The state of low and high columns, at most seven rows, with room for lanes before the first column; and lines for
    // rows that cannot be stored as they are made.
    layout.threads.max(1) * (2 * 7 * (columns + 16) + 4 * columns)
}

/// Sizes of the images that levels transform.
pub(super) fn sizes(size: Size, levels: usize) -> Vec<Size> {
    let next = |s: &Size| Some(Size::new(halves(s.width).0, halves(s.height).0));
    std::iter::successors(Some(size), next)
        .take(levels)
        .collect()
}

/// One level: detail bands into the packed image, limited, `LL` there too or apart.
pub(super) fn forward_level(
    (steps, limits): (&Streamed, [f32; 3]),
    layout: &Layout,
    src: &Plane<'_>,
    (packed, stride): (&mut [f32], usize),
    apart: Option<(&mut [f32], usize)>,
    state: &mut [f32],
) {
    let past_cache = size_of_val(&*packed) > STREAM_BYTES;
    let lw = halves(src.size.width).0;
    let head = ahead(packed);
    let strips = || strips(lw, layout.strip_columns(), head);
    let pieces = layout.pieces(strips().count());
    let bands = split_out((packed, stride), src.size, apart, pieces);
    run(
        bands,
        state,
        layout.threads,
        |(rows, mut out), scratch, goes_on| {
            (out.past_cache, out.limits) = (past_cache, limits);
            for columns in strips() {
                let piece = Piece {
                    rows: rows.clone(),
                    columns,
                    goes_on: goes_on && pieces > layout.threads,
                };
                forward_strip(steps, layout.level, src, &piece, &mut out, scratch);
            }
        },
    );
}

/// One level back.
pub(super) fn inverse_level(
    steps: &Streamed,
    layout: &Layout,
    bands: &Bands<'_>,
    (out, stride): (&mut [f32], usize),
    state: &mut [f32],
) {
    let past_cache = 4 * bands.size.pixels() > STREAM_BYTES;
    let lw = halves(bands.size.width).0;
    let head = ahead(out) / 2;
    let strips = || strips(lw, layout.strip_columns(), head);
    let pieces = layout.pieces(strips().count());
    let parts = split_rows(out, stride, bands.size, pieces);
    run(
        parts,
        state,
        layout.threads,
        |(rows, mut out), scratch, goes_on| {
            for columns in strips() {
                let piece = Piece {
                    rows: rows.clone(),
                    columns,
                    goes_on: goes_on && pieces > layout.threads,
                };
                let target = (&mut out, past_cache);
                inverse_strip(steps, layout.level, bands, &piece, target, scratch);
            }
        },
    );
}

pub(super) type Span = std::ops::Range<usize>;

/// Row pairs and low columns.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub rows: Span,
    pub columns: Span,
    /// Whether the state is that of the rows before, so that it need not be filled.
    pub goes_on: bool,
}

/// Low columns in strips; the first one is shorter by `head`.
fn strips(columns: usize, strip: usize, head: usize) -> impl Iterator<Item = Span> {
    (0..columns + head).step_by(strip).map(move |c| {
        let cut = |c: usize| c.saturating_sub(head).min(columns);
        cut(c)..cut(c + strip)
    })
}

/// How many floats stand between the last line of the cache that begins before the data, and the data.
fn ahead(data: &[f32]) -> usize {
    data.as_ptr() as usize / 4 % 16
}

/// Row pairs per band.
fn band(pairs: usize, threads: usize) -> usize {
    pairs.div_ceil(threads.max(1)).max(PIECE)
}

/// Cuts the places that a level writes into bands of row pairs.
pub(super) fn split_out<'a>(
    (dst, stride): (&'a mut [f32], usize),
    level: Size,
    apart: Option<(&'a mut [f32], usize)>,
    threads: usize,
) -> Vec<(Span, Out<'a>)> {
    let (lh, _) = halves(level.height);
    let per = band(lh, threads);
    let (top, bottom) = dst.split_at_mut(lh * stride);
    let mut bottom = bottom.chunks_mut(per * stride);
    let (mut apart, apart_stride) = match apart {
        Some((data, stride)) => (Some(data.chunks_mut(per * stride)), stride),
        None => (None, 0),
    };
    top.chunks_mut(per * stride)
        .enumerate()
        .map(|(i, top)| {
            let ll = apart.as_mut().and_then(Iterator::next);
            let out = Out {
                ll: ll.map(|data| PlaneMut {
                    data,
                    stride: apart_stride,
                }),
                top: PlaneMut { data: top, stride },
                bottom: PlaneMut {
                    data: bottom.next().unwrap_or_default(),
                    stride,
                },
                past_cache: false,
                limits: [0.0; 3],
            };
            (i * per..((i + 1) * per).min(lh), out)
        })
        .collect()
}

/// Cuts an image into bands of row pairs.
pub(super) fn split_rows(
    data: &mut [f32],
    stride: usize,
    level: Size,
    threads: usize,
) -> Vec<(Span, PlaneMut<'_>)> {
    let (lh, _) = halves(level.height);
    let per = band(lh, threads);
    let rows = &mut data[..level.height * stride];
    rows.chunks_mut(2 * per * stride)
        .enumerate()
        .map(|(i, data)| (i * per..((i + 1) * per).min(lh), PlaneMut { data, stride }))
        .collect()
}

/// Runs a body with the steps of a lifting as the type that their number and taps make.
macro_rules! with_steps {
    ($streamed:expr, $steps:ident => $body:expr) => {{
        let scales = $streamed.scales;
        match $streamed.taps {
            Taps::One(taps) => {
                let pairs = [taps];
                let $steps = Two::<1, false> { pairs, scales };
                $body
            }
            Taps::OneMirrored(taps) => {
                let pairs = [taps];
                let $steps = Two::<1, true> { pairs, scales };
                $body
            }
            Taps::TwoMirrored(pairs) => {
                let $steps = Two::<2, true> { pairs, scales };
                $body
            }
            Taps::Four(predict, update) => {
                let $steps = Four {
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
    out: &mut Out<'_>,
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
