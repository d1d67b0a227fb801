//! The entry point that uses the matrix units of a GPU.

use super::Convolve;
use super::gpu::SIDE;
use limpid_plan::Target;
use limpid_plan::wgsl::{Code, Wgsl};

/// Subgroups of a workgroup.
const TEAM: u32 = 4;
/// Rows of sixteen pixels per subgroup.
const ROWS: u32 = 4;
/// The inputs of a pixel in workgroup memory plus padding that spreads pixels over its banks, in vectors of four.
const PITCH: u32 = 6;
/// The same for outputs.
const MADE_PITCH: u32 = 5;

/// How a workgroup divides the work.
pub(super) struct Matrices {
    /// Threads of a subgroup.
    lanes: u32,
    side: u32,
    /// Matrices of sixteen outputs of a subgroup.
    blocks: u32,
    /// Those that are converted to outputs at once.
    made: u32,
}

impl Matrices {
    /// The most outputs per subgroup whose weights fit into workgroup memory beside a tile of pixels, `None` where not even one
    /// matrix fits.
    pub(super) fn new(
        kernel: &Convolve,
        outputs: usize,
        lanes: u32,
        target: Target,
    ) -> Option<Self> {
        let matrices = (outputs / SIDE) as u32;
        let side = kernel.side as u32;
        let shape = |blocks, made| Self {
            lanes,
            side,
            blocks,
            made,
        };
        (1..=4)
            .rev()
            .filter(|blocks| matrices.is_multiple_of(*blocks))
            .flat_map(|blocks| [2, 1].map(|made| shape(blocks, made)))
            .filter(|s| s.blocks.is_multiple_of(s.made))
            .find(|s| s.bytes() <= target.workgroup_bytes)
    }

    /// Columns, rows and outputs of a workgroup.
    pub(super) fn span(&self) -> [u32; 3] {
        [SIDE as u32, ROWS * TEAM, self.blocks * SIDE as u32]
    }

    /// Workgroup memory.
    fn bytes(&self) -> u32 {
        let tile = self.pixels() * PITCH * 8;
        tile + self.weights() * 8 + TEAM * self.made * SIDE as u32 * MADE_PITCH * 16
    }

    /// Pixels of a tile.
    fn pixels(&self) -> u32 {
        let edge = 2 * (self.side / 2);
        (SIDE as u32 + edge) * (ROWS * TEAM + edge)
    }

    /// Weights of a chunk, in vectors of four.
    fn weights(&self) -> u32 {
        self.blocks * self.side * self.side * 64
    }

    /// Adds constants, functions and the entry point.
    pub(super) fn source(&self, source: Wgsl) -> Wgsl {
        source
            .constant("BLOCKS", "u32", self.blocks)
            .constant("ROWS", "u32", ROWS)
            .constant("TEAM", "u32", TEAM)
            .constant("MADE", "u32", self.made)
            .constant("PITCH", "u32", PITCH)
            .constant("MADE_PITCH", "u32", MADE_PITCH)
            .constant("LANES", "u32", self.lanes)
            .body(include_str!("matrix.wgsl"))
            .entry("THREADS", self.entry())
    }

    /// A row of pixels is read once for all taps in a column. Sums are separate variables: as an array they would not stay in
    /// registers on all devices.
    fn entry(&self) -> Code {
        let mut code = Code::default();
        code.say("let team = lane / LANES");
        for (row, block) in self.sums() {
            code.say(format_args!("var sums{row}_{block}: Sums"));
        }
        code.block("for (var chunk = 0u; chunk < CHUNKS; chunk++)", |code| {
            self.bring(code);
            code.say("workgroupBarrier()")
                .block("for (var column = 0u; column < SIDE; column++)", |code| {
                    self.products(code);
                })
                .say("workgroupBarrier()");
        });
        for row in 0..ROWS {
            for first in (0..self.blocks).step_by(self.made as usize) {
                self.leave(&mut code, row, first);
            }
        }
        code
    }

    fn sums(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..ROWS).flat_map(|row| (0..self.blocks).map(move |block| (row, block)))
    }

    /// Loads a chunk into workgroup memory. All loads come before the first store: a loop would wait for each.
    fn bring(&self, code: &mut Code) {
        let tile = Share::new(4 * self.pixels(), TEAM * self.lanes);
        let kernels = Share::new(self.weights(), TEAM * self.lanes);
        for (i, at) in tile.places() {
            code.say(format_args!("let input{i} = input(chunk, group, {at})"));
        }
        for (i, at) in kernels.places() {
            code.say(format_args!("let weight{i} = weight(chunk, group, {at})"));
        }
        for (i, at) in tile.places() {
            let store = format!("tile[tile_place({at})] = input{i}");
            tile.store(code, i, &at, &store);
        }
        for (i, at) in kernels.places() {
            let store = format!("kernels[{at}] = weight{i}");
            kernels.store(code, i, &at, &store);
        }
    }

    /// Accumulates the products of a column of taps.
    fn products(&self, code: &mut Code) {
        code.say("let start = (team * ROWS * SPAN_X + column) * PITCH");
        for row in 0..ROWS + self.side - 1 {
            code.say(format_args!(
                "let v{row} = coopLoadT<Pixels>(&tile[start + {row}u * SPAN_X * PITCH], PITCH)"
            ));
        }
        for (tap, block) in (0..self.side).flat_map(|t| (0..self.blocks).map(move |b| (t, b))) {
            let at = format!("({block}u * TAPS + {tap}u * SIDE + column) * 64u");
            code.block("", |code| {
                code.say(format_args!(
                    "let w = coopLoad<Weights>(&kernels[{at}], 4u)"
                ));
                for row in 0..ROWS {
                    let (sums, v) = (format!("sums{row}_{block}"), row + tap);
                    code.say(format_args!("{sums} = coopMultiplyAdd(v{v}, w, {sums})"));
                }
            });
        }
    }

    /// Converts the sums of a row to outputs, from the matrix `first`.
    fn leave(&self, code: &mut Code, row: u32, first: u32) {
        for block in 0..self.made {
            let sums = format!("sums{row}_{}", first + block);
            let at = format!("(team * MADE + {block}u) * 16u * MADE_PITCH");
            code.say(format_args!("coopStoreT({sums}, &made[{at}], MADE_PITCH)"));
        }
        code.say("workgroupBarrier()")
            .say(format_args!(
                "leave(group, team, lane % LANES, {first}u, {row}u)"
            ))
            .say("workgroupBarrier()");
    }
}

/// Elements that the threads of a workgroup handle together.
struct Share {
    elements: u32,
    threads: u32,
}

impl Share {
    fn new(elements: u32, threads: u32) -> Self {
        Self { elements, threads }
    }

    /// The elements of a thread.
    fn places(&self) -> impl Iterator<Item = (u32, String)> {
        (0..self.elements.div_ceil(self.threads)).map(|i| (i, format!("lane + {i}u * THREADS")))
    }

    /// A store to the place `i` of a thread, if it exists.
    fn store(&self, code: &mut Code, i: u32, at: &str, store: &str) {
        if (i + 1) * self.threads <= self.elements {
            code.say(store);
        } else {
            code.block(format_args!("if {at} < {}u", self.elements), |code| {
                code.say(store);
            });
        }
    }
}
