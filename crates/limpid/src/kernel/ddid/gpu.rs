//! The GPU body: one group of threads per window, everything of a window in workgroup memory.
//!
//! A few threads share a window ([`Shape::threads`]) and a workgroup holds as many windows as fit. Threads fold the
//! window into a quarter of its size, transform its lines in place by products with constant tables, and shrink. The guide
//! takes four folded planes; the noisy image then needs two of them again. Nothing of the window's size leaves the workgroup.

use super::{DualDomain, table};
use crate::kernel::{Dispatch, Site};

/// How windows are laid out in a workgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// Coordinates and frequencies along one axis of a folded window.
    half: u32,
    /// Words from one line of a folded window to the next; odd, so that threads on neighbouring lines use other banks.
    pitch: u32,
    /// Threads that share a window.
    threads: u32,
    /// Windows of a workgroup.
    windows: u32,
    /// Words of workgroup memory for one window.
    words: u32,
}

impl Shape {
    fn new(radius: usize, site: &Site<'_>) -> Self {
        let half = radius as u32 + 1;
        let pitch = half | 1;
        // Lines of four planes, then of two: the number of threads that idles least.
        let cost = |t: u32| t * ((4 * half).div_ceil(t) + (2 * half).div_ceil(t));
        let threads = [64, 32].into_iter().min_by_key(|t| cost(*t)).unwrap_or(32);
        let words = (4 * half * pitch).max(8 * threads);
        let fit = site.target.workgroup_bytes / (4 * words);
        let windows = fit.min(128.min(site.target.invocations) / threads).max(1);
        Self {
            half,
            pitch,
            threads,
            windows,
            words,
        }
    }

    /// Vectors of four that hold one line of a table.
    fn quads(self) -> u32 {
        self.half.div_ceil(4)
    }
}

pub(super) fn dispatch(kernel: &DualDomain, site: &Site<'_>) -> Dispatch {
    let shape = Shape::new(kernel.radius, site);
    let size = site.reads[0].size;
    let source = format!(
        "const R: i32 = {};\nconst H: u32 = {};\nconst PITCH: u32 = {};\nconst PLANES: u32 = {};\n\
         const THREADS: u32 = {};\nconst WINDOWS: u32 = {};\nconst WORDS: u32 = {};\nconst QUADS: u32 = {};\n\
         const POWER: u32 = {};\nconst COSINE_END: f32 = {:?};\nconst COSINE = array<f32, 7>{:?};\n{}{}",
        kernel.radius,
        shape.half,
        shape.pitch,
        site.reads[0].planes,
        shape.threads,
        shape.windows,
        shape.words,
        shape.quads(),
        kernel.power.unwrap_or(0),
        table::COSINE_END,
        Parenthesised(&table::COSINE),
        line(shape, kernel.spectrum.len()),
        include_str!("gpu.wgsl")
    );
    let groups = (size.width as u32).div_ceil(shape.windows);
    let mut dispatch = Dispatch::own(source, &(), [groups, size.height as u32, 1]);
    dispatch.params = params(kernel, site, shape);
    dispatch
}

/// Numbers as WGSL's constructors take them.
struct Parenthesised<'a>(&'a [f32]);

impl std::fmt::Debug for Parenthesised<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(")?;
        for v in self.0 {
            write!(f, "{v:?}, ")?;
        }
        f.write_str(")")
    }
}

/// The uniform block: what `struct Params` of the shader has, tables filled up to vectors of four.
fn params(kernel: &DualDomain, site: &Site<'_>, shape: Shape) -> Vec<u8> {
    let size = site.reads[0].size;
    let (r, half) = (kernel.radius, shape.half as usize);
    let pad = 4 * shape.quads() as usize;
    let mut words = vec![
        f32::from_bits(size.width as u32),
        f32::from_bits(size.height as u32),
        1.0 / kernel.range,
        kernel.shrink,
        kernel.confidence,
        kernel.confidence / ((2 * r + 1) * (2 * r + 1)) as f32,
        0.0,
        0.0,
    ];
    let mut push = |line: &[f32]| {
        words.extend(line);
        words.extend(std::iter::repeat_n(0.0, pad - line.len()));
    };
    push(&table::space(r, kernel.space)[r..]);
    for line in table::cosines(r).chunks_exact(half) {
        push(line);
    }
    // Sines begin at coordinate and frequency 1; those of 0 are 0.
    push(&[]);
    for line in table::sines(r).chunks_exact(r) {
        push(&[&[0.0], line].concat());
    }
    words.extend(&kernel.spectrum);
    words.resize(words.len().next_multiple_of(4), 0.0);
    bytemuck::cast_slice(&words).to_vec()
}

/// The uniform block, and the transform of one line with all its values in registers.
fn line(shape: Shape, powers: usize) -> String {
    // What the scale of a frequency is multiplied with: the power of the noise there.
    let (table, power) = match powers {
        0 => (String::new(), "return 1.0;"),
        n => (
            format!(", powers: array<vec4<f32>, {}>", n.div_ceil(4)),
            "return p.powers[i / 4u][i % 4u];",
        ),
    };
    let mut text = format!(
        "struct Params {{ width: u32, height: u32, range: f32, shrink: f32, trust: f32, share: f32, pad0: u32, pad1: u32, \
         space: array<vec4<f32>, {}>, waves: array<vec4<f32>, {}>{table} }}\n\
         @group(0) @binding(0) var<uniform> p: Params;\n\
         var<workgroup> w: array<f32, {}>;\n\
         fn power(i: u32) -> f32 {{ {power} }}\n\
         fn line(start: u32, step: u32, waves: u32) {{\n",
        shape.quads(),
        2 * shape.half * shape.quads(),
        shape.words * shape.windows,
    );
    let mut terms = Vec::new();
    for quad in 0..shape.quads() {
        let entry = |i: u32| match 4 * quad + i {
            at if at < shape.half => format!("w[start + {at}u * step]"),
            _ => "0.0".to_owned(),
        };
        text += &format!(
            "    let v{quad} = vec4<f32>({}, {}, {}, {});\n",
            entry(0),
            entry(1),
            entry(2),
            entry(3)
        );
        terms.push(format!("dot(p.waves[at + {quad}u], v{quad})"));
    }
    text + &format!(
        "    for (var f = 0u; f < H; f++) {{\n        let at = waves + f * QUADS;\n        w[start + f * step] = {};\n    }}\n}}\n",
        terms.join(" + ")
    )
}
