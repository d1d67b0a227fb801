//! The cost of a scheme: operations, barriers, reads, writes and memory cells per quad, as counted by Kula 2021.

use limpid::wavelet::{Matrix, Scheme};
use std::collections::BTreeSet;

#[cfg(test)]
#[path = "cost_tables.rs"]
mod tables;

/// Costs of a compute kernel that shares samples through workgroup memory (Kula 2021, tables 8.2 to 8.4 and 11.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputeCost {
    /// Multiplications.
    pub operations: usize,
    /// Barriers with double buffering; single buffering needs one more before each write but the first.
    pub barriers: usize,
    /// Samples of other quads read from workgroup memory.
    pub reads: usize,
    /// Samples written to workgroup memory.
    pub writes: usize,
    /// Memory cells if values are overwritten in place.
    pub single: usize,
    /// Memory cells if reads and writes never overlap.
    pub double: usize,
}

/// Costs of passes that exchange samples through textures (Kula 2021, table 11.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassCost {
    /// Multiplications.
    pub operations: usize,
    /// Passes.
    pub steps: usize,
    /// Samples read, those of the own quad included.
    pub reads: usize,
    /// Samples written.
    pub writes: usize,
    /// Cells per quad: the four samples, and a second one for each that is written while neighbours read it.
    pub memory: usize,
}

/// Costs as a compute kernel.
///
/// Samples read once stay in registers until they change, and samples in memory stay there until they change
/// (section 5.5).
pub fn compute(scheme: &Scheme) -> ComputeCost {
    let mut tracker = Tracker::default();
    let mut cost = ComputeCost {
        operations: scheme.operations(),
        barriers: scheme.stages.len() - 1,
        reads: 0,
        writes: 0,
        single: 0,
        double: 0,
    };
    let mut held = 0;
    for (i, stage) in scheme.stages.iter().enumerate() {
        if i > 0 {
            let (reads, needed) = tracker.load(stage);
            let written = needed.difference(&tracker.memory).count();
            cost.reads += reads;
            cost.writes += written;
            cost.single = cost.single.max(needed.len()).max(written);
            cost.double = cost.double.max(held + written);
            held = needed.len();
            tracker.memory = needed;
        }
        tracker.advance(stage);
    }
    cost
}

/// Costs as passes over textures.
pub fn passes(scheme: &Scheme) -> PassCost {
    let mut cost = PassCost {
        operations: scheme.operations(),
        steps: scheme.stages.len() - 1,
        reads: 0,
        writes: 0,
        memory: 4,
    };
    for stage in &scheme.stages[1..] {
        let step = stage.iter().fold(Matrix::identity(), |done, m| m * &done);
        let written: Vec<usize> = (0..4).filter(|&r| step.changes(r)).collect();
        let shared: BTreeSet<usize> = step
            .reads()
            .filter(|(c, at)| *at != (0, 0) && written.contains(c))
            .map(|(c, _)| c)
            .collect();
        cost.reads += step.reads().count();
        cost.writes += written.len();
        if cost.steps > 1 {
            cost.memory = cost.memory.max(4 + shared.len());
        }
    }
    cost
}

/// Where samples are stored while a kernel runs.
#[derive(Default)]
struct Tracker {
    /// Samples of the quad whose current value is in workgroup memory.
    memory: BTreeSet<usize>,
    /// Samples of other quads whose current value is in registers.
    registers: BTreeSet<(usize, (i32, i32))>,
}

impl Tracker {
    /// Reads what a stage needs from other quads: the number of reads, and the samples that must be in memory for it.
    fn load(&mut self, stage: &[Matrix]) -> (usize, BTreeSet<usize>) {
        let far = stage.first().into_iter().flat_map(Matrix::reads);
        let new: Vec<_> = far
            .filter(|(c, at)| *at != (0, 0) && !self.registers.contains(&(*c, *at)))
            .collect();
        self.registers.extend(new.iter().copied());
        (new.len(), new.iter().map(|(c, _)| *c).collect())
    }

    /// Forgets samples that a stage changes.
    fn advance(&mut self, stage: &[Matrix]) {
        for row in (0..4).filter(|&r| stage.iter().any(|m| m.changes(r))) {
            self.memory.remove(&row);
            self.registers.retain(|(c, _)| *c != row);
        }
    }
}

/// How workgroups are laid over the image (Kula 2021, section 5.3): regions overlap, so that tiles do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Threads along x and y.
    pub group: (usize, usize),
    /// Quads per thread along x and y.
    pub quads: (usize, usize),
}

impl Region {
    /// Pixels that a workgroup loads, along x and y (Eq. 5.2).
    pub fn pixels(&self) -> (usize, usize) {
        (
            2 * self.group.0 * self.quads.0,
            2 * self.group.1 * self.quads.1,
        )
    }

    /// Pixels that it stores: the region less `4·D·K` (Eq. 5.3). `None` where nothing is left.
    pub fn tile(&self, degree: usize, pairs: usize) -> Option<(usize, usize)> {
        let margin = 4 * degree * pairs;
        let (x, y) = self.pixels();
        let left = |n: usize| n.checked_sub(margin).filter(|n| *n > 0);
        Some((left(x)?, left(y)?))
    }

    /// Loaded pixels beyond the stored ones, in percent.
    ///
    /// Table 5.1 holds `100·(region / tile - 1)`; Eq. 5.4 prints `100·(1 - tile / region)`, which gives other numbers.
    pub fn overhead(&self, degree: usize, pairs: usize) -> Option<f64> {
        let ((rx, ry), (tx, ty)) = (self.pixels(), self.tile(degree, pairs)?);
        Some(100.0 * ((rx * ry) as f64 / (tx * ty) as f64 - 1.0))
    }

    /// Bytes of workgroup memory per cell of a quad.
    pub fn cell_bytes(&self) -> usize {
        self.group.0 * self.group.1 * self.quads.0 * self.quads.1 * size_of::<f32>()
    }
}
