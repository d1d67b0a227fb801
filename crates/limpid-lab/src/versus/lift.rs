//! One lifting step of a decimated wavelet transform, in place on the full grid, with weights that stop at edges.
//!
//! At level `i` the grid's pixels lie `step = 2^i` apart. A step makes the pixels of some parities from their neighbours of
//! the others: `out(p) = in(p) + factor · mean(in(q))`, or the mean alone; pixels outside the step stay. Without stops
//! all neighbours count equally. Colour is compared in a separate slot, because the pixels may already hold details.

use limpid::kernel::fast_exp::fast_exp;
use limpid::kernel::{Contract, Dispatch, Job, Kernel, Need, PassSlots, WgslStruct, tiles};
use limpid::{Result, params};
use std::fmt::Write;

/// Which neighbours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Neighbours {
    /// Left and right.
    X,
    /// Above and below.
    Y,
    /// All four.
    Cross,
    /// The four corners.
    Corners,
}

impl Neighbours {
    /// Offsets in steps.
    pub(super) fn offsets(self) -> &'static [[isize; 2]] {
        match self {
            Self::X => &[[-1, 0], [1, 0]],
            Self::Y => &[[0, -1], [0, 1]],
            Self::Cross => &[[-1, 0], [1, 0], [0, -1], [0, 1]],
            Self::Corners => &[[-1, -1], [1, -1], [-1, 1], [1, 1]],
        }
    }
}

/// What stops a step: one over σ, of colour and of each plane of the features.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Stops {
    pub(super) color: Option<f32>,
    pub(super) features: Vec<f32>,
}

/// One lifting step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lift {
    /// Distance of the grid's pixels.
    pub step: usize,
    /// Which pixels are made: bit `x + 2y` for those with parities `x` and `y` on the grid.
    pub makes: u8,
    /// Their neighbours.
    pub near: Neighbours,
    /// What the mean of the neighbours is multiplied with.
    pub factor: f32,
    /// Whether it is added to the pixel, or takes its place.
    pub keeps: bool,
    /// What stops it.
    pub stops: Stops,
    /// Planes of colour.
    pub colors: usize,
}

params! {
    /// Parameters of the shader.
    struct Params { width: u32, height: u32, step: i32, factor: f32, keep: f32, color: f32 }
}

impl Lift {
    /// Whether a pixel is made.
    fn makes(&self, x: usize, y: usize) -> bool {
        let on_grid = x.is_multiple_of(self.step) && y.is_multiple_of(self.step);
        let parity = ((x / self.step) & 1) + 2 * ((y / self.step) & 1);
        on_grid && self.makes >> parity & 1 == 1
    }

    fn weighs(&self) -> bool {
        self.stops.color.is_some() || !self.stops.features.is_empty()
    }
}

