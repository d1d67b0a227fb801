//! Robust denoising with features and colour, for path-traced stills.
//!
//! The definition is `definition::rdfc`. The schedules are those of its underlying filter, `limpid_kernel_render::nlm`.

mod build;

use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use, carried};
use crate::{Error, Frame, Image, Kind, Layer, Part, Result, Shape};
use limpid_plan::Plan;
use limpid_reference::definition::front;
use limpid_reference::definition::nfor::DARK;
use limpid_reference::definition::rdfc::{NEARLY, Settings, Signal, rdfc};

/// RDFC in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "rdfc",
    Use::Denoise,
    "Colour and features with risk estimates: path-traced stills, offline",
    || Box::new(Rdfc::default()),
)
.advised(&[(
    InputKind::Render,
    "writes risk estimates as layers; slower than nfor",
)]);

crate::choice! {
    /// The output.
    pub enum Layers {
        /// Colour, light layers and alpha.
        Color = "color",
        /// Also the remaining variance, the risk estimates and the selection maps.
        All = "all",
    }
}

crate::choice! {
    /// How windows are processed.
    enum RdfcSchedule {
        /// CPU: a few rows at a time.
        Rows = "rows",
        /// GPU: tiles in workgroup memory.
        Tile = "tile",
    }
}

crate::options! {
    /// RDFC with its options. Beyond Vicini 2015: outliers are clamped, lamps and sky never mix with surfaces, variances
    /// have a floor.
    pub struct Rdfc {
        /// Radius of the window; the second pass uses half of it.
        pub radius: usize = 10,
        /// How different colours may be, in standard deviations: larger is smoother.
        pub k_color: f32 = 0.45,
        /// How different features may be: larger is smoother.
        pub k_feature: f32 = 0.6,
        /// Minimum spread of features, as a share of their squared range (of their squared maximum with `thesis`).
        pub tau: f32 = 1e-3,
        /// The same for the candidate that uses features alone.
        pub tau_features: f32 = 1e-4,
        /// Largest minus smallest position, or the largest with `thesis`; measured by default.
        pub position_range: Option<f32> = None,
        /// Largest minus smallest depth, or the largest with `thesis`; measured by default.
        pub depth_range: Option<f32> = None,
        /// Filter the remaining noise of the first pass once more.
        pub second_pass: bool = true,
        /// Keep the sample variance of a pixel at or above the fourth smallest of the 3×3 pixels around it; otherwise specks remain
        /// where few samples agree by chance.
        pub variance_floor: bool = true,
        /// Exactly as Vicini 2015: outliers are not clamped, lamps mix with their surroundings, variances have no floor, candidates
        /// are chosen without a margin, and positions and depths count in relation to their maximum.
        pub thesis: bool = false,
        /// Brightness below which nothing counts as an outlier [default: a hundredth of that of an ordinary image].
        pub dark: Option<f32> = None,
        /// Output: color, or all with the remaining variance, risk estimates and selection maps.
        pub layers: Layers = Layers::Color,
    }
}

/// The features, in the order of their use.
const FEATURES: [Kind; 5] = [
    Kind::Albedo,
    Kind::Normal,
    Kind::Position,
    Kind::Depth,
    Kind::Visibility,
];

fn part(kind: Kind, part: Part) -> Layer {
    Layer::new(kind, part)
}

/// Risk estimates of the three candidates: their estimated squared errors.
fn risk_layers() -> [Layer; 3] {
    ["sure-r", "sure-g", "sure-b"].map(|n| Kind::Light(n.into()).into())
}

/// The shares of the three candidates in the first pass.
fn selection_layer() -> Layer {
    Kind::Light("selection".into()).into()
}

/// The candidate with the lowest risk: 1 in its plane.
fn choice_layer() -> Layer {
    Kind::Light("choice".into()).into()
}

impl Rdfc {
    fn check(&self) -> Result<()> {
        if self.radius > 64 {
            return Err(Error::option("radius", self.radius, "at most 64"));
        }
        let positive = [
            ("k-color", Some(self.k_color)),
            ("k-feature", Some(self.k_feature)),
            ("tau", Some(self.tau)),
            ("tau-features", Some(self.tau_features)),
            ("position-range", self.position_range),
            ("depth-range", self.depth_range),
            ("dark", self.dark),
        ];
        for (name, value) in positive {
            if let Some(v) = value
                && (v.is_nan() || v <= 0.0)
            {
                return Err(Error::option(name, v, "a number above 0"));
            }
        }
        Ok(())
    }

