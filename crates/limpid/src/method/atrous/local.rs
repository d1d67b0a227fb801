//! The filter without any σ: guided by the noise of each pixel, after the preprocessing that the methods for renders share.
//!
//! Colour is divided by albedo, outliers are clamped, and the variance of each pixel's brightness comes from halves, from the
//! file, or from the image. It is filtered with squared weights. Pixels of different classes never mix.

mod define;
mod passes;

pub(in crate::method::atrous) use define::define;

use super::Atrous;
use super::setup::{FilteredLayer, Setup};
use super::walk::{self, State};
use crate::method::window::{box_mean_twice, box_mean_twice_beside};
use crate::method::{Backend, Schedule};
use crate::{Kind, Layer, Part, Result, Shape};
use limpid_kernel_render::front as kernel;
use limpid_kernel_render::pack::{Pack, PackFeatures, PackSurface, PackedAt, Packing, Unpack};
use limpid_plan::{Layout, Plan};
use limpid_reference::definition::front;
use passes::Build;

/// How many standard deviations of noise count as equal.
const DEVIATIONS: f32 = 2.5;
/// Squared differences of brightness that always count as equal, in an image of ordinary exposure.
const LEAST: f32 = 1e-4;
/// At the first level the mean of 3×3 pixels is compared, which has this share of the variance.
const SHARE: f32 = 1.0 / 9.0;
/// σ of albedo, normal, the logarithm of depth (grows with the step), and position relative to the scene.
const ALBEDO: f32 = 0.3;
const NORMAL: f32 = 0.2;
const DEPTH: f32 = 0.1;
const POSITION: f32 = 0.1;
/// Radius over which variances are averaged, twice.
const AROUND: usize = 2;

/// The edge-stopping parameters.
#[derive(Debug, Clone)]
pub(in crate::method) struct Local {
    /// σ of each plane of the packed surface, and whether it grows with the step; infinite for unused planes.
    sigmas: Vec<(f32, bool)>,
}

impl Local {
    fn new(kinds: &[Kind]) -> Self {
        let has = |kind: Kind| kinds.contains(&kind);
        let nothing = (f32::INFINITY, false);
        let mut sigmas = vec![nothing; front::POSITION];
        // Depth encodes the class.
        sigmas[front::DEPTH] = (DEPTH, true);
        if has(Kind::Albedo) {
            sigmas[front::ALBEDO..][..3].fill((ALBEDO, false));
        }
        if has(Kind::Normal) {
            sigmas[front::NORMAL..][..3].fill((NORMAL, false));
        }
        if has(Kind::Position) {
            sigmas.extend([(POSITION, false); 3]);
        }
        Self { sigmas }
    }

    /// Whether features fit 16 bytes on a GPU.
    pub(super) fn packs(&self) -> bool {
        self.sigmas.len() == front::POSITION
    }

    /// One over σ for each plane.
    pub(super) fn stops(&self, level: usize) -> Vec<f32> {
        let step = (1u64 << level) as f32;
        let one = |(sigma, widens): &(f32, bool)| 1.0 / (sigma * if *widens { step } else { 1.0 });
        let mut all: Vec<f32> = self.sigmas.iter().map(one).collect();
        all[front::GUIDE] = if level == 0 { 1.0 } else { 0.0 };
        all
    }

    /// The weight of brightness at a level.
    pub(super) fn weight(
        &self,
        level: usize,
        symmetric: bool,
    ) -> limpid_kernel_render::atrous::Local {
        let first = level == 0;
        limpid_kernel_render::atrous::Local {
            square: 2.0 * DEVIATIONS * DEVIATIONS * if first { SHARE } else { 1.0 },
            least: LEAST,
            plane: first.then_some(front::GUIDE),
            symmetric,
        }
    }
}

/// The feature layers in the order of the preprocessing.
fn kinds(shape: &Shape) -> Vec<Kind> {
    let all = [Kind::Albedo, Kind::Normal, Kind::Depth, Kind::Position];
    let there = |k: &Kind| shape.channels(&k.clone().into()) == Some(k.channels()[0]);
    all.into_iter().filter(there).collect()
}

/// Whether a feature layer distinguishes surfaces of neighbouring pixels; these layers come first.
fn is_sharp(kind: &Kind) -> bool {
    matches!(kind, Kind::Albedo | Kind::Normal)
}

fn halves(shape: &Shape) -> bool {
    let has = |part| shape.has(Layer::new(Kind::Color, part));
    has(Part::HalfA) && has(Part::HalfB)
}

/// The range of depth for the preprocessing: arbitrary, because the filter compares neighbours only.
const ANY: front::Depth = front::Depth {
    low: -30.0,
    middle: 0.0,
    high: 30.0,
};

impl Atrous {
    /// Whether the filter uses local noise.
    pub(super) fn is_local(&self) -> bool {
        self.automatic() && self.grid() == 1 && !self.paper
    }

    /// Whether colour is divided by albedo, if present. With `energy` the colour itself must be filtered.
    pub(super) fn divides(&self) -> bool {
        !self.no_demodulate && !self.energy
    }

    /// Whether outliers are clamped, which removes light.
    pub(super) fn guards(&self) -> bool {
        !self.no_firefly_guard && !self.energy
    }

    fn exposure(&self) -> f32 {
        self.exposure.unwrap_or(1.0)
    }

