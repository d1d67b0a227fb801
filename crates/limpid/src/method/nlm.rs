//! Non-local means, for photographs and renders without features.
//!
//! The definition is `definition::nlm`. Schedules: `paired` (CPU) uses each weight for both pixels of a pair where
//! the noise is uniform, `rows` (CPU) is the general body; `tile` (GPU) works in workgroup memory, `tile:16` and `tile:8`
//! with smaller tiles.

use super::{Backend, Entry, Method, Schedule, Use};
use crate::definition::nlm::{Filter, Guide};
use crate::definition::noise;
use crate::kernel::nlm::{Nlm as Kernel, Noise};
use crate::kernel::rdfc::floor;
use crate::plan::Plan;
use crate::{Error, Frame, Kind, Layer, Part, Result, Shape};

/// Non-local means in the list of methods.
pub(super) const ENTRY: Entry = Entry {
    name: "nlm",
    used: Use::Denoise,
    about: "Non-local means: photographs, and renders without features",
    make: || Box::new(Nlm::default()),
};

crate::choice! {
    /// Where the variance of the noise comes from.
    pub enum Variance {
        /// The variance layer, when there is one and sigma is not given; else uniform.
        Auto = "auto",
        /// The same everywhere: sigma.
        Uniform = "uniform",
        /// The variance layer.
        Pixel = "pixel",
    }
}

crate::choice! {
    /// How windows are walked.
    enum NlmSchedule {
        /// CPU: each weight counts for both pixels of a pair.
        Paired = "paired",
        /// CPU: each pixel makes its own weights.
        Rows = "rows",
        /// GPU: tiles of as many rows as the device has memory for.
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
        /// Standard deviation of the noise, like 25/255; estimated from the image when not given.
        pub sigma: Option<f32> = None,
        /// Radius of the window that is searched: 10 is 21 by 21 pixels.
        pub radius: usize = 10,
        /// Radius of the patches that are compared: 3 is 7 by 7 pixels.
        pub patch: usize = 3,
        /// How far apart patches may be, in standard deviations: larger is smoother.
        pub k: f32 = 0.4,
        /// Where the variance of the noise comes from.
        pub variance: Variance = Variance::Auto,
        /// Lets the variance of a pixel be no less than the fourth smallest of the 3×3 around it: where few samples agree by
        /// chance, specks would stay.
        pub variance_floor: bool = true,
        /// Averages weights over patches: a little smoother, slower.
        pub patchwise: bool = false,
        /// Lets opposite pixels balance each other: better gradients, slower.
        pub symmetric: bool = false,
    }
}

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
        match self.sigma {
            Some(s) if s.is_nan() || s < 0.0 => {
                Err(Error::option("sigma", s, "0 or a number above"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the variance layer is used.
    fn per_pixel(&self, shape: &Shape) -> Result<bool> {
        match self.variance {
            Variance::Uniform => Ok(false),
            Variance::Auto => Ok(self.sigma.is_none() && shape.has(VARIANCE)),
            Variance::Pixel if shape.has(VARIANCE) => Ok(true),
            Variance::Pixel => Err(Error::missing(
                VARIANCE,
                "option variance: uniform does without",
            )),
        }
    }

    /// The uniform variance; that of sigma 0.1 as long as nothing was estimated.
    fn uniform(&self) -> f32 {
        self.sigma.unwrap_or(0.1).powi(2)
    }
}

impl Method for Nlm {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepare(&mut self, frame: &Frame) -> Result<()> {
        if self.sigma.is_none() && !self.per_pixel(&frame.shape())? {
            let sigma = noise::estimate(frame.color()?);
            log::info!("nlm: the noise is estimated as sigma {sigma:.4}");
            self.sigma = Some(sigma);
        }
        Ok(())
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
        let way: NlmSchedule = schedule.choice()?;
        let mut plan = Plan::new(format!("nlm {schedule}"), shape.size);
        let channels = shape.require(&Layer::COLOR)?;
        let color = plan.input(Layer::COLOR, channels);
        let output = plan.output(Layer::COLOR, channels);
        let mut reads = vec![color];
        let noise = if self.per_pixel(shape)? {
            let mut variance = plan.input(VARIANCE, channels);
            if self.variance_floor {
                let floored = plan.transient("floored variance", channels);
                plan.pass(floor(), [variance], [floored]);
                variance = floored;
            }
            reads.push(variance);
            Noise::Pixel
        } else {
            Noise::Uniform(self.uniform())
        };
        let kernel = Kernel {
            channels,
            patchwise: self.patchwise,
            symmetric: self.symmetric,
            paired: way != NlmSchedule::Rows,
            tile: match way {
                NlmSchedule::Tile16 => Some(16),
                NlmSchedule::Tile8 => Some(8),
                _ => None,
            },
            ..Kernel::new(self.radius, self.patch, self.k, noise)
        };
        plan.pass(kernel, reads, [output]);
        Ok(plan)
    }

    fn define(&self, frame: &Frame) -> Result<Frame> {
        self.check()?;
        let image = frame.color()?;
        let variance = match (self.per_pixel(&frame.shape())?, self.variance_floor) {
            (true, true) => noise::floor(frame.require(VARIANCE)?),
            (true, false) => frame.require(VARIANCE)?.clone(),
            (false, _) => image.map(|_| self.uniform()),
        };
        let filter = Filter {
            radius: self.radius,
            guide: Some(Guide {
                image,
                variance: &variance,
                k: f64::from(self.k),
                patch: self.patch,
            }),
            features: Vec::new(),
            patchwise: self.patchwise,
            symmetric: self.symmetric,
        };
        Frame::new(filter.run(image, None).image)
    }

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
        vec![
            as_it_is,
            with(4, 3, Some(0.3), false),
            with(3, 1, None, true),
            with(2, 2, None, false),
            with(2, 3, Some(0.2), true),
            with(1, 0, Some(0.5), false),
            with(0, 1, None, true),
        ]
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}
