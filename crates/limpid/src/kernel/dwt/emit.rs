//! WGSL from the algebra: a scheme's matrices become text.
//!
//! A workgroup loads a region of quads into registers, a few per thread; regions overlap, tiles do not (Kula 2021, section
//! 5.3). Each stage shares the samples that other quads need through workgroup memory, one cell per sample of the quad.
//! Samples that did not change since they were shared are not shared again.

use super::Level;
use crate::wavelet::{Direction, Matrix, Scheme};
use crate::{Error, Result};
use std::fmt::Write;

/// Threads of a workgroup along x and y.
pub(super) const THREADS: (i32, i32) = (32, 8);

/// Schemes with more operations per quad than this get fewer quads per thread: their text would grow out of hand.
const MANY_OPERATIONS: usize = 80;

/// How a scheme is laid over the image, in quads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    /// Quads per thread, one below the other.
    pub quads: i32,
    /// Quads of the region beyond the tile: left, right, above, below.
    pub margin: [i32; 4],
}

impl Region {
    pub(super) fn new(scheme: &Scheme) -> Self {
        let mut margin = [0; 4];
        for stage in &scheme.stages {
            let mut reach = [0; 4];
            for (_, (x, y)) in stage.first().into_iter().flat_map(Matrix::reads) {
                reach = [
                    reach[0].max(-x),
                    reach[1].max(x),
                    reach[2].max(-y),
                    reach[3].max(y),
                ];
            }
            for (m, r) in margin.iter_mut().zip(reach) {
                *m += r;
            }
        }
        let many = scheme.operations() > MANY_OPERATIONS;
        Self {
            quads: if many { 2 } else { 4 },
            margin,
        }
    }

    /// Quads loaded, along x and y.
    pub(super) fn size(&self) -> (i32, i32) {
        (THREADS.0, THREADS.1 * self.quads)
    }

    /// Quads stored, along x and y; `None` where the filters leave nothing.
    pub(super) fn tile(&self) -> Option<(i32, i32)> {
        let [l, r, t, b] = self.margin;
        let (w, h) = (self.size().0 - l - r, self.size().1 - t - b);
        (w > 0 && h > 0).then_some((w, h))
    }
}

/// The kernel's text behind its parameters and bindings.
pub(super) fn kernel(level: &Level, scheme: &Scheme) -> Result<(String, Region)> {
    let region = Region::new(scheme);
    let Some((tw, th)) = region.tile() else {
        return Err(Error::unsupported(format!(
            "scheme '{}' reaches too far for a workgroup; use a lifting scheme, or the CPU",
            scheme.name
        )));
    };
    let (rw, rh) = region.size();
    let [left, _, above, _] = region.margin;
    let mut text = format!(
        "const TILE: vec2<i32> = vec2<i32>({tw}, {th});\nconst MARGIN: vec2<i32> = vec2<i32>({left}, {above});\n{}var<workgroup> cell: array<f32, {}>;\n\n@compute @workgroup_size({})\nfn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {{\n    let here = vec2<i32>(i32(thread) % {}, i32(thread) / {});\n    let origin = vec2<i32>(group.xy) * TILE - MARGIN;\n    let plane = group.z;\n",
        access(level),
        4 * rw * rh,
        THREADS.0 * THREADS.1,
        THREADS.0,
        THREADS.0,
    );
    for k in 0..region.quads {
        let _ = writeln!(
            text,
            "    let r{k} = here + vec2<i32>(0, {});\n    let at{k} = r{k}.y * {rw} + r{k}.x;\n    var q{k} = load(origin + r{k}, plane);",
            k * THREADS.1,
        );
    }
    let mut shared = [false; 4];
    for (i, stage) in scheme.stages.iter().enumerate() {
        stage_text(&mut text, stage, i, &region, &mut shared);
    }
    for k in 0..region.quads {
        let _ = writeln!(
            text,
            "    if all(r{k} >= MARGIN) && all(r{k} < MARGIN + TILE) {{ store(origin + r{k}, plane, q{k}); }}"
        );
    }
    text.push_str("}\n");
    Ok((text, region))
}

