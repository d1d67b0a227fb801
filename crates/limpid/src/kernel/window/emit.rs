//! WGSL of the sums.
//!
//! Small windows are written out, with weights as numbers; large ones become loops over the same text.

use super::Filter;

/// Windows of up to this radius are written out.
pub(super) const UNROLLED: i64 = 4;

/// A place in the window: a number where the window is written out, a variable in a loop.
#[derive(Debug, Clone)]
pub(super) struct Index {
    pub(super) text: String,
    pub(super) value: Option<i64>,
}

impl Index {
    /// The place one nearer to the start.
    pub(super) fn before(&self) -> Self {
        Self {
            text: format!("({} - 1)", self.text),
            value: self.value.map(|v| v - 1),
        }
    }

    /// `body`, if the place is not the first one, `-r`.
    pub(super) fn after_first(&self, radius: i64, body: String) -> String {
        match self.value {
            Some(v) if v > -radius => body,
            Some(_) => String::new(),
            None => format!("if {} > {} {{ {body} }}\n", self.text, -radius),
        }
    }
}

/// A number as WGSL.
pub(super) fn number(v: f64) -> String {
    format!("{:?}", v as f32)
}

/// Writes shaders for a filter.
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

    /// `body` for every `step`-th place from `-r` to `r`.
    pub(super) fn each(&self, name: &str, step: i64, body: impl Fn(&Index) -> String) -> String {
        let r = self.radius;
        if r <= UNROLLED {
            let place = |v: i64| Index {
                text: v.to_string(),
                value: Some(v),
            };
            return (-r..=r)
                .step_by(step as usize)
                .map(|v| body(&place(v)))
                .collect();
        }
        let index = Index {
            text: name.to_owned(),
            value: None,
        };
        format!(
            "for (var {name} = {}; {name} <= {r}; {name} += {step}) {{\n{}}}\n",
            -r,
            body(&index)
        )
    }

    /// Declarations that the sums use.
    pub(super) fn functions(&self) -> String {
        match self.filter {
            Filter::Gaussian { sigma } => format!(
                "fn side(i: i32) -> f32 {{ return fast_exp(f32(i * i) * {}); }}\n",
                number(-0.5 / f64::from(sigma).powi(2))
            ),
            Filter::Tent { peak, slope } => format!(
                "fn side(i: i32) -> f32 {{ return max({peak:?} - {slope:?} * abs(f32(i)), 0.0); }}\n"
            ),
            Filter::Tent2 { peak, slope } => format!(
                "fn both(i: i32, j: i32) -> f32 {{ return {peak:?} - {slope:?} * f32(abs(i) + abs(j)); }}\n"
            ),
            Filter::Variance => String::new(),
            // In powers of two, which hardware has; far too small ones are zero by themselves.
            Filter::Bilateral { space, range } => format!(
                "fn near(t: vec4<f32>, c: vec4<f32>, i: i32, j: i32) -> f32 {{\n    \
                 let d = t.rgb - c.rgb;\n    \
                 return exp2(dot(d, d) * {} + f32(i * i + j * j) * {});\n}}\n",
                number(-0.5 * std::f64::consts::LOG2_E / f64::from(range).powi(2)),
                number(-0.5 * std::f64::consts::LOG2_E / f64::from(space).powi(2))
            ),
        }
    }

    /// The factor of one axis, for filters of rank one.
    pub(super) fn side(&self, i: &Index) -> String {
        match i.value.and_then(|v| self.filter.side(v)) {
            Some(weight) => number(weight),
            None => format!("side({})", i.text),
        }
    }

    /// Adds texel `t` at `(i, j)` to the sums called `name`; `centre` is the texel that the sums are for.
    pub(super) fn add(&self, name: &str, i: &Index, j: &Index, centre: &str) -> String {
        match self.filter {
            Filter::Gaussian { .. } | Filter::Tent { .. } => {
                format!("{name} += {} * {} * t;\n", self.side(i), self.side(j))
            }
            Filter::Tent2 { peak, slope } => {
                let weight = match (i.value, j.value) {
                    (Some(i), Some(j)) => {
                        number(f64::from(peak) - f64::from(slope) * (i.abs() + j.abs()) as f64)
                    }
                    _ => format!("both({}, {})", i.text, j.text),
                };
                format!("{name} += {weight} * t;\n")
            }
            Filter::Variance => format!("{name} += t; {name}_sq += t * t;\n"),
            Filter::Bilateral { .. } => {
                format!("{name} += near(t, {centre}, {}, {}) * t;\n", i.text, j.text)
            }
        }
    }

    /// Declares sums of zero.
    pub(super) fn zero(&self, names: &[&str]) -> String {
        names
            .iter()
            .map(|n| match self.filter {
                Filter::Variance => {
                    format!("var {n} = vec4<f32>(0.0); var {n}_sq = vec4<f32>(0.0);\n")
                }
                _ => format!("var {n} = vec4<f32>(0.0);\n"),
            })
            .collect()
    }

    /// All `(2r+1)²` taps: leaves the sums in `a`. `texel` is the function that reads.
    pub(super) fn all(&self, texel: &str) -> String {
        let mut text = self.zero(&["a"]);
        let rank_one = self.filter.side(0).is_some();
        let bilateral = matches!(self.filter, Filter::Bilateral { .. });
        if bilateral {
            text += &format!("let c = {texel}(x, y);\n");
        }
        text += &self.each("j", 1, |j| {
            if rank_one {
                let row = self.each("i", 1, |i| {
                    format!(
                        "row += {} * {texel}(x + {}, y + {});\n",
                        self.side(i),
                        i.text,
                        j.text
                    )
                });
                let weight = self.side(j);
                return format!("{{ var row = vec4<f32>(0.0);\n{row}a += {weight} * row; }}\n");
            }
            self.each("i", 1, |i| {
                let own = bilateral && i.value == Some(0) && j.value == Some(0);
                let read = if own {
                    "c".to_owned()
                } else {
                    format!("{texel}(x + {}, y + {})", i.text, j.text)
                };
                format!("{{ let t = {read}; {} }}\n", self.add("a", i, j, "c"))
            })
        });
        text
    }

    /// The sums of `rows` pixels one below the other, for the bilateral filter: a texel is read once for all of them. Leaves
    /// them in `a0`, `a1`, …
    pub(super) fn column(&self, texel: &str, rows: i64) -> String {
        let r = self.radius;
        let place = |v: i64| Index {
            text: v.to_string(),
            value: Some(v),
        };
        let mut text: String = (0..rows)
            .map(|k| format!("let c{k} = {texel}(x, y + {k});\nvar a{k} = c{k};\n"))
            .collect();
        for row in -r..rows + r {
            for i in -r..=r {
                let own = i == 0 && (0..rows).contains(&row);
                let read = if own {
                    format!("c{row}")
                } else {
                    format!("{texel}(x + {i}, y + {row})")
                };
                let sums: String = (0..rows)
                    .filter(|k| (row - k).abs() <= r && (i, row) != (0, *k))
                    .map(|k| {
                        let (a, c) = (format!("a{k}"), format!("c{k}"));
                        self.add(&a, &place(i), &place(row - k), &c)
                    })
                    .collect();
                text += &format!("{{ let t = {read};\n{sums}}}\n");
            }
        }
        text
    }

    /// From the sums in `a` to the results `first` and, if there are two, `second`.
    pub(super) fn finish(&self) -> &'static str {
        match self.filter {
            Filter::Variance => {
                "let first = a.rgb / a.a;\n\
                 let spread = max(a_sq.rgb / a.a - first * first, vec3<f32>(0.0));\n\
                 let second = select(sqrt(spread), vec3<f32>(0.0), a.a < 1.5);\n"
            }
            _ => "let first = a.rgb / a.a;\n",
        }
    }
}
