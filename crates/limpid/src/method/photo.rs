//! Common parts of the methods for photographs: the kind of noise, and how much of it to remove.
//!
//! They work on normalised values (`limpid_reference::definition::stabilise`): luminance and colour differences whose noise has standard
//! deviation 1 everywhere. The noise is then characterised by its spectrum alone, which each method uses in its own way.

use super::{Refused, Value};
use crate::{Error, Frame, Image, Result};
use definition::film::LEAST_POWER;
use definition::wiener::{self, AREA, SIDE};
pub use limpid_kernel_photo::ddid::anscombe::Poisson;
use limpid_kernel_photo::stabilise::Stabilise;
use limpid_kernel_photo::wiener::Wiener;
use limpid_plan::{Plan, SlotId};
use limpid_reference::definition;
use limpid_reference::noise::{Component, Profile, Spectrum, Stabiliser};
use std::sync::Arc;

/// The kind of noise.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Noise {
    /// Measured in the image.
    Auto,
    /// Uniform: additive, white, Gaussian.
    Gaussian,
    /// Sensor noise, which grows with the signal.
    Poisson(Poisson),
    /// A known noise profile.
    Profile(Arc<Profile>),
}

impl Noise {
    /// The noise of a camera, for the examples of methods.
    pub(crate) fn example() -> Self {
        let mut profile = Profile::white(0.1, 3);
        profile.deviations = (0..3)
            .map(|c| (0..9).map(|i| 0.05 + 0.01 * (c + i) as f32).collect())
            .collect();
        for (k, component) in profile.components.iter_mut().enumerate() {
            component.deviation = [1.3, 0.9, 0.7][k];
            let power = |f: usize| 4.0 / (1.0 + (f / 8 + k * (f % 8)) as f32);
            component.spectrum = Spectrum::normalised(std::array::from_fn(power)).0;
        }
        Self::Profile(Arc::new(profile))
    }
}

impl Value for Noise {
    const FORM: &'static str = "auto|gaussian|poisson:GAIN,READ|FILE";

    /// A profile is passed as JSON.
    fn parse(text: &str) -> std::result::Result<Self, Refused> {
        match text {
            "auto" => return Ok(Self::Auto),
            "gaussian" => return Ok(Self::Gaussian),
            _ => {}
        }
        if text.starts_with('{') {
            let profile = Profile::from_json(text).map_err(Refused::because)?;
            return Ok(Self::Profile(Arc::new(profile)));
        }
        let numbers = text
            .strip_prefix("poisson:")
            .and_then(|rest| rest.split_once(','));
        let (gain, read) = numbers.ok_or_else(Refused::default)?;
        let (gain, read) = (f32::parse(gain)?, f32::parse(read)?);
        match gain > 0.0 && read >= 0.0 {
            true => Ok(Self::Poisson(Poisson { gain, read })),
            false => Err(Refused::because("GAIN must be above 0 and READ at least 0")),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".into(),
            Self::Gaussian => "gaussian".into(),
            Self::Poisson(p) => format!("poisson:{},{}", p.gain, p.read),
            Self::Profile(profile) => profile.to_json(),
        }
    }
}

/// How much noise there is and how much of it to remove, as in a method's options.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoiseChoice<'a> {
    /// The deviation of white noise, if it is given.
    pub sigma: Option<f32>,
    /// The kind of noise.
    pub noise: &'a Noise,
    /// Factors of the options, for luminance and colour.
    pub options: [f32; 2],
    /// The method's factors for noise without fine components, for luminance and colour: demosaicing and JPEG amplify noise at
    /// edges more than in the flat regions where it is measured.
    pub coarse: [f32; 2],
}

/// Options that declare noise: `use noise("image");` in `options!`.
pub(crate) trait NoiseOptions {
    /// The options' values, with the method's [`NoiseChoice::coarse`].
    fn wanted(&self, coarse: [f32; 2]) -> NoiseChoice<'_>;

    /// Analyses an image, taken at an ISO speed if that is known, and fills in missing values.
    fn measure(&mut self, image: &Image, iso: Option<u32>) -> Result<()>;

    /// A summary of the measurement.
    fn measured(&self) -> Option<String>;
}

