//! The à-trous filter with learned guides, for path-traced pictures with few samples.
//!
//! The definition is `definition::neural`. A schedule makes the maps of the network one after the other, then the levels of the
//! filter.

mod build;
mod weights;

pub use weights::Weights;

use super::{Backend, Entry, Knob, Knobs, Method, Schedule, Use};
use crate::definition::neural::{self, FAR, Whole};
use crate::plan::Plan;
use crate::{Frame, Image, Kind, Layer, Part, Result, Shape};

/// The method in the list.
pub(super) const ENTRY: Entry = Entry {
    name: "neural",
    used: Use::Denoise,
    about: "À-trous with learned guides: path-traced pictures with few samples",
    make: || Box::new(Neural::default()),
};

crate::choice! {
    /// How the network runs.
    enum NeuralSchedule {
        /// Maps and guides in single precision.
        Full = "full",
        /// Maps and guides in half precision, on a GPU; sums in single precision.
        Half = "half",
        /// The same by the GPU's matrix units, where it has them.
        Matrix = "matrix",
    }
}

crate::options! {
    /// The options of the filter with learned guides.
    pub struct Options {
        /// The weights of the network: those of the library, or a file.
        pub weights: Weights = Weights::Own,
    }
}

/// The filter with its options, and what it has seen of the frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Neural {
    /// The options.
    pub options: Options,
    /// What is known of the whole picture, and which of albedo, normal and depth it has.
    seen: Option<(Whole, [bool; 3])>,
}

impl Knobs for Neural {
    fn knobs(&self) -> Vec<Knob> {
        self.options.knobs()
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.options.set(name, value)
    }
}

impl Neural {
    fn whole(&self) -> Whole {
        let unknown = Whole {
            exposure: 1.0,
            depth: 1.0,
        };
        self.seen.map_or(unknown, |(whole, _)| whole)
    }
}

/// A colour as three channels.
fn three(color: &Image, i: usize) -> [f32; 3] {
    std::array::from_fn(|c| color.plane(c.min(color.channels() - 1))[i])
}

/// What is known of the whole picture.
fn whole(frame: &Frame) -> Result<Whole> {
    let color = frame.color()?;
    let pixels = color.plane(0).len();
    let light = |i: usize| f64::from(neural::luminance(three(color, i)));
    let mean = (0..pixels).map(light).sum::<f64>() / pixels as f64;
    let calm = (0..pixels).map(|i| light(i).min(4.0 * mean)).sum::<f64>() / pixels as f64;
    let depths = frame.get(Kind::Depth).map_or(&[][..], |d| d.plane(0));
    let seen = depths.iter().filter(|d| **d > 0.0 && **d < FAR);
    let (sum, count) = seen.fold((0.0, 0.0), |(s, n), d| (s + f64::from(*d), n + 1.0));
    Ok(Whole {
        exposure: (0.3 / (calm.max(0.0) + 1e-6)) as f32,
        depth: (sum / (count + 1e-6)) as f32,
    })
}

/// The layers that the network reads, with their channels.
fn features(shape: &Shape) -> [bool; 3] {
    [(Kind::Albedo, 3), (Kind::Normal, 3), (Kind::Depth, 1)]
        .map(|(kind, planes)| shape.channels(&kind.into()) == Some(planes))
}

/// Light layers and alpha, with their planes: they go with the colour.
fn others(shape: &Shape) -> Vec<(Layer, usize)> {
    let carried = |l: &Layer| {
        l.part == Part::Mean && (l.kind == Kind::Alpha || matches!(l.kind, Kind::Light(_)))
    };
    let layers = shape.layers.iter().filter(|(l, _)| carried(l));
    layers.map(|(l, n)| (l.clone(), *n)).collect()
}

impl Method for Neural {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepare(&mut self, frame: &Frame) -> Result<()> {
        self.seen = Some((whole(frame)?, features(&frame.shape())));
        Ok(())
    }

    fn seen(&self) -> Option<String> {
        let (_, there) = self.seen?;
        let names = ["albedo", "normal", "depth"].into_iter().zip(there);
        let names: Vec<&str> = names.filter(|(_, there)| *there).map(|(n, _)| n).collect();
        Some(match names.is_empty() {
            true => "no features".into(),
            false => format!("with {}", names.join(", ")),
        })
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        match on {
            Backend::Cpu => Schedule::list(on, [NeuralSchedule::Full]),
            Backend::Gpu => {
                use NeuralSchedule::{Full, Half, Matrix};
                Schedule::list(on, [Matrix, Half, Full])
            }
        }
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let choice = schedule.choice::<NeuralSchedule>()?;
        build::plan(self, shape, schedule, choice)
    }

    fn define(&self, frame: &Frame) -> Result<Frame> {
        define(self, frame)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

fn define(method: &Neural, frame: &Frame) -> Result<Frame> {
    let (shape, whole) = (frame.shape(), method.whole());
    let color = frame.color()?;
    let (w, h) = (color.width(), color.height());
    let [albedo, normal, depth] = features(&shape);
    let layers = neural::Layers {
        color,
        albedo: frame.get(Kind::Albedo).filter(|_| albedo),
        normal: frame.get(Kind::Normal).filter(|_| normal),
        depth: frame.get(Kind::Depth).filter(|_| depth),
    };
    let (x, divisor) = neural::inputs(&layers, whole);
    let guides = neural::guides(&x, &*method.options.weights.network()?);
    let others = others(&shape);
    let planes = 3 + others.iter().map(|(_, n)| n).sum::<usize>();
    let mut payload = Image::new(w, h, planes);
    let over = |v: f32, i: usize, c: usize| v * whole.exposure / divisor.plane(c)[i];
    for i in 0..w * h {
        for (c, v) in three(color, i).into_iter().enumerate() {
            payload.plane_mut(c)[i] = over(v, i, c);
        }
    }
    let mut plane = 3;
    for (layer, channels) in &others {
        let image = frame.require(layer.clone())?;
        for c in 0..*channels {
            let to = payload.plane_mut(plane + c).iter_mut();
            for (i, (to, v)) in to.zip(image.plane(c)).enumerate() {
                *to = match layer.kind {
                    Kind::Alpha => *v,
                    _ => over(*v, i, c),
                };
            }
        }
        plane += channels;
    }
    let result = neural::filtered(&payload, &guides);
    let divisor = neural::filtered_divisor(&divisor, &guides);
    let made = |first: usize, channels: usize, alpha: bool| {
        Image::from_fn(w, h, channels, |x, y, c| {
            let v = result.get(x, y, first + c);
            match alpha {
                true => v,
                false => v * divisor.get(x, y, c) / whole.exposure,
            }
        })
    };
    let mut out = Frame::new(made(0, color.channels(), false))?;
    let mut plane = 3;
    for (layer, channels) in others {
        let alpha = layer.kind == Kind::Alpha;
        out.insert(layer, made(plane, channels, alpha))?;
        plane += channels;
    }
    Ok(out)
}
