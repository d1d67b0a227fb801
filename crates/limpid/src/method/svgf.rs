//! Spatio-temporal variance-guided filtering of sequences (Schied 2017), with the schedules of Dolp 2024.
//!
//! The definition is `definition::svgf`. Schedules are those of [`crate::method::Atrous`] for its levels; the result of the
//! first level stays in memory, in the order in which it was written, as the history for the next frame.

mod define;
mod lights;

pub(super) use lights::{Light, Slots, planes};

use super::atrous::walk::Traversal;
use super::atrous::{AtrousSchedule, Storage};
use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use};
use crate::{Error, Frame, Kind, Layer, Result, Shape};
use limpid_kernel_render::atrous::{
    Atrous as Level, Guided, Mode, Shape as Tile, Source, Stops, Walk,
};
use limpid_kernel_render::front::divisor;
use limpid_kernel_render::pack::{PackedAt, Unpack};
use limpid_kernel_render::svgf::{Layers, Origin, Past, SpatialVariance, Temporal};
use limpid_kernel_render::taa::{Resolve, edges};
use limpid_plan::{Element, Layout, Order, Phases, Plan, Role, SlotId};
use limpid_reference::definition::svgf::{RESOLVE, Settings, TAPS, WIDE_TAPS};
use limpid_reference::definition::taa;

/// The method in the list.
pub(super) const ENTRY: Entry = Entry::new(
    "svgf",
    Use::Denoise,
    "variance-guided filtering in space and time, for sequences of renders with motion",
    || Box::new(Svgf::default()),
)
.advised(&[(
    InputKind::RenderedSequence,
    "quality fast: no network; real-time on any GPU",
)])
.over_time();

crate::choice! {
    /// The kernel of a level.
    pub enum Kernel {
        /// The kernel 1 2 1.
        Three = "3x3",
        /// The B3 spline 1 4 6 4 1.
        B3 = "b3",
    }
}

crate::options! {
    /// Variance-guided filtering with its options.
    ///
    /// Reads colour, normal and depth, or position in place of either; albedo, motion and id if they are there. Without
    /// motion each frame is filtered by itself. Light layers and alpha go with the weights of the colour, and lights that add up
    /// to it still do afterwards.
    pub struct Svgf {
        /// Least share of a new frame in the result: a smaller one is steadier and follows changes of light more slowly.
        pub alpha: f32 = 0.2,
        /// Number of levels, 1 to 10: each doubles the reach.
        pub levels: usize = 5,
        /// The kernel: 3x3, or b3 with 5×5 taps as in Schied 2017, which takes longer.
        pub kernel: Kernel = Kernel::Three,
        /// Differences of luminance above this many deviations of the noise stop the filter.
        pub sigma_luminance: f32 = 3.0,
        /// Differences of depth stop the filter where they are above this many times what the slope explains.
        pub sigma_depth: f32 = 0.5,
        /// The cosine between normals counts to this power, a power of two.
        pub sigma_normal: usize = 32,
        /// Do not divide by albedo before and multiply after.
        pub no_demodulate: bool = false,
        /// Neither soften the edges of objects nor blend the result with the last one.
        pub no_taa: bool = false,
        /// How colour and variance are stored between passes on a GPU.
        pub storage: Storage = Storage::F32,
    }
}

/// Validated options and layers.
pub(super) struct Setup {
    pub(super) settings: Settings,
    squarings: u32,
    colors: usize,
    layers: Layers,
    /// Whether the depth of emitters, mirrors and glass is negated, which distinguishes them from other surfaces.
    signed: bool,
    resolve: LastStep,
    motion: bool,
    /// Light layers and alpha, which are filtered with the same weights.
    pub(super) lights: Vec<Light>,
}

/// The last step.
#[derive(Debug, Clone, Copy)]
struct LastStep {
    step: taa::Settings,
    /// Whether the edges of objects are smoothed.
    softens: bool,
}

impl Setup {
    /// The setup for blending only, of frames that another method filters: mirrors are not handled specially, and edges are
    /// already smooth.
    pub(super) fn blends(mut self) -> Self {
        self.settings.mirrors = false;
        self.resolve = LastStep {
            step: taa::Settings {
                gamma: 2.0,
                blend: 0.4,
                ..RESOLVE
            },
            softens: false,
        };
        self
    }
}

