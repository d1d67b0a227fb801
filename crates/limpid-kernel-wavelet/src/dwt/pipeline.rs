//! A level in two passes, one for rows and one for columns, as Kula 2021 has it in chapter 6: the separable pipeline.
//!
//! A thread computes several pairs of coefficients by itself: it reads the samples that all steps need, computes steps beyond
//! its pairs again, and exchanges nothing. Rows are cut into segments. Columns are cut into strips of 32; a workgroup moves a
//! window down its strip and keeps the rows that the next window needs.
//!
//! This exists to be compared with schemes that do both axes at once, which read and write memory half as often.

use super::emit::mirror;
use super::plane::halves;
use super::{Level, Params};
use crate::own::own;
use limpid_core::{Error, Result};
use limpid_plan::wgsl::{Code, Wgsl, vec4};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, WgslStruct};
use limpid_wavelet::{Direction, Lifting, Taps};
use std::ops::Range;

/// Threads of a workgroup that transforms a segment of a row.
const ROW_THREADS: i32 = 64;
/// Columns of a strip.
const STRIP: i32 = 32;
/// Threads of a workgroup along a column.
const COLUMN_THREADS: i32 = 8;
/// Workgroups that keep every device busy: shorter strips if there are fewer.
const ENOUGH: u32 = 1500;

/// The axis of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassAxis {
    /// Along rows: from or to the image.
    Rows,
    /// Along columns: to or from the coefficients.
    Columns,
}

/// One pass of a level. The forward transform reads the image, writes its transformed rows to a slot of the same size (low
/// coefficients on the left), then transforms the columns of that slot; the inverse goes back the same way.
#[derive(Debug, Clone)]
pub struct AxisPass {
    /// The level with its size.
    pub level: Level,
    /// The axis.
    pub axis: PassAxis,
    /// Pairs of coefficients per thread.
    pub pairs: u16,
}

/// A step of the lifting: which samples it changes (0 even, 1 odd), and the taps on the others.
pub(super) struct Step<'a> {
    pub changes: usize,
    pub taps: &'a Taps,
    pub sign: f64,
}

/// The steps in the order of a direction.
pub(super) fn steps(lifting: &Lifting, inverse: bool) -> Vec<Step<'_>> {
    let sign = if inverse { -1.0 } else { 1.0 };
    let step = |changes, taps| Step {
        changes,
        taps,
        sign,
    };
    let pairs = lifting.pairs.iter();
    let mut all: Vec<Step<'_>> = pairs
        .flat_map(|p| [step(1, &p.predict), step(0, &p.update)])
        .filter(|s| !s.taps.is_empty())
        .collect();
    if inverse {
        all.reverse();
    }
    all
}

