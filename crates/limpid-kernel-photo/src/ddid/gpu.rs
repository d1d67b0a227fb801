//! The GPU body: one group of threads per window, with all data of a window in workgroup memory.
//!
//! A few threads share a window ([`Shape::threads`]) and a workgroup holds as many windows as fit. Threads fold the window into
//! a quarter of its size, transform its lines in place by products with constant tables, and shrink. The guide takes four
//! folded planes; two of them are then reused for the noisy image. Only one result per pixel leaves the workgroup.

use super::{DualDomain, table};
use limpid_plan::wgsl::{Code, Wgsl, array, float};
use limpid_plan::{Dispatch, PassSlots};

/// How windows are laid out in a workgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// Coordinates and frequencies along one axis of a folded window.
    half: u32,
    /// Stride of the lines of a folded window in words; odd, so that threads on neighbouring lines use different banks.
    pitch: u32,
    /// Threads that share a window.
    threads: u32,
    /// Windows per workgroup.
    windows: u32,
    /// Words of workgroup memory for one window.
    words: u32,
}

impl Shape {
    fn new(radius: usize, pass: &PassSlots<'_>) -> Self {
        let half = radius as u32 + 1;
        let pitch = half | 1;
        // Lines of four planes, then of two: picks the number of threads with the least idle time.
        let cost = |t: u32| t * ((4 * half).div_ceil(t) + (2 * half).div_ceil(t));
        let threads = [64, 32].into_iter().min_by_key(|t| cost(*t)).unwrap_or(32);
        let words = (4 * half * pitch).max(8 * threads);
        let fit = pass.target.workgroup_bytes / (4 * words);
        let windows = fit.min(128.min(pass.target.invocations) / threads).max(1);
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

pub(super) fn dispatch(kernel: &DualDomain, pass: &PassSlots<'_>) -> Dispatch {
    let shape = Shape::new(kernel.radius, pass);
    let size = pass.reads[0].size;
    let source = Wgsl::default()
        .constant("R", "i32", kernel.radius)
        .constant("H", "u32", shape.half)
        .constant("PITCH", "u32", shape.pitch)
        .constant("PLANES", "u32", pass.reads[0].planes)
        .constant("THREADS", "u32", shape.threads)
        .constant("WINDOWS", "u32", shape.windows)
        .constant("WORDS", "u32", shape.words)
        .constant("QUADS", "u32", shape.quads())
        .constant("POWER", "u32", kernel.power.unwrap_or(0))
        .constant("COSINE_END", "f32", float(table::COSINE_END))
        .constant("COSINE", "array<f32, 7>", array(&table::COSINE));
    let source = with_params(source, shape, kernel.spectrum.len())
        .statements("line(start: u32, step: u32, waves: u32)", line(shape))
        .slots(pass, &["guide", "noisy", "dst"])
        .body(include_str!("gpu.wgsl"))
        .text();
    let groups = (size.width as u32).div_ceil(shape.windows);
    Dispatch::compute(source, &(), [groups, size.height as u32, 1])
        .with_params(params(kernel, pass, shape))
}

/// The uniform block: the fields of the shader's `struct Params`, with tables padded to vectors of four.
fn params(kernel: &DualDomain, pass: &PassSlots<'_>, shape: Shape) -> Vec<u8> {
    let size = pass.reads[0].size;
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
    // Sines start at coordinate and frequency 1; those of 0 are 0.
    push(&[]);
    for line in table::sines(r).chunks_exact(r) {
        push(&[&[0.0], line].concat());
    }
    words.extend(&kernel.spectrum);
    words.resize(words.len().next_multiple_of(4), 0.0);
    bytemuck::cast_slice(&words).to_vec()
}

/// Declares the struct of the uniform block, and the factor of a frequency's scale: the power of the noise there.
fn with_params(text: Wgsl, shape: Shape, powers: usize) -> Wgsl {
    let quads = |n: u32| format!("array<vec4<f32>, {n}>");
    let mut fields = vec![
        ("width", "u32".to_owned()),
        ("height", "u32".to_owned()),
        ("range", "f32".to_owned()),
        ("shrink", "f32".to_owned()),
        ("trust", "f32".to_owned()),
        ("share", "f32".to_owned()),
        ("pad0", "u32".to_owned()),
        ("pad1", "u32".to_owned()),
        ("space", quads(shape.quads())),
        ("waves", quads(2 * shape.half * shape.quads())),
    ];
    let mut power = "1.0";
    if powers > 0 {
        fields.push(("powers", quads(powers.div_ceil(4) as u32)));
        power = "p.powers[i / 4u][i % 4u]";
    }
    text.structure("Params", fields)
        .function("power(i: u32) -> f32", power)
}

/// The transform of one line with all its values in registers.
fn line(shape: Shape) -> Code {
    let mut code = Code::default();
    let mut terms = Vec::new();
    for quad in 0..shape.quads() {
        let entries: [String; 4] = std::array::from_fn(|i| match 4 * quad + i as u32 {
            at if at < shape.half => format!("w[start + {at}u * step]"),
            _ => "0.0".to_owned(),
        });
        let entries = entries.join(", ");
        code.say(format_args!("let v{quad} = vec4<f32>({entries})"));
        terms.push(format!("dot(p.waves[at + {quad}u], v{quad})"));
    }
    code.block("for (var f = 0u; f < H; f++)", |code| {
        code.say("let at = waves + f * QUADS")
            .say(format_args!("w[start + f * step] = {}", terms.join(" + ")));
    });
    code
}
