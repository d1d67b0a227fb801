//! Non-local means, for photographs and renders without features.
//!
//! The definition is `definition::nlm`. Schedules: `paired` (CPU) uses each weight for both pixels of a pair if
//! the noise is uniform, `rows` (CPU) is the general body; `tile` (GPU) works in workgroup memory, `tile:16` and `tile:8`
//! with smaller tiles.

use super::photo::{Noise, NoiseOptions, Stabilised};
use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use};
use crate::{Error, Frame, Image, Kind, Layer, Part, Result, Shape};
use limpid_kernel_render::nlm::{Nlm as Kernel, Noise as Uniformity};
use limpid_kernel_render::rdfc::floor;
use limpid_plan::Plan;
use limpid_reference::definition::nlm::{Filter, Guide, half_window};
use limpid_reference::definition::noise;
use limpid_reference::noise::Spectrum;

/// Non-local means in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "nlm",
    Use::Denoise,
    "Non-local means: photographs, and renders without features",
    || Box::new(Nlm::default()),
)
.advised(&[(
    InputKind::Photograph,
    "non-local means; also for renders with a variance layer and no features",
)]);

crate::choice! {
    /// Where the variance of the noise comes from.
    pub enum Variance {
        /// The variance layer if there is one and sigma is not given; otherwise uniform.
        Auto = "auto",
        /// Uniform: sigma.
        Uniform = "uniform",
        /// The variance layer.
        Pixel = "pixel",
    }
}

crate::choice! {
    /// How windows are processed.
    enum NlmSchedule {
        /// CPU: each weight is used for both pixels of a pair.
        Paired = "paired",
        /// CPU: each pixel computes its own weights.
        Rows = "rows",
        /// GPU: tiles of as many rows as fit the device's memory.
        Tile = "tile",
        /// GPU: tiles of 16 rows.
        Tile16 = "tile:16",
        /// GPU: tiles of 8 rows.
        Tile8 = "tile:8",
    }
}

crate::options! {
    /// Non-local means with its options.
    pub struct Nlm {
        /// Standard deviation of white noise, such as 25/255.
        pub sigma: Option<f32> = None,
        use noise("image");
        /// Radius of the search window: 10 is 21 by 21 pixels.
        pub radius: usize = 10,
        /// Radius of the compared patches: 3 is 7 by 7 pixels.
        pub patch: usize = 3,
        /// How different patches may be, in standard deviations: larger is smoother.
        pub k: f32 = 0.4,
        /// Where the variance of the noise comes from.
        pub variance: Variance = Variance::Auto,
        /// Keep the variance of a pixel at or above the fourth smallest of the 3×3 pixels around it; otherwise specks remain
        /// where few samples agree by chance.
        pub variance_floor: bool = true,
        /// Average weights over patches: slightly smoother, slower.
        pub patchwise: bool = false,
        /// Balance opposite pixels: better gradients, slower.
        pub symmetric: bool = false,
        /// Filter again, frequency by frequency, using the result as an estimate: better, slightly slower. Not with a variance layer.
        pub refine: bool = false,
    }
}

/// Weight of noise without fine components, in luminance and in colour: fitted on the images `tune` of
/// `bench/peers/cameras.py`.
const COARSE: [f32; 2] = [1.0, 1.6];

const VARIANCE: Layer = Layer::new(Kind::Color, Part::Variance);

impl Nlm {
    fn check(&self) -> Result<()> {
        if self.radius > 64 {
            return Err(Error::option("radius", self.radius, "at most 64"));
        }
        if self.patch > 16 {
            return Err(Error::option("patch", self.patch, "at most 16"));
        }
        if self.k.is_nan() || self.k <= 0.0 {
            return Err(Error::option("k", self.k, "a number above 0"));
        }
        Ok(())
    }

    /// Whether the variance layer is used.
    fn per_pixel(&self, shape: &Shape) -> Result<bool> {
        match self.variance {
            Variance::Uniform => Ok(false),
            Variance::Auto => Ok(self.sigma.is_none() && shape.has(VARIANCE)),
            Variance::Pixel if shape.has(VARIANCE) => Ok(true),
            Variance::Pixel => Err(Error::missing(
                VARIANCE,
                "option variance=pixel needs it; uniform does not",
            )),
        }
    }

    /// For half the offsets, the decorrelation of the noise of two pixels, averaged over components; empty for white noise.
    fn apart(&self, stabilised: &Stabilised) -> Vec<f32> {
        let spectra = stabilised.coloured();
        let one = |o: (i64, i64)| apart(&spectra, o) as f32;
        match spectra.is_empty() {
            true => Vec::new(),
            false => half_window(self.radius).into_iter().map(one).collect(),
        }
    }
}

/// 1 minus the correlation of noise at an offset, mean over components.
fn apart(spectra: &[Spectrum], (dx, dy): (i64, i64)) -> f64 {
    let sum: f64 = spectra.iter().map(|s| s.correlation(dx, dy)).sum();
    1.0 - sum / spectra.len().max(1) as f64
}