impl Svgf {
    pub(super) fn setup(&self, shape: &Shape) -> Result<Setup> {
        let wrong = |name: &str, value: f32, what: &str| Err(Error::option(name, value, what));
        if !(self.alpha > 0.0 && self.alpha <= 1.0) {
            return wrong("alpha", self.alpha, "above 0, at most 1");
        }
        if !(1..=10).contains(&self.levels) {
            return wrong("levels", self.levels as f32, "1 … 10");
        }
        for (name, value) in [
            ("sigma-luminance", self.sigma_luminance),
            ("sigma-depth", self.sigma_depth),
        ] {
            if value.is_nan() || value <= 0.0 {
                return wrong(name, value, "a number above 0");
            }
        }
        if !self.sigma_normal.is_power_of_two() || self.sigma_normal > 1 << 16 {
            return wrong(
                "sigma-normal",
                self.sigma_normal as f32,
                "a power of two, at most 65536",
            );
        }
        let colors = shape.require(&Layer::COLOR)?;
        let position = shape.has(Kind::Position);
        let from = |kind: Kind| match (shape.has(kind.clone()), position) {
            (true, _) => Ok(Origin::Layer),
            (false, true) => Ok(Origin::Position),
            (false, false) => Err(Error::missing(kind, "svgf needs it, or positions")),
        };
        let signed = shape.has(Kind::Albedo) && shape.has(Kind::Depth);
        Ok(Setup {
            settings: Settings {
                alpha: self.alpha,
                levels: self.levels,
                luminance: self.sigma_luminance,
                depth: self.sigma_depth,
                normal: self.sigma_normal as f32,
                half: self.storage == Storage::F16,
                mirrors: signed,
                taps: match self.kernel {
                    Kernel::Three => &TAPS,
                    Kernel::B3 => &WIDE_TAPS,
                },
                colors,
            },
            squarings: self.sigma_normal.ilog2(),
            colors,
            layers: Layers {
                colors,
                albedo: !self.no_demodulate && shape.has(Kind::Albedo),
                normal: from(Kind::Normal)?,
                depth: from(Kind::Depth)?,
                id: shape.has(Kind::Id),
            },
            signed,
            resolve: LastStep {
                step: RESOLVE,
                softens: true,
            },
            motion: shape.has(Kind::Motion),
            lights: Light::all(shape, !self.no_demodulate && shape.has(Kind::Albedo)),
        })
    }
}

