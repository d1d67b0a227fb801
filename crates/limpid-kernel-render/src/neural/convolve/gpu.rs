//! The convolution on a GPU: with the matrix units, or with vectors of four outputs.

use super::matrices::Matrices;
use super::{Convolve, Into, Source};
use half::f16;
use limpid_core::{Error, Result, Size};
use limpid_plan::Element;
use limpid_plan::params;
use limpid_plan::wgsl::{Code, Wgsl, stored};
use limpid_plan::{Dispatch, Need, PassSlots, WgslStruct};
use limpid_reference::definition::network::Convolution;
use limpid_reference::definition::neural::{
    DISTRUST, DIVISOR, DIVISOR_STEPS, FACTOR, OUTPUTS, PRECISION, SHARPNESS, STEPS,
};

params! {
    /// Parameters of the shader.
    struct Params { width: u32, height: u32, from_width: u32, from_height: u32, to_width: u32, to_height: u32 }
}

/// Vertically adjacent pixels, and outputs, per thread.
const RUN: u32 = 8;
/// Rows and columns of a matrix.
pub(super) const SIDE: usize = 16;

impl Convolve {
    /// The table of weights: biases of all outputs, then a matrix for each sixteen outputs, each sixteen inputs and each tap,
    /// in which the weights of an output are contiguous; in half precision, as in the file.
    pub fn table_gpu(&self, from: &Convolution) -> Vec<u32> {
        let outputs = self.outputs_of_gpu();
        let bias = |o: &Option<usize>| o.map_or(0.0, |o| from.bias[o]);
        let mut all: Vec<f32> = outputs.iter().map(bias).collect();
        for block in outputs.chunks(SIDE) {
            for inputs in self.inputs_of_gpu().chunks(SIDE) {
                for tap in 0..from.side * from.side {
                    for output in block {
                        let weight = |i: &Option<usize>| {
                            let (o, i) = (*output).zip(*i)?;
                            Some(from.weight(o, i, tap))
                        };
                        all.extend(inputs.iter().map(|i| weight(i).unwrap_or(0.0)));
                    }
                }
            }
        }
        let pair = |p: &[f32]| {
            let [low, high] = [p[0], p[1]].map(|v| u32::from(f16::from_f32(v).to_bits()));
            high << 16 | low
        };
        all.chunks(2).map(pair).collect()
    }

    /// Inputs in the order of the shader, four to a vector, sixteen to a matrix.
    fn inputs_of_gpu(&self) -> Vec<Option<usize>> {
        let planes = self.inputs / 4;
        let place = |i: usize| match self.source {
            // Vectors are the four pixels of a block, each with four planes.
            Source::Blocks => {
                let plane = 4 * (i / 16) + i % 4;
                (plane < planes).then_some(4 * plane + i / 4 % 4)
            }
            _ => Some(i),
        };
        (0..self.inputs.next_multiple_of(SIDE)).map(place).collect()
    }

    /// Outputs in the order of the shader.
    fn outputs_of_gpu(&self) -> Vec<Option<usize>> {
        if self.into != Into::Guides {
            return (0..self.outputs).map(Some).collect();
        }
        // Vectors are four planes of a pixel; those of the pixels of a block are consecutive. The last of a level is the
        // precision of a level of the divisor, or after those its factor.
        let factors = (self.outputs / 4).saturating_sub(OUTPUTS);
        let last = |level: usize| match level.checked_sub(DIVISOR_STEPS.len()) {
            None => Some(DIVISOR + level),
            Some(k) => (k < factors).then_some(FACTOR + k),
        };
        let plane = |vector: usize, k: usize| match vector.checked_sub(PRECISION / 4) {
            None => Some(4 * vector + k),
            Some(level) if level < STEPS.len() => match [PRECISION, SHARPNESS, DISTRUST].get(k) {
                Some(first) => Some(first + level),
                None => last(level),
            },
            Some(_) => None,
        };
        let all = 16 * (PRECISION / 4 + STEPS.len());
        (0..all.next_multiple_of(4 * SIDE))
            .map(|i| Some(4 * plane(i / 16, i % 4)? + i / 4 % 4))
            .collect()
    }