impl Method for Nlm {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
        let mut made = self.clone();
        if !self.per_pixel(&frame.shape())? {
            made.measure(frame.color()?, frame.iso())?;
        }
        Ok(Box::new(made))
    }

    fn summary(&self) -> Option<String> {
        self.measured()
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        match on {
            Backend::Cpu => Schedule::list(on, [NlmSchedule::Paired, NlmSchedule::Rows]),
            Backend::Gpu => Schedule::list(
                on,
                [NlmSchedule::Tile, NlmSchedule::Tile16, NlmSchedule::Tile8],
            ),
        }
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        self.check()?;
        let schedule: NlmSchedule = schedule.choice()?;
        let mut plan = Plan::new(format!("nlm {schedule}"), shape.size);
        let channels = shape.require(&Layer::COLOR)?;
        let color = plan.input(Layer::COLOR, channels);
        let output = plan.output(Layer::COLOR, channels);
        let kernel = |noise: Uniformity, apart: Vec<f32>| Kernel {
            channels,
            apart,
            patchwise: self.patchwise,
            symmetric: self.symmetric,
            paired: schedule != NlmSchedule::Rows,
            tile: match schedule {
                NlmSchedule::Tile16 => Some(16),
                NlmSchedule::Tile8 => Some(8),
                _ => None,
            },
            ..Kernel::new(self.radius, self.patch, self.k, noise)
        };
        if self.per_pixel(shape)? {
            let mut variance = plan.input(VARIANCE, channels);
            if self.variance_floor {
                let floored = plan.transient("floored variance", channels);
                plan.pass(floor(), [variance], [floored]);
                variance = floored;
            }
            let kernel = kernel(Uniformity::Pixel, Vec::new());
            plan.pass(kernel, vec![color, variance], [output]);
            return Ok(plan);
        }
        let stabilised = self.wanted(COARSE).stabilised(channels)?;
        let (noisy, made) = (
            plan.transient("noisy", channels),
            plan.transient("made", channels),
        );
        stabilised.enter(&mut plan, color, noisy);
        let kernel = kernel(Uniformity::Uniform(1.0), self.apart(&stabilised));
        plan.pass(kernel, [noisy], [made]);
        let made = match self.refine {
            true => stabilised.refine(&mut plan, [noisy, made]),
            false => made,
        };
        stabilised.leave(&mut plan, made, output);
        Ok(plan)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Nlm {
    fn define(&self, frame: &Frame) -> Result<Frame> {
        self.check()?;
        let image = frame.color()?;
        let run = |image: &Image, variance: &Image, apart: &dyn Fn((i64, i64)) -> f64| {
            let filter = Filter {
                radius: self.radius,
                guide: Some(Guide {
                    image,
                    variance,
                    k: f64::from(self.k),
                    patch: self.patch,
                }),
                features: Vec::new(),
                patchwise: self.patchwise,
                symmetric: self.symmetric,
            };
            filter.run_apart(image, None, apart).image
        };
        if self.per_pixel(&frame.shape())? {
            let variance = match self.variance_floor {
                true => noise::floor(frame.require(VARIANCE)?),
                false => frame.require(VARIANCE)?.clone(),
            };
            return Frame::new(run(image, &variance, &|_| 1.0));
        }
        let stabilised = self.wanted(COARSE).stabilised(image.channels())?;
        let spectra = stabilised.coloured();
        Frame::new(stabilised.define(image, |image| {
            let made = run(image, &image.map(|_| 1.0), &|o| apart(&spectra, o));
            Ok(match self.refine {
                true => stabilised.refined(image, &made),
                false => made,
            })
        })?)
    }
}

impl Examples for Nlm {
    fn examples(&self) -> Vec<Box<dyn Method>> {
        let with = |radius, patch, sigma: Option<f32>, both: bool| {
            Box::new(Self {
                radius,
                patch,
                sigma,
                patchwise: both,
                symmetric: both,
                ..Self::default()
            }) as Box<dyn Method>
        };
        let as_it_is = Box::new(Self {
            radius: 1,
            variance_floor: false,
            ..Self::default()
        });
        let camera = |both: bool| {
            Box::new(Self {
                radius: 2,
                patch: 1,
                variance: Variance::Uniform,
                noise: Noise::example(),
                patchwise: both,
                symmetric: both,
                ..Self::default()
            })
        };
        let refined = Box::new(Self {
            radius: 1,
            patch: 1,
            sigma: Some(0.3),
            refine: true,
            ..Self::default()
        });
        vec![
            refined,
            camera(false),
            camera(true),
            as_it_is,
            with(4, 3, Some(0.3), false),
            with(3, 1, None, true),
            with(2, 2, None, false),
            with(2, 3, Some(0.2), true),
            with(1, 0, Some(0.5), false),
            with(0, 1, None, true),
        ]
    }
}