    /// The margin of a choice.
    fn margin(&self) -> f32 {
        if self.thesis { 0.0 } else { NEARLY }
    }

    /// The square of a feature's range, or of its maximum, by which `τ` is scaled.
    fn range2(&self, kind: &Kind) -> f32 {
        let range = match kind {
            Kind::Position => self.position_range,
            Kind::Depth => self.depth_range,
            _ => None,
        };
        range.unwrap_or(1.0).powi(2)
    }

    fn floored(&self) -> bool {
        self.variance_floor && !self.thesis
    }

    /// Brightness below which nothing is clamped.
    fn dark(&self) -> f32 {
        self.dark.unwrap_or(DARK)
    }

    fn settings(&self) -> Settings {
        Settings {
            radius: self.radius,
            k_color: f64::from(self.k_color),
            k_feature: f64::from(self.k_feature),
            tau: f64::from(self.tau),
            tau_features: f64::from(self.tau_features),
            patch_fine: 1,
            patch: 3,
            second_pass: self.second_pass,
            variance_floor: self.floored(),
            margin: self.margin(),
        }
    }

    /// The definition with given choices of candidates (planes of 0 and 1), and the places where its own choice is within
    /// rounding error; for tests that compare a device with it.
    #[doc(hidden)]
    pub fn define_deciding(&self, frame: &Frame, choice: Option<&Image>) -> Result<(Frame, Image)> {
        self.check()?;
        let mut features = Vec::new();
        for kind in FEATURES {
            if frame.get(kind.clone()).is_some() {
                let mut one = signal(frame, &kind)?;
                if kind == Kind::Albedo && !self.thesis {
                    one.mean = one.mean.map(|v| v.clamp(0.0, 1.0));
                }
                features.push((one, f64::from(self.range2(&kind))));
            }
        }
        let layers = carried(&frame.shape());
        let mut others = Vec::new();
        for (layer, _) in &layers {
            others.push((layer.clone(), frame.require(layer.clone())?.clone()));
        }
        let mut color = signal(frame, &Kind::Color)?;
        let mut class = None;
        if !self.thesis {
            let found = classes(frame);
            let share = limit(frame, &mut color, &found, self.dark());
            for (layer, image) in &mut others {
                if layer.kind != Kind::Alpha {
                    *image = times(image, &share, 1);
                }
            }
            class = Some(found);
        }
        let others: Vec<Image> = others.into_iter().map(|(_, image)| image).collect();
        let made = rdfc(
            &color,
            &features,
            (class.as_ref(), choice),
            &others,
            &self.settings(),
        );
        let mut out = Frame::new(made.color)?;
        for ((layer, _), image) in layers.into_iter().zip(made.extras) {
            out.insert(layer, image)?;
        }
        if self.layers == Layers::All {
            out.insert(part(Kind::Color, Part::Variance), made.variance)?;
            let plane = |k: usize| {
                let i = &made.risk;
                Image::from_planes(i.width(), i.height(), 1, i.plane(k).to_vec())
            };
            for (k, layer) in risk_layers().into_iter().enumerate() {
                out.insert(layer, plane(k)?)?;
            }
            out.insert(selection_layer(), made.selection)?;
            out.insert(choice_layer(), made.choice)?;
        }
        Ok((out, made.unsure))
    }
}

