//! The reversible 5/3 transform of JPEG 2000 along one axis: integers to integers.
//!
//! Values are stored as `f32`, which is exact below 2^24: samples of up to 16 bits, any number of levels.

use crate::own::own;
use limpid_core::{Result, Size};
use limpid_plan::params;
use limpid_plan::wgsl::Wgsl;
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, PassSlots, WgslStruct, tiles};
use limpid_wavelet::mirrored;
use rayon::prelude::*;

/// Transforms the lines of the top left part of an image: low coefficients first, high ones after them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reversible {
    /// Whether to transform columns instead of rows.
    pub down: bool,
    /// Whether to transform coefficients to samples.
    pub back: bool,
    /// Size of the part.
    pub size: Size,
    /// The largest sample: values of 0 … 1 are converted to integers before the forward transform, or back after the inverse.
    pub whole: Option<f32>,
}

params! {
    /// Sizes, and the largest sample.
    struct Params { width: u32, height: u32, src_width: u32, src_height: u32, dst_width: u32, dst_height: u32, whole: f32 }
}

impl Kernel for Reversible {
    fn name(&self) -> &'static str {
        "reversible"
    }

    fn contract(&self) -> Contract {
        Contract::whole(1, 1)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (src, dst) = (pass.reads[0], pass.writes[0]);
        let fits = |s: Size| self.size.width <= s.width && self.size.height <= s.height;
        let need = |s: Size| Need::planes(if fits(s) { s } else { self.size }, src.planes);
        vec![need(src.size), need(dst.size)]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let Size { width, height } = self.size;
        let (src_width, dst_width) = (job.reads[0].size().width, job.writes[0].size().width);
        for plane in 0..job.reads[0].planes() {
            let src = job.reads[0].plane(plane);
            let rows = job.writes[0].band(plane).par_chunks_mut(dst_width);
            rows.take(height).enumerate().for_each(|(y, row)| {
                for (x, v) in row[..width].iter_mut().enumerate() {
                    let line = Line {
                        src: &src[if self.down { x } else { y * src_width }..],
                        step: if self.down { src_width } else { 1 },
                        n: if self.down { height } else { width },
                        whole: self.whole.filter(|_| !self.back),
                    };
                    let i = if self.down { y } else { x };
                    let value = if self.back {
                        line.sample(i)
                    } else {
                        line.coefficient(i)
                    };
                    *v = match self.whole {
                        Some(whole) if self.back => value / whole,
                        _ => value,
                    };
                }
            });
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let (src, dst) = (pass.reads[0], pass.writes[0]);
        let params = Params {
            width: self.size.width as u32,
            height: self.size.height as u32,
            src_width: src.size.width as u32,
            src_height: src.size.height as u32,
            dst_width: dst.size.width as u32,
            dst_height: dst.size.height as u32,
            whole: self.whole.unwrap_or(1.0),
        };
        let text = Wgsl::default()
            .body(Params::WGSL)
            .constant("DOWN", "bool", self.down)
            .constant("BACK", "bool", self.back)
            .constant("WHOLE", "bool", self.whole.is_some())
            .slots(pass, &["src", "dst"])
            .body(include_str!("../dwt/mirror.wgsl"))
            .body(include_str!("reversible.wgsl"))
            .text();
        let mut groups = tiles(self.size, 32, 8);
        groups[2] = src.planes as u32;
        Ok(own(self, pass, Dispatch::compute(text, &params, groups)))
    }
}

/// A line of samples, or of low and high coefficients.
struct Line<'a> {
    src: &'a [f32],
    step: usize,
    n: usize,
    whole: Option<f32>,
}

impl Line<'_> {
    /// A sample, mirrored beyond the ends of the line.
    fn at(&self, i: i64) -> f32 {
        let v = self.src[mirrored(i, self.n) * self.step];
        self.whole.map_or(v, |whole| (v * whole + 0.5).floor())
    }

    /// The difference of odd sample `i` from the prediction by its neighbours.
    fn difference(&self, i: i64) -> f32 {
        let i = mirrored(i, self.n) as i64;
        self.at(i) - ((self.at(i - 1) + self.at(i + 1)) * 0.5).floor()
    }

    /// Low or high coefficient `i`.
    fn coefficient(&self, i: usize) -> f32 {
        let low = self.n.div_ceil(2);
        if self.n == 1 {
            self.at(0)
        } else if i < low {
            let i = 2 * i as i64;
            self.at(i) + ((self.difference(i - 1) + self.difference(i + 1) + 2.0) * 0.25).floor()
        } else {
            self.difference(2 * (i - low) as i64 + 1)
        }
    }

    /// The coefficient at position `i` of the mirrored line of samples.
    fn stored(&self, i: i64) -> f32 {
        let i = mirrored(i, self.n);
        let at = i / 2 + if i % 2 == 1 { self.n.div_ceil(2) } else { 0 };
        (self.src[at * self.step] + 0.5).floor()
    }

    fn even(&self, i: i64) -> f32 {
        let i = mirrored(i, self.n) as i64;
        self.stored(i) - ((self.stored(i - 1) + self.stored(i + 1) + 2.0) * 0.25).floor()
    }

    /// Sample `i` from coefficients.
    fn sample(&self, i: usize) -> f32 {
        let i = i as i64;
        if self.n == 1 {
            self.stored(0)
        } else if i % 2 == 0 {
            self.even(i)
        } else {
            self.stored(i) + ((self.even(i - 1) + self.even(i + 1)) * 0.5).floor()
        }
    }
}
