//! The exchanges of Zubatov and Shcherbakov that Limpid has for comparison: texels one by one (section 3), and rows with the
//! same order of texels in all fragments (sections 3.1 and 3.2). Windows are unrolled.

use super::Filter;
use super::emit::{Emit, Index, number};
use limpid_plan::wgsl::Code;

impl Emit {
    /// The positions that an invocation reads along an axis: `T`.
    fn own(&self) -> impl Iterator<Item = i64> + Clone + use<> {
        (-self.radius..=self.radius).step_by(2)
    }

    /// A value for an even and for an odd place along an axis; `by` is `tx` or `ty`.
    fn placed(&self, i: i64, by: &str, value: impl Fn(i64) -> f64) -> String {
        let inside = |k: i64| match k.abs() <= self.radius {
            true => value(k),
            false => 0.0,
        };
        let [even, odd] = [i - 1, i + 1].map(|k| number(inside(k)));
        format!("select({odd}, {even}, {by} > 0)")
    }

    fn factor(&self, i: i64) -> f64 {
        self.filter.side(i).unwrap_or(1.0)
    }

    /// Section 3.1: a row is completed by the x-neighbour, the sum of all rows by the y-neighbour. The texel at `i` is at
    /// `i - tx` for the neighbour; the one that is outside its window has no weight there.
    pub(super) fn uniform_rows(&self, code: &mut Code) {
        self.zero(code, &["a", "give"]);
        for j in self.own() {
            code.block("", |code| {
                self.zero(code, &["row", "side_row"]);
                for i in self.own() {
                    let (own, other) = (
                        number(self.factor(i)),
                        self.placed(i, "tx", |k| self.factor(k)),
                    );
                    code.block("", |code| {
                        code.say(format_args!("let t = texel(x + {i}, y + {j})"))
                            .say(format_args!("row += {own} * t"))
                            .say(format_args!("side_row += {other} * t"));
                    });
                }
                let (own, other) = (
                    number(self.factor(j)),
                    self.placed(j, "ty", |k| self.factor(k)),
                );
                code.say("row += swap_x(side_row)")
                    .say(format_args!("a += {own} * row"))
                    .say(format_args!("give += {other} * row"));
            });
        }
        code.say("a += swap_y(give)");
    }

    /// Section 3.2: the plain sums `u` of rows correct the factors for the y-neighbour.
    pub(super) fn uniform_rows2(&self, code: &mut Code, slope: f32) {
        let slope = f64::from(slope);
        let weight = |i: i64, j: i64| match self.filter {
            Filter::Tent2 { peak, .. } => f64::from(peak) - slope * (i.abs() + j.abs()) as f64,
            _ => 1.0,
        };
        self.zero(code, &["a", "give"]);
        for j in self.own() {
            code.block("", |code| {
                self.zero(code, &["row", "side_row", "u", "side_u"]);
                for i in self.own() {
                    let own = number(weight(i, j));
                    let other = self.placed(i, "tx", |k| weight(k, j));
                    let inside = self.placed(i, "tx", |_| 1.0);
                    code.block("", |code| {
                        code.say(format_args!("let t = texel(x + {i}, y + {j})"))
                            .say(format_args!("row += {own} * t"))
                            .say("u += t")
                            .say(format_args!("side_row += {other} * t"))
                            .say(format_args!("side_u += {inside} * t"));
                    });
                }
                let inside = self.placed(j, "ty", |_| 1.0);
                let change = self.placed(j, "ty", |k| slope * (j.abs() - k.abs()) as f64);
                code.say("row += swap_x(side_row)")
                    .say("u += swap_x(side_u)")
                    .say("a += row")
                    .say(format_args!("give += {inside} * row + {change} * u"));
            });
        }
        code.say("a += swap_y(give)");
    }

    /// Section 3: rows get the texels between their own from the x-neighbour, then whole rows are exchanged along y, and all
    /// texels are summed as without a quad. Positions are mirrored in the quad; windows are symmetric.
    pub(super) fn texels(&self, code: &mut Code) {
        let r = self.radius;
        let name = |i: i64, j: i64| format!("t_{}_{}", i + r, j + r);
        for j in self.own() {
            for i in self.own() {
                let own = name(i, j);
                code.say(format_args!(
                    "let {own} = texel(x + {i} * tx, y + {j} * ty)"
                ));
            }
            for i in self.own().skip(1) {
                // The neighbour's texel at i is at 1 - i here.
                let (own, other) = (name(i, j), name(1 - i, j));
                code.say(format_args!("let {other} = swap_x({own})"));
            }
        }
        for j in self.own().skip(1) {
            for i in -r..=r {
                let (own, other) = (name(i, j), name(i, 1 - j));
                code.say(format_args!("let {other} = swap_y({own})"));
            }
        }
        self.zero(code, &["a"]);
        if matches!(self.filter, Filter::Bilateral { .. }) {
            code.say(format_args!("let c = {}", name(0, 0)));
        }
        for j in -r..=r {
            for i in -r..=r {
                code.block("", |code| {
                    code.say(format_args!("let t = {}", name(i, j)));
                    self.add(code, "a", [&Index::fixed(i), &Index::fixed(j)], "c");
                });
            }
        }
    }
}