/// Largest minus smallest value of the channel with the largest range.
fn range(image: &Image) -> f32 {
    let one = |plane: &[f32]| {
        let (low, high) = plane
            .iter()
            .fold((f32::MAX, f32::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
        high - low
    };
    image.planes().map(one).fold(0.0, f32::max)
}

/// The largest value, without its sign: positions can be negative everywhere.
fn largest(image: &Image) -> f32 {
    image.data().iter().fold(0.0, |m, v| m.max(v.abs()))
}

fn signal(frame: &Frame, kind: &Kind) -> Result<Signal> {
    let get = |p: Part| frame.get(part(kind.clone(), p));
    let difference = match (get(Part::HalfA), get(Part::HalfB)) {
        (Some(a), Some(b)) => {
            let mut d = a.clone();
            for (d, b) in d.data_mut().iter_mut().zip(b.data()) {
                *d = 0.5 * (*d - b);
            }
            Some(d)
        }
        _ => None,
    };
    Ok(Signal {
        mean: frame.require(kind.clone())?.clone(),
        difference,
        variance: get(Part::Variance).cloned(),
    })
}

/// The classes of pixels.
fn classes(frame: &Frame) -> Image {
    let layers = front::Layers {
        albedo: frame.get(Kind::Albedo),
        normal: frame.get(Kind::Normal),
        depth: frame.get(Kind::Depth).map(|d| (d, front::Depth::default())),
        position: None,
    };
    front::surface(&layers, frame.size(), 1, false, 1.0).class
}

/// An image times a power of a single-channel image.
fn times(image: &Image, share: &Image, power: i32) -> Image {
    let size = image.size();
    Image::from_fn(size.width, size.height, image.channels(), |x, y, c| {
        image.get(x, y, c) * share.get(x, y, 0).powi(power)
    })
}

/// Clamps outliers of a colour: in each half by the other, or in the mean by itself. Returns the factor applied to the mean's
/// brightness.
fn limit(frame: &Frame, color: &mut Signal, class: &Image, dark: f32) -> Image {
    let half = |p: Part| frame.get(part(Kind::Color, p));
    let before = color.mean.clone();
    if let (Some(a), Some(b)) = (half(Part::HalfA), half(Part::HalfB)) {
        let (a, b) = (
            front::limit_by_other(a, b, class, dark),
            front::limit_by_other(b, a, class, dark),
        );
        let size = a.size();
        let both = |f: fn(f32, f32) -> f32| {
            Image::from_fn(size.width, size.height, a.channels(), |x, y, c| {
                f(a.get(x, y, c), b.get(x, y, c))
            })
        };
        color.mean = both(|a, b| 0.5 * (a + b));
        color.difference = Some(both(|a, b| 0.5 * (a - b)));
    } else {
        color.mean = front::limit_by_itself(&color.mean, class, dark, 1);
    }
    let size = before.size();
    let share = Image::from_fn(size.width, size.height, 1, |x, y, _| {
        let (old, new) = (
            front::brightness(&before, x, y),
            front::brightness(&color.mean, x, y),
        );
        // If the halves are brighter than the mean, they are not of the same image.
        if old > 0.0 { (new / old).min(1.0) } else { 1.0 }
    });
    // One factor for all channels preserves the sum of light layers.
    color.mean = times(&before, &share, 1);
    if let Some(v) = &mut color.variance {
        *v = times(v, &share, 2);
    }
    share
}

impl Method for Rdfc {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
        let mut made = self.clone();
        let by = if self.thesis { largest } else { range };
        let measured = |kind: Kind| frame.get(kind).map(by).filter(|r| *r > 0.0);
        made.position_range = self.position_range.or(measured(Kind::Position));
        made.depth_range = self.depth_range.or(measured(Kind::Depth));
        let exposure = super::nfor::Facts::of(frame)?.exposure;
        made.dark = self.dark.or(Some(DARK / exposure));
        let has = |p| frame.get(part(Kind::Color, p)).is_some();
        let halves = has(Part::HalfA) && has(Part::HalfB);
        match (halves, has(Part::Variance)) {
            (true, _) => {}
            (false, true) => {
                log::info!("rdfc: no half buffers; the variance layer is used unscaled");
            }
            (false, false) => log::warn!(
                "rdfc: neither half buffers nor variance of color; the noise is estimated from the image, which gives a less sharp result"
            ),
        }
        if !FEATURES.into_iter().any(|k| frame.get(k).is_some()) {
            log::warn!(
                "rdfc: no feature layers (albedo, normal, position, depth, visibility); colour alone is used"
            );
        }
        Ok(Box::new(made))
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        match on {
            Backend::Cpu => Schedule::list(on, [RdfcSchedule::Rows]),
            Backend::Gpu => Schedule::list(on, [RdfcSchedule::Tile]),
        }
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        self.check()?;
        schedule.choice::<RdfcSchedule>()?;
        build::plan(self, shape, schedule)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Rdfc {
    fn define(&self, frame: &Frame) -> Result<Frame> {
        Ok(self.define_deciding(frame, None)?.0)
    }
}

impl Examples for Rdfc {
    fn examples(&self) -> Vec<Box<dyn Method>> {
        let small = Self {
            radius: 2,
            layers: Layers::All,
            ..Self::default()
        };
        let thesis = Self {
            thesis: true,
            ..small.clone()
        };
        vec![Box::new(small), Box::new(thesis)]
    }
}
