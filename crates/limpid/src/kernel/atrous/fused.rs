//! Several levels in one dispatch: what Dolp 2024 names as future work.
//!
//! A workgroup reads its tile with the halo of all levels, makes one level after the other in workgroup memory, each on
//! a smaller margin, and writes the last. Pixels in the margins are made by several workgroups: less memory traffic for
//! more arithmetic.

use super::emit::{Text, groups, params};
use super::{Atrous, Walk};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Scope, Site, View, ViewMut};
use crate::plan::Element;
use crate::{Error, Result, Size};
use std::fmt::Write;

/// Consecutive levels of the filter in permuted orders; the last one's order is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fused {
    /// The levels.
    pub levels: Vec<Atrous>,
}

/// Tiles to try, the fastest first.
const TILES: [(u32, u32); 6] = [(32, 16), (16, 16), (16, 8), (8, 8), (8, 4), (4, 4)];

impl Fused {
    /// Pixels around a tile that level `k` still makes, of all levels in front of the first if `k` is none.
    fn margin(&self, k: Option<usize>) -> usize {
        let rest = k.map_or(&self.levels[..], |k| &self.levels[k + 1..]);
        let first = self.levels[0].level;
        rest.iter().map(|l| l.radius() << (l.level - first)).sum()
    }
}

