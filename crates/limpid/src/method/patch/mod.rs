//! Gradient-domain reconstruction regularised by feature patches.
//!
//! The definition is `definition::patch`. The normal equations of all constraints are assembled; the schedules differ in
//! how plain Poisson fits among them are solved: by multigrid, or on the CPU by cosine transforms.

mod build;

use super::poisson::PoissonSchedule;
use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use};
use crate::{Error, Frame, Image, Kind, Layer, Part, Result, Shape};
use limpid_plan::Plan;
use limpid_reference::definition::patch::{Input, Samples, reconstruct};
use limpid_reference::definition::poisson::ROUNDS;

/// Patch reconstruction in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "patch",
    Use::Reconstruct,
    "Base image and differences, kept locally near feature patches",
    || Box::new(Patch::default()),
)
.advised(&[(
    InputKind::Gradients,
    "with features: less bias at edges, slower",
)]);

crate::choice! {
    /// The output.
    pub enum Layers {
        /// Colour.
        Color = "color",
        /// Also the candidates, their errors and the selection.
        All = "all",
    }
}

crate::options! {
    /// Patch reconstruction with its options.
    pub struct Patch {
        /// Weight of the base image: a larger value keeps more of its noise, a smaller one lets colours drift.
        pub alpha: f32 = 0.5,
        /// Number of solves of each candidate, with less weight for large errors each time.
        pub rounds: usize = ROUNDS,
        /// Residual at which a solve ends, as a share of the right-hand side.
        pub tolerance: f32 = 3e-4,
        /// As Vicini 2015: bases of features as they are, and the best of three candidates instead of a mix.
        pub thesis: bool = false,
        /// Largest minus smallest position; measured by default.
        pub position_range: Option<f32> = None,
        /// Largest minus smallest depth; measured by default.
        pub depth_range: Option<f32> = None,
        /// Output: color, or all with candidates, errors and selection.
        pub layers: Layers = Layers::Color,
    }
}

/// The features, in the order of their use. Depth adds no information to position.
fn features(has: impl Fn(Kind) -> bool) -> Vec<Kind> {
    let mut kinds = vec![Kind::Albedo, Kind::Normal];
    kinds.push(if has(Kind::Position) {
        Kind::Position
    } else {
        Kind::Depth
    });
    kinds.push(Kind::Visibility);
    kinds.retain(|k| has(k.clone()));
    kinds
}

/// Colour and differences of a half.
fn half_layers(part: Part) -> [Layer; 3] {
    [Kind::Color, Kind::Dx, Kind::Dy].map(|k| Layer::new(k, part))
}

fn has_halves(has: impl Fn(Layer) -> bool) -> bool {
    let all = [Part::HalfA, Part::HalfB].map(half_layers);
    all.into_iter().flatten().all(has)
}

/// Layers of `--layers all` for each candidate.
fn extra_layers(what: &str) -> [Layer; 3] {
    [1, 2, 3].map(|k| Kind::Light(format!("{what}-{k}").into()).into())
}

fn selection_layer() -> Layer {
    Kind::Light("selection".into()).into()
}

/// Largest minus smallest value of the channel with the largest range.
fn range(image: &Image) -> f32 {
    let one = |plane: &[f32]| {
        let ends = |(l, h): (f32, f32), v: &f32| (l.min(*v), h.max(*v));
        let (low, high) = plane.iter().fold((f32::MAX, f32::MIN), ends);
        high - low
    };
    image.planes().map(one).fold(0.0, f32::max)
}

impl Patch {
    fn check(&self) -> Result<()> {
        let positive = [
            ("alpha", Some(self.alpha)),
            ("tolerance", Some(self.tolerance)),
            ("position-range", self.position_range),
            ("depth-range", self.depth_range),
        ];
        for (name, value) in positive {
            if let Some(v) = value
                && (v.is_nan() || v <= 0.0 || v.is_infinite())
            {
                return Err(Error::option(name, v, "a number above 0"));
            }
        }
        if self.rounds == 0 || self.rounds > 100 {
            return Err(Error::option("rounds", self.rounds, "1 … 100"));
        }
        Ok(())
    }

