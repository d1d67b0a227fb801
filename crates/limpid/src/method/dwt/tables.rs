//! A transform by tables: any wavelet with any border, along rows, then along columns.

use super::Ready;
use crate::{Result, Size};
use limpid_kernel_wavelet::lines;
use limpid_kernel_wavelet::lines::{Frames, Lines, words};
use limpid_plan::{Plan, Role, Slot, SlotId};
use limpid_reference::definition::dwt::{Pass, counts, line_tables, spread_tables};

/// Tables of both bands along one axis.
struct Axis {
    low: SlotId,
    high: SlotId,
    /// Low and high coefficients.
    counts: (usize, usize),
}

/// Where a level's bands are in the packed image.
struct Bands {
    hl: (usize, usize),
    lh: (usize, usize),
    hh: (usize, usize),
}

impl Ready {
    /// Adds the levels between an image and its packed coefficients, in either direction.
    pub(super) fn tables(
        &self,
        plan: &mut Plan,
        (image, packed): (SlotId, SlotId),
        back: bool,
    ) -> Result<()> {
        let (size, planes) = (plan.at(image).size, plan.at(image).planes);
        let sizes = self.sizes(size);
        let mut lows = vec![image];
        for (i, size) in sizes.iter().enumerate().take(self.levels).skip(1) {
            let name = format!("low {i}");
            lows.push(plan.slot(Slot::new(name, Role::Transient, *size, planes)));
        }
        lows.push(packed);
        for step in 0..self.levels {
            let l = if back { self.levels - 1 - step } else { step };
            let across = self.axis(plan, sizes[l].width, l, back)?;
            let down = self.axis(plan, sizes[l].height, l, back)?;
            let bands = self.bands(&sizes, l)?;
            let level = (lows[l], lows[l + 1], packed);
            if back {
                join(plan, level, &bands, (&across, &down));
            } else {
                split(plan, level, &bands, (&across, &down));
            }
        }
        Ok(())
    }

    /// Sizes of the images that levels transform, and of the remainder.
    fn sizes(&self, size: Size) -> Vec<Size> {
        if self.undecimated {
            return vec![size; self.levels + 1];
        }
        self.definition().sizes(size)
    }

    fn bands(&self, sizes: &[Size], l: usize) -> Result<Bands> {
        if self.undecimated {
            let first = (1 + 3 * (self.levels - 1 - l)) * sizes[l].height;
            let at = |i: usize| (0, first + i * sizes[l].height);
            return Ok(Bands {
                hl: at(0),
                lh: at(1),
                hh: at(2),
            });
        }
        let (w, h) = self.definition().high_at(sizes[0], l)?;
        Ok(Bands {
            hl: (w, 0),
            lh: (0, h),
            hh: (w, h),
        })
    }

    fn axis(&self, plan: &mut Plan, n: usize, level: usize, back: bool) -> Result<Axis> {
        let pass = match (back, self.adjoint) {
            (false, _) => Pass::Forward,
            (true, false) => Pass::Inverse,
            (true, true) => Pass::Adjoint,
        };
        let [low, high] = if self.undecimated {
            spread_tables(&self.wavelet, n, level, pass)
        } else {
            line_tables(&self.definition(), n, pass)?
        };
        let mut slot = |name: &str, table: &[Vec<(usize, f64)>]| {
            let (width, words) = words(table);
            plan.data(name, width, words)
        };
        let counts = if self.undecimated {
            (n, n)
        } else {
            counts(n, &self.wavelet, self.border)
        };
        Ok(Axis {
            low: slot("low taps", &low),
            high: slot("high taps", &high),
            counts,
        })
    }
}

/// Sums along an axis of a part of an image.
#[derive(Clone, Copy)]
struct Sums {
    axis: lines::Axis,
    from: (usize, usize),
    to: (usize, usize),
    size: (usize, usize),
    add: bool,
}