/// Implements [`NoiseOptions`] using the fields that `options!` declares.
#[doc(hidden)]
#[macro_export]
macro_rules! noise_options {
    ([$(#[$meta:meta])* $name:ident $(; $facts:ty)?]) => {
        impl $crate::method::photo::NoiseOptions for $name {
            fn wanted(&self, coarse: [f32; 2]) -> $crate::method::photo::NoiseChoice<'_> {
                $crate::method::photo::NoiseChoice {
                    sigma: self.sigma,
                    noise: &self.noise,
                    options: [self.luminance, self.chroma],
                    coarse,
                }
            }

            fn measure(&mut self, image: &$crate::Image, iso: Option<u32>) -> $crate::Result<()> {
                $crate::method::photo::look((image, iso), &mut self.sigma, &mut self.noise)
            }

            fn measured(&self) -> Option<String> {
                $crate::method::photo::summary(self.sigma, &self.noise)
            }
        }
    };
}

/// The deviation that a plan assumes if none was given and no image was analysed.
const USUAL: f32 = 25.0 / 255.0;

/// Smaller deviations count as no noise.
const LEAST: f32 = 1e-6;

impl NoiseChoice<'_> {
    /// Errors of the options.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some(sigma) = self.sigma {
            check_sigma(sigma)?;
        }
        for (name, value) in [("luminance", self.options[0]), ("chroma", self.options[1])] {
            if value < 0.0 {
                let expected = "0 or more; 1 removes all noise that was measured";
                return Err(Error::option(name, value, expected));
            }
        }
        Ok(())
    }

    /// The noise of a picture with this many channels.
    fn profile(&self, channels: usize) -> Profile {
        match (self.sigma, self.noise) {
            (Some(sigma), _) => Profile::white(sigma.max(LEAST), channels),
            (None, Noise::Profile(profile)) => profile.fit(channels),
            (None, Noise::Poisson(p)) => Profile::poisson(p.gain, p.read, channels),
            (None, _) => Profile::white(USUAL, channels),
        }
    }

    /// Resolves the noise for plans and definitions.
    pub(crate) fn stabilised(&self, channels: usize) -> Result<Stabilised> {
        self.check()?;
        let profile = self.profile(channels);
        let factor = |(k, component): (usize, &Component)| {
            let which = usize::from(k > 0);
            let fine = component.spectrum.fineness();
            let method = 1.0 + (self.coarse[which] - 1.0) * (1.0 - fine);
            // Not for chroma, whose noise is always coarse.
            let blurred = if k == 0 { blurred(fine) } else { 1.0 };
            self.options[which] * method * blurred
        };
        let stronger: Vec<f32> = profile.components.iter().enumerate().map(factor).collect();
        let refined = |(k, component): (usize, &Component)| {
            let which = usize::from(k > 0);
            let coarse = 1.0 - component.spectrum.fineness();
            let share = |by: f32| 1.0 + (by - 1.0) * coarse;
            (share(REFINED[which]) / share(self.coarse[which])).powi(2)
        };
        let refined = profile.components.iter().enumerate().map(refined).collect();
        Ok(Stabilised {
            by: profile.stabiliser(&stronger),
            profile,
            refined,
        })
    }
}

/// The factor for luminance noise that was blurred by the camera, which varies more from place to place than its mean tells:
/// fitted on half of the scenes of PolyU's set (`bench/peers/polyu.py`). Noise that was only demosaiced and stored as JPEG has
/// twice that fineness.
fn blurred(fineness: f32) -> f32 {
    1.0 + 0.2 * ((0.5 - fineness) / 0.25).clamp(0.0, 1.0)
}

/// [`NoiseChoice::coarse`] for [`Stabilised::refine`]: fitted on the images `tune` of `bench/peers/cameras.py`.
const REFINED: [f32; 2] = [1.16, 1.58];

/// Block stride when photographs are refined.
const STEP: usize = 4;

/// Returns an error for an implausible deviation.
fn check_sigma(sigma: f32) -> Result<()> {
    if sigma.is_nan() || sigma < 0.0 {
        return Err(Error::option("sigma", sigma, "a number of at least 0"));
    }
    Ok(())
}

