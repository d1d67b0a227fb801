//! Robust denoising with features and colour, for path-traced stills.
//!
//! The definition is `definition::rdfc`. The schedules are those of the filter it is made of,
//! [`crate::kernel::nlm`].

mod build;

use super::{Backend, Entry, Method, Schedule, Use};
use crate::definition::rdfc::{Settings, Signal, rdfc};
use crate::plan::Plan;
use crate::{Error, Frame, Image, Kind, Layer, Part, Result, Shape};

/// RDFC in the list of methods.
pub(super) const ENTRY: Entry = Entry {
    name: "rdfc",
    used: Use::Denoise,
    about: "Colour and features with risk estimates: path-traced stills, offline",
    make: || Box::new(Rdfc::default()),
};

crate::choice! {
    /// What is written.
    pub enum Layers {
        /// Colour, light layers and alpha.
        Color = "color",
        /// Also the variance that is left, the risk estimates and the selection maps.
        All = "all",
    }
}

crate::choice! {
    /// How windows are walked.
    enum RdfcSchedule {
        /// CPU: a few rows at a time.
        Rows = "rows",
        /// GPU: tiles in workgroup memory.
        Tile = "tile",
    }
}

crate::options! {
    /// RDFC with its options. Defaults are those of Vicini 2015, but for the floor of variances.
    pub struct Rdfc {
        /// Radius of the window; the second pass takes half of it.
        pub radius: usize = 10,
        /// How far apart colours may be, in standard deviations: larger is smoother.
        pub k_color: f32 = 0.45,
        /// How far apart features may be: larger is smoother.
        pub k_feature: f32 = 0.6,
        /// Least spread of features, as a share of their squared range.
        pub tau: f32 = 1e-3,
        /// The same for the candidate that looks at features alone.
        pub tau_features: f32 = 1e-4,
        /// Largest minus smallest position; measured when not given.
        pub position_range: Option<f32> = None,
        /// Largest minus smallest depth; measured when not given.
        pub depth_range: Option<f32> = None,
        /// Filters once more, to take out what the first pass left.
        pub second_pass: bool = true,
        /// Lets the sample variance of a pixel be no less than the fourth smallest of the 3×3 around it: where few samples agree
        /// by chance, specks would stay.
        pub variance_floor: bool = true,
        /// What is written: color, or all with the variance that is left, risk estimates and selection maps.
        pub layers: Layers = Layers::Color,
    }
}

/// The features, in the order in which they are used.
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

/// Risk estimates of the three candidates: how wrong each of them is thought to be, squared.
fn risk_layers() -> [Layer; 3] {
    ["sure-r", "sure-g", "sure-b"].map(|n| Kind::Light(n.into()).into())
}

/// How much of the three candidates there is in the first pass.
fn selection_layer() -> Layer {
    Kind::Light("selection".into()).into()
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

    /// The square of a feature's range, by which `τ` is scaled.
    fn range2(&self, kind: &Kind) -> f32 {
        let range = match kind {
            Kind::Position => self.position_range,
            Kind::Depth => self.depth_range,
            _ => None,
        };
        range.unwrap_or(1.0).powi(2)
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
            variance_floor: self.variance_floor,
        }
    }
}

/// The layers that are filtered with colour's weights.
fn extras(shape: &Shape) -> Vec<(Layer, usize)> {
    let carried = |l: &Layer| {
        l.part == Part::Mean && (l.kind == Kind::Alpha || matches!(l.kind, Kind::Light(_)))
    };
    shape
        .layers
        .iter()
        .filter(|(l, _)| carried(l))
        .map(|(l, n)| (l.clone(), *n))
        .collect()
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

impl Method for Rdfc {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepare(&mut self, frame: &Frame) -> Result<()> {
        let measured = |kind: Kind| frame.get(kind).map(range).filter(|r| *r > 0.0);
        self.position_range = self.position_range.or(measured(Kind::Position));
        self.depth_range = self.depth_range.or(measured(Kind::Depth));
        let has = |p| frame.get(part(Kind::Color, p)).is_some();
        let halves = has(Part::HalfA) && has(Part::HalfB);
        match (halves, has(Part::Variance)) {
            (true, _) => {}
            (false, true) => {
                log::info!("rdfc: no half buffers; the variance layer is taken unscaled");
            }
            (false, false) => log::warn!(
                "rdfc: neither half buffers nor variance of color; the noise is estimated from the image, with which the result is less sharp"
            ),
        }
        if !FEATURES.into_iter().any(|k| frame.get(k).is_some()) {
            log::warn!(
                "rdfc: no feature layers (albedo, normal, position, depth, visibility); colour alone is used"
            );
        }
        Ok(())
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

    fn define(&self, frame: &Frame) -> Result<Frame> {
        self.check()?;
        let mut features = Vec::new();
        for kind in FEATURES {
            if frame.get(kind.clone()).is_some() {
                features.push((signal(frame, &kind)?, f64::from(self.range2(&kind))));
            }
        }
        let layers = extras(&frame.shape());
        let mut others = Vec::new();
        for (layer, _) in &layers {
            others.push(frame.require(layer.clone())?.clone());
        }
        let color = signal(frame, &Kind::Color)?;
        let made = rdfc(&color, &features, &others, &self.settings());
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
        }
        Ok(out)
    }

    fn examples(&self) -> Vec<Box<dyn Method>> {
        vec![Box::new(Self {
            radius: 2,
            layers: Layers::All,
            ..Self::default()
        })]
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}
