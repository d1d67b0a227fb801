//! Prepares the inputs of the network and the filter, and converts the result to colour.

use crate::own::own;
use fearless_simd::Simd;
use limpid_core::simd::dispatch;
use limpid_core::{Error, Result};
use limpid_plan::fast_exp::fast_ln;
use limpid_plan::params;
use limpid_plan::wgsl::{PIXELS, Wgsl, stored};
use limpid_plan::{Contract, Dispatch, Element, Job, Kernel, Need, PassSlots, WgslStruct, tiles};
use limpid_reference::definition::around::MORE;
use limpid_reference::definition::neural;
use limpid_reference::definition::neural::{INPUTS, ImageFacts};

/// Reads colour, then albedo, normal and depth, if present, and what is known of frames around. Writes the network inputs, the divisor,
/// and colour over the divisor with its brightness.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepare {
    /// Channels of colour: 1 or 3.
    pub colors: usize,
    /// Which of albedo, normal and depth are present.
    pub features: [bool; 3],
    /// Whether frames around are known.
    pub around: bool,
    /// Global properties of the image.
    pub whole: ImageFacts,
}

impl Prepare {
    /// Planes that the network reads.
    fn inputs(&self) -> usize {
        INPUTS + if self.around { MORE } else { 0 }
    }
}

params! {
    /// Parameters of the shaders.
    struct Params { width: u32, height: u32, exposure: f32, depth: f32 }
}

