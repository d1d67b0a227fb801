//! Limits for outliers.

use super::{SIDE, per_pixel, per_tile};
use crate::definition::front::{ITSELF, OTHER, WINDOW};
use crate::kernel::ring::{self, Held, PIECES, Ring, Tap, Vectors, WIDTH};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};
use crate::simd::dispatch;
use crate::{Result, Size};
use fearless_simd::f32x16;
use fearless_simd::prelude::*;

/// A picture with its outliers limited (`definition::front`). Reads: the picture, its brightness, the brightness that
/// limits it, classes. Writes: the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limit {
    /// Whether it is limited by another buffer, not by itself.
    pub(crate) by_other: bool,
    /// Brightness that is always allowed.
    pub(crate) floor: f32,
    /// How far apart the pixels are that are compared.
    pub(crate) step: usize,
    /// Whether the brightness that is left is written too.
    pub(crate) brightness: bool,
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

    fn scratch(&self, size: Size) -> usize {
        let ring = ring(*self, size.width);
        ring.words() + 2 * ring.made()
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => limit(simd, job, *self));
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (limit, enough) = if self.by_other {
            (
                "max(p.b * top[RANK - 1], other) + p.a",
                "bright <= other + p.a",
            )
        } else {
            (
                "select(select(3.0e38, p.b * top[0] + p.a, top[0] >= 0.0), p.b * top[RANK - 1] + p.a, top[RANK - 1] >= 0.0)",
                "false",
            )
        };
        let counts = match self.by_other {
            true => "",
            false => "            if dx == 0 && dy == 0 { continue; }\n",
        };
        let left = match self.brightness {
            true => "    write1[i] = bright * scale;\n",
            false => "",
        };
        let numbers = [self.floor, self.factor(), self.step as f32, 0.0, 0.0];
        let constants = format!(
            "const RANK: i32 = {};\nconst R: i32 = {WINDOW};\n",
            self.rank()
        );
        let taps = |body: &str| {
            format!(
                "    for (var dy = -R; dy <= R; dy++) {{
        for (var dx = -R; dx <= R; dx++) {{
{counts}{body}        }}
    }}
"
            )
        };
        // The two lowest bits of its brightness say whether a tap counts: its class, or 3 outside.
        let count = taps(
            "            let tap = tap_at(dx, dy);
            let allowed = p.b * bitcast<f32>(tap & ~3u) + p.a;
            count += i32((tap & 3u) == own && allowed >= bright);
",
        );
        let rank = taps(
            "            let tap = tap_at(dx, dy);
            var v = select(-1.0, bitcast<f32>(tap & ~3u), (tap & 3u) == own);
            for (var k = 0; k < RANK; k++) {
                let t = top[k];
                top[k] = max(t, v);
                v = min(t, v);
            }
",
        );
        let body = format!(
            "    let own = u32(read3[i]);
    let bright = read1[i];
    let other = read2[i];
    var scale = 1.0;
    var count = 0;
{count}    if !(count >= RANK || {enough}) {{
    var top: array<f32, RANK>;
    for (var k = 0; k < RANK; k++) {{ top[k] = -1.0; }}
{rank}    let limit = {limit};
    scale = select(1.0, limit / bright, bright > limit);
    }}
    for (var c = 0u; c < p.planes; c++) {{
        write0[c * p.pixels + i] = read0[c * p.pixels + i] * scale;
    }}
{left}"
        );
        let key = "fn key_at(q: vec2<i32>) -> u32 {
    if any(q < vec2(0)) || q.x >= i32(p.width) || q.y >= i32(p.height) { return 3u; }
    let j = q.y * i32(p.width) + q.x;
    return (bitcast<u32>(max(read2[j], 0.0)) & ~3u) | u32(read3[j]);
}
";
        if self.step > 1 {
            let near = "var<private> centre: vec2<i32>;
fn tap_at(dx: i32, dy: i32) -> u32 {
    return key_at(centre + vec2(dx, dy) * i32(p.c));
}
";
            let body = format!("    centre = vec2(i32(x), i32(y));\n{body}");
            let functions = format!("{constants}{key}{near}");
            return Ok(per_pixel(site, numbers, &functions, &body));
        }
        let near = format!(
            "const SPAN: i32 = {};
var<workgroup> keys: array<u32, SPAN * SPAN>;
var<private> centre: i32;
fn tap_at(dx: i32, dy: i32) -> u32 {{
    return keys[centre + dy * SPAN + dx];
}}
",
            SIDE as usize + 2 * WINDOW
        );
        let before = "    for (var k = i32(lane); k < SPAN * SPAN; k += i32(SIDE * SIDE)) {
        keys[k] = key_at(vec2<i32>(group.xy * SIDE) + vec2(k % SPAN, k / SPAN) - R);
    }
    workgroupBarrier();
    centre = i32(lane / SIDE) * SPAN + i32(lane % SIDE) + R * SPAN + R;
";
        let functions = format!("{constants}{key}{near}");
        Ok(per_tile(site, numbers, &functions, before, &body))
    }
}

/// The classes and the brightness that limits.
fn ring(limit: Limit, width: usize) -> Ring {
    Ring::new(WINDOW, limit.step, 2, std::iter::once(0..width).collect())
}

/// Maximum number of pixels are allowed: enough of those around are nearly as bright. For the others the limit is looked up.
#[inline(always)]
fn limit<S: Simd>(simd: S, job: &mut Job<'_>, limit: Limit) {
    let size = job.writes[0].size();
    let ring = ring(limit, size.width);
    let (memory, rest) = job.scratch.split_at_mut(ring.words());
    let (own, rest) = rest.split_at_mut(ring.made());
    let scale = &mut rest[..ring.made()];
    ring.clear(memory);
    own.fill(0.0);
    let mut held = Held::new(&ring);
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

    /// How many taps of the same class allow the brightness of each pixel of a strip.
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

    /// The brightness that is allowed for one pixel.
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