    /// The factor of positions.
    fn scale(&self) -> f32 {
        1.0 / self.extent.unwrap_or(1.0)
    }

    fn local_setup(&self, shape: &Shape) -> Result<Setup> {
        let mut setup = self.setup(shape)?;
        let kinds = kinds(shape);
        setup.local = Some(Local::new(&kinds));
        setup.color = None;
        setup.guides = Vec::new();
        setup.demodulates = false;
        setup.guard = false;
        let colors = setup.colors;
        let noise = FilteredLayer {
            layer: Layer::new(Kind::Color, Part::Variance),
            packed_at: PackedAt {
                channels: 1,
                plane: colors,
                vector: 0,
                lane: 3,
                albedo: false,
                variance: true,
            },
        };
        let (mut plane, mut vector) = (colors + 1, 1);
        let old = std::mem::take(&mut setup.items);
        for (i, mut item) in old.into_iter().enumerate() {
            item.packed_at.albedo = false;
            if i == 0 {
                setup.items.push(item);
                setup.items.push(noise.clone());
            } else if !item.packed_at.variance {
                (
                    item.packed_at.plane,
                    item.packed_at.vector,
                    item.packed_at.lane,
                ) = (plane, vector, 0);
                plane += item.packed_at.channels;
                vector += 1;
                setup.items.push(item);
            }
        }
        Ok(setup)
    }
}

pub(super) fn plan(method: &Atrous, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
    let setup = method.local_setup(shape)?;
    let mut slots = walk::slots(method, &setup, shape, schedule)?;
    let on = slots.on();
    let mut build = Build {
        method,
        shape,
        plan: &mut slots.plan,
        on,
        channels: setup.colors,
    };
    let front = build.run();
    let usual = setup.items.len() == 2 && setup.colors == 3 && !setup.half;
    let beside = usual && on == Backend::Gpu;
    let noise = match beside {
        true => front.noise,
        false => box_mean_twice(build.plan, front.noise, AROUND),
    };
    let mut sources = Vec::new();
    for item in &setup.items {
        sources.push(match &item.layer {
            Layer {
                kind: Kind::Color,
                part: Part::Mean,
            } => front.light,
            Layer {
                kind: Kind::Color, ..
            } => noise,
            layer if layer.kind == Kind::Alpha => build.plan.input(layer.clone(), 1),
            layer => {
                let slot = build.over(layer.clone(), front.divide);
                match front.limit {
                    Some([before, after]) => {
                        let n = item.packed_at.channels;
                        build.small(kernel::follow(), "limited", &[slot, after, before], n)
                    }
                    None => slot,
                }
            }
        });
    }
    let payload = slots.payload("payload".into(), Layout::Rows);
    if beside {
        let all = [front.noise, front.light, payload];
        box_mean_twice_beside(&mut slots.plan, all, AROUND);
    } else if usual {
        // Light and its noise in one pass.
        let pack = PackFeatures {
            layers: vec![(0, 3), (3, 1)],
            packing: Packing::Full,
        };
        slots.plan.pass(pack, sources, [payload]);
    } else {
        for (i, (item, source)) in setup.items.iter().zip(sources).enumerate() {
            let pack = Pack {
                packed_at: item.packed_at,
                first: i == 0,
                half: setup.half,
            };
            slots.plan.pass(pack, [source], [payload]);
        }
    }
    let features = slots.features("packed features".into(), Layout::Rows);
    let kinds = kinds(shape);
    let has = |kind: Kind| kinds.contains(&kind);
    let pack = PackSurface {
        albedo: has(Kind::Albedo),
        normal: has(Kind::Normal),
        position: has(Kind::Position),
    };
    let mut reads = front.sharp;
    reads.extend([front.features, front.guide]);
    slots.plan.pass(pack, reads, [features]);
    let state = State {
        payload,
        features: Some(features),
    };
    let result = walk::levels(method, &mut slots, state);
    for item in &setup.items {
        let n = item.packed_at.channels;
        let color = item.layer.kind == Kind::Color;
        if color && item.packed_at.variance && !method.variance {
            continue;
        }
        let mut packed_at = item.packed_at;
        if item.layer.kind == Kind::Alpha || packed_at.variance {
            let unpack = Unpack::from(&slots.plan, result, packed_at, false);
            if item.layer.kind == Kind::Alpha {
                let output = slots.plan.output(item.layer.clone(), n);
                slots.plan.pass(unpack, [result], [output]);
                continue;
            }
            let made = slots.plan.transient("filtered variance", n);
            slots.plan.pass(unpack, [result], [made]);
            let output = slots.plan.output(item.layer.clone(), n);
            let by = slots.plan.transient("brightness of the divisor", 1);
            let bright = kernel::brightness(setup.colors, 1);
            slots.plan.pass(bright, [front.divide], [by]);
            let once = slots.plan.transient("variance", 1);
            let finish = || kernel::finish(true);
            slots.plan.pass(finish(), [made, made, by], [once]);
            slots.plan.pass(finish(), [once, once, by], [output]);
            continue;
        }
        packed_at.albedo = true;
        let output = slots.plan.output(item.layer.clone(), n);
        let unpack = Unpack::from(&slots.plan, result, packed_at, true);
        slots.plan.pass(unpack, [result, front.divide], [output]);
    }
    Ok(slots.plan)
}
