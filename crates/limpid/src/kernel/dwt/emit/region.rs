//! How a scheme is laid over the image, in quads: regions overlap, tiles do not (Kula 2021, section 5.3).

use crate::kernel::Target;
use crate::kernel::dwt::Mapping;
use crate::wavelet::{Direction, Matrix, Scheme};

/// Threads of a workgroup that shares memory, along x and y.
const THREADS: (i32, i32) = (32, 8);

/// Threads of a workgroup whose sub-groups work alone.
const LANES: i32 = 128;

/// Floats in a sector of memory.
const SECTOR: i32 = 8;

/// Schemes with more operations per quad than this get fewer quads per thread: their text would grow out of hand.
const MANY_OPERATIONS: usize = 80;

/// Where samples of other quads come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kernel::dwt) enum Exchange {
    /// Workgroup memory, `banks` times.
    Memory { banks: i32 },
    /// Other lanes of sub-groups of this size.
    Lanes { size: i32 },
}

/// What one workgroup loads and stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::kernel::dwt) struct Region {
    pub exchange: Exchange,
    /// Quads per thread, one below the other.
    pub quads: i32,
    /// Quads of the region beyond the tile: left, right, above, below.
    pub margin: [i32; 4],
    /// Which samples of a quad others read.
    pub shared: [bool; 4],
}

impl Region {
    /// The region of a scheme. Where steps mirror what they read, they can reach to either side.
    pub(in crate::kernel::dwt) fn new(
        scheme: &Scheme,
        (mapping, direction): (Mapping, Direction),
        target: &Target,
        mirrored: bool,
    ) -> Self {
        let mut margin = margin(scheme);
        if mirrored {
            let [l, r, t, b] = margin;
            margin = [l.max(r), l.max(r), t.max(b), t.max(b)];
        }
        let shared = shared(scheme, mirrored);
        let many = scheme.operations() > MANY_OPERATIONS;
        let lanes = target
            .subgroup
            .filter(|(least, most)| least == most && (4..=64).contains(most));
        if let (Mapping::Shuffle, Some((size, _)), false) = (mapping, lanes, mirrored) {
            let region = Self {
                exchange: Exchange::Lanes { size: size as i32 },
                quads: if many { 8 } else { 16 },
                margin,
                shared,
            }
            .aligned(direction);
            if region.tile().is_some() {
                return region;
            }
        }
        let banks = if mapping == Mapping::Double { 2 } else { 1 };
        let most = if many { 2 } else { 4 };
        let region = |quads| Self {
            exchange: Exchange::Memory { banks },
            quads,
            margin,
            shared,
        };
        let fits = |r: &Self| r.tile().is_some() && 4 * r.cells() <= target.workgroup_bytes as i32;
        let found = [4, 2, 1].into_iter().filter(|q| *q <= most).map(region);
        found.into_iter().find(fits).unwrap_or(region(most))
    }

    /// The region with a tile whose rows are whole sectors of memory, where that leaves enough of it: what is written in
    /// part is read first. A row of a tile is as many coefficients of a band, and twice as many pixels.
    fn aligned(mut self, direction: Direction) -> Self {
        let whole = match direction {
            Direction::Inverse => SECTOR / 2,
            Direction::Forward | Direction::Adjoint => SECTOR,
        };
        let [l, r, ..] = self.margin;
        let width = self.size().0 - l - r;
        if width >= 3 * SECTOR {
            self.margin[1] += width % whole;
        }
        self
    }

    /// Quads of a region.
    pub(super) fn area(&self) -> i32 {
        self.size().0 * self.size().1
    }

    /// Cells before the first and behind the last sample, so that no neighbour of a quad stands outside.
    pub(super) fn padding(&self) -> i32 {
        let [l, r, t, b] = self.margin;
        (t.max(b)) * self.size().0 + l.max(r)
    }

    /// Cells of workgroup memory.
    pub(super) fn cells(&self) -> i32 {
        match self.exchange {
            Exchange::Memory { banks } => {
                let kinds = self.shared.iter().filter(|s| **s).count() as i32;
                kinds * banks * self.area() + 2 * self.padding()
            }
            Exchange::Lanes { .. } => 0,
        }
    }

    /// The first cell of a sample of the quads.
    pub(super) fn first_cell(&self, sample: usize, bank: i32) -> i32 {
        let kinds = |samples: &[bool]| samples.iter().filter(|s| **s).count() as i32;
        let before = kinds(&self.shared[..sample]) + bank * kinds(&self.shared);
        self.padding() + before * self.area()
    }

    /// Quads loaded, along x and y.
    pub(in crate::kernel::dwt) fn size(&self) -> (i32, i32) {
        match self.exchange {
            Exchange::Memory { .. } => (THREADS.0, THREADS.1 * self.quads),
            Exchange::Lanes { size } => (size, self.quads),
        }
    }

    /// Quads stored, along x and y; `None` where the filters leave nothing.
    pub(in crate::kernel::dwt) fn tile(&self) -> Option<(i32, i32)> {
        let [l, r, t, b] = self.margin;
        let (w, h) = (self.size().0 - l - r, self.size().1 - t - b);
        (w > 0 && h > 0).then_some((w, h))
    }

    /// Threads of a workgroup.
    pub(in crate::kernel::dwt) fn threads(&self) -> i32 {
        match self.exchange {
            Exchange::Memory { .. } => THREADS.0 * THREADS.1,
            Exchange::Lanes { .. } => LANES,
        }
    }

    /// Regions of a workgroup, one below the other.
    pub(in crate::kernel::dwt) fn regions(&self) -> i32 {
        match self.exchange {
            Exchange::Memory { .. } => 1,
            Exchange::Lanes { size } => LANES / size,
        }
    }

    /// Rows of quads between those of a thread.
    pub(super) fn spacing(&self) -> i32 {
        match self.exchange {
            Exchange::Memory { .. } => THREADS.1,
            Exchange::Lanes { .. } => 1,
        }
    }
}

/// How far the stages reach together: left, right, above, below.
fn margin(scheme: &Scheme) -> [i32; 4] {
    let mut margin = [0; 4];
    for stage in &scheme.stages {
        let mut reach = [0; 4];
        for (_, (x, y)) in stage.first().into_iter().flat_map(Matrix::reads) {
            for (r, far) in reach.iter_mut().zip([-x, x, -y, y]) {
                *r = far.max(*r);
            }
        }
        for (m, r) in margin.iter_mut().zip(reach) {
            *m += r;
        }
    }
    margin
}

/// Which samples other quads read; where steps mirror what they read, also those that stay inside a quad.
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
