//! How a scheme is mapped to the image, in quads: regions overlap, tiles do not (Kula 2021, section 5.3).

use crate::dwt::Mapping;
use limpid_plan::Target;
use limpid_wavelet::{Direction, Matrix, Scheme};

/// Threads of a workgroup that uses workgroup memory, along x and y.
const THREADS: (i32, i32) = (32, 8);

/// Threads of a workgroup whose subgroups work independently.
const LANES: i32 = 128;

/// Floats in a sector of memory.
const SECTOR: i32 = 8;

/// Number of regions that keeps every device busy. Smaller images get regions with fewer rows.
const ENOUGH: i32 = 3000;

/// Minimum number of quad rows of a tile.
const LOW: i32 = 4;

/// Quads of a large image.
const LARGE: i32 = 1 << 23;

/// Schemes with more operations per quad than this get fewer quads per thread, to limit the code size.
const MANY_OPERATIONS: usize = 80;

/// How samples are exchanged between quads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dwt) enum Exchange {
    /// Through workgroup memory, with `banks` buffers.
    Memory { banks: i32 },
    /// Between the lanes of subgroups of this size, which march down the image in this many rounds; with `ahead`, rows of the
    /// next round are prefetched.
    Lanes { size: i32, rounds: i32, ahead: bool },
}

/// The quads that one workgroup loads and stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dwt) struct Region {
    pub exchange: Exchange,
    /// Quads per thread along y, or per lane and round.
    pub quads: i32,
    /// Threads of a workgroup that uses workgroup memory, along x and y.
    pub group: (i32, i32),
    /// Quads per thread along x, or horizontally adjacent ones per lane.
    pub across: i32,
    /// Halo of the region around the tile, in quads: left, right, above, below.
    pub margin: [i32; 4],
    /// Which samples of a quad other quads read.
    pub shared: [bool; 4],
}

impl Region {
    /// The region of a scheme for this many quads along x and y. If steps mirror their inputs, they can reach to either side.
    pub(in crate::dwt) fn new(
        scheme: &Scheme,
        (mapping, direction): (Mapping, Direction),
        image: Quads,
        target: &Target,
        mirrored: bool,
    ) -> Self {
        let mut margin = margin(scheme);
        if mirrored {
            let [l, r, t, b] = summed(scheme);
            margin = [l.max(r), l.max(r), t.max(b), t.max(b)];
        }
        let shared = shared(scheme, mirrored);
        let many = scheme.operations() > MANY_OPERATIONS;
        let lanes = target
            .subgroup
            .filter(|(least, most)| least == most && (4..=64).contains(most));
        if let (Mapping::Shuffle, Some((size, _)), false) = (mapping, lanes, mirrored) {
            let size = size as i32;
            // TwoTap quads per lane need an image at least four subgroups wide.
            let across = if image.by_two && image.columns >= 4 * size {
                2
            } else {
                1
            };
            let region = Self {
                exchange: Exchange::Lanes {
                    size,
                    rounds: 1,
                    ahead: true,
                },
                quads: 1,
                group: THREADS,
                across,
                // The output rows lag behind by the look-ahead of all stages together.
                margin: [margin[0], margin[1], margin[2], summed(scheme)[3]],
                shared,
            }
            .aligned(direction)
            .marching(image, direction);
            if region.tile().is_some() {
                return region;
            }
        }
        if let Mapping::Shaped(shape) = mapping {
            return Self {
                exchange: Exchange::Memory {
                    banks: 1 + i32::from(shape.double),
                },
                quads: i32::from(shape.quads),
                group: (i32::from(shape.columns), i32::from(shape.rows)),
                across: i32::from(shape.across),
                margin,
                shared,
            };
        }
        let banks = if mapping == Mapping::Double { 2 } else { 1 };
        let most = if many { 2 } else { 4 };
        let region = |quads| Self {
            exchange: Exchange::Memory { banks },
            quads,
            group: THREADS,
            across: 1,
            margin,
            shared,
        };
        let fits = |r: &Self| r.tile().is_some() && 4 * r.cells() <= target.workgroup_bytes as i32;
        let found = [4, 2, 1].into_iter().filter(|q| *q <= most).map(region);
        found.into_iter().find(fits).unwrap_or(region(most))
    }

    /// Aligns the tile so that its rows are whole sectors of memory, if enough of the tile remains: partially written sectors
    /// are read first. A row of a tile has this many coefficients per band, and twice as many pixels.
    fn aligned(mut self, direction: Direction) -> Self {
        let whole = match direction {
            Direction::Inverse => SECTOR / 2,
            Direction::Forward | Direction::Adjoint => SECTOR,
        };
        self.margin[0] += self.margin[0] % self.across;
        let width = self.size().0 - self.margin[0] - self.margin[1];
        let whole = if width >= 3 * SECTOR {
            whole
        } else {
            self.across
        };
        self.margin[1] += width % whole;
        self
    }

    /// Chooses the height of the region for an image of this many quads: tall regions recompute less, short ones give more
    /// parallelism. Also chooses the rows per round, as measured on an NVIDIA H200: large images are limited by memory, so more
    /// rows are prefetched; small ones finish before that matters.
    fn marching(mut self, image: Quads, direction: Direction) -> Self {
        let [l, r, t, b] = self.margin;
        if let Exchange::Lanes {
            size,
            rounds,
            ahead,
        } = &mut self.exchange
        {
            let large = image.columns.saturating_mul(image.rows) >= LARGE;
            let back = direction == Direction::Inverse;
            let most = if large { 12 } else { 8 };
            (self.quads, *ahead) = match (large, back && self.across == 2) {
                (false, _) => (2, true),
                (true, false) => (4, true),
                (true, true) => (8, false),
            };
            let strips = image.columns / (*size * self.across - l - r).max(1) + 1;
            let height = (strips.saturating_mul(image.rows) / ENOUGH).clamp(LOW, most);
            *rounds = (height + t + b + self.quads - 1) / self.quads;
        }
        self
    }

