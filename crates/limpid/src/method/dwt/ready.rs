//! Resolved options of a transform, and its plans.

use super::{DwtSchedule, Scale, wavelet};
use crate::method::Schedule;
use crate::{Error, Frame, Image, Layer, Result, Shape, Size};
use limpid_kernel_wavelet::dwt::{
    AxisPass, Interleave, Level, Limits, Mapping, PassAxis, QuadPass, Quads, mended, remainder,
};
use limpid_plan::texture::ToTexture;
use limpid_plan::{Backing, Element, Plan, Role, Slot, SlotId};
use limpid_reference::definition::dwt::{
    Arrangement, Coefficients, Detail, Dwt as Definition, Undecimated,
};
use limpid_wavelet::{Boundary, Direction, Form, Kind, Normalisation, SchemeName, Wavelet};

/// Resolved options.
pub(in crate::method) struct Ready {
    pub(in crate::method) wavelet: Wavelet,
    pub(in crate::method) levels: usize,
    pub(in crate::method) normalisation: Normalisation,
    pub(super) border: Boundary,
    pub(super) layout: Arrangement,
    pub(super) undecimated: bool,
    pub(super) reversible: Option<usize>,
    pub(super) frames: Option<usize>,
    pub(super) adjoint: bool,
}

/// Banks with a larger reconstruction error than this do not reconstruct in `f32` either.
const EXACT: f64 = 1e-6;
/// Number of refinement steps for such banks.
const REFINED: usize = 2;

impl Ready {
    pub(in crate::method) fn new(name: &str, levels: usize, scale: Scale) -> Result<Self> {
        if !(1..=30).contains(&levels) {
            return Err(Error::option("levels", levels, "1 to 30"));
        }
        Ok(Self {
            wavelet: wavelet(name)?,
            levels,
            normalisation: scale.into(),
            border: Boundary::Mirror,
            layout: Arrangement::Subbands,
            undecimated: false,
            reversible: None,
            frames: None,
            adjoint: false,
        })
    }

    /// Refuses options that cannot be combined.
    pub(super) fn checked(self) -> Result<Self> {
        if let Some(bits) = self.reversible {
            if !(1..=16).contains(&bits) {
                return Err(Error::option("reversible", bits, "1 to 16 bits"));
            }
            let alone = self.border == Boundary::Mirror && !self.undecimated && !self.adjoint;
            if self.wavelet.name() != "cdf53" || !alone {
                let expected =
                    "wavelet cdf53 and boundary mirror with it, neither undecimated nor adjoint";
                return Err(Error::option("reversible", bits, expected));
            }
        }
        if let Some(frames) = self.frames {
            let plain = self.layout == Arrangement::Subbands && !self.undecimated;
            if frames == 0 || !plain || self.reversible.is_some() {
                let expected =
                    "at least 1, with layout subbands, neither undecimated nor reversible";
                return Err(Error::option("frames", frames, expected));
            }
        }
        if self.undecimated && self.adjoint {
            let expected = "false, because the undecimated transform has no adjoint here";
            return Err(Error::option("adjoint", true, expected));
        }
        Ok(self)
    }

    /// Warns if the wavelet's filters do not reconstruct an image: the inverse here solves for it, that of other programs does
    /// not.
    pub(super) fn tell(&self) {
        if !self.exact() {
            let error = self.wavelet.bank().reconstruction_error();
            log::warn!(
                "wavelet '{}': its filters are approximate; programs that only apply them reconstruct with an error of about {error:.0e} of the range",
                self.wavelet.name()
            );
        }
    }

    /// Whether the synthesis filters reconstruct exactly.
    fn exact(&self) -> bool {
        self.wavelet.bank().reconstruction_error() <= EXACT
    }

    pub(in crate::method) fn definition(&self) -> Definition {
        Definition {
            wavelet: self.wavelet.clone(),
            border: self.border,
            normalisation: self.normalisation,
            levels: self.levels,
        }
    }

    fn undecimated_definition(&self) -> Undecimated {
        Undecimated {
            wavelet: self.wavelet.clone(),
            levels: self.levels,
        }
    }

    /// The transform by the definition.
    pub(super) fn define(&self, image: &Image) -> Result<Image> {
        if let Some(frames) = self.frames {
            return self.definition().forward_volume(image, frames);
        }
        if self.undecimated {
            return stacked(&self.undecimated_definition().forward(image)?);
        }
        let dwt = self.definition();
        if let Some(whole) = self.largest() {
            return self.define_reversible(image, whole);
        }
        dwt.pack(&dwt.forward(image)?, self.layout)
    }

