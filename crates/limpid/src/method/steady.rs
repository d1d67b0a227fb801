//! Results of neighbouring frames, blended along the motion: the last passes of methods that denoise each frame by itself.
//!
//! The definition is `definition::steady`. Results and features of the last frames are in ring buffers, as in [`super::film`]; each run
//! returns the blend for a frame that is as many frames older as results are delayed.

use super::window::separable;
use crate::{Kind, Layer};
use limpid_kernel_photo::film::{Keep, Reel, Tick};
use limpid_kernel_photo::steady::{
    Blend, Limits, OTHERS, PLACES, SURFACE, Trace, alike, features, lights,
};
use limpid_kernel_photo::window::Filter;
use limpid_plan::{Plan, Role, Slot, SlotId};
use limpid_reference::definition::steady::{NARROW, WIDE};

/// The largest number of frames on each side.
pub(super) const MOST: usize = 7;

/// Which frames are blended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Steady {
    reel: Reel,
    ended: bool,
}

impl Steady {
    /// So many frames on each side; results are delayed, and no more frames arrive.
    pub(super) fn new(radius: usize, ahead: usize, ended: bool) -> Self {
        let reel = Reel { radius, ahead };
        Self { reel, ended }
    }

    /// Adds the passes that blend results and write the outputs. `color` is noisy; albedo and normal need not be there. Results are
    /// colour first and what was filtered with it, and light that is a picture of its own.
    pub(super) fn add(
        self,
        plan: &mut Plan,
        color: SlotId,
        [albedo, normal]: [Option<SlotId>; 2],
        [together, apart]: [&[(Layer, usize, SlotId)]; 2],
    ) {
        let Some((_, colors, clean)) = together.first() else {
            return;
        };
        let Self { reel, ended } = self;
        let size = plan.size();
        let clock = Slot::new("clock", Role::History, crate::Size::new(2, 1), 1);
        let clock = plan.slot(clock);
        plan.pass(Tick { ended }, [], [clock]);
        let motion = plan.input(Kind::Motion, 2);
        let off = plan.transient("deviation", 1);
        let light = plan.transient("light", 1);
        let reads = [color, *clean].into_iter().chain(albedo);
        plan.pass(
            lights(*colors, albedo.is_some()),
            reads.collect::<Vec<_>>(),
            [off, light],
        );
        let noise = smoothed(plan, off, WIDE);
        let surface = plan.transient("surface", SURFACE);
        let others = plan.transient("features", OTHERS);
        let reads = [light, noise, motion]
            .into_iter()
            .chain(normal)
            .chain(albedo);
        let kernel = features(normal.is_some(), albedo.is_some());
        plan.pass(kernel, reads.collect::<Vec<_>>(), [surface, others]);
        let keep = |plan: &mut Plan, name: String, slot: SlotId| {
            let planes = plan.at(slot).planes * reel.places();
            let ring = plan.slot(Slot::new(name, Role::History, size, planes));
            plan.pass(Keep { reel }, [slot, clock], [ring]);
            ring
        };
        let surfaces = keep(plan, "surfaces of frames".into(), surface);
        let others = keep(plan, "features of frames".into(), others);
        let places = plan.transient("places", PLACES * reel.radius);
        let differences = plan.transient("differences", 2 * reel.radius);
        let rings = [surfaces, clock, others];
        plan.pass(Trace { reel }, rings, [places, differences]);
        let scales = [NARROW, WIDE].map(|window| smoothed(plan, differences, window));
        let weights = plan.transient("alike", reel.radius);
        let reads = [differences, scales[0], scales[1]];
        plan.pass(alike(reel.radius), reads, [weights]);
        // Parts of the colour are limited as it is.
        let part = |layer: &Layer, channels: usize| {
            matches!(layer.kind, Kind::Light(_)) && channels == *colors
        };
        let parts = together.iter().any(|(l, n, _)| part(l, *n));
        let told = parts.then(|| plan.transient("limits", Blend::planes(reel, *colors)));
        for (i, (layer, channels, slot)) in together.iter().chain(apart).enumerate() {
            let ring = keep(plan, format!("{layer} of frames"), *slot);
            let output = plan.output(layer.clone(), *channels);
            let mut reads = vec![ring, clock, places, weights];
            let mut writes = vec![output];
            let limits = match told {
                Some(told) if i == 0 => {
                    writes.push(told);
                    Limits::Told
                }
                Some(told) if i < together.len() && part(layer, *channels) => {
                    reads.push(told);
                    Limits::Given
                }
                _ => Limits::Own,
            };
            plan.pass(Blend { reel, limits }, reads, writes);
        }
    }
}

/// A slot under a Gaussian window.
fn smoothed(plan: &mut Plan, slot: SlotId, (sigma, radius): (f32, usize)) -> SlotId {
    separable(plan, slot, Filter::Gaussian { sigma }, radius)
}
