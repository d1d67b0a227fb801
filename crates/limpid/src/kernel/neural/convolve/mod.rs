//! One convolution of the network, together with what comes before it (blocks of pixels, pooling, or the sum of two maps) and after
//! it (the leaky rectifier, or the way to full size).
//!
//! On the CPU maps are planar; on a GPU four planes are one. Weights are a table whose order is that of the loops.

mod cpu;

use crate::definition::neural::{BLOCK, Convolution, OUTPUTS, PRECISION};
use crate::kernel::{Contract, Dispatch, Job, Kernel, Site, WgslStruct};
use crate::plan::Element;
use crate::{Result, Size, params};
use std::fmt::Write;

/// What is convolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A map.
    Plain,
    /// The largest of each 2×2 pixels of a map of twice the size.
    Pooled,
    /// A map and one of half the size, repeated, which is read second.
    Joined,
    /// Blocks of 2×2 pixels of the picture, as planes.
    Blocks,
}

/// What becomes of the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Into {
    /// They are a map.
    Plain,
    /// They are a map once those below zero are made small.
    Rectified,
    /// They are planes of full size in the ranges that the filter expects: guides, and in a second slot, planar on a GPU too, all
    /// others.
    Guides,
}

/// One convolution. The table of weights is read last.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Convolve {
    /// Planes that it reads.
    pub inputs: usize,
    /// Planes that it makes.
    pub outputs: usize,
    /// 1 or 3.
    pub side: usize,
    /// What is convolved.
    pub source: Source,
    /// What becomes of the sums.
    pub into: Into,
    /// Pixels of the picture for one of the map.
    pub scale: usize,
}

params! {
    /// Parameters of the shader.
    struct Params { width: u32, height: u32, from_width: u32, from_height: u32, to_width: u32, to_height: u32 }
}

/// Outputs that the CPU makes together.
const OUTS: usize = 8;
/// Pixels below each other that a thread of a GPU makes, and outputs.
const RUN: u32 = 8;

impl Convolve {
    /// The table of weights for the CPU: for each block of outputs the biases, then by input and tap the weights of the block.
    pub(crate) fn table_cpu(&self, from: &Convolution) -> Vec<u32> {
        let taps = from.side * from.side;
        let mut all = Vec::new();
        for block in self.order(from).chunks(OUTS) {
            all.extend(block.iter().map(|o| from.bias[*o]));
            for input in 0..from.inputs {
                for tap in 0..taps {
                    all.extend(block.iter().map(|o| from.weight(*o, input, tap)));
                }
            }
        }
        all.into_iter().map(f32::to_bits).collect()
    }

    /// The order in which the CPU makes outputs: those of even rows of the picture before those of odd ones.
    fn order(&self, from: &Convolution) -> Vec<usize> {
        let all = 0..from.outputs;
        match self.into {
            Into::Guides => {
                let (even, odd): (Vec<usize>, Vec<usize>) = all.partition(|o| o % 4 < 2);
                even.into_iter().chain(odd).collect()
            }
            _ => all.collect(),
        }
    }

    /// The table of weights for a GPU, in vectors of four outputs: biases of all, then for each eight outputs by input and tap two
    /// vectors.
    pub(crate) fn table_gpu(&self, from: &Convolution) -> Vec<u32> {
        let order: Vec<usize> = match self.into {
            // For each four planes and each row of a block: the left pixel, then the right one.
            Into::Guides => (0..OUTPUTS / 4)
                .flat_map(|group| (0..4).map(move |pixel| (group, pixel)))
                .flat_map(|(group, pixel)| (0..4).map(move |k| 4 * (4 * group + k) + pixel))
                .collect(),
            _ => (0..from.outputs).collect(),
        };
        let mut all: Vec<f32> = order.iter().map(|o| from.bias[*o]).collect();
        for block in order.chunks(8) {
            for input in 0..from.inputs {
                for tap in 0..from.side * from.side {
                    all.extend(block.iter().map(|o| from.weight(*o, input, tap)));
                }
            }
        }
        all.into_iter().map(f32::to_bits).collect()
    }

    /// Blocks of eight outputs that a workgroup makes, and runs below each other. Small workgroups wait less for memory; of three blocks
    /// they would be too small.
    fn shape(&self) -> [u32; 2] {
        let blocks = self.outputs as u32 / 8;
        let fits = |[n, _]: &[u32; 2]| blocks.is_multiple_of(*n);
        [[4, 1], [3, 2], [2, 1]]
            .into_iter()
            .find(fits)
            .unwrap_or([1, 2])
    }
}