    /// The inverse or the adjoint by the definition. If filters are not exact, the residual of the coefficients is also
    /// transformed back, [`REFINED`] times; each iteration reduces the error by a factor of at least 100.
    pub(super) fn define_back(&self, packed: &Image, size: Size) -> Result<Image> {
        let mut image = self.define_filters(packed, size)?;
        if !self.exact() && !self.adjoint {
            for _ in 0..REFINED {
                let there = self.define(&image)?;
                let mut rest = packed.clone();
                for (r, t) in rest.data_mut().iter_mut().zip(there.data()) {
                    *r -= t;
                }
                let missing = self.define_filters(&rest, size)?;
                for (v, m) in image.data_mut().iter_mut().zip(missing.data()) {
                    *v += m;
                }
            }
        }
        Ok(image)
    }

    /// The result of the synthesis or adjoint filters.
    fn define_filters(&self, packed: &Image, size: Size) -> Result<Image> {
        if let Some(frames) = self.frames {
            let dwt = self.definition();
            return match self.adjoint {
                true => dwt.adjoint_volume(packed, frames),
                false => dwt.inverse_volume(packed, frames),
            };
        }
        if self.undecimated {
            let bands = unstacked(packed, size, self.levels)?;
            return self.undecimated_definition().inverse(&bands);
        }
        let dwt = self.definition();
        if let Some(whole) = self.largest() {
            return self.define_reversible_back(packed, whole);
        }
        let coefficients = dwt.unpack(packed, size, self.layout)?;
        if self.adjoint {
            dwt.adjoint(&coefficients)
        } else {
            dwt.inverse(&coefficients)
        }
    }

    /// Whether the levels run as lifting; otherwise they use tables.
    pub(super) fn lifted(&self) -> bool {
        self.border == Boundary::Mirror
            && !self.undecimated
            && self.reversible.is_none()
            && !self.adjoint
            && self.wavelet.lifting().is_some()
    }

    /// Adds the levels between an image and its packed coefficients, in either direction. `limits` are the thresholds of each
    /// level, finest first, and the slot they are read from.
    pub(in crate::method) fn levels(
        &self,
        plan: &mut Plan,
        (image, packed): (SlotId, SlotId),
        schedule: &Schedule,
        direction: Direction,
        limits: (&[Limits], Option<SlotId>),
    ) -> Result<()> {
        let (scheme, mapping) = match schedule.choice()? {
            DwtSchedule::Scheme(scheme, mapping) => (scheme, mapping),
            _ => (
                SchemeName::new(Kind::SeparableLifting, Form::Basic),
                Mapping::Single,
            ),
        };
        let Some(lifting) = self.wavelet.lifting() else {
            return Err(Error::unsupported(format!(
                "wavelet '{}' has no well-conditioned lifting steps, which mirrored borders need",
                self.wavelet.name()
            )));
        };
        if matches!(mapping, Mapping::Fragment | Mapping::Pipeline(_)) && !limits.0.is_empty() {
            return Err(Error::unsupported(
                "several passes per level do not support thresholds",
            ));
        }
        let level = Level::new(lifting, self.normalisation, direction, scheme).mapped(mapping);
        let (size, planes) = (plan.at(image).size, plan.at(image).planes);
        let sizes = halved(size, self.levels);
        let mut lows = vec![image];
        for (i, size) in sizes.iter().enumerate().skip(1) {
            let name = format!("low {i}");
            lows.push(plan.slot(Slot::new(name, Role::Transient, *size, planes)));
        }
        let back = direction == Direction::Inverse;
        for step in 0..sizes.len() {
            let i = if back { sizes.len() - 1 - step } else { step };
            let own = limits.0.get(i).copied().unwrap_or(Limits::None);
            let kernel = level
                .clone()
                .sized(sizes[i], i + 1 == sizes.len())
                .limited(own);
            let other = lows.get(i + 1).copied();
            let (mut reads, mut writes) = (vec![packed], vec![lows[i]]);
            if back {
                reads.extend(other);
                reads.extend(limits.1);
            } else {
                std::mem::swap(&mut reads, &mut writes);
                writes.extend(other);
            }
            match mapping {
                Mapping::Fragment => fragment_level(plan, &kernel, &reads, &writes),
                Mapping::Pipeline(pairs) => {
                    pipeline_level(plan, &kernel, pairs, (&reads, &writes));
                }
                _ if mapping.texture() && !back && planes <= 3 => {
                    let texels = Slot::new(format!("texels {i}"), Role::Transient, sizes[i], 1);
                    let texels =
                        plan.slot(texels.element(Element::F32x4).backing(Backing::Texture));
                    plan.pass(ToTexture { margin: 0 }, reads, [texels]);
                    plan.pass(kernel, [texels], writes);
                }
                _ => plan.pass(kernel, reads, writes),
            }
        }
        Ok(())
    }

