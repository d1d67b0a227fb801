//! Generates the WGSL of the sums.
//!
//! Small windows are unrolled, with weights as literals; large ones become loops over the same text.

use super::Filter;
use limpid_plan::wgsl::{Code, Wgsl};

/// Windows of up to this radius are unrolled.
pub(super) const UNROLLED: i64 = 4;

/// A position in the window: a literal in an unrolled window, a variable in a loop.
#[derive(Debug, Clone)]
pub(super) struct Index {
    pub(super) text: String,
    pub(super) value: Option<i64>,
}

impl Index {
    /// A number.
    pub(super) fn fixed(v: i64) -> Self {
        Self {
            text: v.to_string(),
            value: Some(v),
        }
    }

    /// The previous position.
    pub(super) fn before(&self) -> Self {
        Self {
            text: format!("({} - 1)", self.text),
            value: self.value.map(|v| v - 1),
        }
    }

    /// Emits `body` if the position is not the first one, `-r`.
    pub(super) fn after_first(&self, radius: i64, code: &mut Code, body: impl FnOnce(&mut Code)) {
        match self.value {
            Some(v) if v > -radius => body(code),
            Some(_) => {}
            None => {
                code.block(format_args!("if {} > {}", self.text, -radius), body);
            }
        }
    }
}

/// A number as WGSL literal.
pub(super) fn number(v: f64) -> String {
    format!("{:?}", v as f32)
}

/// Generates shaders for a filter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Emit {
    pub(super) filter: Filter,
    pub(super) radius: i64,
}

impl Emit {
    pub(super) fn new(filter: Filter, radius: usize) -> Self {
        Self {
            filter,
            radius: radius as i64,
        }
    }

    /// Emits `body` for every `step`-th position from `-r` to `r`.
    pub(super) fn each(
        &self,
        code: &mut Code,
        name: &str,
        step: i64,
        body: impl Fn(&mut Code, &Index),
    ) {
        let r = self.radius;
        if r <= UNROLLED {
            for v in (-r..=r).step_by(step as usize) {
                body(code, &Index::fixed(v));
            }
            return;
        }
        let index = Index {
            text: name.to_owned(),
            value: None,
        };
        let head = format!("for (var {name} = {}; {name} <= {r}; {name} += {step})", -r);
        code.block(head, |code| body(code, &index));
    }

    /// Declarations that the sums use.
    pub(super) fn declared(&self) -> Wgsl {
        let source = Wgsl::default()
            .constant("R", "i32", self.radius)
            .body(match self.filter {
                Filter::Variance => include_str!("sums_variance.wgsl"),
                _ => include_str!("sums_mean.wgsl"),
            });
        let side = "side(i: i32) -> f32";
        match self.filter {
            Filter::Gaussian { sigma } => {
                let over = number(-0.5 / f64::from(sigma).powi(2));
                source.function(side, format_args!("fast_exp(f32(i * i) * {over})"))
            }
            Filter::Tent { peak, slope } => source.function(
                side,
                format_args!("max({peak:?} - {slope:?} * abs(f32(i)), 0.0)"),
            ),
            Filter::Tent2 { peak, slope } => source.function(
                "both(i: i32, j: i32) -> f32",
                format_args!("{peak:?} - {slope:?} * f32(abs(i) + abs(j))"),
            ),
            Filter::Variance => source,
            Filter::Bilateral { space, range } => {
                let over =
                    |sigma: f32| number(-0.5 * std::f64::consts::LOG2_E / f64::from(sigma).powi(2));
                source
                    .constant("RANGE", "f32", over(range))
                    .constant("SPACE", "f32", over(space))
                    .body(include_str!("near.wgsl"))
            }
        }
    }

    /// The factor of one axis, for filters of rank one.
    pub(super) fn side(&self, i: &Index) -> String {
        match i.value.and_then(|v| self.filter.side(v)) {
            Some(weight) => number(weight),
            None => format!("side({})", i.text),
        }
    }

