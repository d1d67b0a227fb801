//! Several levels in one dispatch, listed as future work by Dolp 2024.
//!
//! A workgroup reads its tile with the halo of all levels, computes one level after the other in workgroup memory, each with a
//! smaller halo, and writes the last one. Halo pixels are computed by several workgroups, which trades arithmetic for memory
//! traffic.

use super::emit::{Text, groups, params};
use super::{Atrous, Walk};
use crate::own::own;
use limpid_core::{Error, Result, Size};
use limpid_plan::Element;
use limpid_plan::wgsl::{Code, Wgsl};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, Scope, View, ViewMut};

/// Consecutive levels of the filter in permuted orders; the result is written in the order of the last one.
#[derive(Debug, Clone, PartialEq)]
pub struct Fused {
    /// The levels.
    pub levels: Vec<Atrous>,
}

/// Tiles to try, the fastest first.
const TILES: [(u32, u32); 6] = [(32, 16), (16, 16), (16, 8), (8, 8), (8, 4), (4, 4)];

impl Fused {
    /// Halo around a tile that level `k` still computes; for `None`, the halo of the input.
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

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        self.levels[0].needs(pass)
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

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let (first, payload) = (&self.levels[0], pass.reads[0]);
        let follows = |(k, level): (usize, &Atrous)| {
            level.is_sound()
                && level.level == first.level + k as u32
                && level.radius() == first.radius()
                && level.guided.is_none()
                && level.walk != Walk::Dilated
        };
        if !self.levels.iter().enumerate().all(follows) {
            return Err(Error::unsupported(
                "levels in one dispatch follow each other, with equal taps",
            ));
        }
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
            packed: pass
                .reads
                .get(1)
                .is_some_and(|f| f.element == Element::U32x4),
            half: payload.element == Element::F16x4,
            carries: pass.writes.len() > 1,
        };
        let halo = self.margin(None) as u32;
        let bytes = text.bytes_per_pixel() + 16;
        let span = |(w, h): (u32, u32)| (w + 2 * halo) * (h + 2 * halo);
        let fits = |tile: &(u32, u32)| span(*tile) * bytes <= pass.target.workgroup_bytes;
        let Some(tile) = TILES.into_iter().find(fits).filter(|_| payload.planes == 1) else {
            return Err(Error::unsupported(format!(
                "{} levels at once do not fit the workgroup memory of {} bytes; use a schedule with tile",
                self.levels.len(),
                pass.target.workgroup_bytes
            )));
        };
        let shape = super::Shape::new(tile.0, tile.1, 1);
        let (groups, tiles) = groups(&kernel, payload.size, shape);
        let mut params = params(&kernel, payload.size, tiles);
        params.splits = self.levels.len() as u32;
        let source = self.body(&text, tile, text.head(shape));
        Ok(own(
            self,
            pass,
            Dispatch::compute(source.text(), &params, groups),
        ))
    }

    fn scratch(&self, _size: Size) -> usize {
        0
    }
}

/// Threads of a workgroup.
const THREADS: u32 = 256;

impl Fused {
    fn body(&self, text: &Text<'_>, (width, height): (u32, u32), head: Wgsl) -> Wgsl {
        let halo = self.margin(None) as u32;
        let (span_x, span_y) = (width + 2 * halo, height + 2 * halo);
        let array = "array<vec4<f32>, SPAN>";
        let mut head = head
            .constant("SPAN_X", "u32", span_x)
            .constant("SPAN", "u32", span_x * span_y)
            .constant("THREADS", "u32", THREADS)
            .constant("SQUARED", "bool", text.kernel.squared.is_some())
            .variable("workgroup", "tile_0", array)
            .variable("workgroup", "tile_1", array)
            .body(match text.half {
                true => include_str!("fused_half.wgsl"),
                false => include_str!("fused_full.wgsl"),
            })
            .body(include_str!("fused.wgsl"));
        let mut code = Code::default();
        code.say("let part = part_of(group)")
            .say(format_args!(
                "let origin = part.tile * vec2({width}u, {height}u)"
            ))
            .block("if any(origin >= part.len)", |code| {
                code.say("return");
            })
            .say("let last = vec2<i32>(part.len) - 1")
            .say(format_args!("let corner = vec2<i32>(origin) - {halo}"))
            .block("for (var i = lane; i < SPAN; i += THREADS)", |code| {
                code.say("let at = corner + vec2<i32>(vec2(i % SPAN_X, i / SPAN_X))")
                    .say("let nearest = vec2<u32>(clamp(at, vec2(0), last))")
                    .say("let a = fetch(index_of(part, nearest))")
                    .say("tile_0[i] = a.c");
                for v in 0..text.vectors {
                    code.say(format_args!("tile_f{v}[i] = a.f{v}"));
                }
            });
        for v in 0..text.vectors {
            head = head.variable("workgroup", &format!("tile_f{v}"), array);
        }
        for k in 0..self.levels.len() {
            let exponent = format!("exponent_{k}(a: Pixel, b: Pixel) -> f32");
            let sums = format!("sums_{k}(base: u32, at: vec2<i32>, last: vec2<i32>) -> Sums");
            head = head
                .statements(&exponent, self.exponent(text, k))
                .statements(&sums, sums_of(text, k));
            self.level(k, [width, height], &mut code);
        }
        head.entry(THREADS, code)
    }

