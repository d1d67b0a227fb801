//! Films and sequences of pictures, denoised in time and space.
//!
//! The definition is `definition::film`. The plan keeps the last frames, normalised, in a ring buffer. Each run takes a frame
//! and returns one, which is [`Method::lookahead`] frames older if results may be delayed, see [`crate::Sequence::push`].

mod scene;

use super::photo::{Noise, NoiseOptions, Stabilised};
use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use};
use crate::{Error, Frame, Image, Layer, Result, Shape, Size};
use limpid_kernel_photo::film::{Halve, Keep, Merge, Motion, Reel, Search, SearchStart, Tick};
use limpid_kernel_photo::wiener::Wiener;
use limpid_plan::{Plan, Role, Slot, SlotId};
use limpid_reference::definition::film;
use limpid_reference::definition::film::{CELL, FINE, LEAST_POWER, LEVELS, SECOND, Settings};
use limpid_reference::definition::stabilise;
use limpid_reference::noise::{Profile, SIDE};
use scene::Scene;
use std::sync::Arc;

/// Films in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "film",
    Use::Denoise,
    "Films and sequences of pictures: merged along motion, then shrunk",
    || Box::new(Film::default()),
)
.advised(&[(
    InputKind::Film,
    "default: merges frames along the motion; quality fast uses 3 frames, good 5, best 9",
)])
.steps("merge", ["3", "5", "9"]);

crate::choice! {
    /// The only schedule.
    enum FilmSchedule {
        /// Motion search from coarse to fine, then blocks.
        Blocks = "blocks",
    }
}

crate::options! {
    /// A film with its options.
    pub struct Film {
        use facts(Facts);
        /// Standard deviation of white noise, such as 25/255.
        pub sigma: Option<f32> = None,
        use noise("film");
        /// How much of the grain to keep, 0 … 1: that share of the luminance noise stays, and no colour noise.
        pub grain: f32 = 0.0,
        /// Number of merged frames: 3, 5, 7 or 9. Where nothing moves, 9 unless it is 3.
        pub merge: usize = 5,
    }
}

/// Where a film stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Facts {
    ahead: usize,
    ended: bool,
    /// The frames since noise was measured, if it is measured.
    scene: Option<Scene>,
}

/// The largest number of merged frames. With fewer, speed matters more than the last tenth of a decibel, and every second block
/// of the second filter is skipped.
const MOST: usize = 9;

/// Frames before and after that are merged where nothing moves, except with the fewest frames.
const STILL: usize = MOST / 2;

/// Weight of noise without fine components, in luminance and in colour: chosen by eye.
const COARSE: [f32; 2] = [1.0, 1.3];

impl Film {
    /// The definition for one frame of a film, using the frames before and after it.
    #[doc(hidden)]
    pub fn define_at(&self, frames: &[Image], at: usize) -> Result<Image> {
        let stabilised = self.stabilised(frames[at].channels())?;
        let step = self.settings(&stabilised);
        let enter = |image: &Image| stabilise::stabilised(image, &stabilised.by);
        let frames: Vec<Image> = frames.iter().map(enter).collect();
        let made = film::film(&frames, at, &step);
        Ok(stabilise::restored(&made, &stabilised.by))
    }

    fn radius(&self) -> Result<usize> {
        match self.merge {
            n @ (3 | 5 | 7 | MOST) => Ok(n / 2),
            n => Err(Error::option("merge", n, "3, 5, 7 or 9")),
        }
    }

    /// Whether the noise is not given.
    fn measures(&self) -> bool {
        self.sigma.is_none() && self.noise == Noise::Auto
    }

    /// Frames before and after that are used where nothing moves.
    fn still(&self) -> usize {
        match self.radius() {
            Ok(1) => 1,
            Ok(_) => STILL,
            Err(_) => 0,
        }
    }

    fn stabilised(&self, channels: usize) -> Result<Stabilised> {
        if !matches!(channels, 1 | 3) {
            return Err(Error::unsupported(format!(
                "film takes grey or red, green and blue, not {channels} channels"
            )));
        }
        self.radius()?;
        check_grain(self.grain)?;
        self.wanted(COARSE).stabilised(channels)
    }

    fn settings(&self, stabilised: &Stabilised) -> Settings {
        let components = stabilised.profile.components.iter();
        let stronger = components.zip(&stabilised.by.scales);
        Settings {
            radius: self.radius().unwrap_or(1),
            still: self.still(),
            stronger: stronger.map(|(c, s)| s / c.deviation.max(1e-3)).collect(),
            powers: (stabilised.spectra().iter())
                .map(|s| s.0.map(|p| p.max(LEAST_POWER)))
                .collect(),
            second: stabilised.second(SECOND, self.merge < MOST),
        }
    }
}

/// Refuses shares of grain that are none.
pub(super) fn check_grain(grain: f32) -> Result<()> {
    match (0.0..=1.0).contains(&grain) {
        true => Ok(()),
        false => Err(Error::option("grain", grain, "0 … 1")),
    }
}

/// Halves a size, rounding up to at least one pixel.
fn half(size: Size) -> Size {
    Size::new(size.width.div_ceil(2), size.height.div_ceil(2))
}