    /// The factor of a feature that scales its values to a range of one.
    fn scale(&self, kind: &Kind) -> f32 {
        let range = match kind {
            Kind::Normal => Some(2.0),
            Kind::Position => self.position_range,
            Kind::Depth => self.depth_range,
            _ => None,
        };
        1.0 / range.unwrap_or(1.0)
    }
}

impl Method for Patch {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
        let mut made = self.clone();
        let measured = |kind: Kind| frame.get(kind).map(range).filter(|r| *r > 0.0);
        made.position_range = self.position_range.or(measured(Kind::Position));
        made.depth_range = self.depth_range.or(measured(Kind::Depth));
        if !has_halves(|l| frame.get(l).is_some()) {
            log::warn!(
                "patch: no half buffers of color, dx and dy; the noise is estimated from the image, and without references the candidate with the weakest smoothing is used everywhere"
            );
        }
        if features(|k| frame.get(k).is_some()).is_empty() {
            log::warn!(
                "patch: no feature layers (albedo, normal, position, depth, visibility); patches are kept flat"
            );
        }
        Ok(Box::new(made))
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        match on {
            Backend::Cpu => Schedule::list(on, [PoissonSchedule::Dct, PoissonSchedule::Multigrid]),
            Backend::Gpu => Schedule::list(on, [PoissonSchedule::Multigrid]),
        }
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        self.check()?;
        build::plan(self, shape, schedule)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Patch {
    fn define(&self, frame: &Frame) -> Result<Frame> {
        self.check()?;
        let samples = |layers: [Layer; 3]| -> Result<Samples<'_>> {
            let [base, dx, dy] = layers;
            Ok(Samples {
                base: frame.require(base)?,
                dx: frame.require(dx)?,
                dy: frame.require(dy)?,
            })
        };
        let halves = match has_halves(|l| frame.get(l).is_some()) {
            true => Some([
                samples(half_layers(Part::HalfA))?,
                samples(half_layers(Part::HalfB))?,
            ]),
            false => None,
        };
        let mut planes = Vec::new();
        for kind in features(|k| frame.get(k).is_some()) {
            let scale = self.scale(&kind);
            let image = frame.require(kind.clone())?;
            let variance = frame.get(Layer::new(kind, Part::Variance));
            for c in 0..image.channels() {
                let plane = |image: &Image, factor: f32| {
                    Image::from_fn(image.width(), image.height(), 1, |x, y, _| {
                        factor * image.get(x, y, c)
                    })
                };
                let noise = match variance {
                    Some(v) => plane(v, scale * scale),
                    None => plane(image, 0.0),
                };
                planes.push((plane(image, scale), noise));
            }
        }
        let made = reconstruct(&Input {
            all: samples(half_layers(Part::Mean))?,
            halves,
            features: planes,
            alpha: f64::from(self.alpha),
            rounds: self.rounds,
            thesis: self.thesis,
        });
        let mut out = Frame::new(made.color)?;
        if self.layers == Layers::All {
            for (layer, image) in extra_layers("candidate").into_iter().zip(made.candidates) {
                out.insert(layer, image)?;
            }
            for (layer, image) in extra_layers("error")
                .into_iter()
                .zip(made.errors.into_iter().flatten())
            {
                out.insert(layer, image)?;
            }
            out.insert(selection_layer(), made.selection)?;
        }
        Ok(out)
    }
}

impl Examples for Patch {
    fn examples(&self) -> Vec<Box<dyn Method>> {
        let mixed = Self {
            layers: Layers::All,
            rounds: 2,
            tolerance: 1e-6,
            ..Self::default()
        };
        let thesis = Self {
            thesis: true,
            rounds: 1,
            ..mixed.clone()
        };
        vec![Box::new(mixed), Box::new(thesis)]
    }
}