/// The even and odd samples that each step computes so that the last one yields `pairs`; the first entry is what is read.
fn ranges(steps: &[Step<'_>], pairs: i32) -> Vec<[Range<i32>; 2]> {
    let mut now = [0..pairs, 0..pairs];
    let mut all = vec![now.clone()];
    for step in steps.iter().rev() {
        let (own, other) = (now[step.changes].clone(), 1 - step.changes);
        for (k, v) in step.taps.iter() {
            if v != 0.0 {
                now[other].start = now[other].start.min(own.start + k);
                now[other].end = now[other].end.max(own.end + k);
            }
        }
        all.push(now.clone());
    }
    all.reverse();
    all
}

/// The name of a sample in a shader.
fn name(odd: usize, i: i32) -> String {
    let kind = if odd == 0 { "s" } else { "d" };
    match i < 0 {
        true => format!("{kind}_m{}", -i),
        false => format!("{kind}_{i}"),
    }
}

impl AxisPass {
    pub(super) fn inverse(&self) -> bool {
        self.level.direction == Direction::Inverse
    }

    /// Samples that a thread reads before and after its own.
    fn around(&self) -> (i32, i32) {
        let pairs = i32::from(self.pairs);
        let read = ranges(&steps(&self.level.lifting, self.inverse()), pairs).swap_remove(0);
        let first = (2 * read[0].start).min(2 * read[1].start + 1);
        let last = (2 * read[0].end - 2).max(2 * read[1].end - 1);
        (-first, last + 1 - 2 * pairs)
    }

    /// Reads samples, and computes all steps. `at` gives the value of a sample by its place after the thread's first.
    fn lift(&self, code: &mut Code, at: &dyn Fn(i32) -> String) {
        let steps = steps(&self.level.lifting, self.inverse());
        let ranges = ranges(&steps, i32::from(self.pairs));
        for odd in 0..2 {
            for i in ranges[0][odd].clone() {
                let value = at(2 * i + odd as i32);
                code.say(format_args!("var {} = {value}", name(odd, i)));
            }
        }
        for (step, range) in steps.iter().zip(&ranges[1..]) {
            for i in range[step.changes].clone() {
                let terms = step.taps.iter().filter(|(_, v)| *v != 0.0).map(|(k, v)| {
                    let weight = (step.sign * v) as f32;
                    format!("{weight:?} * {}", name(1 - step.changes, i + k))
                });
                let sum = terms.collect::<Vec<_>>().join(" + ");
                code.say(format_args!("{} += {sum}", name(step.changes, i)));
            }
        }
    }

    /// Samples of a segment, or rows of a window, that are stored.
    fn span(&self) -> i32 {
        let threads = match self.axis {
            PassAxis::Rows => ROW_THREADS,
            PassAxis::Columns => COLUMN_THREADS,
        };
        2 * i32::from(self.pairs) * threads
    }

    /// Cells of workgroup memory.
    fn cells(&self) -> i32 {
        let (before, after) = self.around();
        let samples = before + self.span() + after;
        match self.axis {
            // One cell of padding after every 32, so that threads with adjacent pairs use different banks.
            PassAxis::Rows => samples + samples / 32 + 1,
            PassAxis::Columns => samples * STRIP,
        }
    }

    /// What both axes begin with: loads and stores of single samples.
    fn begin(&self, pass: &PassSlots<'_>) -> Wgsl {
        let (before, after) = self.around();
        let small = {
            let size = self.level.size;
            let n = size.width.min(size.height) as i32;
            n < 2 * (before + self.span() + after)
        };
        let text = Wgsl::default()
            .body(Params::WGSL)
            .body(mirror(small))
            .constant("BEFORE", "i32", before)
            .constant("AFTER", "i32", after)
            .constant("SPAN", "i32", self.span())
            .variable("workgroup", "tile", format!("array<f32, {}>", self.cells()));
        let low = !self.level.deepest;
        let names: &[&str] = match (self.axis, self.inverse(), low) {
            (PassAxis::Rows, ..) => &["src", "dst"],
            (PassAxis::Columns, false, false) => &["src", "coefficients"],
            (PassAxis::Columns, false, true) => &["src", "coefficients", "low"],
            (PassAxis::Columns, true, false) => &["coefficients", "dst"],
            (PassAxis::Columns, true, true) => &["coefficients", "low", "dst"],
        };
        let text = text.slots(pass, names);
        match (self.axis, self.inverse()) {
            (PassAxis::Rows, false) => text.body(include_str!("pipeline_rows.wgsl")),
            (PassAxis::Rows, true) => text.body(include_str!("pipeline_rows_back.wgsl")),
            (PassAxis::Columns, back) => {
                let [a, b, c] = self.level.scales().map(|s| if back { 1.0 / s } else { s });
                let text = text.constant("SCALES", "vec4<f32>", vec4([a, b, b, c]));
                let at = "(plane * p.low_height + u32(y)) * p.low_width + u32(x)";
                let packed = "(plane * p.frame_height + u32(y)) * p.frame_width + u32(x)";
                let (slot, at) = if low {
                    ("low", at)
                } else {
                    ("coefficients", packed)
                };
                if back {
                    text.function(
                        "low_at(x: i32, y: i32, plane: u32) -> f32",
                        format_args!("{slot}[{at}]"),
                    )
                    .body(include_str!("pipeline_columns_back.wgsl"))
                } else {
                    text.procedure(
                        "put_low(x: i32, y: i32, plane: u32, v: f32)",
                        format_args!("{slot}[{at}] = v"),
                    )
                    .body(include_str!("pipeline_columns.wgsl"))
                }
            }
        }
    }

    fn rows(&self) -> Code {
        let mut code = Code::default();
        code.say("let y = i32(group.y)")
            .say("let plane = group.z")
            .say("let first = i32(group.x) * SPAN");
        let count = "BEFORE + SPAN + AFTER";
        code.block(
            format_args!("for (var i = i32(lane); i < {count}; i += {ROW_THREADS})"),
            |code| {
                code.say("tile[i + i / 32] = sample(first - BEFORE + i, y, plane)");
            },
        );
        code.say("workgroupBarrier()")
            .say(format_args!(
                "let base = i32(lane) * {} + BEFORE",
                2 * self.pairs
            ))
            .say("var at = 0");
        let (before, after) = self.around();
        for i in -before..2 * i32::from(self.pairs) + after {
            let label = if i < 0 {
                format!("v_m{}", -i)
            } else {
                format!("v_{i}")
            };
            code.say(format_args!("at = base + {i}"))
                .say(format_args!("let {label} = tile[at + at / 32]"));
        }
        self.lift(&mut code, &|i| match i < 0 {
            true => format!("v_m{}", -i),
            false => format!("v_{i}"),
        });
        // Results leave through workgroup memory, so that neighbouring threads store neighbouring samples.
        code.say("workgroupBarrier()");
        for k in 0..i32::from(self.pairs) {
            for odd in 0..2 {
                let at = 2 * k + odd as i32;
                code.say(format_args!("at = base - BEFORE + {at}"))
                    .say(format_args!("tile[at + at / 32] = {}", name(odd, k)));
            }
        }
        code.say("workgroupBarrier()");
        code.block(
            format_args!("for (var i = i32(lane); i < SPAN / 2; i += {ROW_THREADS})"),
            |code| {
                code.say("let even = 2 * i").say("let odd = even + 1").say(
                    "keep(first / 2 + i, y, plane, tile[even + even / 32], tile[odd + odd / 32])",
                );
            },
        );
        code
    }

    fn columns(&self) -> Code {
        let mut code = Code::default();
        let threads = STRIP * COLUMN_THREADS;
        code.say(format_args!("let column = i32(lane) % {STRIP}"))
            .say(format_args!("let row = i32(lane) / {STRIP}"))
            .say(format_args!("let x = i32(group.x) * {STRIP} + column"))
            .say("let plane = group.z")
            .say("var first = i32(group.y * p.rounds) * SPAN");
        let fill = |code: &mut Code, from: &str| {
            code.block(
                format_args!(
                    "for (var i = row + {from}; i < BEFORE + SPAN + AFTER; i += {COLUMN_THREADS})"
                ),
                |code| {
                    code.say(format_args!(
                        "tile[i * {STRIP} + column] = sample(x, first - BEFORE + i, plane)"
                    ));
                },
            );
        };
        fill(&mut code, "0");
        code.block(
            "for (var window = 0u; window < p.rounds; window++)",
            |code| {
                code.say("workgroupBarrier()").say(format_args!(
                    "let base = (row * {} + BEFORE) * {STRIP} + column",
                    2 * self.pairs
                ));
                code.block("", |code| {
                    self.lift(code, &|i| format!("tile[base + {}]", i * STRIP));
                    for k in 0..i32::from(self.pairs) {
                        let [even, odd] = [0, 1].map(|odd| name(odd, k));
                        code.say(format_args!(
                            "keep(x, first / 2 + row * {} + {k}, plane, {even}, {odd})",
                            self.pairs
                        ));
                    }
                });
                // The rows that the next window needs move up; they are not those that are overwritten.
                code.say("first += SPAN").say("workgroupBarrier()");
                code.block(
                    format_args!(
                        "for (var i = i32(lane); i < (BEFORE + AFTER) * {STRIP}; i += {threads})"
                    ),
                    |code| {
                        code.say(format_args!("tile[i] = tile[i + SPAN * {STRIP}]"));
                    },
                );
                code.say("workgroupBarrier()");
                fill(code, "BEFORE + AFTER");
            },
        );
        code
    }
}

impl Kernel for AxisPass {
    fn name(&self) -> &'static str {
        match (self.axis, self.inverse()) {
            (PassAxis::Rows, false) => "dwt-rows",
            (PassAxis::Columns, false) => "dwt-columns",
            (PassAxis::Columns, true) => "idwt-columns",
            (PassAxis::Rows, true) => "idwt-rows",
        }
    }

    fn contract(&self) -> Contract {
        let whole = self.level.contract();
        match (self.axis, self.inverse()) {
            (PassAxis::Rows, _) => Contract::whole(1, 1),
            (PassAxis::Columns, false) => Contract::whole(1, whole.writes),
            (PassAxis::Columns, true) => Contract::whole(whole.reads, 1),
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let level = &self.level;
        let planes = match self.inverse() {
            true => pass.reads[0].planes,
            false => pass.writes[0].planes,
        };
        let image = Need::planes(level.size, planes);
        match (self.axis, self.inverse()) {
            (PassAxis::Rows, _) => vec![image; 2],
            (PassAxis::Columns, false) => {
                let mut needs = vec![image];
                needs.extend(level.coefficients(pass.writes[0], planes));
                needs
            }
            (PassAxis::Columns, true) => {
                let mut needs = level.coefficients(pass.reads[0], planes);
                needs.push(image);
                needs
            }
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        self.lines(job);
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let bytes = 4 * self.cells();
        let (before, after) = self.around();
        if before + after > self.span() {
            return Err(Error::unsupported(format!(
                "this wavelet reaches too far for {} pairs per thread; use more",
                self.pairs
            )));
        }
        if bytes > pass.target.workgroup_bytes as i32 {
            return Err(Error::unsupported(format!(
                "{} pairs per thread take {bytes} bytes of workgroup memory; this device has {}",
                self.pairs, pass.target.workgroup_bytes
            )));
        }
        let (level, span) = (&self.level, self.span() as u32);
        let (packed, planes) = match self.inverse() {
            true => (pass.reads[0].size, pass.reads[0].planes),
            false => (pass.writes[0].size, pass.writes[0].planes),
        };
        let mut params = level.params(packed);
        let (low_width, low_height) = (halves(level.size.width).0, halves(level.size.height).0);
        let text = self.begin(pass);
        let (text, groups) = match self.axis {
            PassAxis::Rows => {
                let segments = (2 * low_width as u32).div_ceil(span);
                let text = text.entry(ROW_THREADS, self.rows());
                (text, [segments, params.height])
            }
            PassAxis::Columns => {
                let strips = params.width.div_ceil(STRIP as u32);
                let windows = (2 * low_height as u32).div_ceil(span);
                let parts = ENOUGH.div_ceil(strips * planes as u32).min(windows);
                params.rounds = windows.div_ceil(parts);
                let text = text.entry(STRIP * COLUMN_THREADS, self.columns());
                (text, [strips, windows.div_ceil(params.rounds)])
            }
        };
        let groups = [groups[0], groups[1], planes as u32];
        let dispatch = Dispatch::compute(text.text(), &params, groups);
        Ok(own(self, pass, dispatch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid_core::Size;
    use limpid_wavelet::{Form, Kind, Normalisation, SchemeName, Wavelet};

    /// Operations per pair, local memory and rows of a window are those of table 6.1.
    #[test]
    fn counts_are_those_of_the_thesis() {
        let wavelet = Wavelet::named("cdf97").unwrap();
        let lifting = wavelet.lifting().unwrap();
        let scheme = SchemeName::new(Kind::SeparableLifting, Form::Basic);
        for (pairs, operations, bytes) in [
            (1, 20.0, 2944),
            (2, 14.0, 4992),
            (4, 11.0, 9088),
            (8, 9.5, 17280),
        ] {
            let level = Level::new(lifting, Normalisation::Unit, Direction::Forward, scheme);
            let pass = AxisPass {
                level: level.sized(Size::new(64, 64), true),
                axis: PassAxis::Columns,
                pairs,
            };
            let steps = steps(lifting, false);
            let ranges = ranges(&steps, i32::from(pairs));
            let count: i32 = steps
                .iter()
                .zip(&ranges[1..])
                .map(|(step, range)| 2 * range[step.changes].len() as i32)
                .sum();
            assert_eq!(f64::from(count) / f64::from(pairs), operations);
            assert_eq!(4 * pass.cells(), bytes);
        }
    }
}