impl Method for Svgf {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
        if frame.get(Kind::Motion).is_none() {
            log::warn!("svgf: no layer motion; each frame is filtered by itself");
        }
        Ok(self.boxed())
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        use Order::{Ascending, Local};
        let exact = AtrousSchedule::exact;
        let tile = Some(Source::Tile(None));
        let global = Some(Source::Global);
        let all = match on {
            // Reordering pixels does not pay off with large caches.
            Backend::Cpu => vec![AtrousSchedule::Dilated],
            // The fastest on an H200 first (docs/svgf.md).
            Backend::Gpu => {
                let own = Tile::new(16, 8, 2).steps(4);
                vec![
                    exact(Ascending, tile),
                    exact(Local, tile),
                    exact(Ascending, Some(Source::Tile(Some(own)))),
                    AtrousSchedule::Dilated,
                    exact(Local, global),
                    exact(Ascending, global),
                ]
            }
        };
        Schedule::list(on, all)
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let setup = self.setup(shape)?;
        let traversal = Traversal::of(schedule)?;
        let mut slots = Slots {
            plan: Plan::new(format!("svgf {schedule}"), shape.size),
            on: traversal.on,
            colors: setup.colors,
            half: setup.settings.half,
            lights: (planes(&setup.lights), setup.lights.len()),
        };
        let (mut reads, albedo, depth) = layers(&mut slots.plan, &setup);
        let lights = slots.lights(&setup.lights, albedo);
        reads.extend(lights);
        let role = if setup.motion {
            Role::History
        } else {
            Role::Transient
        };
        let payload = slots.payload("payload", Role::Transient, Layout::Rows);
        let mut features = slots.features("features", role.clone(), Layout::Rows);
        let moments = slots.moments("moments", role);
        let (mut first, mut moves, mut past) = (None, None, None);
        if setup.motion {
            let order = traversal
                .phases
                .filter(|_| self.levels > 1)
                .map(Phases::split);
            let layout = order.map_or(Layout::Rows, Layout::Phases);
            let motion = slots.plan.input(Kind::Motion, 2);
            let old = slots.payload("level 1", Role::History, layout);
            let old_features = slots.features("last features", Role::History, Layout::Rows);
            let old_moments = slots.moments("last moments", Role::History);
            slots.plan.swap(features, old_features);
            slots.plan.swap(moments, old_moments);
            slots.change(
                setup.colors,
                (reads[0], albedo),
                [old_moments, motion, payload],
            );
            reads.extend([motion, old, old_features, old_moments]);
            (first, moves) = (Some(old), Some(motion));
            past = Some(Past {
                alpha: self.alpha,
                mirrors: setup.settings.mirrors,
                order,
            });
        }
        let (temporal, spatial) = setup.before(past);
        slots
            .plan
            .pass(temporal, reads, [payload, features, moments]);
        slots.plan.pass(spatial, [features, moments], [payload]);
        let mut now = payload;
        for level in 0..self.levels {
            let walk = traversal.walk(level, level + 1 == self.levels);
            let to = walk.order();
            let layout = to.map_or(Layout::Rows, Layout::Phases);
            let next = first.take().unwrap_or_else(|| {
                slots.payload(&format!("level {}", level + 1), Role::Transient, layout)
            });
            let reads = [now, features];
            let mut writes = vec![next];
            if walk.goes_on() {
                let name = format!("features {}", level + 1);
                features = slots.features(&name, Role::Transient, layout);
                writes.push(features);
            }
            slots.plan.pass(setup.level(level, walk), reads, writes);
            now = next;
        }
        let output = slots.plan.output(Layer::COLOR, setup.colors);
        let packed_at = PackedAt {
            channels: setup.colors,
            plane: 0,
            vector: 0,
            lane: 0,
            albedo: albedo.is_some(),
            variance: false,
        };
        let reads: Vec<SlotId> = [Some(now), albedo].into_iter().flatten().collect();
        let mut change = None;
        let unpack = Unpack::from(&slots.plan, now, packed_at, false);
        if self.no_taa {
            slots.plan.pass(unpack, reads, [output]);
        } else {
            let clean = slots.plan.transient("clean", setup.colors);
            slots.plan.pass(unpack, reads, [clean]);
            resolve(&mut slots, &setup, [clean, output], (moves, depth));
            change = Some([clean, output]);
        }
        slots.outputs(&setup.lights, now, albedo, change);
        Ok(slots.plan)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Svgf {
    /// The first frame of a sequence.
    fn define(&self, frame: &Frame) -> Result<Frame> {
        Ok(self.define_next(frame, None)?.0)
    }
}

impl Examples for Svgf {
    fn examples(&self) -> Vec<Box<dyn Method>> {
        let all = [
            Self {
                levels: 3,
                ..Self::default()
            },
            Self {
                levels: 1,
                no_demodulate: true,
                sigma_luminance: 2.0,
                sigma_depth: 0.5,
                sigma_normal: 32,
                ..Self::default()
            },
            Self {
                levels: 2,
                no_taa: true,
                storage: Storage::F16,
                ..Self::default()
            },
            Self {
                levels: 2,
                no_taa: true,
                kernel: Kernel::B3,
                ..Self::default()
            },
        ];
        all.into_iter()
            .map(|m| Box::new(m) as Box<dyn Method>)
            .collect()
    }
}

impl Setup {
    /// The passes before the levels.
    fn before(&self, past: Option<Past>) -> (Temporal, SpatialVariance) {
        let half = self.settings.half;
        let temporal = Temporal {
            layers: self.layers.clone(),
            past,
            half,
            lights: !self.lights.is_empty(),
        };
        let spatial = SpatialVariance {
            colors: self.colors,
            depth: self.settings.depth,
            squarings: self.squarings,
            mirrors: self.settings.mirrors,
            half,
        };
        (temporal, spatial)
    }

