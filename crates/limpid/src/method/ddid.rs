//! Dual-domain image denoising of photographs.
//!
//! The definition is `definition::ddid`. One pass per step, each on all channels; a pass for the colour transform
//! before the first and after the last.

use super::{Backend, Entry, Method, Schedule, Use, Value};
use crate::definition::ddid::{Step, steps_2013, steps_2015, steps_of};
use crate::definition::noise;
use crate::kernel::ddid::DualDomain;
use crate::kernel::ddid::anscombe::Inverse;
pub use crate::kernel::ddid::anscombe::Poisson;
use crate::kernel::ddid::point::{Enter, Leave};
use crate::plan::Plan;
use crate::{Error, Frame, Layer, Result, Shape, definition};

/// Dual-domain denoising in the list of methods.
pub(super) const ENTRY: Entry = Entry {
    name: "ddid",
    used: Use::Denoise,
    about: "dual-domain denoising of photographs: bilateral filter and local Fourier shrinkage",
    make: || Box::new(Ddid::default()),
};

crate::choice! {
    /// Which form of the algorithm.
    pub enum Variant {
        /// Eight steps with growing windows, 9 … 53 pixels wide (Knaus and Zwicker 2015).
        Of2015 = "2015",
        /// Three steps with windows 31 pixels wide (Knaus and Zwicker 2013).
        Of2013 = "2013",
    }
}

crate::choice! {
    /// Time against quality.
    pub enum Quality {
        /// Windows at most 19 pixels wide, and six steps instead of eight.
        Fast = "fast",
        /// Windows at most 33 pixels wide.
        Balanced = "balanced",
        /// As published.
        Best = "best",
    }
}

/// What the noise is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// The same everywhere: additive, white, Gaussian.
    Gaussian,
    /// A sensor's: grows with the light.
    Poisson(Poisson),
}

impl Value for Noise {
    const FORM: &'static str = "gaussian|poisson:GAIN,READ";

    fn parse(text: &str) -> Option<Self> {
        if text == "gaussian" {
            return Some(Self::Gaussian);
        }
        let (gain, read) = text.strip_prefix("poisson:")?.split_once(',')?;
        let (gain, read) = (f32::parse(gain)?, f32::parse(read)?);
        (gain > 0.0 && read >= 0.0).then_some(Self::Poisson(Poisson { gain, read }))
    }

    fn show(&self) -> String {
        match self {
            Self::Gaussian => "gaussian".into(),
            Self::Poisson(p) => format!("poisson:{},{}", p.gain, p.read),
        }
    }
}

crate::options! {
    /// Dual-domain denoising with its options.
    pub struct Ddid {
        /// Standard deviation of the noise in the image's own units, 25/255 say; estimated from the image when not given.
        pub sigma: Option<f32> = None,
        /// Time against quality; best is as published.
        pub quality: Quality = Quality::Best,
        /// The form of the algorithm, by its year.
        pub variant: Variant = Variant::Of2015,
        /// What the noise is like; with poisson, --sigma is not needed.
        pub noise: Noise = Noise::Gaussian,
    }
}

/// The noise level a plan is made for when no level was given and no frame was looked at.
const USUAL: f32 = 25.0 / 255.0;

crate::choice! {
    /// How windows are walked.
    enum DdidSchedule {
        /// A window for each pixel.
        Windows = "windows",
    }
}

impl Ddid {
    /// The steps; none when there is no noise.
    pub fn steps(&self) -> Result<Vec<Step>> {
        let sigma = f64::from(match (self.noise, self.sigma) {
            // Stabilised noise has standard deviation 1.
            (Noise::Poisson(_), _) => 1.0,
            (Noise::Gaussian, Some(sigma)) => sigma,
            (Noise::Gaussian, None) => USUAL,
        });
        if sigma < 0.0 {
            return Err(Error::option("sigma", sigma, "a number not below 0"));
        }
        // Squares of smaller numbers are lost in single precision.
        if sigma < 1e-12 {
            return Ok(Vec::new());
        }
        // A smaller window leaves out the pixels that weigh least, and the first steps only make guides.
        let (radii, most): (&[usize], usize) = match self.quality {
            Quality::Fast => (&[1, 1, 1, 4, 7, 9], 8),
            Quality::Balanced => (&[1, 1, 2, 3, 5, 8, 12, 16], 12),
            Quality::Best => (&[], usize::MAX),
        };
        let mut steps = match (self.variant, self.quality) {
            (Variant::Of2013, _) => steps_2013(sigma),
            (Variant::Of2015, Quality::Best) => steps_2015(sigma),
            (Variant::Of2015, _) => steps_of(sigma, radii.len() as u32),
        };
        for (i, step) in steps.iter_mut().enumerate() {
            step.radius = match self.variant {
                Variant::Of2013 => step.radius.min(most),
                Variant::Of2015 => radii.get(i).copied().unwrap_or(step.radius),
            };
            // Where few pixels are looked at, more of them may count.
            if (self.variant, self.quality) == (Variant::Of2015, Quality::Fast) {
                step.range *= 1.5;
            }
        }
        Ok(steps)
    }

    fn stabiliser(&self) -> Option<Poisson> {
        match self.noise {
            Noise::Gaussian => None,
            Noise::Poisson(poisson) => Some(poisson),
        }
    }
}

impl Method for Ddid {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepare(&mut self, frame: &Frame) -> Result<()> {
        if self.sigma.is_none() && self.noise == Noise::Gaussian {
            self.sigma = Some(noise::estimate(frame.color()?));
        }
        Ok(())
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        Schedule::list(on, [DdidSchedule::Windows])
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        schedule.choice::<DdidSchedule>()?;
        let mut plan = Plan::new(format!("ddid {schedule}"), shape.size);
        let channels = shape.require(&Layer::COLOR)?;
        let noise = self.stabiliser();
        let input = plan.input(Layer::COLOR, channels);
        let output = plan.output(Layer::COLOR, channels);
        let noisy = plan.transient("noisy", channels);
        plan.pass(Enter { noise }, [input], [noisy]);
        let mut guide = noisy;
        for (i, step) in self.steps()?.into_iter().enumerate() {
            let next = plan.transient(format!("step {}", i + 1), channels);
            plan.pass(kernel(&step), [guide, noisy], [next]);
            guide = next;
        }
        let noise = noise.map(Inverse::new);
        plan.pass(Leave { noise }, [guide], [output]);
        Ok(plan)
    }

    fn define(&self, frame: &Frame) -> Result<Frame> {
        let image = frame.color()?;
        let steps = self.steps()?;
        let made = match self.stabiliser() {
            Some(noise) => {
                let inverse = Inverse::new(noise);
                let made = definition::ddid::ddid(&image.map(|v| noise.stabilise(v)), &steps);
                made.map(|v| inverse.restore(v))
            }
            None => definition::ddid::ddid(image, &steps),
        };
        Frame::new(made)
    }

    fn examples(&self) -> Vec<Box<dyn Method>> {
        let counts = Poisson {
            gain: 0.02,
            read: 0.01,
        };
        let small = Self {
            sigma: Some(0.1),
            quality: Quality::Fast,
            ..self.clone()
        };
        let first = Self {
            variant: Variant::Of2013,
            noise: Noise::Poisson(counts),
            ..small.clone()
        };
        vec![Box::new(small), Box::new(first)]
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

fn kernel(step: &Step) -> DualDomain {
    DualDomain {
        radius: step.radius,
        space: step.space as f32,
        range: step.range as f32,
        shrink: step.shrink as f32,
        power: step.power,
        confidence: step.confidence as f32,
    }
}