/// Along rows, or `down` columns.
fn sums(down: bool, from: (usize, usize), to: (usize, usize), size: (usize, usize)) -> Sums {
    let axis = match down {
        true => lines::Axis::Column,
        false => lines::Axis::Row,
    };
    Sums {
        axis,
        from,
        to,
        size,
        add: false,
    }
}

/// Adds a pass, unless the band is empty: a line of one sample may have no high coefficient.
fn pass(plan: &mut Plan, sums: Sums, [from, table]: [SlotId; 2], to: SlotId) {
    let size = Size::new(sums.size.0, sums.size.1);
    if size.pixels() == 0 || plan.at(table).size.pixels() == 0 {
        return;
    }
    let image = |slot| Frames {
        size: plan.at(slot).size,
        count: 1,
    };
    let kernel = Lines {
        axis: sums.axis,
        src: image(from),
        dst: image(to),
        from: sums.from,
        to: (sums.to.0, sums.to.1, 0),
        size,
        add: sums.add,
    };
    plan.pass(kernel, [from, table], [to]);
}

/// The image of a level between rows and columns: low columns, then high ones.
fn between(plan: &mut Plan, image: SlotId, across: &Axis) -> SlotId {
    let (height, planes) = (plan.at(image).size.height, plan.at(image).planes);
    let size = Size::new(across.counts.0 + across.counts.1, height);
    plan.slot(Slot::new("lines", Role::Transient, size, planes))
}

/// One level forward.
fn split(
    plan: &mut Plan,
    (image, low, packed): (SlotId, SlotId, SlotId),
    bands: &Bands,
    (across, down): (&Axis, &Axis),
) {
    let tmp = between(plan, image, across);
    let height = plan.at(image).size.height;
    let ((lw, hw), (lh, hh)) = (across.counts, down.counts);
    pass(
        plan,
        sums(false, (0, 0), (0, 0), (lw, height)),
        [image, across.low],
        tmp,
    );
    pass(
        plan,
        sums(false, (0, 0), (lw, 0), (hw, height)),
        [image, across.high],
        tmp,
    );
    pass(
        plan,
        sums(true, (0, 0), (0, 0), (lw, lh)),
        [tmp, down.low],
        low,
    );
    pass(
        plan,
        sums(true, (lw, 0), bands.hl, (hw, lh)),
        [tmp, down.low],
        packed,
    );
    pass(
        plan,
        sums(true, (0, 0), bands.lh, (lw, hh)),
        [tmp, down.high],
        packed,
    );
    pass(
        plan,
        sums(true, (lw, 0), bands.hh, (hw, hh)),
        [tmp, down.high],
        packed,
    );
}

/// One level of the inverse.
fn join(
    plan: &mut Plan,
    (image, low, packed): (SlotId, SlotId, SlotId),
    bands: &Bands,
    (across, down): (&Axis, &Axis),
) {
    let tmp = between(plan, image, across);
    let Size { width, height } = plan.at(image).size;
    let (lw, hw) = across.counts;
    let more = |sums: Sums| Sums { add: true, ..sums };
    pass(
        plan,
        sums(true, (0, 0), (0, 0), (lw, height)),
        [low, down.low],
        tmp,
    );
    pass(
        plan,
        more(sums(true, bands.lh, (0, 0), (lw, height))),
        [packed, down.high],
        tmp,
    );
    pass(
        plan,
        sums(true, bands.hl, (lw, 0), (hw, height)),
        [packed, down.low],
        tmp,
    );
    pass(
        plan,
        more(sums(true, bands.hh, (lw, 0), (hw, height))),
        [packed, down.high],
        tmp,
    );
    pass(
        plan,
        sums(false, (0, 0), (0, 0), (width, height)),
        [tmp, across.low],
        image,
    );
    pass(
        plan,
        more(sums(false, (lw, 0), (0, 0), (width, height))),
        [tmp, across.high],
        image,
    );
}
