//! First-order regression, for path-traced stills of any renderer.
//!
//! The definition is `definition::nfor` after `definition::front`. The schedules are those of the fit:
//! `limpid_kernel_render::nfor`.

mod build;
mod define;
mod facts;
mod target;

#[doc(hidden)]
pub use facts::Facts;
pub use target::Estimate;

use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use};
use crate::{Error, Frame, Kind, Layer, Part, Result, Shape};
use limpid_plan::Plan;
use limpid_reference::definition::nfor::{FitSettings, Settings, Window};

/// NFOR in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "nfor",
    Use::Denoise,
    "First-order regression: path-traced stills of any renderer",
    || Box::new(Nfor::default()),
)
.advised(&[(InputKind::Render, "no network; estimates its error")])
.steps("quality", ["good", "good", "best"])
.estimating();

crate::choice! {
    /// How much time to spend.
    pub enum Quality {
        /// One fit of the noisy image, and one of its result.
        Good = "good",
        /// A wider window, and a second fit of the noisy image.
        Best = "best",
    }
}

crate::choice! {
    /// Whether feature layers are noisy.
    pub enum Features {
        /// Detected from the layers.
        Auto = "auto",
        /// Not noisy.
        Clean = "clean",
        /// Noisy, by depth of field or motion blur: they are filtered first.
        Noisy = "noisy",
    }
}

crate::choice! {
    /// The output.
    pub enum Layers {
        /// Colour, light layers and alpha.
        Color = "color",
        /// Also the estimated error and the shares of the candidates.
        All = "all",
    }
}

crate::choice! {
    /// How windows are processed.
    enum NforSchedule {
        /// CPU: blocks of pixels share their sums.
        Blocks = "blocks",
        /// GPU: tiles in workgroup memory.
        Tile = "tile",
    }
}

crate::options! {
    /// NFOR with its options.
    pub struct Nfor {
        use facts(Facts);
        /// How much time to spend.
        pub quality: Quality = Quality::Best,
        /// Radius of the window [default: 7 for good, 9 for best].
        pub radius: Option<usize> = None,
        /// Whether feature layers are noisy: auto, clean, or noisy, as with depth of field or motion blur.
        pub features: Features = Features::Auto,
        /// Distance in pixels at which noise is independent, for one buffer: 1, or 2 or 4 with a wide pixel filter; measured by default.
        pub noise_distance: Option<usize> = None,
        /// Output: color, or all with the estimated error and the shares of the candidates.
        pub layers: Layers = Layers::Color,
    }
}

/// The window of the last fit.
const LAST: Window = Window {
    radius: 15,
    stride: 5,
};

impl Nfor {
    /// With the properties of a frame.
    pub(super) fn measured(&self, frame: &Frame) -> Result<Self> {
        let facts = Facts::of(frame)?;
        Ok(Self {
            facts,
            ..self.clone()
        })
    }

    fn check(&self) -> Result<()> {
        if let Some(r) = self.radius.filter(|r| !(1..=32).contains(r)) {
            return Err(Error::option("radius", r, "1 … 32"));
        }
        match self.noise_distance {
            Some(d) if ![1, 2, 4].contains(&d) => {
                Err(Error::option("noise-distance", d, "1, 2 or 4"))
            }
            _ => Ok(()),
        }
    }

    /// Whether features are filtered first.
    fn noisy(&self) -> bool {
        match self.features {
            Features::Auto => self.facts.noisy,
            Features::Clean => false,
            Features::Noisy => true,
        }
    }

    /// The parameters of the method. If features are noisy, colour has more weight.
    fn settings(&self) -> Settings {
        let (noisy, best) = (self.noisy(), self.quality == Quality::Best);
        let radius = self.radius.unwrap_or(if best { 9 } else { 7 });
        let fit = |patch| FitSettings {
            window: Window { radius, stride: 1 },
            patch,
            floor: 1e-5,
            feature: 2.0,
            ridge: if noisy {
                [1e-2, 1e-2, 1e-3]
            } else {
                [1e-2, 3e-5, 3e-4]
            },
        };
        let near = self.radius.map_or(LAST, |r| Window {
            radius: LAST.radius.min(2 * r),
            ..LAST
        });
        Settings {
            first: fit(if noisy { 3 } else { 2 }),
            first_k: if noisy {
                vec![0.25, 0.6]
            } else {
                vec![0.5, 1.0]
            },
            second: best.then(|| fit(1)),
            second_k: vec![1.0, 2.0],
            last: FitSettings {
                window: near,
                ..fit(1)
            },
            last_k: 0.5,
            variance: 2,
            cell: match self.facts.two {
                true => 1,
                false => self.noise_distance.unwrap_or(self.facts.cell),
            },
        }
    }
}

/// The feature layers of a frame, in the order of their use. Position replaces depth.
fn features(shape: &Shape) -> Vec<Kind> {
    let mut found: Vec<Kind> = [Kind::Albedo, Kind::Normal, Kind::Depth]
        .into_iter()
        .filter(|k| shape.has(k.clone()))
        .collect();
    if !found.contains(&Kind::Depth) && shape.has(Kind::Position) {
        found.push(Kind::Position);
    }
    found
}

/// Whether there are two halves of colour.
fn halves(shape: &Shape) -> bool {
    let has = |p| shape.channels(&Layer::new(Kind::Color, p));
    has(Part::HalfA).is_some() && has(Part::HalfA) == has(Part::HalfB)
}

/// Planes of colour.
fn channels(shape: &Shape) -> Result<usize> {
    let layer = if halves(shape) {
        Layer::new(Kind::Color, Part::HalfA)
    } else {
        Layer::COLOR
    };
    let found = shape.channels(&layer);
    found.ok_or_else(|| Error::missing(Layer::COLOR, ""))
}

/// The error layers: the estimate, and the two values whose maximum it is.
const ERROR: [&str; 3] = ["error", "excess", "spread"];

/// A layer about the squared error of each pixel over its squared brightness.
fn error_layer(name: &str) -> Layer {
    Kind::Light(name.into()).into()
}

/// The prefix of layers with the shares of candidates.
const CHOICE: &str = "choice-";

/// The share of a candidate.
fn choice_layer(k: usize) -> Layer {
    Kind::Light(format!("{CHOICE}{k}").into()).into()
}

impl Method for Nfor {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
        Ok(Box::new(self.measured(frame)?))
    }

    fn summary(&self) -> Option<String> {
        Some(format!(
            "{}noise {:.0} %{}",
            if self.facts.two { "two buffers, " } else { "" },
            100.0 * self.facts.noise,
            match (self.noisy(), self.facts.cell) {
                (true, _) => ", noisy features",
                (false, 1) => "",
                (false, _) => ", wide pixel filter",
            }
        ))
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        match on {
            Backend::Cpu => Schedule::list(on, [NforSchedule::Blocks]),
            Backend::Gpu => Schedule::list(on, [NforSchedule::Tile]),
        }
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        self.check()?;
        schedule.choice::<NforSchedule>()?;
        build::plan(self, shape, schedule)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Nfor {
    fn define(&self, frame: &Frame) -> Result<Frame> {
        self.check()?;
        define::run(self, frame)
    }
}

impl Examples for Nfor {
    fn examples(&self) -> Vec<Box<dyn Method>> {
        let with = |radius, quality, features| {
            Box::new(Self {
                radius: Some(radius),
                quality,
                features,
                layers: Layers::All,
                ..Self::default()
            }) as Box<dyn Method>
        };
        vec![
            with(3, Quality::Best, Features::Clean),
            with(2, Quality::Good, Features::Noisy),
        ]
    }
}