    /// Blocks of eight outputs per workgroup, and vertically adjacent runs. Small workgroups wait less for memory; with three
    /// blocks they would be too small.
    fn shape(&self) -> [u32; 2] {
        let blocks = self.outputs_of_gpu().len() as u32 / 8;
        let fits = |[n, _]: &[u32; 2]| blocks.is_multiple_of(*n);
        [[4, 1], [3, 2], [2, 1]]
            .into_iter()
            .find(fits)
            .unwrap_or([1, 2])
    }

    /// The entry point, whose sums are separate variables: as arrays they would not stay in registers on all devices.
    fn entry(&self) -> Code {
        let mut code = Code::default();
        code.say("let x = lane % 32u")
            .say("let y = lane / 32u % GROUPS * 8u")
            .say("let part = lane / (32u * GROUPS)")
            .say("let block = group.z * BLOCKS + part");
        for k in 0..RUN {
            code.say(format_args!("var a{k} = weight(2u * block)"))
                .say(format_args!("var b{k} = weight(2u * block + 1u)"));
        }
        code.block(CHUNKS, |code| {
            code.say("bring(chunk, group, lane)")
                .say("workgroupBarrier()")
                .block(COLUMNS, |code| self.products(code))
                .say("workgroupBarrier()");
        });
        code.say("let at = vec2(group.x * 32u + x, group.y * 8u * GROUPS + y)");
        for k in 0..RUN {
            code.block(
                format_args!("if at.x < p.width && at.y + {k}u < p.height"),
                |code| {
                    code.say(format_args!(
                        "finish(block, at + vec2(0u, {k}u), a{k}, b{k})"
                    ));
                },
            );
        }
        code
    }

    /// Accumulates the products of a column of taps.
    fn products(&self, code: &mut Code) {
        let side = self.side as u32;
        code.say("let start = y * SPAN_X + x + column");
        for k in 0..RUN + side - 1 {
            code.say(format_args!("let v{k} = tile[start + {k}u * SPAN_X]"));
        }
        for (k, lane) in ["x", "y", "z", "w"].into_iter().enumerate() {
            for row in 0..side {
                let tap = k as u32 * side * side + row * side;
                code.block("", |code| {
                    code.say(format_args!(
                        "let at = part * 8u * TAPS + 2u * ({tap}u + column)"
                    ))
                    .say("let wa = kernels[at]")
                    .say("let wb = kernels[at + 1u]");
                    for k in 0..RUN {
                        let v = format!("v{}.{lane}", k + row);
                        code.say(format_args!("a{k} = fma(vec4({v}), wa, a{k})"))
                            .say(format_args!("b{k} = fma(vec4({v}), wb, b{k})"));
                    }
                });
            }
        }
    }
}

/// Loops over chunks of the inputs, and over columns of taps.
const CHUNKS: &str = "for (var chunk = 0u; chunk < VECTORS; chunk++)";
const COLUMNS: &str = "for (var column = 0u; column < SIDE; column++)";

/// The size of the map that is computed.
fn map_size(kernel: &Convolve, pass: &PassSlots<'_>) -> Size {
    match (kernel.source, kernel.into) {
        (_, Into::Guides) | (Source::Plain | Source::Joined, _) => pass.reads[0].size,
        _ => pass.writes[0].size,
    }
}

/// What the shader relies on. Maps of single planes are for the CPU.
pub(super) fn needs(kernel: &Convolve, pass: &PassSlots<'_>) -> Vec<Need> {
    let element = pass.reads[0].element;
    if element == Element::F32 {
        return Vec::new();
    }
    let (from, to) = (pass.reads[0].size, pass.writes[0].size);
    let size = map_size(kernel, pass);
    let vectors = kernel.inputs_of_gpu().len() / 4;
    let map = |size: Size, planes: usize| Need::planes(size, planes).of(element);
    let mut needs = vec![match kernel.source {
        Source::Plain | Source::Joined => map(from, vectors),
        Source::Pooled => map(Size::new(2 * to.width, 2 * to.height), vectors),
        Source::Blocks => map(from, vectors / 4),
    }];
    if kernel.source == Source::Joined {
        needs.push(map(Size::new(size.width / 2, size.height / 2), vectors));
    }
    let outputs = kernel.outputs_of_gpu().len();
    let matrices = outputs / SIDE * kernel.inputs.div_ceil(SIDE) * kernel.side * kernel.side;
    needs.push(Need::values(outputs / 2 + matrices * SIDE * SIDE / 2));
    // In half precision the eight guides of a set are one element.
    let guides = match element {
        Element::F16x4 => Need::planes(to, PRECISION / 8).of(Element::U32x4),
        _ => map(to, PRECISION / 4),
    };
    needs.extend(match kernel.into {
        Into::Guides => vec![guides, map(to, STEPS.len())],
        _ => vec![map(size, outputs / 4)],
    });
    needs
}