    /// Whether the image is so small that few regions lie inside it, and that it may be mirrored more than once beyond its
    /// borders.
    pub(super) fn is_large_for(&self, image: Quads) -> bool {
        let (w, h) = self.size();
        image.columns < 2 * w || image.rows < 2 * h
    }

    /// Number of buffers in workgroup memory.
    pub(super) fn banks(&self) -> i32 {
        match self.exchange {
            Exchange::Memory { banks } => banks,
            Exchange::Lanes { .. } => 0,
        }
    }

    /// Quads per thread.
    pub(super) fn each(&self) -> i32 {
        self.quads * self.across
    }

    /// The quads of a thread, or of a round: row, and index within the row.
    pub(super) fn round(&self) -> impl Iterator<Item = (i32, i32)> + use<> {
        let across = self.across;
        (0..self.quads * across).map(move |i| (i / across, i % across))
    }

    /// Rounds of a march.
    pub(in crate::dwt) fn rounds(&self) -> i32 {
        match self.exchange {
            Exchange::Memory { .. } => 1,
            Exchange::Lanes { rounds, .. } => rounds,
        }
    }

    /// Quads of a region.
    pub(super) fn area(&self) -> i32 {
        self.size().0 * self.size().1
    }

    /// Padding cells before the first and after the last sample, so that neighbours of a quad are never out of bounds.
    pub(super) fn padding(&self) -> i32 {
        let [l, r, t, b] = self.margin;
        (t.max(b)) * self.size().0 + l.max(r)
    }

    /// Cells of workgroup memory.
    pub(super) fn cells(&self) -> i32 {
        let kinds = self.shared.iter().filter(|s| **s).count() as i32;
        kinds * self.banks() * self.area() + 2 * self.padding()
    }

    /// The first cell of a sample of the quads.
    pub(super) fn first_cell(&self, sample: usize, bank: i32) -> i32 {
        let kinds = |samples: &[bool]| samples.iter().filter(|s| **s).count() as i32;
        let before = kinds(&self.shared[..sample]) + bank * kinds(&self.shared);
        self.padding() + before * self.area()
    }

    /// Quads loaded, along x and y.
    pub(in crate::dwt) fn size(&self) -> (i32, i32) {
        match self.exchange {
            Exchange::Memory { .. } => (self.group.0 * self.across, self.group.1 * self.quads),
            Exchange::Lanes { size, rounds, .. } => (size * self.across, self.quads * rounds),
        }
    }

    /// Quads stored, along x and y; `None` if the filters are too long for the region.
    pub(in crate::dwt) fn tile(&self) -> Option<(i32, i32)> {
        let [l, r, t, b] = self.margin;
        let (w, h) = (self.size().0 - l - r, self.size().1 - t - b);
        (w > 0 && h > 0).then_some((w, h))
    }

    /// Threads of a workgroup.
    pub(in crate::dwt) fn threads(&self) -> i32 {
        match self.exchange {
            Exchange::Memory { .. } => self.group.0 * self.group.1,
            Exchange::Lanes { .. } => LANES,
        }
    }

    /// Vertically adjacent regions per workgroup.
    pub(in crate::dwt) fn regions(&self) -> i32 {
        match self.exchange {
            Exchange::Memory { .. } => 1,
            Exchange::Lanes { size, .. } => LANES / size,
        }
    }
}

/// The quads of an image.
#[derive(Debug, Clone, Copy)]
pub(in crate::dwt) struct Quads {
    pub columns: i32,
    pub rows: i32,
    /// Whether two quads side by side can be read and written at once.
    pub by_two: bool,
}

/// How far the results of a scheme depend on other quads: left, right, above, below. Stages may reach farther in total, but no
/// stored result depends on that.
fn margin(scheme: &Scheme) -> [i32; 4] {
    let mut far = [[0; 4]; 4];
    for matrix in scheme.stages.iter().flatten() {
        let before = far;
        for row in (0..4).filter(|r| matrix.changes(*r)) {
            far[row] = [0; 4];
            for column in 0..4 {
                for ((x, y), _) in matrix.entry(row, column).terms() {
                    for (i, by) in [-x, x, -y, y].into_iter().enumerate() {
                        far[row][i] = far[row][i].max(before[column][i] + by);
                    }
                }
            }
        }
    }
    std::array::from_fn(|i| far.iter().map(|f| f[i]).max().unwrap_or(0))
}

/// The summed reach of all stages: left, right, above, below.
fn summed(scheme: &Scheme) -> [i32; 4] {
    let mut margin = [0; 4];
    for stage in &scheme.stages {
        for (m, r) in margin.iter_mut().zip(reach(stage)) {
            *m += r;
        }
    }
    margin
}

/// How far a stage reaches: left, right, above, below.
pub(super) fn reach(stage: &[Matrix]) -> [i32; 4] {
    let mut reach = [0; 4];
    for (_, (x, y)) in stage.first().into_iter().flat_map(Matrix::reads) {
        for (r, far) in reach.iter_mut().zip([-x, x, -y, y]) {
            *r = far.max(*r);
        }
    }
    reach
}

/// Which samples other quads read; if steps mirror their inputs, also those that are read within the quad only.
fn shared(scheme: &Scheme, mirrored: bool) -> [bool; 4] {
    let mut shared = [false; 4];
    for stage in &scheme.stages {
        if let Some(first) = stage.first() {
            for (sample, at) in first.reads() {
                shared[sample] |= at != (0, 0) || (mirrored && !first.changes(sample));
            }
        }
    }
    shared
}
