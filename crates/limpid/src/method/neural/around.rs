//! Frames before and after: the passes behind those that denoise each frame by itself.
//!
//! The definition is `definition::around`. Layers and results of the last frames are in ring buffers, as in [`super::super::film`]; each
//! run returns a frame that is as many frames older as results are delayed.

use super::build::{AroundSlots, NetworkInputs};
use super::weights::Frames;
use super::{ImageFacts, Neural};
use crate::method::network::Build;
use crate::method::window::separable;
use crate::{Kind, Layer, Result, Size};
use limpid_kernel_photo::around::{Fetch, Limits, Middle, PLACES, Trace, fetched};
use limpid_kernel_photo::film::{Keep, Reel, Tick};
use limpid_kernel_photo::window::Filter;
use limpid_kernel_render::neural::Into;
use limpid_kernel_render::neural::around::{
    Blend, BlendWeights, Compare, Deviation, GuideInputs, Trust,
};
use limpid_plan::{Element, Plan, Role, Slot, SlotId};
use limpid_reference::definition::around::{COMPARED, FARTHEST, MORE, WINDOW};

/// The largest number of frames on each side.
pub(super) const MOST: usize = FARTHEST;

/// Which frames are used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Around {
    reel: Reel,
    ended: bool,
    /// Global properties of the frame whose result is computed.
    whole: ImageFacts,
    frames: &'static Frames,
}

/// The layers of a frame.
pub(super) struct Denoised {
    /// Noisy layers, colour first.
    pub layers: Vec<(Layer, usize, SlotId)>,
    /// Results of these layers.
    pub results: Vec<SlotId>,
    /// Results of light that is filtered by itself.
    pub alone: Vec<(Layer, usize, SlotId)>,
    /// Albedo, normal and depth.
    pub features: [Option<SlotId>; 3],
}

/// Whether a layer is a part of the colour, which has so many channels.
pub(super) fn is_part(layer: &Layer, channels: usize, colors: usize) -> bool {
    matches!(layer.kind, Kind::Light(_)) && channels == colors
}

/// A layer of all frames: the ring, and the layer of the output frame.
#[derive(Clone, Copy)]
struct LayerRing {
    ring: SlotId,
    middle: SlotId,
    channels: usize,
}

/// The passes under construction.
struct Passes<'a> {
    build: &'a mut Build,
    around: Around,
    clock: SlotId,
    places: SlotId,
    /// How much the light of frames is trusted, once it is known.
    trust: SlotId,
    weights: Vec<SlotId>,
    /// Whether light is fetched in single precision, because its parts have to add up.
    exact: bool,
}

impl Around {
    /// So many frames on each side; results are delayed, and no more frames arrive.
    pub(super) fn new(
        radius: usize,
        [ahead, ended]: [usize; 2],
        whole: ImageFacts,
        frames: &'static Frames,
    ) -> Self {
        let reel = Reel { radius, ahead };
        Self {
            reel,
            ended: ended > 0,
            whole,
            frames,
        }
    }