    /// The weight of differences at a level: the tile is scaled for the first level.
    fn exponent(&self, text: &Text<'_>, k: usize) -> Code {
        let (first, now) = (&self.levels[0].stops, &self.levels[k].stops);
        let ratio = |a: f32, b: f32| if a > 0.0 { (b / a) * (b / a) } else { 0.0 };
        let mut code = Code::default();
        code.say("var e = 0.0");
        if let (Some(a), Some(b)) = (first.color, now.color) {
            let ratio = ratio(a, b);
            code.say("let dc = a.c.xyz - b.c.xyz")
                .say(format_args!("e -= {ratio:?} * dot(dc, dc)"));
        }
        for v in 0..text.vectors {
            let lane = |i: usize| {
                let of = |s: &[f32]| s.get(4 * v + i).copied().unwrap_or(0.0);
                format!("{:?}", ratio(of(&first.features), of(&now.features)))
            };
            let lanes = [0, 1, 2, 3].map(lane).join(", ");
            code.say(format_args!("let d{v} = a.f{v} - b.f{v}"))
                .say(format_args!("e -= dot(d{v} * d{v}, vec4({lanes}))"));
        }
        code.say("return e");
        code
    }

    /// Computes a level: the pixels that later levels need, from one tile to the other; the last level stores them.
    fn level(&self, k: usize, [width, height]: [u32; 2], code: &mut Code) {
        let (halo, margin) = (self.margin(None) as u32, self.margin(Some(k)) as u32);
        let (across, down, inset) = (width + 2 * margin, height + 2 * margin, halo - margin);
        let (count, to) = (across * down, (k + 1) % 2);
        code.say("workgroupBarrier()").block(
            format_args!("for (var i = lane; i < {count}u; i += THREADS)"),
            |code| {
                code.say(format_args!(
                    "let local = vec2(i % {across}u, i / {across}u) + {inset}u"
                ))
                .say("let at = corner + vec2<i32>(local)")
                .block("if any(at < vec2(0)) || any(at > last)", |code| {
                    code.say("continue");
                })
                .say("let base = local.y * SPAN_X + local.x")
                .say(format_args!("let s = sums_{k}(base, at, last)"));
                if k + 1 == self.levels.len() {
                    code.say("let here = index_of(part, vec2<u32>(at))")
                        .say("let to = place_of(part, vec2<u32>(at))")
                        .say("finish(to, here, s, s)")
                        .say("carry_from(here, to)");
                } else {
                    code.say(format_args!("tile_{to}[base] = made(s)"));
                }
            },
        );
    }
}

/// The sums of a level's taps.
fn sums_of(text: &Text<'_>, k: usize) -> Code {
    let (from, step) = (k % 2, 1 << k);
    let pixel = |at: &str| {
        let features = (0..text.vectors).map(|v| format!(", tile_f{v}[{at}]"));
        format!("Pixel(tile_{from}[{at}]{})", features.collect::<String>())
    };
    let along = |name: &str, axis: &str, code: &mut Code| {
        code.say(format_args!("let {axis} = at.{axis} + {name} * {step}"))
            .block(
                format_args!("if {axis} < 0 || {axis} > last.{axis}"),
                |code| {
                    code.say("continue");
                },
            );
    };
    let mut code = Code::default();
    code.say(format_args!("let centre = {}", pixel("base")))
        .say("var s: Sums")
        .block("for (var j = -R; j <= R; j++)", |code| {
            along("j", "y", code);
            code.block("for (var i = -R; i <= R; i++)", |code| {
                along("i", "x", code);
                code.say(format_args!(
                    "let q = u32(i32(base) + j * {step} * i32(SPAN_X) + i * {step})"
                ))
                .say(format_args!("let tap = {}", pixel("q")))
                .say(format_args!(
                    "let e = exponent_{k}(centre, tap) + log_tap(i) + log_tap(j)"
                ))
                .say("add(&s, tap, 0u, exp2(e))");
            });
        })
        .say("return s");
    code
}