impl Kernel for Prepare {
    fn name(&self) -> &'static str {
        "neural-prepare"
    }

    fn contract(&self) -> Contract {
        let features = self.features.iter().filter(|f| **f).count();
        Contract::rows(1 + features + usize::from(self.around), 3, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.reads[0].size;
        let mut needs = vec![Need::planes(size, self.colors)];
        for (planes, there) in [3, 3, 1].into_iter().zip(self.features) {
            needs.extend(there.then_some(Need::planes(size, planes)));
        }
        needs.extend(self.around.then_some(Need::planes(size, MORE)));
        needs.extend(match pass.writes[0].element {
            Element::F32 => [self.inputs(), 3, 4].map(|planes| Need::planes(size, planes)),
            stored => [
                Need::planes(size, self.inputs().div_ceil(4)).of(stored),
                Need::planes(size, 1).of(Element::F32x4),
                Need::planes(size, 1).of(Element::F32x4),
            ],
        });
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => prepare(simd, self, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let size = pass.reads[0].size;
        let mut source = Wgsl::default()
            .body(Params::WGSL)
            .body(stored(pass.writes[0].element))
            .reads(1, "color", "f32");
        let mut next = 2;
        for (name, there) in ["albedo", "normal", "depth"].into_iter().zip(self.features) {
            if there {
                source = source.reads(next, name, "f32");
                next += 1;
            }
        }
        let known = |k: usize| match self.around {
            true => format!("more[{k}u * n + i]"),
            false => "0.0".into(),
        };
        source = source.function(
            "more_at(i: u32, n: u32) -> vec2<f32>",
            format_args!("vec2({}, {})", known(0), known(1)),
        );
        if self.around {
            source = source.reads(next, "more", "f32");
            next += 1;
            let rest = [2, 3, 4, 5].map(known).join(", ");
            source = source.procedure(
                "put_rest(i: u32, n: u32)",
                format_args!("inputs[3u * n + i] = stored(vec4({rest}))"),
            );
        } else {
            source = source.procedure("put_rest(i: u32, n: u32)", "");
        }
        source = source
            .writes(next, "inputs", "Stored")
            .writes(next + 1, "divisors", "vec4<f32>")
            .writes(next + 2, "values", "vec4<f32>");
        let last = self.colors - 1;
        let color = [0, 1, 2].map(|c: usize| format!("color[{}u * n + i]", c.min(last)));
        source = source.function(
            "color_at(i: u32, n: u32) -> vec3<f32>",
            format_args!("vec3({})", color.join(", ")),
        );
        for (name, there) in ["albedo", "normal"].into_iter().zip(self.features) {
            let value = match there {
                true => format!("vec3({name}[i], {name}[n + i], {name}[2u * n + i])"),
                false => "vec3(0.0)".into(),
            };
            let head = format!("{name}_at(i: u32, n: u32) -> vec3<f32>");
            source = source.function(&head, value);
        }
        let depth = if self.features[2] { "depth[i]" } else { "0.0" };
        let source = source
            .function("depth_at(i: u32) -> f32", depth)
            .body(include_str!("prepare.wgsl"))
            .body(PIXELS)
            .text();
        let params = Params {
            width: size.width as u32,
            height: size.height as u32,
            exposure: self.whole.exposure,
            depth: self.whole.depth,
        };
        Ok(own(
            self,
            pass,
            Dispatch::compute(source, &params, tiles(size, 32, 8)),
        ))
    }
}

#[inline(always)]
fn prepare<S: Simd>(_simd: S, kernel: &Prepare, job: &mut Job<'_>) {
    let width = job.reads[0].size().width;
    let zeros = vec![0.0; width];
    for y in job.rows.clone() {
        let mut next = 1;
        let mut rows = |there: bool, planes: usize| -> [&[f32]; 3] {
            let read = there.then(|| {
                next += 1;
                &job.reads[next - 1]
            });
            std::array::from_fn(|c| match read {
                Some(read) => read.row(c.min(planes - 1), y),
                None => &zeros[..],
            })
        };
        let albedo = rows(kernel.features[0], 3);
        let normal = rows(kernel.features[1], 3);
        let [depth, ..] = rows(kernel.features[2], 1);
        let color: [&[f32]; 3] =
            std::array::from_fn(|c| job.reads[0].row(c.min(kernel.colors - 1), y));
        let [inputs, divisors, values] = &mut job.writes[..] else {
            return;
        };
        let whole = kernel.whole;
        // Rows of equal length, so that the loop has no bounds checks. No `map` in the loop, because its closure would not be
        // inlined.
        let [[c0, c1, c2], [b0, b1, b2], [m0, m1, m2]] =
            [color, albedo, normal].map(|rows| rows.map(|r| &r[..width]));
        let depth = &depth[..width];
        if kernel.around {
            let more = &job.reads[job.reads.len() - 1];
            for k in 0..MORE {
                inputs.row(INPUTS + k, y).copy_from_slice(more.row(k, y));
            }
        }
        let [v0, v1, v2, a0, a1, a2, n0, n1, n2, d] =
            inputs.rows_n::<INPUTS>(y).map(|r| &mut r[..width]);
        let [d0, d1, d2] = divisors.rows_n::<3>(y).map(|r| &mut r[..width]);
        let [r, g, b, bright] = values.rows_n::<4>(y).map(|r| &mut r[..width]);
        for x in 0..width {
            let own = [c0[x], c1[x], c2[x]];
            let (albedo, normal) = ([b0[x], b1[x], b2[x]], [m0[x], m1[x], m2[x]]);
            let made = neural::pixel(own, albedo, normal, depth[x], whole);
            let [i0, i1, i2, i3, i4, i5, i6, i7, i8, i9] = made.inputs;
            [v0[x], v1[x], v2[x]] = [1.0 + i0, 1.0 + i1, 1.0 + i2];
            [a0[x], a1[x], a2[x]] = [i3, i4, i5];
            [n0[x], n1[x], n2[x], d[x]] = [i6, i7, i8, i9];
            let [e0, e1, e2] = made.divisor;
            [d0[x], d1[x], d2[x]] = [e0, e1, e2];
            let light = |c: f32, over: f32| c * whole.exposure / over;
            let value = [light(own[0], e0), light(own[1], e1), light(own[2], e2)];
            [r[x], g[x], b[x]] = value;
            bright[x] = neural::luminance(value).max(0.0) + neural::DARK;
        }
        for row in [v0, v1, v2, bright] {
            row.iter_mut().for_each(|v| *v = fast_ln(*v));
        }
    }
}

/// Converts a layer to the payload of the filter: light over the divisor, which is read last, times the exposure; or alpha
/// unchanged. Or the inverse.
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    /// Channels of the layer.
    pub channels: usize,
    /// The first plane of the payload, on the CPU; on a GPU four planes are packed into one.
    pub plane: usize,
    /// The exposure of light; `None` for alpha.
    pub exposure: Option<f32>,
    /// Whether to convert from the layer to the payload.
    pub enters: bool,
}