    pub(super) fn plan(
        &self,
        shape: &Shape,
        size: Size,
        schedule: &Schedule,
        direction: Direction,
    ) -> Result<Plan> {
        schedule.choice::<DwtSchedule>()?;
        let planes = shape.require(&Layer::COLOR)?;
        let title = format!("{} {schedule}", self.wavelet.name());
        let mut plan = Plan::new(title, shape.size);
        let back = direction == Direction::Inverse;
        let filled = self.filled(size)?;
        if back && shape.size != filled {
            return Err(Error::mismatch(format!(
                "coefficients of an image of {size} fill {filled}, not {}",
                shape.size
            )));
        }
        let source = plan.input(Layer::COLOR, planes);
        let result_size = if back { size } else { filled };
        let result = Slot::new("out color", Role::Output(Layer::COLOR), result_size, planes);
        let result = plan.slot(result);
        let (image, mut packed) = if back {
            (result, source)
        } else {
            (source, result)
        };
        let order = Interleave {
            levels: self.levels,
            back,
        };
        let interleaved = self.layout == Arrangement::Interleaved && !self.undecimated;
        if interleaved {
            let apart = plan.slot(Slot::new("sub-bands", Role::Transient, filled, planes));
            if back {
                plan.pass(order, [packed], [apart]);
            }
            packed = apart;
        }
        if self.reversible.is_some() {
            self.reversible_levels(&mut plan, (image, packed), back);
        } else if back && !self.adjoint && !self.exact() {
            self.solved(&mut plan, (image, packed), schedule)?;
        } else if self.frames.is_some() {
            self.volume(&mut plan, (image, packed), schedule, direction)?;
        } else if self.lifted() {
            let none = (&[][..], None);
            self.levels(&mut plan, (image, packed), schedule, direction, none)?;
        } else {
            self.tables(&mut plan, (image, packed), back)?;
        }
        if interleaved && !back {
            plan.pass(order, [packed], [result]);
        }
        if interleaved && self.lifted() {
            // Interleaved coefficients stay at the positions of their samples, so tiles of whole blocks of the last level give
            // the same result.
            let blocks = u32::try_from(self.levels).ok().filter(|l| *l < 16);
            plan.set_reach(blocks.map(|l| self.reach() * ((1usize << l) - 1)));
            plan.set_align(blocks.map_or(1, |l| 1 << l));
        }
        Ok(plan)
    }

    /// Adds an inverse with inexact filters: their result, then the refinement.
    fn solved(
        &self,
        plan: &mut Plan,
        (image, packed): (SlotId, SlotId),
        schedule: &Schedule,
    ) -> Result<()> {
        let transform = |plan: &mut Plan, slots, direction| match self.frames {
            Some(_) => self.volume(plan, slots, schedule, direction),
            None => self.tables(plan, slots, direction == Direction::Inverse),
        };
        let like = |plan: &mut Plan, name: &str, id: SlotId| {
            let (size, planes) = (plan.at(id).size, plan.at(id).planes);
            plan.slot(Slot::new(name, Role::Transient, size, planes))
        };
        let mut now = like(plan, "estimate", image);
        transform(plan, (now, packed), Direction::Inverse)?;
        for turn in 1..=REFINED {
            let there = like(plan, "coefficients of it", packed);
            transform(plan, (now, there), Direction::Forward)?;
            let rest = like(plan, "remainder", packed);
            plan.pass(remainder(), [packed, there], [rest]);
            let missing = like(plan, "missing", image);
            transform(plan, (missing, rest), Direction::Inverse)?;
            let next = match turn {
                REFINED => image,
                _ => like(plan, "estimate", image),
            };
            plan.pass(mended(), [now, missing], [next]);
            now = next;
        }
        Ok(())
    }

    /// How many pixels the steps of one level reach to each side.
    fn reach(&self) -> usize {
        let pairs = self.wavelet.lifting().into_iter().flat_map(|l| &l.pairs);
        let steps = pairs.flat_map(|p| [&p.predict, &p.update]);
        steps.map(|taps| 2 * taps.reach() as usize + 1).sum()
    }

