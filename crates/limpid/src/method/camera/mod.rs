//! Learned denoising of photographs: a network estimates the noise of each pixel.
//!
//! The definition is `definition::camera`. Values are stabilised as in the other methods for photographs, so that one network serves
//! every kind and strength of noise: what is measured sets its biases. A schedule computes the maps of the network one after the other.

mod weights;

pub(super) use weights::BUNDLED;

use super::network::{BEST_TURNS, Build, Loaded};
pub use super::photo::Noise;
use super::photo::{NoiseOptions, Stabilised};
use super::{Backend, Define, Entry, Examples, InputKind, Method, Schedule, Use};
use crate::{Error, Frame, Layer, Result, Shape};
use limpid_kernel_render::front::between;
use limpid_kernel_render::neural::{CameraInputs, Into, WithoutNoise};
use limpid_plan::Plan;
use limpid_reference::definition::camera;
use limpid_reference::definition::network::{BLOCK, Network};
use std::sync::Arc;

/// The method in the list.
pub(super) const ENTRY: Entry = Entry::new(
    "camera",
    Use::Denoise,
    "a network that estimates the noise of each pixel, for photographs",
    || Box::new(Camera::default()),
)
.advised(&[(
    InputKind::Photograph,
    "default, except for weak white noise: a network that is told what was measured",
)])
.steps("quality", ["fast", "good", "best"]);

crate::choice! {
    /// How the network runs.
    enum CameraSchedule {
        /// Maps in single precision.
        Full = "full",
        /// Maps in half precision, on a GPU; accumulated in single precision.
        Half = "half",
        /// The same on the GPU's matrix units, if available.
        Matrix = "matrix",
    }
}

crate::choice! {
    /// How much time to spend.
    pub enum Quality {
        /// A small network: less detail, in a quarter of the time.
        Fast = "fast",
        /// The usual network.
        Good = "good",
        /// The mean of the usual network and three mirrored and turned ones: a little more detail, in four times the time.
        Best = "best",
    }
}

crate::options! {
    /// The network for photographs, with its options.
    pub struct Camera {
        /// Standard deviation of white noise in the image's own units, such as 25/255.
        pub sigma: Option<f32> = None,
        /// How much time to spend: fast uses a small network, good the usual one, best the mean of four turned ones.
        pub quality: Quality = Quality::Good,
        use noise("image");
    }
}

/// Weight of noise without fine components, in luminance and in colour: fitted on half of PolyU's scenes. The network is told of it, but
/// colour noise of cameras is stronger than measured.
const COARSE: [f32; 2] = [1.0, 1.3];

impl Camera {
    /// The noise, and the network for it.
    fn resolved(&self, channels: usize) -> Result<(Stabilised, Network)> {
        if !matches!(channels, 1 | 3) {
            return Err(Error::unsupported(format!(
                "camera needs one or three channels, not {channels}"
            )));
        }
        let stabilised = self.wanted(COARSE).stabilised(channels)?;
        let network = weights::own(self.quality)?;
        let mut network = network.about(&camera::features(&stabilised.profile));
        // As GPUs store them, so that all devices compute the same.
        for bias in network.layers.iter_mut().flat_map(|l| &mut l.bias) {
            *bias = half::f16::from_f32(*bias).to_f32();
        }
        Ok((stabilised, network))
    }

    /// How many mirrored and turned networks to use.
    fn turns(&self) -> usize {
        match self.quality {
            Quality::Best => BEST_TURNS,
            Quality::Fast | Quality::Good => 1,
        }
    }
}

impl Method for Camera {
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
        use CameraSchedule::{Full, Half, Matrix};
        match on {
            Backend::Cpu => Schedule::list(on, [Full]),
            Backend::Gpu => Schedule::list_halves(on, [Matrix, Half], [Full]),
        }
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        let choice = schedule.choice::<CameraSchedule>()?;
        let channels = shape.require(&Layer::COLOR)?;
        let (stabilised, network) = self.resolved(channels)?;
        let mut build = Build {
            plan: Plan::new(format!("camera {schedule}"), shape.size),
            on: schedule.backend(),
            half: choice != CameraSchedule::Full,
            matrices: choice == CameraSchedule::Matrix,
            loaded: Arc::new(Loaded::from(network)),
            turn: 0,
        };
        // Tiles need whole blocks of the coarsest map.
        build.plan.set_align(BLOCK);
        let input = build.plan.input(Layer::COLOR, channels);
        let output = build.plan.output(Layer::COLOR, channels);
        let noisy = build.plan.transient("noisy", channels);
        stabilised.enter(&mut build.plan, input, noisy);
        let inputs = build.map("inputs", shape.size, camera::INPUTS);
        let prepare = CameraInputs {
            channels,
            gains: camera::gains(&stabilised.by),
        };
        build.plan.pass(prepare, [input, noisy], [inputs]);
        let mut clean = None;
        for turn in 0..self.turns() {
            build.turn = turn;
            let mut reads = vec![noisy];
            reads.extend(build.network(inputs, Into::Plain)?);
            let made = build.plan.transient("clean", channels);
            build.plan.pass(WithoutNoise { channels }, reads, [made]);
            clean = Some(match clean {
                None => made,
                // The mean so far.
                Some(before) => {
                    let mean = build.plan.transient("mean", channels);
                    let share = 1.0 / (turn + 1) as f32;
                    build.plan.pass(between(share), [before, made], [mean]);
                    mean
                }
            });
        }
        let clean = clean.unwrap_or(noisy);
        stabilised.leave(&mut build.plan, clean, output);
        Ok(build.plan)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Define for Camera {
    fn define(&self, frame: &Frame) -> Result<Frame> {
        let image = frame.color()?;
        let (stabilised, network) = self.resolved(image.channels())?;
        let gains = camera::gains(&stabilised.by);
        let made = stabilised.define(image, |values| {
            let turned = |turn| camera::cleaned(image, values, &network.turned(turn), gains);
            let mut mean = turned(0);
            for turn in 1..self.turns() {
                let (next, share) = (turned(turn), 1.0 / (turn + 1) as f32);
                for (a, b) in mean.data_mut().iter_mut().zip(next.data()) {
                    *a += (b - *a) * share;
                }
            }
            Ok(mean)
        })?;
        Frame::new(made)
    }
}

impl Examples for Camera {
    fn examples(&self) -> Vec<Box<dyn Method>> {
        let with = |change: fn(&mut Self)| -> Box<dyn Method> {
            let mut method = self.clone();
            change(&mut method);
            Box::new(method)
        };
        vec![
            with(|o| o.sigma = Some(0.1)),
            with(|o| (o.quality, o.noise, o.chroma) = (Quality::Fast, Noise::example(), 1.5)),
        ]
    }
}
