//! Generates the WGSL of the sums that a quad shares (Zubatov and Shcherbakov, section 3). The paper's own ways, which are
//! slower or equal, are in `quad_paper.rs`.
//!
//! `tx` and `ty` are 1 in the even and -1 in the odd column and row of a quad. An invocation reads the texels `(x + i·tx, y +
//! j·ty)` for `i, j ∈ T = {-r, -r+2, …, r}`. Along `tx`, its neighbour is at 1: the texel at `i` is at `i - 1` for it (windows
//! are symmetric), and the texel at `-r` is outside its window. So weights do not depend on the position in the quad, and
//! neighbours use the texels of `Q = T \ {-r}`.
//!
//! `swap_x` and `swap_y` return the neighbour's value.

use super::emit::{Emit, Index};
use super::{Exchange, Filter};
use limpid_plan::wgsl::Code;

/// Reads of the centre texels: the invocation's own `c`, and those of the three neighbours `cx`, `cy`, `cd`.
///
/// With an even radius the own centre is read here; with an odd one, the diagonal neighbour's centre at `(1, 1)`.
fn centres(code: &mut Code, radius: i64) {
    if radius % 2 == 0 {
        code.say("let c = texel(x, y)")
            .say("let cx = swap_x(c)")
            .say("let cd = swap_y(cx)")
            .say("let cy = swap_x(cd)");
    } else {
        code.say("let cd = texel(x + tx, y + ty)")
            .say("let cx = swap_y(cd)")
            .say("let cy = swap_x(cd)")
            .say("let c = swap_x(cx)");
    }
}

impl Emit {
    /// The sums of the window from `(r+1)²` reads.
    pub(super) fn quad(&self, exchange: Exchange) -> Code {
        let mut code = Code::default();
        code.say("quad_place(x, y)");
        match (exchange, self.filter) {
            (Exchange::Rows, Filter::Gaussian { .. } | Filter::Tent { .. }) => {
                self.quad_rows(&mut code);
            }
            (Exchange::Rows, Filter::Tent2 { slope, .. }) => self.quad_rows2(&mut code, slope),
            (Exchange::Uniform, Filter::Gaussian { .. } | Filter::Tent { .. }) => {
                self.uniform_rows(&mut code);
            }
            (Exchange::Uniform, Filter::Tent2 { slope, .. }) => {
                self.uniform_rows2(&mut code, slope);
            }
            (Exchange::Texels, _) => self.texels(&mut code),
            (_, Filter::Gaussian { .. } | Filter::Tent { .. }) => self.quad_rank_one(&mut code),
            _ => self.quad_sums(&mut code),
        }
        self.give(&mut code);
        code
    }

    fn read(&self, i: &Index, j: &Index) -> String {
        // The centre texels have already been read.
        if matches!(self.filter, Filter::Bilateral { .. }) {
            match (self.radius % 2 == 0, i.value, j.value) {
                (true, Some(0), Some(0)) => return "c".into(),
                (false, Some(1), Some(1)) => return "cd".into(),
                _ => {}
            }
        }
        format!("texel(x + {} * tx, y + {} * ty)", i.text, j.text)
    }

    /// Rank one, as in the paper but for the order of texels: rows are completed with the x-neighbour one by one, then the
    /// y-neighbour gets their sum with its own factors.
    fn quad_rows(&self, code: &mut Code) {
        self.zero(code, &["a", "give"]);
        self.each(code, "j", 2, |code, j| {
            code.block("", |code| {
                self.row_taps(code, j);
                code.say("row += swap_x(side_row)")
                    .say(format_args!("a += {} * row", self.side(j)));
                j.after_first(self.radius, code, |code| {
                    code.say(format_args!("give += {} * row", self.side(&j.before())));
                });
            });
        });
        code.say("a += swap_y(give)");
    }