pub(super) fn dispatch(kernel: &Convolve, pass: &PassSlots<'_>) -> Result<Dispatch> {
    let (from, to) = (pass.reads[0].size, pass.writes[0].size);
    let size = map_size(kernel, pass);
    let even = size.width.is_multiple_of(2) && size.height.is_multiple_of(2);
    let outputs = kernel.outputs_of_gpu().len();
    let whole = outputs.is_multiple_of(SIDE) && matches!(kernel.side, 1 | 3);
    if !whole || (kernel.source == Source::Joined && !even) {
        return Err(Error::unsupported(
            "convolutions on a GPU make sixteen outputs at a time, and join maps of even sizes",
        ));
    }
    let element = pass.reads[0].element;
    let lanes = pass.target.matrices.filter(|_| kernel.matrices);
    let matrices = lanes.and_then(|lanes| Matrices::new(kernel, outputs, lanes, pass.target));
    let joined = kernel.source == Source::Joined;
    let mut source = Wgsl::default()
        .body(match &matrices {
            Some(_) => include_str!("enable.wgsl"),
            None => "",
        })
        .body(Params::WGSL)
        .body(match &matrices {
            Some(_) => include_str!("../matrix.wgsl"),
            None => stored(element),
        })
        .constant("SIDE", "u32", kernel.side)
        .constant("VECTORS", "u32", kernel.inputs_of_gpu().len() / 4)
        .constant("CHUNKS", "u32", kernel.inputs.div_ceil(SIDE))
        .constant("OUTPUTS", "u32", outputs)
        .constant("GUIDES_SIZE", "u32", PRECISION / 4)
        .constant("LEVELS", "u32", STEPS.len())
        .constant("DIVISOR_LEVELS", "u32", DIVISOR_STEPS.len())
        .constant("HALF", "bool", element == Element::F16x4)
        .reads(1, "src", "Stored");
    if joined {
        source = source.reads(2, "coarse_map", "Stored");
    }
    let binding = 2 + usize::from(joined);
    let weights = match &matrices {
        Some(_) => "vec4<f16>",
        None => "vec2<u32>",
    };
    source = source
        .reads(binding, "weights", weights)
        .writes(binding + 1, "dst", "Stored");
    if kernel.into == Into::Guides {
        source = source.writes(binding + 2, "others", "Stored");
    }
    let source = source
        .body(match kernel.source {
            Source::Plain => include_str!("plain.wgsl"),
            Source::Pooled => include_str!("pooled.wgsl"),
            Source::Joined => include_str!("joined.wgsl"),
            Source::Blocks => include_str!("blocks.wgsl"),
        })
        .body(match kernel.into {
            Into::Plain => include_str!("into_plain.wgsl"),
            Into::Rectified => include_str!("into_rectified.wgsl"),
            Into::Guides => include_str!("into_guides.wgsl"),
        })
        .body(include_str!("table.wgsl"));
    // Pixels and outputs of a workgroup.
    let (source, [width, height, planes]) = match &matrices {
        Some(matrices) => (matrices.source(source), matrices.span()),
        None => {
            let [blocks, groups] = kernel.shape();
            let source = source
                .constant("BLOCKS", "u32", blocks)
                .constant("GROUPS", "u32", groups)
                .body(include_str!("gpu.wgsl"))
                .entry("THREADS", kernel.entry());
            (source, [32, RUN * groups, 8 * blocks])
        }
    };
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        from_width: from.width as u32,
        from_height: from.height as u32,
        to_width: to.width as u32,
        to_height: to.height as u32,
    };
    let groups = [
        (size.width as u32).div_ceil(width),
        (size.height as u32).div_ceil(height),
        outputs as u32 / planes,
    ];
    Ok(Dispatch::compute(source.text(), &params, groups))
}