impl Method for Film {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
        let mut made = self.clone();
        made.measure(frame.color()?, None)?;
        if let (true, Noise::Profile(alone)) = (self.measures(), &made.noise) {
            made.facts.scene = Some(Scene::new(frame.color()?, alone.clone()));
        }
        Ok(Box::new(made))
    }

    fn prepared_for_film(&self, frame: &Frame, after: &Frame) -> Result<Box<dyn Method>> {
        let image = frame.color()?;
        if !self.measures() {
            return self.prepared(frame);
        }
        let mut made = self.clone();
        let (noise, alone) = Profile::estimate_moving(image, after.color()?);
        made.noise = Noise::Profile(Arc::new(noise));
        made.facts.scene = Some(Scene::new(image, Arc::new(alone)));
        Ok(Box::new(made))
    }

    fn measures_pairs(&self, _shape: &Shape) -> bool {
        self.measures()
    }

    fn is_scene_cut(&mut self, frame: &Frame) -> bool {
        match (&mut self.facts.scene, frame.color()) {
            (Some(scene), Ok(image)) => scene.ends(image),
            _ => false,
        }
    }

    fn lookahead(&self) -> usize {
        self.still()
    }

    fn set_lookahead(&mut self, ahead: usize, ended: usize) {
        self.facts.ahead = ahead.min(Method::lookahead(self));
        self.facts.ended = ended > 0;
    }

    fn summary(&self) -> Option<String> {
        self.measured()
    }

    fn blend_amounts(&self) -> [f32; 2] {
        [1.0 - self.grain, 1.0]
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        Schedule::list(on, [FilmSchedule::Blocks])
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let planes = shape.require(&Layer::COLOR)?;
        let stabilised = self.stabilised(planes)?;
        let step = self.settings(&stabilised);
        let reel = Reel {
            radius: step.still,
            ahead: self.facts.ahead,
        };
        let FilmSchedule::Blocks = schedule.choice()?;
        let mut plan = Plan::new(format!("film {schedule}"), shape.size);
        let color = plan.input(Layer::COLOR, planes);
        let output = plan.output(Layer::COLOR, planes);
        let history = |plan: &mut Plan, name: &str, size: Size, planes: usize| {
            plan.slot(Slot::new(name, Role::History, size, planes))
        };
        let clock = history(&mut plan, "clock", Size::new(2, 1), 1);
        let ring = history(&mut plan, "frames", shape.size, planes * reel.places());
        let entered = plan.transient("stabilised", planes);
        let ended = self.facts.ended;
        plan.pass(Tick { ended }, [], [clock]);
        stabilised.enter(&mut plan, color, entered);
        plan.pass(Keep { reel }, [entered, clock], [ring]);
        let mut levels: Vec<SlotId> = Vec::new();
        let mut size = shape.size;
        for level in 0..LEVELS {
            let to = history(&mut plan, &format!("search {level}"), size, reel.places());
            match levels.last() {
                None => {
                    let gain = FINE * step.stronger[0];
                    plan.pass(Search { reel, gain }, [entered, clock], [to]);
                }
                Some(fine) => plan.pass(Halve { reel }, [*fine, clock], [to]),
            }
            levels.push(to);
            size = half(size);
        }
        let mut coarse: Option<SlotId> = None;
        for (level, from) in levels.into_iter().enumerate().rev() {
            let size = plan.at(from).size;
            let cells = Size::new(size.width.div_ceil(CELL), size.height.div_ceil(CELL));
            let planes = 4 * step.radius;
            let name = format!("motion {level}");
            let to = plan.slot(Slot::new(name, Role::Transient, cells, planes));
            let around = match (coarse, level) {
                (None, _) => SearchStart::Nothing,
                (_, 0) => SearchStart::Finest,
                _ => SearchStart::Coarser,
            };
            let mut reads = vec![from, clock];
            reads.extend(coarse);
            let radius = step.radius;
            let motion = Motion {
                reel,
                around,
                radius,
            };
            plan.pass(motion, reads, [to]);
            coarse = Some(to);
        }
        // The shrunk values, the merged values, and the remaining variance.
        let merged = plan.transient("merged", 3 * planes);
        let mut reads = vec![ring, clock];
        reads.extend(coarse);
        let second = Wiener {
            by: step.second.clone(),
            joined: true,
        };
        plan.pass(Merge { reel, step }, reads, [merged]);
        let refined = plan.transient("refined", planes);
        plan.pass(second, [merged], [refined]);
        stabilised.leave(&mut plan, refined, output);
        Ok(plan)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Film {
    /// A film of one frame.
    fn define(&self, frame: &Frame) -> Result<Frame> {
        Frame::new(self.define_at(&[frame.color()?.clone()], 0)?)
    }
}

impl Examples for Film {
    fn examples(&self) -> Vec<Box<dyn Method>> {
        let with = |merge, sigma, noise| {
            Box::new(Self {
                merge,
                sigma,
                noise,
                ..Self::default()
            }) as Box<dyn Method>
        };
        vec![
            with(5, None, Noise::example()),
            with(3, Some(0.2), Noise::Auto),
        ]
    }
}

const _: () = assert!(SIDE == CELL);
