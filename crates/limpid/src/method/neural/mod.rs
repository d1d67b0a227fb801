//! The à-trous filter with learned guides, for path-traced pictures with few samples.
//!
//! The definition is `definition::neural`. A schedule computes the maps of the network one after the other, then the levels of
//! the filter. In sequences with motion, frames before and after are seen, too, see `around`.
//!
//! Instead, history can be blended in before and after the filter as in [`super::svgf`]: demodulated colour is blended with earlier
//! samples of the same surfaces, the blend is filtered, and the result is blended with the previous result. It shows the light of
//! earlier frames where a lamp, a shadow or a reflection moves over a surface that stays the same.

mod around;
mod build;
mod define;
mod time;
mod weights;

pub use weights::Weights;

use around::Around;
use weights::Frames;

use super::lights;
use super::measure::{sum, sum_of};
use super::network::{BEST_TURNS, Loaded};
use super::svgf::Setup;
use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Svgf, Use};
use crate::{Error, Frame, Image, Kind, Layer, Result, Shape};
use limpid_plan::Plan;
use limpid_reference::definition::network::TURNS;
use limpid_reference::definition::neural;
use limpid_reference::definition::neural::{FAR, ImageFacts};
use limpid_reference::motion::Surfaces;
use std::sync::Arc;

/// The method in the list.
pub(super) const ENTRY: Entry = Entry::new(
    "neural",
    Use::Denoise,
    "À-trous with learned guides: path-traced pictures with few samples",
    || Box::new(Neural::default()),
)
.advised(&[
    (
        InputKind::Render,
        "default: lowest error, learned guides; quality fast uses a smaller network, best the mean of four turned ones",
    ),
    (
        InputKind::RenderedSequence,
        "default: each frame with those before and after, where motion is known",
    ),
])
.steps("quality", ["fast", "good", "best"]);

crate::choice! {
    /// How the network runs.
    enum NeuralSchedule {
        /// Maps and guides in single precision.
        Full = "full",
        /// Maps and guides in half precision, on a GPU; accumulated in single precision.
        Half = "half",
        /// The same on the GPU's matrix units, if available.
        Matrix = "matrix",
    }
}

crate::choice! {
    /// Which of the bundled networks to use.
    pub enum Quality {
        /// A small network: a fifth more error, in a third to half the time. Builds without the feature `best-weights` have no other.
        Fast = "fast",
        /// The usual network.
        Good = "good",
        /// The mean of the usual network and three mirrored and turned ones: less error, in four times the time.
        Best = "best",
    }
}

crate::options! {
    /// The filter with learned guides, with its options.
    pub struct Neural {
        use facts(Facts);
        /// How much time to spend: fast uses a small network, good the usual one, best the mean of four turned ones.
        pub quality: Quality = Quality::Good,
        /// The mean over this many mirrored and turned networks, 1 to 8: less error, in as many times the time [default: 1; with quality
        /// best 4].
        pub turns: Option<usize> = None,
        /// The weights of the network: those of the library, or a file of any size of network.
        pub weights: Weights = Weights::Builtin,
        /// In sequences with motion: how many frames before and after a frame are seen with it, 0 to 3.
        pub around: usize = 3,
        /// In sequences with motion, instead of frames around: least share of a new frame in what is filtered, such as 0.3. Smaller
        /// values are steadier and follow changes of light more slowly.
        pub alpha: f32 = 1.0,
        /// With an alpha below 1: do not blend the result with the last one.
        pub no_taa: bool = false,
    }
}

/// The properties of the analysed frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Facts {
    /// Global properties of the image, and which of albedo, normal and depth it has.
    seen: Option<(ImageFacts, [bool; 3])>,
    /// Whether each frame is filtered independently, whatever its layers.
    alone: bool,
    /// Whether history is used; unknown for frames without motion.
    history: Option<bool>,
    /// Light layers without albedo, with their own global properties. With history there are none: it must not end where one is
    /// taken for something else.
    bare: Vec<(Layer, ImageFacts)>,
    /// By how many frames results are delayed, if they may be, and how many runs ago the sequence has ended.
    delay: Option<(usize, usize)>,
    /// Global properties of the frames before.
    seen_before: Vec<ImageFacts>,
}