/// One stage: share, wait, compute, then the matrices that stay inside the quads.
fn stage_text(
    text: &mut String,
    stage: &[Matrix],
    number: usize,
    region: &Region,
    shared: &mut [bool; 4],
) {
    let (rw, rh) = region.size();
    let _ = writeln!(text, "    // stage {number}");
    let needed = |c: usize| {
        let mut far = stage.first().into_iter().flat_map(Matrix::reads);
        far.any(|(from, at)| from == c && at != (0, 0))
    };
    let missing: Vec<usize> = (0..4).filter(|&c| needed(c) && !shared[c]).collect();
    if !missing.is_empty() {
        // Others may still read what is about to be overwritten.
        if number > 1 {
            text.push_str("    workgroupBarrier();\n");
        }
        for &c in &missing {
            for k in 0..region.quads {
                let _ = writeln!(
                    text,
                    "    cell[{} + at{k}] = q{k}[{c}];",
                    c as i32 * rw * rh
                );
            }
            shared[c] = true;
        }
        text.push_str("    workgroupBarrier();\n");
    }
    for matrix in stage {
        for k in 0..region.quads {
            let row = |r: usize| {
                if matrix.changes(r) {
                    sum(matrix, r, k, (rw, rh))
                } else {
                    format!("q{k}[{r}]")
                }
            };
            let _ = writeln!(
                text,
                "    q{k} = vec4<f32>({}, {}, {}, {});",
                row(0),
                row(1),
                row(2),
                row(3)
            );
        }
        for (r, shared) in shared.iter_mut().enumerate() {
            *shared &= !matrix.changes(r);
        }
    }
}

/// The new value of a sample, as a sum of products.
fn sum(matrix: &Matrix, row: usize, k: i32, (rw, rh): (i32, i32)) -> String {
    let mut terms = Vec::new();
    for column in 0..4 {
        for ((x, y), c) in matrix.entry(row, column).terms() {
            let value = match (x, y) {
                (0, 0) => format!("q{k}[{column}]"),
                _ => format!(
                    "cell[{} + clamp(at{k} + {}, 0, {})]",
                    column as i32 * rw * rh,
                    y * rw + x,
                    rw * rh - 1
                ),
            };
            terms.push(if c == 1.0 {
                value
            } else {
                format!("{:?} * {value}", c as f32)
            });
        }
    }
    terms.join(" + ")
}

/// How quads are read and written.
fn access(level: &Level) -> String {
    let [a, b, c] = level.scales();
    let mut text = String::from(include_str!("mirror.wgsl"));
    let scales = |s: [f32; 3]| {
        format!(
            "const SCALES: vec4<f32> = vec4<f32>({:?}, {:?}, {:?}, {:?});\n",
            s[0], s[1], s[1], s[2]
        )
    };
    match level.direction {
        Direction::Inverse => {
            text.push_str(&scales([1.0 / a, 1.0 / b, 1.0 / c]));
            text.push_str("@group(0) @binding(1) var<storage, read> coefficients: array<f32>;\n");
            let (low, out) = if level.deepest {
                ("", 2)
            } else {
                (
                    "@group(0) @binding(2) var<storage, read> low: array<f32>;\n",
                    3,
                )
            };
            let _ = writeln!(
                text,
                "{low}@group(0) @binding({out}) var<storage, read_write> dst: array<f32>;"
            );
            let ll = if level.deepest {
                "coefficients[(plane * p.frame_height + u32(l.y)) * p.frame_width + u32(l.x)]"
            } else {
                "low[(plane * p.low_height + u32(l.y)) * p.low_width + u32(l.x)]"
            };
            text.push_str(&include_str!("inverse.wgsl").replace("LL_VALUE", ll));
        }
        Direction::Forward | Direction::Adjoint => {
            text.push_str(&scales([a, b, c]));
            text.push_str("@group(0) @binding(1) var<storage, read> src: array<f32>;\n@group(0) @binding(2) var<storage, read_write> coefficients: array<f32>;\n");
            if !level.deepest {
                text.push_str("@group(0) @binding(3) var<storage, read_write> low: array<f32>;\n");
            }
            let ll = if level.deepest {
                "coefficients[(plane * p.frame_height + y) * p.frame_width + x]"
            } else {
                "low[(plane * p.low_height + y) * p.low_width + x]"
            };
            text.push_str(&include_str!("forward.wgsl").replace("LL_PLACE", ll));
        }
    }
    text
}
