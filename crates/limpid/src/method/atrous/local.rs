//! The filter without any σ: guided by the noise of each pixel, after the preprocessing that the methods for renders share.
//!
//! Colour is divided by albedo, outliers are clamped, and the variance of each pixel's brightness comes from halves, from the
//! file, or from the image. It is filtered with squared weights. Pixels of different classes never mix.

mod define;

pub(in crate::method::atrous) use define::define;

use super::Atrous;
use super::setup::{Item, Setup};
use super::walk::{self, State};
use crate::definition::front;
use crate::definition::nfor::DARK;
use crate::kernel::front as kernel;
use crate::kernel::pack::{Pack, PackFeatures, PackSurface, PackedAt, Packing, Unpack};
use crate::method::window::{box_mean, box_mean_twice, box_mean_twice_beside};
use crate::method::{Backend, Schedule};
use crate::plan::{Layout, Plan, SlotId};
use crate::{Kind, Layer, Part, Result, Shape};

/// How many standard deviations of noise count as equal.
const DEVIATIONS: f32 = 2.5;
/// Squared differences of brightness that always count as equal, in an image of ordinary exposure.
const LEAST: f32 = 1e-4;
/// At the first level the mean of 3×3 pixels is compared, which has this share of the variance.
const SHARE: f32 = 1.0 / 9.0;
/// σ of albedo, normal, the logarithm of depth, which grows with the step, and position as a share of the scene.
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

    /// Whether 16 bytes suffice on a GPU.
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
    pub(super) fn weight(&self, level: usize, symmetric: bool) -> crate::kernel::atrous::Local {
        let first = level == 0;
        crate::kernel::atrous::Local {
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

/// Whether a layer of features is one that tells surfaces of neighbours apart; these come first.
fn is_sharp(kind: &Kind) -> bool {
    matches!(kind, Kind::Albedo | Kind::Normal)
}

fn halves(shape: &Shape) -> bool {
    let has = |part| shape.has(Layer::new(Kind::Color, part));
    has(Part::HalfA) && has(Part::HalfB)
}

/// The range of depth for the preprocessing: the filter compares neighbours, so any range will do.
const ANY: front::Depth = front::Depth {
    low: -30.0,
    middle: 0.0,
    high: 30.0,
};

impl Atrous {
    /// Whether the filter uses local noise.
    pub(super) fn is_local(&self) -> bool {
        self.automatic() && self.grid() == 1
    }

    /// Whether colour is divided by albedo if there is one. With `energy` the filtered values must be the colour itself.
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
        let noise = Item {
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

/// The passes.
struct Build<'a> {
    method: &'a Atrous,
    shape: &'a Shape,
    plan: &'a mut Plan,
    on: Backend,
    channels: usize,
}

/// The output of the preprocessing.
struct Front {
    divide: SlotId,
    /// The layers of albedo and normals.
    sharp: Vec<SlotId>,
    /// Depth and class, positions.
    features: SlotId,
    light: SlotId,
    /// The variance of its brightness in each pixel, yet to be smoothed.
    noise: SlotId,
    guide: SlotId,
    /// Brightness before and after outliers were clamped.
    limit: Option<[SlotId; 2]>,
}

impl Build<'_> {
    fn small(
        &mut self,
        kernel: impl crate::kernel::Kernel + 'static,
        name: &str,
        reads: &[SlotId],
        planes: usize,
    ) -> SlotId {
        let out = self.plan.transient(name, planes);
        self.plan.pass(kernel, reads, [out]);
        out
    }

    fn bright(&mut self, slot: SlotId) -> SlotId {
        let planes = self.plan.at(slot).planes;
        self.small(kernel::brightness(planes, 1), "brightness", &[slot], 1)
    }

    fn over(&mut self, layer: Layer, divide: SlotId) -> SlotId {
        let n = self.shape.channels(&layer).unwrap_or(self.channels);
        let slot = self.plan.input(layer, n);
        self.small(
            kernel::divide(n != self.channels),
            "over divisor",
            &[slot, divide],
            n,
        )
    }

    fn run(&mut self) -> Front {
        let (n, kinds) = (self.channels, kinds(self.shape));
        let has = |k: Kind| kinds.contains(&k);
        let surface = kernel::Surface {
            albedo: has(Kind::Albedo),
            normal: has(Kind::Normal),
            depth: has(Kind::Depth).then_some(ANY),
            position: has(Kind::Position).then_some(self.method.scale()),
            copies: false,
            divide: self.method.divides(),
            exposure: self.method.exposure(),
        };
        let mut reads: Vec<SlotId> = Vec::new();
        for kind in &kinds {
            reads.push(self.plan.input(kind.clone(), kind.channels()[0]));
        }
        let sharp = reads[..kinds.iter().filter(|k| is_sharp(k)).count()].to_vec();
        let lit = !halves(self.shape);
        if lit || reads.is_empty() {
            reads.push(self.plan.input(Layer::COLOR, n));
        }
        let class = self.plan.transient("class", 1);
        let divide = self.plan.transient("divisor", n);
        let features = self.plan.transient("features", surface.planes());
        let mut writes = vec![class, divide, features];
        let (light, noise, guide, limit) = if lit {
            let light = self.plan.transient("light", n);
            let bright = self.plan.transient("brightness", 1);
            writes.extend([light, bright]);
            self.plan.pass(surface.kernel(n, true), reads, writes);
            self.one([light, bright], [class, divide], &sharp)
        } else {
            self.plan.pass(surface.kernel(n, false), reads, writes);
            let (light, noise, limit) = self.two(class, divide);
            (light, noise, None, limit)
        };
        let guide = match (guide, limit) {
            (Some(guide), _) => guide,
            (None, Some([_, after])) => box_mean(self.plan, after, 1),
            (None, None) => {
                let bright = self.bright(light);
                box_mean(self.plan, bright, 1)
            }
        };
        Front {
            divide,
            sharp,
            features,
            light,
            noise,
            guide,
            limit,
        }
    }

    /// Colour over the divisor, and its brightness.
    fn lit(&mut self, layer: Layer, divide: SlotId) -> (SlotId, SlotId) {
        let n = self.channels;
        let slot = self.plan.input(layer, n);
        let light = self.plan.transient("light", n);
        let bright = self.plan.transient("brightness", 1);
        let kernel = kernel::light(n);
        self.plan.pass(kernel, [slot, divide], [light, bright]);
        (light, bright)
    }

    /// Light without outliers, and its brightness.
    fn limited(
        &mut self,
        slot: SlotId,
        [own, other]: [SlotId; 2],
        class: SlotId,
    ) -> (SlotId, SlotId) {
        let limit = kernel::Limit {
            by_other: own != other,
            floor: DARK,
            step: 1,
            brightness: true,
        };
        let light = self.plan.transient("limited", self.channels);
        let bright = self.plan.transient("limited brightness", 1);
        let reads = [slot, own, other, class];
        self.plan.pass(limit, reads, [light, bright]);
        (light, bright)
    }

    /// The light of two halves, its noise, and its brightness before and after.
    fn two(&mut self, class: SlotId, divide: SlotId) -> (SlotId, SlotId, Option<[SlotId; 2]>) {
        let n = self.channels;
        let [(a, bright_a), (b, bright_b)] =
            [Part::HalfA, Part::HalfB].map(|part| self.lit(Layer::new(Kind::Color, part), divide));
        let mut halves = [a, b];
        if self.method.guards() {
            halves = [
                self.limited(a, [bright_a, bright_b], class).0,
                self.limited(b, [bright_b, bright_a], class).0,
            ];
        }
        let mut light = self.small(kernel::middle(), "light", &halves, n);
        let squares = self.small(
            kernel::square_difference(0.25),
            "half differences",
            &halves,
            n,
        );
        let noise = self.bright(squares);
        let mut limit = None;
        if self.method.guards() {
            // One factor for all channels, so that light layers still add up.
            let (mean, before) = self.lit(Layer::COLOR, divide);
            let after = self.bright(light);
            light = self.small(kernel::follow(), "limited light", &[mean, after, before], n);
            limit = Some([before, after]);
        }
        (light, noise, limit)
    }

    /// The same for one buffer, given its light and brightness; and the brightness that guides the first level, if it was made on the
    /// way.
    fn one(
        &mut self,
        [mut light, before]: [SlotId; 2],
        [class, divide]: [SlotId; 2],
        sharp: &[SlotId],
    ) -> (SlotId, SlotId, Option<SlotId>, Option<[SlotId; 2]>) {
        let n = self.channels;
        let (mut limit, mut bright) = (None, before);
        if self.method.guards() {
            let (limited, after) = self.limited(light, [before, before], class);
            (light, limit, bright) = (limited, Some([before, after]), after);
        }
        let known = Layer::new(Kind::Color, Part::Variance);
        if self.shape.channels(&known) == Some(n) {
            let once = self.over(known, divide);
            let twice = self.small(kernel::divide(false), "variance", &[once, divide], n);
            let mut bright = self.bright(twice);
            if let Some([before, after]) = limit {
                for _ in 0..2 {
                    let reads = [bright, after, before];
                    bright = self.small(kernel::follow(), "limited variance", &reads, 1);
                }
            }
            return (light, bright, None, limit);
        }
        // On the CPU a pass of its own is faster.
        let guides = self.on == Backend::Gpu;
        let mut reads = vec![light, class];
        reads.extend(guides.then_some(bright));
        reads.extend(sharp);
        let has = |kind: Kind| kinds(self.shape).contains(&kind);
        let kernel = kernel::unrest(n, has(Kind::Albedo), has(Kind::Normal), guides);
        let unrest = self.plan.transient("unrest", 1);
        let guide = guides.then(|| self.plan.transient("guide", 1));
        let writes: Vec<SlotId> = [Some(unrest), guide].into_iter().flatten().collect();
        self.plan.pass(kernel, reads, writes);
        (light, unrest, guide, limit)
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