impl Convolve {
    /// The entry point, whose sums have names of their own: as arrays they would not stay in registers everywhere.
    fn entry(&self, s: &mut String) {
        s.push_str(
            "@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = lane % 32u;
    let y = lane / 32u % GROUPS * 8u;
    let part = lane / (32u * GROUPS);
    let block = group.z * BLOCKS + part;\n",
        );
        for k in 0..RUN {
            let _ = writeln!(
                s,
                "    var a{k} = weights[2u * block];\n    var b{k} = weights[2u * block + 1u];"
            );
        }
        s.push_str(
            "    for (var chunk = 0u; chunk < CHUNKS; chunk++) {
        bring(chunk, group, lane);
        workgroupBarrier();
        for (var column = 0u; column < SIDE; column++) {
            let start = y * SPAN_X + x + column;\n",
        );
        let side = self.side as u32;
        for k in 0..RUN + side - 1 {
            let _ = writeln!(s, "            let v{k} = tile[start + {k}u * SPAN_X];");
        }
        for (k, lane) in ["x", "y", "z", "w"].into_iter().enumerate() {
            for row in 0..side {
                let tap = k as u32 * side * side + row * side;
                let _ = writeln!(
                    s,
                    "            {{
                let at = part * 8u * TAPS + 2u * ({tap}u + column);
                let wa = kernels[at];
                let wb = kernels[at + 1u];"
                );
                for k in 0..RUN {
                    let v = format!("v{}.{lane}", k + row);
                    let _ = writeln!(
                        s,
                        "                a{k} = fma(vec4({v}), wa, a{k});\n                b{k} = fma(vec4({v}), wb, b{k});"
                    );
                }
                s.push_str("            }\n");
            }
        }
        s.push_str(
            "        }
        workgroupBarrier();
    }
    let at = vec2(group.x * 32u + x, group.y * 8u * GROUPS + y);\n",
        );
        for k in 0..RUN {
            let _ = writeln!(
                s,
                "    if at.x < p.width && at.y + {k}u < p.height {{\n        finish(block, at + vec2(0u, {k}u), a{k}, b{k});\n    }}"
            );
        }
        s.push_str("}\n");
    }
}

impl Kernel for Convolve {
    fn name(&self) -> &'static str {
        match self.into {
            Into::Guides => "neural-guides",
            _ => "neural-convolve",
        }
    }

    fn contract(&self) -> Contract {
        let reads = 2 + usize::from(self.source == Source::Joined);
        // Blocks of the coarsest map may start anywhere inside one of the picture.
        let reach = self.side / 2 * self.scale
            + match self.source {
                Source::Blocks => BLOCK - 1,
                _ => 0,
            };
        let writes = 1 + usize::from(self.into == Into::Guides);
        Contract::gather(reads, writes, Some(reach))
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::run(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (from, to) = (site.reads[0].size, site.writes[0].size);
        let size = match (self.source, self.into) {
            (_, Into::Guides) | (Source::Plain | Source::Joined, _) => from,
            _ => to,
        };
        let [blocks, groups] = self.shape();
        let element = site.reads[0].element;
        let mut source = String::from(Params::WGSL);
        source.push_str(crate::kernel::neural::stored(element));
        let vectors = self.inputs.div_ceil(4);
        source.push_str(&format!(
            "const SIDE: u32 = {};
const CHUNKS: u32 = {vectors};
const OUTPUTS: u32 = {};
const BLOCKS: u32 = {blocks};
const GROUPS: u32 = {groups};
const PRECISION: u32 = {PRECISION};
const GUIDES_SIZE: u32 = {};
const HALF: bool = {};
@group(0) @binding(1) var<storage, read> src: array<Stored>;
",
            self.side,
            self.outputs,
            PRECISION / 4,
            element == Element::F16x4,
        ));
        let mut binding = 2;
        if self.source == Source::Joined {
            source
                .push_str("@group(0) @binding(2) var<storage, read> coarse_map: array<Stored>;\n");
            binding += 1;
        }
        source.push_str(&format!(
            "@group(0) @binding({binding}) var<storage, read> weights: array<vec4<f32>>;
@group(0) @binding({}) var<storage, read_write> dst: array<Stored>;\n",
            binding + 1
        ));
        if self.into == Into::Guides {
            source.push_str(&format!(
                "@group(0) @binding({}) var<storage, read_write> others: array<f32>;\n",
                binding + 2
            ));
        }
        source.push_str(match self.source {
            Source::Plain => include_str!("plain.wgsl"),
            Source::Pooled => include_str!("pooled.wgsl"),
            Source::Joined => include_str!("joined.wgsl"),
            Source::Blocks => include_str!("blocks.wgsl"),
        });
        source.push_str(match self.into {
            Into::Plain => include_str!("into_plain.wgsl"),
            Into::Rectified => include_str!("into_rectified.wgsl"),
            Into::Guides => include_str!("into_guides.wgsl"),
        });
        source.push_str(include_str!("gpu.wgsl"));
        self.entry(&mut source);
        let params = Params {
            width: size.width as u32,
            height: size.height as u32,
            from_width: from.width as u32,
            from_height: from.height as u32,
            to_width: to.width as u32,
            to_height: to.height as u32,
        };
        let groups = [
            (size.width as u32).div_ceil(32),
            (size.height as u32).div_ceil(RUN * groups),
            self.outputs as u32 / (8 * blocks),
        ];
        Ok(Dispatch::own(source, &params, groups))
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::scratch(self, size.width)
    }
}