    /// Accumulates texel `t` at `(i, j)` in the sums called `name`; `centre` is the texel that the sums are for.
    pub(super) fn add(&self, code: &mut Code, name: &str, [i, j]: [&Index; 2], centre: &str) {
        let weight = match self.filter {
            Filter::Gaussian { .. } | Filter::Tent { .. } => {
                format!("{} * {}", self.side(i), self.side(j))
            }
            Filter::Tent2 { peak, slope } => match (i.value, j.value) {
                (Some(i), Some(j)) => {
                    number(f64::from(peak) - f64::from(slope) * (i.abs() + j.abs()) as f64)
                }
                _ => format!("both({}, {})", i.text, j.text),
            },
            Filter::Variance => {
                code.say(format_args!("{name} += t"));
                code.say(format_args!("{name}_sq += t * t"));
                return;
            }
            Filter::Bilateral { .. } => format!("near(t, {centre}, {}, {})", i.text, j.text),
        };
        code.say(format_args!("{name} += {weight} * t"));
    }

    /// Declares sums of zero.
    pub(super) fn zero(&self, code: &mut Code, names: &[&str]) {
        for name in names {
            code.say(format_args!("var {name} = vec4<f32>(0.0)"));
            if self.filter == Filter::Variance {
                code.say(format_args!("var {name}_sq = vec4<f32>(0.0)"));
            }
        }
    }

    /// Returns the sums in `a`.
    pub(super) fn give(&self, code: &mut Code) {
        code.say(match self.filter {
            Filter::Variance => "return Sums(a, a_sq)",
            _ => "return Sums(a)",
        });
    }

    /// All `(2r+1)²` taps. `texel` is the function that reads them.
    pub(super) fn all(&self, texel: &str) -> Code {
        let mut code = Code::default();
        self.zero(&mut code, &["a"]);
        let rank_one = self.filter.side(0).is_some();
        let bilateral = matches!(self.filter, Filter::Bilateral { .. });
        if bilateral {
            code.say(format_args!("let c = {texel}(x, y)"));
        }
        self.each(&mut code, "j", 1, |code, j| {
            if rank_one {
                code.block("", |code| {
                    code.say("var row = vec4<f32>(0.0)");
                    self.each(code, "i", 1, |code, i| {
                        let (side, i, j) = (self.side(i), &i.text, &j.text);
                        code.say(format_args!("row += {side} * {texel}(x + {i}, y + {j})"));
                    });
                    code.say(format_args!("a += {} * row", self.side(j)));
                });
                return;
            }
            self.each(code, "i", 1, |code, i| {
                let own = bilateral && i.value == Some(0) && j.value == Some(0);
                let read = match own {
                    true => "c".to_owned(),
                    false => format!("{texel}(x + {}, y + {})", i.text, j.text),
                };
                code.block("", |code| {
                    code.say(format_args!("let t = {read}"));
                    self.add(code, "a", [i, j], "c");
                });
            });
        });
        self.give(&mut code);
        code
    }

    /// The sums of `rows` vertically adjacent pixels, for the bilateral filter, which are stored directly: a texel is read once
    /// for all of them.
    pub(super) fn column(&self, texel: &str, rows: i64) -> Code {
        let r = self.radius;
        let mut code = Code::default();
        for k in 0..rows {
            code.say(format_args!("let c{k} = {texel}(x, y + {k})"));
            code.say(format_args!("var a{k} = c{k}"));
        }
        for row in -r..rows + r {
            for i in -r..=r {
                let own = i == 0 && (0..rows).contains(&row);
                let read = match own {
                    true => format!("c{row}"),
                    false => format!("{texel}(x + {i}, y + {row})"),
                };
                code.block("", |code| {
                    code.say(format_args!("let t = {read}"));
                    let used = |k: &i64| (row - k).abs() <= r && (i, row) != (0, *k);
                    for k in (0..rows).filter(used) {
                        let (i, j) = (Index::fixed(i), Index::fixed(row - k));
                        self.add(code, &format!("a{k}"), [&i, &j], &format!("c{k}"));
                    }
                });
            }
        }
        for k in 0..rows {
            code.say(format_args!("put(x, y + {k}, Sums(a{k}))"));
        }
        code
    }
}