impl Neural {
    /// How history is used for frames of this shape; `None` if frames are filtered independently.
    fn past(&self, shape: &Shape) -> Result<Option<Setup>> {
        let blend = Svgf {
            alpha: self.alpha,
            ..Svgf::default()
        };
        let either = |kind: Kind| shape.has(kind) || shape.has(Kind::Position);
        let known = shape.has(Kind::Motion) && either(Kind::Normal) && either(Kind::Depth);
        if self.facts.alone || self.alpha == 1.0 || !known {
            return Ok(None);
        }
        Ok(Some(blend.setup(shape)?.blends()))
    }

    /// Whether results of frames of this shape can be blended with those around.
    fn can_blend(&self, shape: &Shape) -> bool {
        let motion = shape.channels(&Kind::Motion.into()) == Some(2);
        let known = Frames::of(self.quality).is_some();
        motion && known && self.around > 0 && self.alpha == 1.0 && !self.facts.alone
    }

    /// How frames around are seen; `None` if frames are independent.
    fn around(&self, shape: &Shape) -> Result<Option<Around>> {
        if self.around > around::MOST {
            return Err(Error::option("around", self.around, "0 … 3"));
        }
        let delay = self.facts.delay.filter(|_| self.can_blend(shape));
        let frames = Frames::of(self.quality);
        Ok(delay.zip(frames).map(|((ahead, ended), frames)| {
            // The frame whose result is computed is older than the last one.
            let seen = &self.facts.seen_before;
            let late = ahead.saturating_sub(ended).min(seen.len());
            let whole = match seen.len().checked_sub(late) {
                Some(at) if late > 0 => seen[at],
                _ => self.whole(),
            };
            Around::new(self.around, [ahead, ended], whole, frames)
        }))
    }

    /// With the properties of a frame.
    pub(super) fn measured(&self, frame: &Frame) -> Result<Self> {
        let shape = frame.shape();
        let history = self.past(&shape)?.is_some();
        if shape.has(Kind::Motion) && !self.facts.alone && self.alpha != 1.0 && !history {
            log::warn!(
                "neural: motion without normal and depth, or position; each frame is filtered by itself"
            );
        }
        let mut made = self.clone();
        if let Some((whole, _)) = self.facts.seen {
            let before = &mut made.facts.seen_before;
            before.push(whole);
            let spare = before.len().saturating_sub(around::MOST);
            before.drain(..spare);
        }
        let known = shape.has(Kind::Motion);
        made.facts.history = known.then_some(history || self.can_blend(&shape));
        let depth = frame.get(Kind::Depth);
        made.facts.seen = Some((whole(frame.color()?, depth), features(&shape)));
        // In a sequence whose frames are blended, the first one decides.
        let first = self.facts.seen.is_none() || self.facts.delay.is_none();
        let bare = match first {
            true => lights::bare(frame),
            false => self
                .facts
                .bare
                .iter()
                .map(|(layer, _)| layer.clone())
                .collect(),
        };
        made.facts.bare.clear();
        if !history {
            for layer in bare {
                let own = whole(frame.require(layer.clone())?, depth);
                made.facts.bare.push((layer, own));
            }
        }
        Ok(made)
    }

    /// The same without history.
    pub(super) fn alone(&self) -> Self {
        let mut made = self.clone();
        made.facts.alone = true;
        made
    }

    /// The network.
    fn loaded(&self) -> Result<Arc<Loaded>> {
        self.weights.loaded(self.quality)
    }

    /// How many mirrored and turned networks to use.
    fn turns(&self) -> Result<usize> {
        match (self.turns, self.quality) {
            (Some(turns @ 1..=TURNS), _) => Ok(turns),
            (Some(turns), _) => Err(Error::option("turns", turns, "1 … 8")),
            (None, Quality::Best) => Ok(BEST_TURNS),
            (None, _) => Ok(1),
        }
    }

    fn whole(&self) -> ImageFacts {
        let unknown = ImageFacts {
            exposure: 1.0,
            depth: 1.0,
        };
        self.facts.seen.map_or(unknown, |(whole, _)| whole)
    }
}

/// A colour as three channels.
fn three(color: &Image, i: usize) -> [f32; 3] {
    std::array::from_fn(|c| color.plane(c.min(color.channels() - 1))[i])
}