    /// The texels of a row, for the invocation itself and for the x-neighbour: sums `row` and `side_row`.
    fn row_taps(&self, code: &mut Code, j: &Index) {
        code.say("var row = vec4<f32>(0.0)")
            .say("var side_row = vec4<f32>(0.0)");
        self.each(code, "i", 2, |code, i| {
            code.block("", |code| {
                code.say(format_args!("let t = {}", self.read(i, j)))
                    .say(format_args!("row += {} * t", self.side(i)));
                i.after_first(self.radius, code, |code| {
                    code.say(format_args!("side_row += {} * t", self.side(&i.before())));
                });
            });
        });
    }

    /// Rank two, as in the paper but for the order of texels: plain sums `u` of the rows are also exchanged, and correct the
    /// factors for the y-neighbour.
    fn quad_rows2(&self, code: &mut Code, slope: f32) {
        let r = self.radius;
        self.zero(code, &["a", "give"]);
        self.each(code, "j", 2, |code, j| {
            let change = match j.value {
                Some(v) => super::emit::number(f64::from(slope) * (v.abs() - (v - 1).abs()) as f64),
                None => format!("({slope:?} * f32(abs({0}) - abs({0} - 1)))", j.text),
            };
            code.block("", |code| {
                self.zero(code, &["row", "side_row", "u", "side_u"]);
                self.each(code, "i", 2, |code, i| {
                    code.block("", |code| {
                        code.say(format_args!("let t = {}", self.read(i, j)));
                        self.add(code, "row", [i, j], "");
                        code.say("u += t");
                        i.after_first(r, code, |code| {
                            self.add(code, "side_row", [&i.before(), j], "");
                            code.say("side_u += t");
                        });
                    });
                });
                code.say("row += swap_x(side_row)")
                    .say("u += swap_x(side_u)")
                    .say("a += row");
                j.after_first(r, code, |code| {
                    code.say(format_args!("give += row + {change} * u"));
                });
            });
        });
        code.say("a += swap_y(give)");
    }

    /// Rank one: rows are summed for the invocation itself and for the x-neighbour, and both for the two rows of the quad;
    /// three exchanges at the end.
    fn quad_rank_one(&self, code: &mut Code) {
        self.zero(code, &["a", "ax", "ay", "ad"]);
        self.each(code, "j", 2, |code, j| {
            let (own, before) = (self.side(j), self.side(&j.before()));
            code.block("", |code| {
                self.row_taps(code, j);
                code.say(format_args!("a += {own} * row"))
                    .say(format_args!("ax += {own} * side_row"));
                j.after_first(self.radius, code, |code| {
                    code.say(format_args!("ay += {before} * row"))
                        .say(format_args!("ad += {before} * side_row"));
                });
            });
        });
        self.share(code);
    }

    /// Any filter: every texel is added to the sums of all four invocations it belongs to.
    fn quad_sums(&self, code: &mut Code) {
        let r = self.radius;
        self.zero(code, &["a", "ax", "ay", "ad"]);
        if matches!(self.filter, Filter::Bilateral { .. }) {
            centres(code, r);
        }
        self.each(code, "j", 2, |code, j| {
            self.each(code, "i", 2, |code, i| {
                let (left, upper) = (i.before(), j.before());
                code.block("", |code| {
                    code.say(format_args!("let t = {}", self.read(i, j)));
                    self.add(code, "a", [i, j], "c");
                    i.after_first(r, code, |code| self.add(code, "ax", [&left, j], "cx"));
                    j.after_first(r, code, |code| {
                        self.add(code, "ay", [i, &upper], "cy");
                        i.after_first(r, code, |code| self.add(code, "ad", [&left, &upper], "cd"));
                    });
                });
            });
        });
        self.share(code);
    }

    /// The diagonal's sums are exchanged along x to its column, then along y with the y-neighbour's; x has its own exchange.
    fn share(&self, code: &mut Code) {
        let kinds: &[&str] = match self.filter {
            Filter::Variance => &["", "_sq"],
            _ => &[""],
        };
        for s in kinds {
            code.say(format_args!(
                "a{s} += swap_x(ax{s}) + swap_y(ay{s} + swap_x(ad{s}))"
            ));
        }
    }
}