impl Kernel for Fused {
    fn name(&self) -> &'static str {
        "atrous-fused"
    }

    fn contract(&self) -> Contract {
        let last = &self.levels[self.levels.len() - 1];
        let reach = self.levels.iter().map(|l| l.radius() << l.level).sum();
        Contract {
            reads: self.levels[0].contract().reads,
            writes: last.contract().writes,
            scope: Scope::Gather,
            reach: Some(reach),
            updates: false,
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let size = job.reads[0].size();
        let whole = |view: &View<'_>| -> Vec<f32> {
            (0..view.planes())
                .flat_map(|k| view.plane(k).iter().copied())
                .collect()
        };
        let mut slots: Vec<Vec<f32>> = job.reads.iter().map(whole).collect();
        for level in &self.levels {
            let writes = level.contract().writes;
            let mut made: Vec<Vec<f32>> = slots[..writes].to_vec();
            let mut scratch = vec![0.0; level.scratch(size)];
            level.cpu(&mut Job {
                level: job.level,
                rows: 0..size.height,
                reads: slots
                    .iter()
                    .map(|s| View::new(s, size, 1, 0..size.height))
                    .collect(),
                writes: made
                    .iter_mut()
                    .map(|s| ViewMut::new(s.chunks_mut(size.pixels()).collect(), size, 1, 0))
                    .collect(),
                scratch: &mut scratch,
            });
            for (slot, made) in slots.iter_mut().zip(made) {
                *slot = made;
            }
        }
        for (write, slot) in job.writes.iter_mut().zip(&slots) {
            for plane in 0..write.planes() {
                for y in job.rows.clone() {
                    let at = plane * size.pixels() + y * size.width;
                    write
                        .row(plane, y)
                        .copy_from_slice(&slot[at..at + size.width]);
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (first, payload) = (&self.levels[0], site.reads[0]);
        let mut kernel = first.clone();
        if let (Walk::Permuted { to, .. }, Walk::Permuted { to: last, .. }) =
            (&mut kernel.walk, &self.levels[self.levels.len() - 1].walk)
        {
            *to = *last;
        }
        let text = Text {
            kernel: &kernel,
            planes: payload.planes,
            vectors: first.stops.features.len().div_ceil(4),
            packed: site
                .reads
                .get(1)
                .is_some_and(|f| f.element == Element::U32x4),
            half: payload.element == Element::F16x4,
            carries: site.writes.len() > 1,
        };
        let halo = self.margin(None) as u32;
        let bytes = text.bytes_per_pixel() + 16;
        let span = |(w, h): (u32, u32)| (w + 2 * halo) * (h + 2 * halo);
        let fits = |tile: &(u32, u32)| span(*tile) * bytes <= site.target.workgroup_bytes;
        let Some(tile) = TILES.into_iter().find(fits).filter(|_| payload.planes == 1) else {
            return Err(Error::unsupported(format!(
                "{} levels at once do not fit the workgroup memory of {} bytes; use a schedule with tile",
                self.levels.len(),
                site.target.workgroup_bytes
            )));
        };
        let shape = super::Shape::new(tile.0, tile.1, 1);
        let (groups, tiles) = groups(&kernel, payload.size, shape);
        let mut params = params(&kernel, payload.size, tiles);
        params.splits = self.levels.len() as u32;
        let mut source = text.head(shape);
        self.body(&text, tile, &mut source);
        Ok(Dispatch::own(source, &params, groups))
    }

    fn scratch(&self, _size: Size) -> usize {
        0
    }
}

impl Fused {
    fn body(&self, text: &Text<'_>, (width, height): (u32, u32), s: &mut String) {
        const THREADS: u32 = 256;
        let halo = self.margin(None) as u32;
        let (span_x, span_y) = (width + 2 * halo, height + 2 * halo);
        let _ = writeln!(
            s,
            "const SPAN_X: u32 = {span_x};\nconst SPAN: u32 = {};\nvar<workgroup> tile_0: array<vec4<f32>, SPAN>;\n\
             var<workgroup> tile_1: array<vec4<f32>, SPAN>;",
            span_x * span_y
        );
        for v in 0..text.vectors {
            let _ = writeln!(s, "var<workgroup> tile_f{v}: array<vec4<f32>, SPAN>;");
        }
        for k in 0..self.levels.len() {
            self.exponent(text, k, s);
        }
        let stores = if text.half {
            "let t = vec4(p.uncolor, p.uncolor, p.uncolor, 1.0);\n    \
             let c = clamp(v * t, vec4(-65504.0), vec4(65504.0));\n    \
             return vec4(unpack2x16float(pack2x16float(c.xy)), unpack2x16float(pack2x16float(c.zw))) / t;"
        } else {
            "return v;"
        };
        let norm = if text.kernel.squared.is_some() {
            "vec4(n, n, n, n * n)"
        } else {
            "n"
        };
        let _ = writeln!(
            s,
            "fn made(s: Sums) -> vec4<f32> {{\n    let n = 1.0 / s.w;\n    let v = s.c0 * {norm};\n    {stores}\n}}
@compute @workgroup_size({THREADS})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{
    let part = part_of(group);
    let origin = part.tile * vec2({width}u, {height}u);
    if any(origin >= part.len) {{
        return;
    }}
    let last = vec2<i32>(part.len) - 1;
    let corner = vec2<i32>(origin) - {halo};
    for (var i = lane; i < SPAN; i += {THREADS}u) {{
        let at = corner + vec2<i32>(vec2(i % SPAN_X, i / SPAN_X));
        let a = fetch(index_of(part, vec2<u32>(clamp(at, vec2(0), last))));
        tile_0[i] = a.c;"
        );
        for v in 0..text.vectors {
            let _ = writeln!(s, "        tile_f{v}[i] = a.f{v};");
        }
        s.push_str("    }\n");
        for k in 0..self.levels.len() {
            self.level(text, k, [width, height, THREADS], s);
        }
        s.push_str("}\n");
    }

    /// What differences weigh at a level: the tile is scaled for the first.
    fn exponent(&self, text: &Text<'_>, k: usize, s: &mut String) {
        let (first, now) = (&self.levels[0].stops, &self.levels[k].stops);
        let ratio = |a: f32, b: f32| if a > 0.0 { (b / a) * (b / a) } else { 0.0 };
        let _ = writeln!(
            s,
            "fn exponent_{k}(a: Pixel, b: Pixel) -> f32 {{\n    var e = 0.0;"
        );
        if let (Some(a), Some(b)) = (first.color, now.color) {
            let _ = writeln!(
                s,
                "    let dc = a.c.xyz - b.c.xyz;\n    e -= {:?} * dot(dc, dc);",
                ratio(a, b)
            );
        }
        for v in 0..text.vectors {
            let lane = |i: usize| {
                let at = 4 * v + i;
                let of = |s: &[f32]| s.get(at).copied().unwrap_or(0.0);
                format!("{:?}", ratio(of(&first.features), of(&now.features)))
            };
            let _ = writeln!(
                s,
                "    let d{v} = a.f{v} - b.f{v};\n    e -= dot(d{v} * d{v}, vec4({}, {}, {}, {}));",
                lane(0),
                lane(1),
                lane(2),
                lane(3)
            );
        }
        s.push_str("    return e;\n}\n");
    }

    fn level(&self, text: &Text<'_>, k: usize, [width, height, threads]: [u32; 3], s: &mut String) {
        let (halo, margin) = (self.margin(None) as u32, self.margin(Some(k)) as u32);
        let (across, down, inset) = (width + 2 * margin, height + 2 * margin, halo - margin);
        let (from, to) = (k % 2, (k + 1) % 2);
        let pixel = |at: &str| {
            let mut p = format!("Pixel(tile_{from}[{at}]");
            for v in 0..text.vectors {
                let _ = write!(p, ", tile_f{v}[{at}]");
            }
            p + ")"
        };
        let end = if k + 1 == self.levels.len() {
            "let here = index_of(part, vec2<u32>(at));\n        let to = place_of(part, vec2<u32>(at));\n        \
             finish(to, here, s, s);\n        carry_from(here, to);".into()
        } else {
            format!("tile_{to}[base] = made(s);")
        };
        let _ = writeln!(
            s,
            "    workgroupBarrier();
    for (var i = lane; i < {}u; i += {threads}u) {{
        let local = vec2(i % {across}u, i / {across}u) + {inset}u;
        let at = corner + vec2<i32>(local);
        if any(at < vec2(0)) || any(at > last) {{
            continue;
        }}
        let base = local.y * SPAN_X + local.x;
        let centre = {};
        var s: Sums;
        for (var j = -R; j <= R; j++) {{
            let y = at.y + j * {step};
            if y < 0 || y > last.y {{
                continue;
            }}
            for (var h = -R; h <= R; h++) {{
                let x = at.x + h * {step};
                if x < 0 || x > last.x {{
                    continue;
                }}
                let q = u32(i32(base) + j * {step} * i32(SPAN_X) + h * {step});
                let tap = {};
                add(&s, tap, 0u, exp2(exponent_{k}(centre, tap) + log_tap(h) + log_tap(j)));
            }}
        }}
        {end}
    }}",
            across * down,
            pixel("base"),
            pixel("q"),
            step = 1 << k,
        );
    }
}