/// Analyses an image, taken at an ISO speed if that is known, and fills in missing values.
pub(crate) fn look(
    (image, iso): (&Image, Option<u32>),
    sigma: &mut Option<f32>,
    noise: &mut Noise,
) -> Result<()> {
    if let Some(sigma) = sigma.filter(|s| *s > 1.0) {
        let most = image.data().iter().fold(0.0f32, |m, v| m.max(v.abs()));
        if sigma > most {
            let expected = format!(
                "a standard deviation in the image's own values, at most {most}; write {sigma}/255 for a deviation of {sigma} in 8-bit steps"
            );
            return Err(Error::option("sigma", sigma, expected));
        }
    }
    match (&sigma, &noise) {
        (None, Noise::Auto) => {
            let profile = Profile::estimate(image);
            let profile = match iso {
                Some(iso) => profile.at_iso(iso),
                None => profile,
            };
            *noise = Noise::Profile(Arc::new(profile));
        }
        (None, Noise::Gaussian) => *sigma = Some(definition::noise::estimate(image)),
        _ => {}
    }
    Ok(())
}

/// The deviation and the kind of noise, with missing values filled in.
pub(super) fn measured(
    sigma: Option<f32>,
    noise: &Noise,
    frame: &Frame,
) -> Result<(Option<f32>, Noise)> {
    let (mut sigma, mut noise) = (sigma, noise.clone());
    look((frame.color()?, frame.iso()), &mut sigma, &mut noise)?;
    Ok((sigma, noise))
}

/// A summary of the measurement.
pub(crate) fn summary(sigma: Option<f32>, noise: &Noise) -> Option<String> {
    match (sigma, noise) {
        (Some(sigma), _) => Some(format!("noise {:.1}/255, white", 255.0 * sigma)),
        (None, Noise::Profile(profile)) => Some(profile.summary()),
        _ => None,
    }
}

/// A profile with its normalising curves.
#[derive(Debug, Clone)]
pub(crate) struct Stabilised {
    pub profile: Profile,
    pub by: Stabiliser,
    /// For each component, the power of its noise in the refinement, relative to normalised noise.
    refined: Vec<f32>,
}

impl Stabilised {
    /// The spectra of the components.
    pub(crate) fn spectra(&self) -> Vec<Spectrum> {
        let all = self.profile.components.iter();
        all.map(|c| c.spectrum.clone()).collect()
    }

    /// The spectra; empty if all are white.
    pub(crate) fn coloured(&self) -> Vec<Spectrum> {
        let mut all = self.spectra();
        if all.iter().all(|s| *s == Spectrum::white()) {
            all.clear();
        }
        all
    }

    /// The parameters of the second step that some methods end with.
    pub(crate) fn second(&self, step: usize, chessboard: bool) -> wiener::Settings {
        let frequency = |k: usize| k as f64 / (2 * SIDE) as f64;
        let components = self.profile.components.iter().zip(&self.refined);
        let powers = components.map(|(component, refined)| -> [f32; AREA] {
            std::array::from_fn(|at| {
                let power = component
                    .spectrum
                    .at(frequency(at / SIDE), frequency(at % SIDE));
                refined * (power as f32).max(LEAST_POWER)
            })
        });
        wiener::Settings {
            step,
            chessboard,
            powers: powers.collect(),
        }
    }

    /// Adds the second step: filters normalised values, guided by a first estimate of them.
    pub(crate) fn refine(&self, plan: &mut Plan, [noisy, made]: [SlotId; 2]) -> SlotId {
        let by = self.second(STEP, true);
        plan.set_align(2 * STEP);
        let refined = plan.transient("refined", plan.at(made).planes);
        plan.pass(Wiener { by, joined: false }, [noisy, made], [refined]);
        refined
    }

    /// The definition of [`Self::refine`].
    pub(crate) fn refined(&self, noisy: &Image, made: &Image) -> Image {
        wiener::wiener(noisy, made, None, &self.second(STEP, true))
    }

    /// Adds the first pass, which normalises values.
    pub(crate) fn enter(&self, plan: &mut Plan, from: SlotId, to: SlotId) {
        let (by, back) = (self.by.clone(), false);
        plan.pass(Stabilise { by, back }, [from], [to]);
    }

    /// Adds the last pass, the inverse of [`Self::enter`].
    pub(crate) fn leave(&self, plan: &mut Plan, from: SlotId, to: SlotId) {
        let (by, back) = (self.by.clone(), true);
        plan.pass(Stabilise { by, back }, [from], [to]);
    }

    /// Applies a definition to normalised values.
    pub(crate) fn define(
        &self,
        image: &Image,
        work: impl FnOnce(&Image) -> Result<Image>,
    ) -> Result<Image> {
        let made = work(&definition::stabilise::stabilised(image, &self.by))?;
        Ok(definition::stabilise::restored(&made, &self.by))
    }
}