    /// Adds the passes that see all frames and write the outputs.
    pub(super) fn add(self, build: &mut Build, method: &Neural, denoised: Denoised) -> Result<()> {
        let Denoised {
            layers,
            results,
            alone,
            features,
        } = denoised;
        let clock = Slot::new("clock", Role::History, Size::new(2, 1), 1);
        let clock = build.plan.slot(clock);
        build.plan.pass(Tick { ended: self.ended }, [], [clock]);
        let motion = build.plan.input(Kind::Motion, 2);
        let places = PLACES * self.reel.radius;
        let mut passes = Passes {
            clock,
            places: build.plan.transient("places", places),
            trust: build.plan.transient("trust", 2 * self.reel.radius),
            weights: Vec::new(),
            exact: false,
            around: self,
            build,
        };
        let motion = passes.kept("motion", motion, 2);
        let reel = self.reel;
        let plan = &mut passes.build.plan;
        plan.pass(Trace { reel }, [motion.ring, clock], [passes.places]);
        let noisy: Vec<LayerRing> = layers
            .iter()
            .map(|(layer, channels, slot)| passes.kept(&layer.to_string(), *slot, *channels))
            .collect();
        let made: Vec<LayerRing> = layers
            .iter()
            .zip(&results)
            .map(|((layer, channels, _), slot)| {
                passes.kept(&format!("result {layer}"), *slot, *channels)
            })
            .collect();
        let [albedo, normal, depth] = [("albedo", 3), ("normal", 3), ("depth", 1)];
        let [albedo, normal, depth] = [(albedo, 0), (normal, 1), (depth, 2)].map(
            |((name, channels), i): ((&str, usize), usize)| {
                features[i].map(|slot| passes.kept(name, slot, channels))
            },
        );
        let (Some(color), Some(result)) = (noisy.first(), made.first()) else {
            return Ok(());
        };
        let exposure = self.whole.exposure;
        // Parts of the colour are limited as it is.
        let parts = |layer: &Layer, channels: usize| is_part(layer, channels, color.channels);
        let any = layers.iter().any(|(layer, n, _)| parts(layer, *n));
        let told = if any { Limits::Told } else { Limits::Own };
        passes.exact = any;
        let (fetched_color, limits) = passes.fetched_within(*color, exposure, told, None);
        let (fetched_result, then) = passes.fetched_within(*result, exposure, told, None);
        let [fetched_albedo, fetched_normal] =
            [albedo, normal].map(|kept| kept.map(|kept| (kept, passes.fetched(kept, 1.0))));
        let trust = Trust {
            radius: reel.radius,
            channels: color.channels,
        };
        let reads = [passes.places, fetched_result];
        passes.build.plan.pass(trust, reads, [passes.trust]);
        let noise = passes.noise(*color, *result, exposure);
        let surface = [fetched_albedo, fetched_normal].map(|f| f.map(|f| f.1));
        let seen = [
            Some(fetched_color),
            Some(fetched_result),
            surface[0],
            surface[1],
        ];
        passes.weigh(noise, color.channels, seen)?;

        // The frame of more samples, and the means of results.
        let factor = |layer: &Layer| match layer.kind {
            Kind::Alpha => 1.0,
            _ => exposure,
        };
        let [more_albedo, more_normal] = [fetched_albedo, fetched_normal].map(|f| {
            f.map(|(kept, fetched)| passes.blended(kept, fetched, BlendWeights::Features, 1.0))
        });
        let mut samples = Vec::new();
        let mut means = Vec::new();
        for (i, (layer, channels, _)) in layers.iter().enumerate() {
            let factor = factor(layer);
            let [there, result] = match i {
                0 => [fetched_color, fetched_result],
                _ if parts(layer, *channels) => [(noisy[i], limits), (made[i], then)]
                    .map(|(kept, by)| passes.fetched_within(kept, factor, Limits::Given, by).0),
                _ => [noisy[i], made[i]].map(|kept| passes.fetched(kept, factor)),
            };
            let slot = passes.blended(noisy[i], there, BlendWeights::Light, factor);
            samples.push((layer.clone(), *channels, slot));
            means.push(passes.blended(made[i], result, BlendWeights::Results, factor));
        }
        let more = passes.known(noise, means[0], color.channels, more_albedo);
        for (layer, channels, slot) in alone {
            let kept = passes.kept(&format!("result {layer}"), slot, channels);
            let there = passes.fetched(kept, exposure);
            let output = passes.build.plan.output(layer, channels);
            passes.blend(kept, there, BlendWeights::Results, exposure, output);
        }
        let places = passes.places;
        let build = passes.build;
        build.loaded = self.frames.guides.clone();
        let seen = NetworkInputs {
            method,
            features: [more_albedo, more_normal, depth.map(|kept| kept.middle)],
            whole: self.whole,
            known: Some(AroundSlots {
                more,
                means,
                radius: reel.radius,
                places,
            }),
        };
        let output =
            |plan: &mut Plan, layer: &Layer, channels: usize| plan.output(layer.clone(), channels);
        build.filtered(&seen, &samples, output)?;
        Ok(())
    }
}

