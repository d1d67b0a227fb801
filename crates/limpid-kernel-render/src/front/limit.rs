//! Limits for outliers.

use crate::own::own;
use fearless_simd::f32x16;
use fearless_simd::prelude::*;
use limpid_core::simd::dispatch;
use limpid_core::{Result, Size};
use limpid_plan::params;
use limpid_plan::ring;
use limpid_plan::ring::{HeldRows, PIECES, Ring, Tap, Vectors, WIDTH};
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, WgslStruct, tiles};
use limpid_reference::definition::front::{ITSELF, OTHER, WINDOW};

params! {
    /// Size of the image and its planes; the brightness that is always accepted, how far the limit may be exceeded, and the
    /// distance between taps.
    struct Params { width: u32, height: u32, planes: u32, floor: f32, factor: f32, step: i32 }
}

/// Side of a workgroup.
const SIDE: u32 = 16;

/// Clamps the outliers of an image (`definition::front`). Reads: the image, its brightness, the brightness that limits it,
/// classes. Writes: the image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Whether it is limited by another buffer instead of by itself.
    pub by_other: bool,
    /// Brightness that is always accepted.
    pub floor: f32,
    /// Distance between compared pixels.
    pub step: usize,
    /// Whether the clamped brightness is also written.
    pub brightness: bool,
}

impl Limit {
    const fn rank(self) -> usize {
        if self.by_other { OTHER.0 } else { ITSELF.0 }
    }
}

impl Kernel for Limit {
    fn name(&self) -> &'static str {
        "limit"
    }

    fn contract(&self) -> Contract {
        Contract::rows(4, 1 + usize::from(self.brightness), WINDOW * self.step)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (size, planes) = (pass.writes[0].size, pass.writes[0].planes);
        let (image, plane) = (Need::planes(size, planes), Need::planes(size, 1));
        let mut needs = vec![image, plane, plane, plane, image];
        needs.extend(self.brightness.then_some(plane));
        needs
    }

    fn scratch(&self, size: Size) -> usize {
        let ring = ring(*self, size.width);
        ring.words() + 2 * ring.made()
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => limit(simd, job, *self));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let slot = pass.writes[0];
        let params = Params {
            width: slot.size.width as u32,
            height: slot.size.height as u32,
            planes: slot.planes as u32,
            floor: self.floor,
            factor: self.factor(),
            step: self.step as i32,
        };
        let names = [
            "picture",
            "brightness",
            "limiting",
            "classes",
            "limited",
            "left",
        ];
        let kept = match self.brightness {
            true => "left[i] = v",
            false => "return",
        };
        let (taps, rows) = match self.step {
            1 => (include_str!("limit_tile.wgsl"), 2),
            _ => (include_str!("limit_wide.wgsl"), 1),
        };
        let source = Wgsl::default()
            .body(Params::WGSL)
            .slots(pass, &names)
            .constant("SIDE", "u32", SIDE)
            .constant("RANK", "i32", self.rank())
            .constant("R", "i32", WINDOW)
            .constant("BY_OTHER", "bool", self.by_other)
            .procedure("keep(i: u32, v: f32)", kept)
            .body(include_str!("limit.wgsl"))
            .body(taps)
            .text();
        let groups = tiles(slot.size, SIDE, rows * SIDE);
        Ok(own(self, pass, Dispatch::compute(source, &params, groups)))
    }
}

/// The classes and the limiting brightness.
fn ring(limit: Limit, width: usize) -> Ring {
    Ring::new(WINDOW, limit.step, 2, std::iter::once(0..width).collect())
}