params! {
    /// Parameters of the shader of [`Finish`].
    struct FinishParams { width: u32, height: u32, plane: u32, factor: f32 }
}

impl Kernel for Finish {
    fn name(&self) -> &'static str {
        if self.enters {
            "neural-enter"
        } else {
            "neural-finish"
        }
    }

    fn contract(&self) -> Contract {
        let contract = Contract::rows(1 + usize::from(self.exposure.is_some()), 1, 0);
        // The payload contains more than this layer.
        if self.enters {
            contract.updating()
        } else {
            contract
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.writes[0].size;
        let layer = Need::planes(size, self.channels);
        let payload = if self.enters {
            pass.writes[0]
        } else {
            pass.reads[0]
        };
        let (divisors, payload) = match payload.element {
            Element::F32 => (layer, Need::planes(size, self.plane + self.channels)),
            _ => {
                let four = |planes: usize| Need::planes(size, planes).of(Element::F32x4);
                (four(1), four(self.plane / 4 + 1))
            }
        };
        let (from, to) = match self.enters {
            true => (layer, payload),
            false => (payload, layer),
        };
        let mut needs = vec![from];
        needs.extend(self.exposure.map(|_| divisors));
        needs.push(to);
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => finish(simd, self, job));
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let size = pass.writes[0].size;
        let channels = self.channels;
        if channels > 4 {
            return Err(Error::unsupported("a layer has at most 4 channels"));
        }
        let (from, to) = match self.enters {
            true => ("f32", "vec4<f32>"),
            false => ("vec4<f32>", "f32"),
        };
        let mut source = Wgsl::default()
            .body(FinishParams::WGSL)
            .constant("CHANNELS", "u32", channels)
            .reads(1, "src", from);
        let (binding, divisor) = match self.exposure {
            Some(_) => {
                source = source.reads(2, "divisors", "vec4<f32>");
                (3, "divisors[i]")
            }
            None => (2, "vec4(1.0)"),
        };
        let source = source
            .writes(binding, "dst", to)
            .function("divisor_at(i: u32) -> vec4<f32>", divisor)
            .body(match self.enters {
                true => include_str!("enter.wgsl"),
                false => include_str!("finish.wgsl"),
            })
            .body(PIXELS)
            .text();
        let exposure = self.exposure.unwrap_or(1.0);
        let params = FinishParams {
            width: size.width as u32,
            height: size.height as u32,
            plane: self.plane as u32 / 4,
            factor: if self.enters {
                exposure
            } else {
                1.0 / exposure
            },
        };
        Ok(own(
            self,
            pass,
            Dispatch::compute(source, &params, tiles(size, 32, 8)),
        ))
    }
}

#[inline(always)]
fn finish<S: Simd>(_simd: S, kernel: &Finish, job: &mut Job<'_>) {
    let Job { reads, writes, .. } = job;
    for y in job.rows.clone() {
        for c in 0..kernel.channels {
            let (from, to) = match kernel.enters {
                true => (c, kernel.plane + c),
                false => (kernel.plane + c, c),
            };
            let from = reads[0].row(from, y);
            let to = writes[0].row(to, y);
            let Some(exposure) = kernel.exposure else {
                to.copy_from_slice(from);
                continue;
            };
            let divisor = reads[1].row(c, y);
            if kernel.enters {
                for ((to, v), d) in to.iter_mut().zip(from).zip(divisor) {
                    *to = v * exposure / d;
                }
            } else {
                let factor = 1.0 / exposure;
                for ((to, v), d) in to.iter_mut().zip(from).zip(divisor) {
                    *to = v * d * factor;
                }
            }
        }
    }
}