impl Kernel for Lift {
    fn name(&self) -> &'static str {
        "lift"
    }

    fn contract(&self) -> Contract {
        let features = usize::from(!self.stops.features.is_empty());
        let color = usize::from(self.stops.color.is_some());
        Contract::rows(1 + color + features, 1, self.step)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (size, planes) = (pass.writes[0].size, pass.writes[0].planes);
        let colors = self.stops.color.map(|_| self.colors);
        let features = Some(self.stops.features.len()).filter(|n| *n > 0);
        let reads = [Some(planes), colors, features].into_iter().flatten();
        let slots = reads.chain([planes]);
        slots.map(|planes| Need::planes(size, planes)).collect()
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let size = job.reads[0].size();
        let colors = self.stops.color.map_or(0, |_| self.colors);
        let step = self.step as isize;
        for y in job.rows.clone() {
            for plane in 0..job.writes[0].planes() {
                let from = job.reads[0].row(plane, y);
                job.writes[0].row(plane, y).copy_from_slice(from);
            }
            for x in (0..size.width).filter(|x| self.makes(*x, y)) {
                let mut taps = [(0, 0, 0.0f32); 4];
                let mut count = 0;
                for [i, j] in self.near.offsets() {
                    let (qx, qy) = (x as isize + i * step, y as isize + j * step);
                    if qx < 0 || qy < 0 || qx >= size.width as isize || qy >= size.height as isize {
                        continue;
                    }
                    let (qx, qy) = (qx as usize, qy as usize);
                    let mut e = 0.0;
                    let difference = |read: usize, plane: usize| {
                        let view = &job.reads[read];
                        view.row(plane, qy)[qx] - view.row(plane, y)[x]
                    };
                    for k in 0..colors {
                        let d = difference(1, k) * self.stops.color.unwrap_or(0.0);
                        e -= d * d;
                    }
                    for (k, s) in self.stops.features.iter().enumerate() {
                        let d = difference(job.reads.len() - 1, k) * s;
                        e -= d * d;
                    }
                    // Far neighbours keep a trace of weight, so that there always is a mean.
                    let w = if self.weighs() {
                        fast_exp(e) + LEAST
                    } else {
                        1.0
                    };
                    taps[count] = (qx, qy, w);
                    count += 1;
                }
                let sum: f32 = taps[..count].iter().map(|t| t.2).sum();
                for plane in 0..job.writes[0].planes() {
                    let view = &job.reads[0];
                    let mean = taps[..count]
                        .iter()
                        .map(|(qx, qy, w)| w * view.row(plane, *qy)[*qx])
                        .sum::<f32>();
                    let mean = if count > 0 { mean / sum } else { 0.0 };
                    let own = if self.keeps {
                        view.row(plane, y)[x]
                    } else {
                        0.0
                    };
                    if count > 0 || self.keeps {
                        job.writes[0].row(plane, y)[x] = own + self.factor * mean;
                    }
                }
            }
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let slot = pass.reads[0];
        let stops = &self.stops.features;
        let mut s = Params::wgsl_with(stops.len());
        let mut names = vec!["src"];
        if self.stops.color.is_some() {
            names.push("guide");
        }
        if !self.stops.features.is_empty() {
            names.push("features");
        }
        for (i, name) in names.iter().enumerate() {
            let _ = writeln!(
                s,
                "@group(0) @binding({}) var<storage, read> {name}: array<f32>;",
                i + 1
            );
        }
        let _ = writeln!(
            s,
            "@group(0) @binding({}) var<storage, read_write> dst: array<f32>;\nconst PLANES: u32 = {};\nconst MAKES: u32 = {};",
            names.len() + 1,
            slot.planes,
            self.makes
        );
        s.push_str("fn weight(a: u32, b: u32) -> f32 {\n    let n = p.width * p.height;\n    var e = 0.0;\n    var d = 0.0;\n");
        for k in 0..self.stops.color.map_or(0, |_| self.colors) {
            let _ = writeln!(
                s,
                "    d = (guide[{k}u * n + a] - guide[{k}u * n + b]) * p.color;\n    e -= d * d;"
            );
        }
        for k in 0..stops.len() {
            let _ = writeln!(
                s,
                "    d = (features[{k}u * n + a] - features[{k}u * n + b]) * param({k}u);\n    e -= d * d;"
            );
        }
        let weight = if self.weighs() {
            format!("fast_exp(e) + {LEAST:?}")
        } else {
            "1.0".into()
        };
        let _ = writeln!(s, "    return {weight};\n}}");
        let offsets: Vec<String> = self
            .near
            .offsets()
            .iter()
            .map(|[i, j]| format!("tap(&t, x + {i} * p.step, y + {j} * p.step, here);"))
            .collect();
        let _ = writeln!(
            s,
            "fn visit(x: i32, y: i32, here: u32) -> Taps {{\n    var t: Taps;\n    {}\n    return t;\n}}",
            offsets.join("\n    ")
        );
        s.push_str(include_str!("lift.wgsl"));
        let params = Params {
            width: slot.size.width as u32,
            height: slot.size.height as u32,
            step: self.step as i32,
            factor: self.factor,
            keep: f32::from(u8::from(self.keeps)),
            color: self.stops.color.unwrap_or(0.0),
        };
        let dispatch = Dispatch::compute(s, &(), tiles(slot.size, 32, 8))
            .with_params(params.bytes_with(stops));
        // SAFETY: the shader leaves out what is outside the image of the needs, whose size its parameters repeat, and its planes are
        // at most those of the needs. A pixel has at most four neighbours.
        Ok(unsafe { dispatch.trusted(pass.target, self.needs(pass)) })
    }
}

/// What even the farthest neighbour weighs.
pub(super) const LEAST: f32 = 1e-12;