/// Most pixels pass: enough of their neighbours are nearly as bright. Only for the others the limit is computed.
#[inline(always)]
fn limit<S: Simd>(simd: S, job: &mut Job<'_>, limit: Limit) {
    let size = job.writes[0].size();
    let ring = ring(limit, size.width);
    let (memory, rest) = job.scratch.split_at_mut(ring.words());
    let (own, rest) = rest.split_at_mut(ring.made());
    let scale = &mut rest[..ring.made()];
    ring.clear(memory);
    own.fill(0.0);
    let mut held = HeldRows::new(&ring);
    let mut taps = Vec::new();
    let rank = f32x16::splat(simd, limit.rank() as f32);
    for y in ring.order(job.rows.clone()) {
        let rows = ring.tap_rows(size.height, y);
        for (_, row) in &rows {
            if held.lacks(&ring, *row) {
                ring.copy(memory, (*row, 0), job.reads[3].row(0, *row), 1.0);
                ring.copy(memory, (*row, 1), job.reads[2].row(0, *row), 1.0);
            }
        }
        ring.taps(&rows, &mut taps);
        if !limit.by_other {
            taps.retain(|tap| tap.place != [WINDOW; 2]);
        }
        let bright = job.reads[1].row(0, y);
        own[..size.width].copy_from_slice(bright);
        for x in (0..ring.made()).step_by(WIDTH) {
            let alike = limit.alike(simd, memory, (&ring, &taps), (ring.row(y), x), own);
            let mut made = alike;
            for k in 0..PIECES {
                let few = alike[k].simd_lt(rank);
                let (one, none) = (f32x16::splat(simd, 1.0), f32x16::splat(simd, f32::NAN));
                made[k] = few.select(none, one);
            }
            ring::put(made, scale, x);
        }
        let other = job.reads[2].row(0, y);
        for x in 0..size.width {
            if scale[x].is_nan() {
                let allowed = limit.allowed(memory, (&ring, &taps), (ring.row(y), x), other[x]);
                scale[x] = match bright[x] > allowed {
                    true => allowed / bright[x],
                    false => 1.0,
                };
            }
        }
        for c in 0..job.writes[0].planes() {
            let from = job.reads[0].row(c, y);
            let to = job.writes[0].row(c, y).iter_mut();
            for ((o, v), s) in to.zip(from).zip(&*scale) {
                *o = v * s;
            }
        }
        if limit.brightness {
            let to = job.writes[1].row(0, y).iter_mut();
            for ((o, v), s) in to.zip(bright).zip(&*scale) {
                *o = v * s;
            }
        }
    }
}

impl Limit {
    fn factor(self) -> f32 {
        if self.by_other { OTHER.1 } else { ITSELF.1 }
    }

    /// For each pixel of a strip, the number of taps of the same class that support its brightness.
    #[inline(always)]
    fn alike<S: Simd>(
        self,
        simd: S,
        memory: &[f32],
        (ring, taps): (&Ring, &[Tap]),
        (row, x): (usize, usize),
        own: &[f32],
    ) -> Vectors<S> {
        let (zero, one) = (f32x16::splat(simd, 0.0), f32x16::splat(simd, 1.0));
        let floor = f32x16::splat(simd, self.floor);
        let class = ring::load(simd, memory, row + x);
        let own = ring::load(simd, own, x);
        let mut count = [zero; PIECES];
        for tap in taps {
            let classes = ring::load(simd, memory, tap.at + x);
            let bright = ring::load(simd, memory, tap.at + x + ring.stride());
            for k in 0..PIECES {
                let allowed = bright[k].max(zero).mul_add(self.factor(), floor);
                let counts = allowed.simd_ge(own[k]) & classes[k].simd_eq(class[k]);
                count[k] += counts.select(one, zero);
            }
        }
        count
    }

    /// The accepted brightness of one pixel.
    #[inline(never)]
    fn allowed(
        self,
        memory: &[f32],
        (ring, taps): (&Ring, &[Tap]),
        (row, x): (usize, usize),
        other: f32,
    ) -> f32 {
        let class = memory[row + x];
        let mut top = [-1.0f32; ITSELF.0];
        let top = &mut top[..self.rank()];
        for tap in taps.iter().filter(|tap| memory[tap.at + x] == class) {
            let mut v = memory[tap.at + x + ring.stride()].max(0.0);
            for t in top.iter_mut() {
                (*t, v) = (t.max(v), t.min(v));
            }
        }
        let last = top[self.rank() - 1];
        let by = |v: f32| self.factor() * v + self.floor;
        if self.by_other {
            (self.factor() * last).max(other) + self.floor
        } else if last >= 0.0 {
            by(last)
        } else if top[0] >= 0.0 {
            by(top[0])
        } else {
            f32::MAX
        }
    }
}

const _: () = assert!(ITSELF.0 >= OTHER.0);