impl Passes<'_> {
    /// Keeps a layer of the newest frame.
    fn kept(&mut self, name: &str, slot: SlotId, channels: usize) -> LayerRing {
        let (reel, clock, plan) = (self.around.reel, self.clock, &mut self.build.plan);
        let planes = channels * reel.places();
        let ring = Slot::new(
            format!("{name} of frames"),
            Role::History,
            plan.size(),
            planes,
        );
        let ring = plan.slot(ring);
        plan.pass(Keep { reel }, [slot, clock], [ring]);
        let middle = plan.transient(format!("{name} of the frame"), channels);
        plan.pass(Middle { reel }, [ring, clock], [middle]);
        LayerRing {
            ring,
            middle,
            channels,
        }
    }

    /// A layer of all frames, along the motion.
    fn fetched(&mut self, kept: LayerRing, factor: f32) -> SlotId {
        self.fetched_within(kept, factor, Limits::Own, None).0
    }

    /// The same within limits, which another layer has told, or which are told, too.
    fn fetched_within(
        &mut self,
        kept: LayerRing,
        factor: f32,
        limits: Limits,
        given: Option<SlotId>,
    ) -> (SlotId, Option<SlotId>) {
        let reel = self.around.reel;
        let frames = fetched(reel.radius);
        let planes = match self.build.is_gpu() {
            true => 4 * frames,
            false => kept.channels * frames,
        };
        let size = self.build.plan.size();
        let mut made = |name: &str| match self.exact {
            true => self.build.planes(name.into(), size, planes, Element::F32x4),
            false => self.build.map(name, size, planes),
        };
        let to = made("fetched");
        let told = (limits == Limits::Told).then(|| made("limits"));
        let fetch = Fetch {
            reel,
            channels: kept.channels,
            factor,
            limits,
        };
        let mut reads = vec![kept.ring, self.clock, self.places];
        reads.extend(given);
        let writes: Vec<SlotId> = std::iter::once(to).chain(told).collect();
        self.build.plan.pass(fetch, reads, writes);
        (to, told)
    }

    /// The squared noise of the frame, relative to its light.
    fn noise(&mut self, color: LayerRing, result: LayerRing, exposure: f32) -> SlotId {
        let plan = &mut self.build.plan;
        let off = plan.transient("deviation", 1);
        let deviation = Deviation {
            channels: color.channels,
            exposure,
        };
        plan.pass(deviation, [color.middle, result.middle], [off]);
        let (sigma, radius) = WINDOW;
        separable(plan, off, Filter::Gaussian { sigma }, radius)
    }

    /// The weights of frames before and after at each distance, from fetched colour, result, albedo and normal.
    fn weigh(&mut self, noise: SlotId, channels: usize, seen: [Option<SlotId>; 4]) -> Result<()> {
        let radius = self.around.reel.radius;
        self.build.loaded = self.around.frames.weigh.clone();
        self.build.turn = 0;
        for away in 1..=radius {
            let size = self.build.plan.size();
            let inputs = self.build.map("compared", size, COMPARED);
            let compare = Compare {
                radius,
                away,
                channels,
                features: [seen[2].is_some(), seen[3].is_some()],
            };
            let mut reads = vec![noise, self.places];
            reads.extend(seen.iter().flatten());
            self.build.plan.pass(compare, reads, [inputs]);
            self.weights
                .extend(self.build.network(inputs, Into::Plain)?);
        }
        Ok(())
    }

    /// A layer of the frame, blended with those of the frames around.
    fn blended(&mut self, kept: LayerRing, there: SlotId, of: BlendWeights, factor: f32) -> SlotId {
        let to = self.build.plan.transient("blended", kept.channels);
        self.blend(kept, there, of, factor, to);
        to
    }

    fn blend(&mut self, kept: LayerRing, there: SlotId, of: BlendWeights, factor: f32, to: SlotId) {
        let blend = Blend {
            radius: self.around.reel.radius,
            of,
            channels: kept.channels,
            factor,
        };
        let trust = match of {
            BlendWeights::Features => self.places,
            BlendWeights::Light | BlendWeights::Results => self.trust,
        };
        let mut reads = vec![kept.middle, there, trust];
        reads.extend(&self.weights);
        self.build.plan.pass(blend, reads, [to]);
    }

    /// What the network of guides reads besides the frame of more samples.
    fn known(
        &mut self,
        noise: SlotId,
        mean: SlotId,
        channels: usize,
        albedo: Option<SlotId>,
    ) -> SlotId {
        let to = self.build.plan.transient("known", MORE);
        let known = GuideInputs {
            radius: self.around.reel.radius,
            channels,
            albedo: albedo.is_some(),
            exposure: self.around.whole.exposure,
        };
        let mut reads = vec![noise, self.places, self.trust, mean];
        reads.extend(albedo);
        reads.extend(&self.weights);
        self.build.plan.pass(known, reads, [to]);
        to
    }
}