    fn level(&self, level: usize, walk: Walk) -> Level {
        Level {
            level: level as u32,
            taps: self.settings.taps.to_vec(),
            stops: Stops::default(),
            guided: Some(Guided {
                luminance: self.settings.luminance,
                depth: self.settings.depth,
                squarings: self.squarings,
                objects: self.layers.id,
            }),
            planes: self.colors + 1 + planes(&self.lights),
            colors: self.colors,
            squared: Some(self.colors),
            grid: 1,
            mode: Mode::Mean,
            half: self.settings.half,
            walk,
        }
    }
}

/// Smooths the edges of the result, if the frame has depth, and blends it with the previous one, if it has motion.
pub(super) fn resolve(
    slots: &mut Slots,
    setup: &Setup,
    [clean, output]: [SlotId; 2],
    (mut motion, depth): (Option<SlotId>, Option<SlotId>),
) {
    let LastStep { step, softens } = setup.resolve;
    let chooses = motion.is_some() && depth.is_some();
    // On a GPU it is faster to read depth again than to write and read motion.
    let nearest = chooses && slots.on == Backend::Gpu;
    let kernel = Resolve {
        gamma: step.gamma,
        blend: step.blend,
        chroma: step.chroma,
        discount: step.discount,
        highlights: step.highlights,
        soften: step.soften,
        window: Some(step.radius),
        cubic: step.cubic,
        motion: motion.is_some(),
        nearest,
        history: motion.is_some(),
    };
    let mut new = clean;
    if let Some(depth) = depth.filter(|_| softens || (chooses && !nearest)) {
        let pass = edges(chooses && !nearest, softens.then_some(slots.colors));
        let (mut reads, mut writes) = (vec![depth], Vec::new());
        if let Some(motion) = motion.as_mut().filter(|_| !nearest) {
            reads.push(*motion);
            *motion = slots.plan.transient("motion of the nearest", 2);
            writes.push(*motion);
        }
        if softens {
            reads.push(clean);
            new = slots.plan.transient("softened", slots.colors);
            writes.push(new);
        }
        slots.plan.pass(pass, reads, writes);
    }
    let Some(motion) = motion else {
        return slots.plan.pass(kernel, [new], [output]);
    };
    let [last, result] = ["last result", "result"]
        .map(|name| slots.add(name, Role::History, slots.colors + 1, Element::F32x4));
    slots.plan.swap(result, last);
    let mut reads = vec![new, last, motion];
    reads.extend(depth.filter(|_| nearest));
    slots.plan.pass(kernel, reads, [output, result]);
}

/// The layers of a frame that are read, in the order of [`Temporal`]; and the divisor of colour and depth, which are needed
/// again at the end.
fn layers(plan: &mut Plan, setup: &Setup) -> (Vec<SlotId>, Option<SlotId>, Option<SlotId>) {
    let layers = &setup.layers;
    let mut reads = vec![plan.input(Layer::COLOR, layers.colors)];
    let divides = layers.albedo;
    let (mut albedo, mut depth) = (None, None);
    if divides || setup.signed {
        let mut inputs = vec![plan.input(Kind::Albedo, 3)];
        inputs.extend(setup.signed.then(|| plan.input(Kind::Depth, 1)));
        albedo = divides.then(|| plan.transient("divisor", 3));
        depth = setup.signed.then(|| plan.transient("signed depth", 1));
        let writes: Vec<SlotId> = [albedo, depth].into_iter().flatten().collect();
        plan.pass(divisor(divides, setup.signed), inputs, writes);
    }
    let kinds = [
        Kind::Albedo,
        Kind::Normal,
        Kind::Depth,
        Kind::Position,
        Kind::Id,
    ];
    for (kind, used) in kinds.into_iter().zip(layers.used()) {
        if used {
            let made = match kind {
                Kind::Albedo => albedo,
                Kind::Depth => depth,
                _ => None,
            };
            let slot = made.unwrap_or_else(|| plan.input(kind.clone(), kind.channels()[0]));
            if kind == Kind::Depth {
                depth = Some(slot);
            }
            reads.push(slot);
        }
    }
    (reads, albedo, depth)
}
