//! Dual-domain image denoising of photographs.
//!
//! The definition is `definition::ddid`. One pass per step, each on all channels; a pass for the colour transform
//! before the first and after the last.

pub use super::photo::Noise;
use super::photo::NoiseOptions;
use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use};
use crate::{Frame, Layer, Result, Shape};
use limpid_kernel_photo::ddid::DualDomain;
use limpid_kernel_photo::ddid::anscombe::Inverse;
pub use limpid_kernel_photo::ddid::anscombe::Poisson;
use limpid_kernel_photo::ddid::point::{Enter, Leave};
use limpid_plan::Plan;
use limpid_reference::definition;
use limpid_reference::definition::ddid::{LEAST_POWER, Step, steps_2013, steps_2015, steps_of};
use limpid_reference::noise::Spectrum;

/// Dual-domain denoising in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "ddid",
    Use::Denoise,
    "dual-domain denoising of photographs: bilateral filter and local Fourier shrinkage",
    || Box::new(Ddid::default()),
)
.advised(&[(
    InputKind::Photograph,
    "most detail in white noise of medium strength, slow",
)]);

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
    /// Trade-off between time and quality.
    pub enum Quality {
        /// Windows at most 19 pixels wide, and six steps instead of eight.
        Fast = "fast",
        /// Windows at most 33 pixels wide.
        Good = "good",
        /// As published.
        Best = "best",
    }
}

crate::options! {
    /// Dual-domain denoising with its options.
    pub struct Ddid {
        /// Standard deviation of white noise in the image's own units, such as 25/255.
        pub sigma: Option<f32> = None,
        /// Trade-off between time and quality; best is as published.
        pub quality: Quality = Quality::Best,
        /// The form of the algorithm, by its year.
        pub variant: Variant = Variant::Of2015,
        use noise("image");
    }
}

/// Weight of noise without fine components, in luminance and in colour: the first fitted on the images `tune` of
/// `bench/peers/cameras.py`, the second on the real cameras of `bench/peers/polyu.py`.
const COARSE: [f32; 2] = [1.2, 2.6];

crate::choice! {
    /// How windows are processed.
    enum DdidSchedule {
        /// A window for each pixel.
        Windows = "windows",
    }
}

impl Ddid {
    /// The steps for noise of standard deviation 1.
    pub fn steps(&self) -> Vec<Step> {
        // Smaller windows drop the pixels with the lowest weights, and the first steps only produce guides.
        let (radii, most): (&[usize], usize) = match self.quality {
            Quality::Fast => (&[1, 1, 1, 4, 7, 9], 8),
            Quality::Good => (&[1, 1, 2, 3, 5, 8, 12, 16], 12),
            Quality::Best => (&[], usize::MAX),
        };
        let mut steps = match (self.variant, self.quality) {
            (Variant::Of2013, _) => steps_2013(1.0),
            (Variant::Of2015, Quality::Best) => steps_2015(1.0),
            (Variant::Of2015, _) => steps_of(1.0, radii.len() as u32),
        };
        for (i, step) in steps.iter_mut().enumerate() {
            step.radius = match self.variant {
                Variant::Of2013 => step.radius.min(most),
                Variant::Of2015 => radii.get(i).copied().unwrap_or(step.radius),
            };
            // With fewer pixels, a larger share of them may count.
            if (self.variant, self.quality) == (Variant::Of2015, Quality::Fast) {
                step.range *= 1.5;
            }
        }
        steps
    }

    /// Sensor counts are mapped by the Anscombe transform, which is exact for them.
    fn stabiliser(&self) -> Option<Poisson> {
        match self.noise {
            Noise::Poisson(poisson) if self.sigma.is_none() => Some(poisson),
            _ => None,
        }
    }
}

impl Method for Ddid {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
        let mut made = self.clone();
        made.measure(frame.color()?, frame.iso())?;
        Ok(Box::new(made))
    }

    fn summary(&self) -> Option<String> {
        self.measured()
    }

    fn schedules(&self, on: Backend) -> Vec<Schedule> {
        Schedule::list(on, [DdidSchedule::Windows])
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        schedule.choice::<DdidSchedule>()?;
        let mut plan = Plan::new(format!("ddid {schedule}"), shape.size);
        let channels = shape.require(&Layer::COLOR)?;
        let input = plan.input(Layer::COLOR, channels);
        let output = plan.output(Layer::COLOR, channels);
        let noisy = plan.transient("noisy", channels);
        let stabilised = self.wanted(COARSE).stabilised(channels)?;
        let sensor = self.stabiliser();
        match sensor {
            Some(_) => plan.pass(Enter { noise: sensor }, [input], [noisy]),
            None => stabilised.enter(&mut plan, input, noisy),
        }
        let spectra = match sensor {
            Some(_) => Vec::new(),
            None => stabilised.coloured(),
        };
        let mut guide = noisy;
        for (i, step) in self.steps().into_iter().enumerate() {
            let next = plan.transient(format!("step {}", i + 1), channels);
            plan.pass(kernel(&step, &spectra), [guide, noisy], [next]);
            guide = next;
        }
        match sensor.map(Inverse::new) {
            Some(inverse) => {
                let noise = Some(inverse);
                plan.pass(Leave { noise }, [guide], [output]);
            }
            None => stabilised.leave(&mut plan, guide, output),
        }
        Ok(plan)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Ddid {
    fn define(&self, frame: &Frame) -> Result<Frame> {
        let image = frame.color()?;
        let steps = self.steps();
        let made = match self.stabiliser() {
            Some(noise) => {
                let inverse = Inverse::new(noise);
                let made = definition::ddid::ddid(&image.map(|v| noise.stabilise(v)), &steps);
                made.map(|v| inverse.restore(v))
            }
            None => {
                let stabilised = self.wanted(COARSE).stabilised(image.channels())?;
                let spectra = stabilised.coloured();
                stabilised.define(image, |image| {
                    Ok(definition::ddid::stabilised(image, &steps, &spectra))
                })?
            }
        };
        Frame::new(made)
    }
}

impl Examples for Ddid {
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
        let camera = Self {
            sigma: None,
            noise: Noise::example(),
            ..small.clone()
        };
        let of_2013 = Self {
            variant: Variant::Of2013,
            ..camera.clone()
        };
        vec![
            Box::new(small),
            Box::new(first),
            Box::new(camera),
            Box::new(of_2013),
        ]
    }
}

fn kernel(step: &Step, spectra: &[Spectrum]) -> DualDomain {
    let power = |s: &Spectrum| s.window(step.radius, LEAST_POWER);
    DualDomain {
        radius: step.radius,
        space: step.space as f32,
        range: step.range as f32,
        shrink: step.shrink as f32,
        power: step.power,
        confidence: step.confidence as f32,
        spectrum: spectra.iter().flat_map(power).collect(),
    }
}
