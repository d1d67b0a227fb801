//! WGSL of the sums that a quad shares (Zubatov and Shcherbakov, section 3).
//!
//! `tx` and `ty` are 1 in the even and -1 in the odd column and row of a quad. An invocation reads the texels
//! `(x + i·tx, y + j·ty)` for `i, j ∈ T = {-r, -r+2, …, r}`. Seen along `tx`, its neighbour stands at 1: the texel at `i` is
//! at `i - 1` for it (windows are symmetric), and the texel at `-r` is out of its window. So weights do not depend on
//! the place in the quad, and neighbours are served by the texels of `Q = T \ {-r}`.
//!
//! `swap_x` and `swap_y` give the neighbour's value.

use super::emit::{Emit, Index};
use super::{Exchange, Filter};

/// Reads of the centre texels: the own one `c`, and those of the three neighbours `cx`, `cy`, `cd`.
///
/// With an even radius the own centre is read here; with an odd one the diagonal neighbour's centre is, at `(1, 1)`.
fn centres(radius: i64) -> String {
    if radius % 2 == 0 {
        "let c = texel(x, y);\nlet cx = swap_x(c);\nlet cd = swap_y(cx);\nlet cy = swap_x(cd);\n"
            .into()
    } else {
        "let cd = texel(x + tx, y + ty);\nlet cx = swap_y(cd);\nlet cy = swap_x(cd);\nlet c = swap_x(cx);\n".into()
    }
}

impl Emit {
    /// The sums of the window from `(r+1)²` reads: leaves them in `a`.
    pub(super) fn quad(&self, exchange: Exchange) -> String {
        match (exchange, self.filter) {
            (Exchange::Rows, Filter::Gaussian { .. } | Filter::Tent { .. }) => self.quad_rows(),
            (Exchange::Rows, Filter::Tent2 { .. }) => self.quad_rows2(),
            (_, Filter::Gaussian { .. } | Filter::Tent { .. }) => self.quad_rank_one(),
            _ => self.quad_sums(),
        }
    }

    fn read(&self, i: &Index, j: &Index) -> String {
        // The centre texels were read before.
        if matches!(self.filter, Filter::Bilateral { .. }) {
            match (self.radius % 2 == 0, i.value, j.value) {
                (true, Some(0), Some(0)) => return "c".into(),
                (false, Some(1), Some(1)) => return "cd".into(),
                _ => {}
            }
        }
        format!("texel(x + {} * tx, y + {} * ty)", i.text, j.text)
    }

    /// Rank one, the paper's way: rows are completed with the x-neighbour one by one, then the y-neighbour gets their
    /// sum with its own factors.
    fn quad_rows(&self) -> String {
        let r = self.radius;
        let rows = self.each("j", 2, |j| {
            let row = self.each("i", 2, |i| self.row_taps(i, j));
            let give = j.after_first(r, format!("give += {} * row;\n", self.side(&j.before())));
            format!(
                "{{ var row = vec4<f32>(0.0); var side_row = vec4<f32>(0.0);\n{row}\
                 row += swap_x(side_row);\na += {} * row;\n{give}}}\n",
                self.side(j)
            )
        });
        format!(
            "{}var give = vec4<f32>(0.0);\n{rows}a += swap_y(give);\n",
            self.zero(&["a"])
        )
    }

    /// One texel of a row, for oneself and for the x-neighbour.
    fn row_taps(&self, i: &Index, j: &Index) -> String {
        let give = i.after_first(
            self.radius,
            format!("side_row += {} * t;\n", self.side(&i.before())),
        );
        format!(
            "{{ let t = {}; row += {} * t;\n{give}}}\n",
            self.read(i, j),
            self.side(i)
        )
    }

    /// Rank two, the paper's way: plain sums `u` of the rows travel too, and correct the factors for the y-neighbour.
    fn quad_rows2(&self) -> String {
        let r = self.radius;
        let Filter::Tent2 { slope, .. } = self.filter else {
            return String::new();
        };
        let rows = self.each("j", 2, |j| {
            let row = self.each("i", 2, |i| {
                let give = self.add("side_row", &i.before(), j, "");
                let give = i.after_first(r, format!("{give}side_u += t;\n"));
                let own = self.add("row", i, j, "");
                format!("{{ let t = {};\n{own}u += t;\n{give}}}\n", self.read(i, j))
            });
            let change = match j.value {
                Some(v) => super::emit::number(f64::from(slope) * (v.abs() - (v - 1).abs()) as f64),
                None => format!("({slope:?} * f32(abs({0}) - abs({0} - 1)))", j.text),
            };
            let give = j.after_first(r, format!("give += row + {change} * u;\n"));
            format!(
                "{{ var row = vec4<f32>(0.0); var side_row = vec4<f32>(0.0);\n\
                 var u = vec4<f32>(0.0); var side_u = vec4<f32>(0.0);\n{row}\
                 row += swap_x(side_row);\nu += swap_x(side_u);\na += row;\n{give}}}\n"
            )
        });
        format!(
            "{}var give = vec4<f32>(0.0);\n{rows}a += swap_y(give);\n",
            self.zero(&["a"])
        )
    }

    /// Rank one: rows are summed for oneself and for the x-neighbour, and both for the two rows of the quad; three
    /// exchanges at the end.
    fn quad_rank_one(&self) -> String {
        let r = self.radius;
        let rows = self.each("j", 2, |j| {
            let row = self.each("i", 2, |i| self.row_taps(i, j));
            let before = self.side(&j.before());
            let give = j.after_first(
                r,
                format!("ay += {before} * row; ad += {before} * side_row;\n"),
            );
            let own = self.side(j);
            format!(
                "{{ var row = vec4<f32>(0.0); var side_row = vec4<f32>(0.0);\n{row}\
                 a += {own} * row; ax += {own} * side_row;\n{give}}}\n"
            )
        });
        format!(
            "{}{rows}{}",
            self.zero(&["a", "ax", "ay", "ad"]),
            self.share()
        )
    }

    /// Any filter: every texel is added to the sums of all four invocations it belongs to.
    fn quad_sums(&self) -> String {
        let r = self.radius;
        let mut text = self.zero(&["a", "ax", "ay", "ad"]);
        if matches!(self.filter, Filter::Bilateral { .. }) {
            text += &centres(r);
        }
        text += &self.each("j", 2, |j| {
            self.each("i", 2, |i| {
                let read = self.read(i, j);
                let own = self.add("a", i, j, "c");
                let x = i.after_first(r, self.add("ax", &i.before(), j, "cx"));
                let y = j.after_first(r, self.add("ay", i, &j.before(), "cy"));
                let d = self.add("ad", &i.before(), &j.before(), "cd");
                let d = j.after_first(r, i.after_first(r, d));
                format!("{{ let t = {read};\n{own}{x}{y}{d}}}\n")
            })
        });
        text + &self.share()
    }

    /// The diagonal's sums go along x to its column, then along y with the y-neighbour's; x has its own exchange.
    fn share(&self) -> String {
        let share = |s: &str| format!("a{s} += swap_x(ax{s}) + swap_y(ay{s} + swap_x(ad{s}));\n");
        match self.filter {
            Filter::Variance => share("") + &share("_sq"),
            _ => share(""),
        }
    }
}
