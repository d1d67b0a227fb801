//! Operations on single pixels, each said twice: in Rust and in WGSL.

use super::per_pixel;
use crate::Result;
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site};
use std::fmt::Write;

/// What is made of the values `a`, `b`, `c` of a pixel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Op {
    /// `a / b`.
    Divide,
    /// `max((a + b) / 2, 0) · c`.
    Finish,
    /// `(a - b)² / 2`.
    HalfSquare,
    /// `(a - b)² / 4`.
    QuarterSquare,
    /// `(a - b)² / (1 + c)`.
    Off,
    /// `a` where `x + y` is of this parity, else `b`.
    Pick(u32),
    /// `a` where `x + y` is of this parity, else `a · b`.
    Share(u32),
    /// `(a + b) / 2`.
    Middle,
    /// `a² +` a number.
    Square(f32),
    /// `a - b`.
    Minus,
    /// `max(a, b)`.
    Larger,
    /// `a · b / c`, or `a` where `c` is not above 0: what limiting `c` to `b` makes of `a`.
    Follow,
    /// `a / c² ` for a variance `a` of `c`'s logarithm, 0 where `c` is not above 0.
    Logarithm,
}

impl Op {
    /// Number of values.
    fn reads(self) -> usize {
        match self {
            Self::Square(_) => 1,
            Self::Finish | Self::Off | Self::Follow => 3,
            _ => 2,
        }
    }

    #[inline(always)]
    fn value(self, [a, b, c]: [f32; 3], parity: u32) -> f32 {
        match self {
            Self::Divide => a / b,
            Self::Finish => (0.5 * (a + b)).max(0.0) * c,
            Self::HalfSquare => 0.5 * (a - b) * (a - b),
            Self::QuarterSquare => 0.25 * (a - b) * (a - b),
            Self::Off => (a - b) * (a - b) / (1.0 + c),
            Self::Pick(p) => {
                if p == parity {
                    a
                } else {
                    b
                }
            }
            Self::Share(p) => {
                if p == parity {
                    a
                } else {
                    a * b
                }
            }
            Self::Middle => 0.5 * (a + b),
            Self::Square(dark) => a * a + dark,
            Self::Minus => a - b,
            Self::Larger => a.max(b),
            Self::Follow => {
                if c > 0.0 {
                    a * (b / c)
                } else {
                    a
                }
            }
            Self::Logarithm => {
                if b > 0.0 {
                    a / (b * b)
                } else {
                    0.0
                }
            }
        }
    }

    /// The same in WGSL; `parity` is that of the pixel.
    fn wgsl(self) -> (&'static str, [f32; 4]) {
        let mut numbers = [0.0; 4];
        let text = match self {
            Self::Divide => "a / b",
            Self::Finish => "max(0.5 * (a + b), 0.0) * c",
            Self::HalfSquare => "0.5 * (a - b) * (a - b)",
            Self::QuarterSquare => "0.25 * (a - b) * (a - b)",
            Self::Off => "(a - b) * (a - b) / (1.0 + c)",
            Self::Pick(p) => {
                numbers[0] = p as f32;
                "select(b, a, parity == p.a)"
            }
            Self::Share(p) => {
                numbers[0] = p as f32;
                "select(a * b, a, parity == p.a)"
            }
            Self::Middle => "0.5 * (a + b)",
            Self::Square(dark) => {
                numbers[0] = dark;
                "a * a + p.a"
            }
            Self::Minus => "a - b",
            Self::Larger => "max(a, b)",
            Self::Follow => "select(a, a * (b / c), c > 0.0)",
            Self::Logarithm => "select(0.0, a / (b * b), b > 0.0)",
        };
        (text, numbers)
    }
}

/// An operation on all planes of the slot it writes. A slot that is read with fewer planes has its last plane taken for the
/// rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point(pub Op);

impl Kernel for Point {
    fn name(&self) -> &'static str {
        match self.0 {
            Op::Divide => "divide",
            Op::Finish => "finish",
            Op::HalfSquare | Op::QuarterSquare => "half-variance",
            Op::Off => "off",
            Op::Pick(_) => "pick",
            Op::Share(_) => "share",
            Op::Middle => "middle",
            Op::Square(_) => "square",
            Op::Minus => "minus",
            Op::Larger => "larger",
            Op::Follow => "follow",
            Op::Logarithm => "logarithm",
        }
    }

    fn contract(&self) -> Contract {
        Contract::rows(self.0.reads(), 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let op = self.0;
        for plane in 0..job.writes[0].planes() {
            for y in job.rows.clone() {
                let row = |k: usize| {
                    let read = &job.reads[k.min(op.reads() - 1)];
                    read.row(plane.min(read.planes() - 1), y)
                };
                let (a, b, c) = (row(0), row(1), row(2));
                let out = job.writes[0].row(plane, y);
                for x in 0..out.len() {
                    out[x] = op.value([a[x], b[x], c[x]], ((x + y) % 2) as u32);
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (text, numbers) = self.0.wgsl();
        let mut body =
            "    let parity = f32((x + y) % 2u);\n    for (var k = 0u; k < p.planes; k++) {\n"
                .to_owned();
        for (name, (k, slot)) in ["a", "b", "c"].iter().zip(site.reads.iter().enumerate()) {
            // Writing to a string cannot fail.
            let last = slot.planes - 1;
            let _ = writeln!(
                body,
                "        let {name} = read{k}[min(k, {last}u) * p.pixels + i];"
            );
        }
        let _ = write!(body, "        write0[k * p.pixels + i] = {text};\n    }}\n");
        Ok(per_pixel(site, numbers, "", &body))
    }
}