/// Measures the global properties of an image.
fn whole(color: &Image, depth: Option<&Image>) -> ImageFacts {
    let pixels = color.plane(0).len();
    let light = |i: usize| f64::from(neural::luminance(three(color, i)));
    let mean = sum_of(pixels, light) / pixels as f64;
    let calm = sum_of(pixels, |i| light(i).min(4.0 * mean)) / pixels as f64;
    let depths = depth.map_or(&[][..], |d| d.plane(0));
    let [sum, count] = sum(depths.len(), |range| {
        let seen = depths[range].iter().filter(|d| **d > 0.0 && **d < FAR);
        seen.fold([0.0, 0.0], |[s, n], d| [s + f64::from(*d), n + 1.0])
    });
    ImageFacts {
        exposure: (0.3 / (calm.max(0.0) + 1e-6)) as f32,
        depth: (sum / (count + 1e-6)) as f32,
    }
}

/// The layers that the network reads, with their channels.
fn features(shape: &Shape) -> [bool; 3] {
    [(Kind::Albedo, 3), (Kind::Normal, 3), (Kind::Depth, 1)]
        .map(|(kind, planes)| shape.channels(&kind.into()) == Some(planes))
}

impl Method for Neural {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
        Ok(Box::new(self.measured(frame)?))
    }

    /// Exposure and mean depth are measured in each frame.
    fn measures_every_frame(&self) -> bool {
        true
    }

    fn summary(&self) -> Option<String> {
        let (_, there) = self.facts.seen?;
        let names = ["albedo", "normal", "depth"].into_iter().zip(there);
        let names: Vec<&str> = names.filter(|(_, there)| *there).map(|(n, _)| n).collect();
        let features = match names.is_empty() {
            true => "no features".into(),
            false => format!("with {}", names.join(", ")),
        };
        Some(match (self.facts.history, self.facts.delay) {
            (Some(true), _) if self.alpha != 1.0 => format!("{features}, with history"),
            (Some(true), Some(_)) if !self.facts.alone => {
                format!("{features}, seen with {} frames on each side", self.around)
            }
            (Some(_), _) => format!("{features}, without history"),
            (None, _) => features,
        })
    }

    fn wants_motion(&self, shape: &Shape) -> bool {
        let missing = !shape.has(Kind::Motion) && Surfaces::are_in(shape);
        missing && self.can_blend(&shape.clone().with(Kind::Motion, 2))
    }

    /// Zero before a frame is known: only frames with motion are blended.
    fn lookahead(&self) -> usize {
        match self.facts.history == Some(true) && self.alpha == 1.0 && !self.facts.alone {
            true => self.around,
            false => 0,
        }
    }

    fn set_lookahead(&mut self, ahead: usize, ended: usize) {
        self.facts.delay = Some((ahead.min(self.around), ended));
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        match on {
            Backend::Cpu => Schedule::list(on, [NeuralSchedule::Full]),
            Backend::Gpu => {
                use NeuralSchedule::{Full, Half, Matrix};
                Schedule::list_halves(on, [Matrix, Half], [Full])
            }
        }
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let choice = schedule.choice::<NeuralSchedule>()?;
        build::plan(self, shape, schedule, choice)
    }

    /// Tiles have no history, because pixels move into them from outside.
    fn tileable(&self) -> Option<Box<dyn Method>> {
        Some(Box::new(self.alone()))
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Neural {
    /// The first frame of a sequence.
    fn define(&self, frame: &Frame) -> Result<Frame> {
        Ok(self.define_next(frame, None)?.0)
    }
}

impl Examples for Neural {
    fn examples(&self) -> Vec<Box<dyn Method>> {
        let with = |change: fn(&mut Self)| -> Box<dyn Method> {
            let mut method = self.clone();
            change(&mut method);
            Box::new(method)
        };
        vec![
            self.boxed(),
            with(|o| (o.quality, o.turns) = (Quality::Fast, Some(2))),
            with(|o| (o.quality, o.alpha) = (Quality::Fast, 0.3)),
            with(|o| (o.quality, o.alpha, o.no_taa) = (Quality::Fast, 0.3, true)),
        ]
    }
}