    /// Whether the levels have an order that can be cut into tiles.
    pub(super) fn has_place(&self) -> bool {
        self.layout == Arrangement::Subbands && self.frames.is_none() && self.lifted()
    }

    /// Reorders coefficients.
    pub(super) fn moved(
        &self,
        frame: &Frame,
        (from, to): (Arrangement, Arrangement),
    ) -> Result<Frame> {
        let (dwt, packed) = (self.definition(), frame.require(Layer::COLOR)?);
        let coefficients = dwt.unpack(packed, packed.size(), from)?;
        Frame::new(dwt.pack(&coefficients, to)?)
    }

    /// Size of the image that coefficients fill.
    fn filled(&self, size: Size) -> Result<Size> {
        if self.frames.is_some() {
            return Ok(size);
        }
        if self.undecimated {
            return Ok(Size::new(size.width, size.height * (3 * self.levels + 1)));
        }
        self.definition().packed_size(size, self.layout)
    }
}

/// Sizes of the images that levels transform.
pub(super) fn halved(size: Size, levels: usize) -> Vec<Size> {
    let half = |s: &Size| Some(Size::new(s.width.div_ceil(2), s.height.div_ceil(2)));
    std::iter::successors(Some(size), half)
        .take(levels)
        .collect()
}

/// A level as fragment passes, plane by plane.
fn fragment_level(plan: &mut Plan, level: &Level, reads: &[SlotId], writes: &[SlotId]) {
    let (steps, grid) = (Quads::steps(level), Quads::grid(level));
    for plane in 0..plan.at(reads[0]).planes {
        let quads = |part| Quads {
            level: level.clone(),
            plane,
            part,
        };
        let texture = |plan: &mut Plan| {
            let slot = Slot::new("quads", Role::Transient, grid, 1);
            plan.slot(slot.element(Element::F32x4).backing(Backing::Texture))
        };
        let mut now = texture(plan);
        plan.pass(quads(QuadPass::Load), reads, [now]);
        for matrix in &steps {
            let next = texture(plan);
            let step = QuadPass::Step(Box::new(matrix.clone()));
            plan.pass(quads(step), [now], [next]);
            now = next;
        }
        plan.pass(quads(QuadPass::Store), [now], writes);
    }
}

/// A level as a pass along rows and one along columns.
fn pipeline_level(
    plan: &mut Plan,
    level: &Level,
    pairs: u16,
    (reads, writes): (&[SlotId], &[SlotId]),
) {
    let planes = plan.at(reads[0]).planes;
    let half = plan.slot(Slot::new("rows", Role::Transient, level.size, planes));
    let pass = |axis| AxisPass {
        level: level.clone(),
        axis,
        pairs,
    };
    let (rows, columns) = (pass(PassAxis::Rows), pass(PassAxis::Columns));
    if level.direction == Direction::Inverse {
        plan.pass(columns, reads, [half]);
        plan.pass(rows, [half], writes);
    } else {
        plan.pass(rows, reads, [half]);
        plan.pass(columns, [half], writes);
    }
}

/// All bands stacked: the remainder, then `HL`, `LH`, `HH` of each level, coarsest first.
fn stacked(bands: &Coefficients) -> Result<Image> {
    let low = &bands.low;
    let details = bands
        .details
        .iter()
        .rev()
        .flat_map(|d| [&d.hl, &d.lh, &d.hh]);
    let all: Vec<&Image> = std::iter::once(low).chain(details).collect();
    let mut data = Vec::new();
    for c in 0..low.channels() {
        for band in &all {
            data.extend_from_slice(band.plane(c));
        }
    }
    Image::from_planes(low.width(), low.height() * all.len(), low.channels(), data)
}

fn unstacked(image: &Image, size: Size, levels: usize) -> Result<Coefficients> {
    if image.size() != Size::new(size.width, size.height * (3 * levels + 1)) {
        return Err(Error::mismatch(format!(
            "{} undecimated bands of {size} do not fill an image of {}",
            3 * levels + 1,
            image.size()
        )));
    }
    let band = |i: usize| {
        Image::from_fn(size.width, size.height, image.channels(), |x, y, c| {
            image.get(x, i * size.height + y, c)
        })
    };
    let detail = |l: usize| {
        let first = 1 + 3 * (levels - 1 - l);
        let (hl, lh, hh) = (band(first), band(first + 1), band(first + 2));
        Detail { size, hl, lh, hh }
    };
    Ok(Coefficients {
        low: band(0),
        details: (0..levels).map(detail).collect(),
    })
}
