//! The choice among methods when none is named, by the layers of the frame.

use super::chosen::Chosen;
use super::measure::{sum, sum_of};
use super::nfor::Nfor;
use super::photo::{Noise, measured};
use super::{Backend, Camera, Eaw, Ensemble, Entry, Film, METHODS, Method, Schedule, Use, Value};
use super::{camera, film, neural, nfor};
use crate::{Error, Frame, Image, Kind, LUMINANCE, Layer, Part, Result, Shape};
use limpid_plan::Plan;

crate::choice! {
    /// How much time to spend.
    pub enum Quality {
        /// Short: `neural` with its small network for renders, `eaw` for photographs, three frames for films.
        Fast = "fast",
        /// Medium: `neural` for renders, `eaw` with its second filter for photographs, five frames for films.
        Good = "good",
        /// Long: the mean of four turned networks for renders and photographs, nine frames for films.
        Best = "best",
    }
}

/// The method for frames of this shape. Renders, which have features or halves: `neural`. Films and sequences of photographs: `film`.
/// Photographs: `camera`, or `eaw` if it must be fast; [`Auto`] takes `eaw` for weak white noise, too.
pub fn suggest(shape: &Shape, sequence: bool, quality: Quality) -> Option<&'static Entry> {
    suggested(is_render(shape), sequence, quality)
}

/// The method for renders or for anything else.
fn suggested(render: bool, sequence: bool, quality: Quality) -> Option<&'static Entry> {
    let name = match (render, quality) {
        (true, _) => "neural",
        (false, _) if sequence => "film",
        (false, Quality::Fast) => "eaw",
        (false, Quality::Good | Quality::Best) if camera::BUNDLED => "camera",
        (false, _) => "eaw",
    };
    METHODS
        .iter()
        .find(|e| e.used == Use::Denoise && e.name == name)
}

crate::options! {
    /// Uses the method that [`suggest`] returns, with its default options; for renders whose two halves agree well, `ensemble`.
    pub struct Auto {
        use facts(Facts);
        /// How much time to spend [default: good; for renders whose two buffers agree, the mean of neural and nfor].
        pub quality: Option<Quality> = None,
        /// Output of nfor: color, or all with the estimated error and the shares of the candidates.
        pub layers: nfor::Layers = nfor::Layers::Color,
        /// For photographs: standard deviation of white noise, such as 25/255.
        pub sigma: Option<f32> = None,
        /// For photographs without a sigma: noise measured in the image (auto), from a profile, or from another image.
        pub noise: Noise = Noise::Auto,
        /// How much luminance noise to remove: 1 removes all that was measured; larger values only for photographs.
        pub luminance: f32 = 1.0,
        /// How much colour noise to remove: 1 removes all that was measured; larger values only for photographs.
        pub chroma: f32 = 1.0,
        /// How much of the grain to keep, 0 … 1: that share of the luminance noise stays, and no colour noise.
        pub grain: f32 = 0.0,
    }
}

/// What is known of the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Facts {
    /// Whether the frames form a sequence.
    sequence: bool,
    /// Whether colour is scene-linear light.
    linear: bool,
}

/// Whether frames have data that guides a filter: features, or two halves of the samples.
fn is_render(shape: &Shape) -> bool {
    let features = [Kind::Normal, Kind::Albedo, Kind::Position, Kind::Depth];
    features.into_iter().any(|k| shape.has(k)) || shape.has(Layer::new(Kind::Color, Part::HalfB))
}

/// With two halves that disagree less than this, the mean with regression is better than the network alone. Chosen on the
/// scenes `tune` of `bench/peers/renders.py`.
const CALM: f32 = 0.09;

/// White noise below this is weak: `eaw` is better there over fine detail, `camera` elsewhere (pictures of scikit-image and Kodak).
const WEAK: f32 = 8.0 / 255.0;

/// Noise is white if the power at high frequencies, relative to the mean, is above this; that of cameras' JPEG files is below.
const FINE: f32 = 0.7;

/// How much the halves of a render disagree: the mean difference of their luminances over the mean sum, without outliers far
/// above the mean.
fn disagreement(frame: &Frame) -> Option<f32> {
    let half = |part| frame.get(Layer::new(Kind::Color, part));
    let (a, b) = (half(Part::HalfA)?, half(Part::HalfB)?);
    let light = |image: &Image, i: usize| -> f64 {
        let at = |c: usize| image.plane(c.min(image.channels() - 1))[i];
        f64::from((0..3).map(|c| LUMINANCE[c] * at(c)).sum::<f32>())
    };
    let pixels = a.plane(0).len();
    let both = sum_of(pixels, |i| light(a, i) + light(b, i));
    let most = 4.0 * both / (2.0 * pixels as f64);
    let [apart, sum] = sum(pixels, |range| {
        range.fold([0.0, 0.0], |[apart, sum], i| {
            let (a, b) = (light(a, i).min(most), light(b, i).min(most));
            [apart + (a - b).abs(), sum + a + b]
        })
    });
    (sum > 0.0).then(|| (apart / sum) as f32)
}

impl Auto {
    /// For the frames of a sequence.
    pub fn sequence() -> Self {
        Self::with(|auto| auto.facts.sequence = true)
    }

    /// For colour in scene-linear light, as EXR files hold it: such frames are renders, with or without features.
    #[must_use]
    pub fn scene_linear(mut self) -> Self {
        self.facts.linear = true;
        self
    }

    fn is_render(&self, shape: &Shape) -> bool {
        // What only photographs have says that it is one.
        let (asked, usual) = (self, Self::default());
        let photograph = asked.sigma.is_some()
            || asked.noise != usual.noise
            || asked.luminance.max(asked.chroma) > 1.0;
        let light = self.facts.linear && shape.channels(&Layer::COLOR) == Some(3);
        (light && !photograph) || is_render(shape)
    }

    fn of(&self, shape: &Shape) -> Result<Box<dyn Method>> {
        film::check_grain(self.grain)?;
        let render = self.is_render(shape);
        let quality = self.quality.unwrap_or(Quality::Good);
        if !render {
            return Ok(self.photograph(quality));
        }
        let (asked, usual) = (self, Self::default());
        for (name, value, given) in [
            ("sigma", asked.sigma.show(), asked.sigma != usual.sigma),
            ("noise", asked.noise.show(), asked.noise != usual.noise),
        ] {
            if given {
                let expected = "a photograph; this is a render, whose noise is measured. Leave the option out, or name a \
                                method for photographs, such as nlm";
                return Err(Error::option(name, value, expected));
            }
        }
        for (name, amount) in [("luminance", asked.luminance), ("chroma", asked.chroma)] {
            if !(0.0..=1.0).contains(&amount) {
                return Err(Error::option(name, amount, "0 … 1 for renders"));
            }
        }
        let entry = suggested(render, self.facts.sequence, quality)
            .ok_or_else(|| Error::unsupported("no method fits this frame; name one"))?;
        // Only nfor estimates its error.
        if self.layers == nfor::Layers::All {
            return Ok(self.regression());
        }
        let mut method = (entry.make)();
        if entry.name == neural::ENTRY.name {
            method.set("quality", &quality.to_string())?;
        }
        Ok(method)
    }

    /// `nfor` with the options.
    fn regression(&self) -> Box<dyn Method> {
        let mut method = Nfor::default();
        if self.quality.is_some_and(|q| q != Quality::Best) {
            method.quality = nfor::Quality::Good;
        }
        method.layers = self.layers;
        Box::new(method)
    }

    /// Whether noise that was measured is white and weak: then `eaw` keeps more detail than the network.
    fn is_weak_and_white(&self) -> bool {
        match (self.sigma, &self.noise) {
            (Some(sigma), _) => sigma < WEAK,
            (None, Noise::Profile(profile)) => {
                let mut components = profile.components.iter();
                let fine = components.all(|c| c.deviation == 0.0 || c.spectrum.fineness() > FINE);
                fine && profile.strength() < WEAK
            }
            _ => false,
        }
    }

    fn photograph(&self, quality: Quality) -> Box<dyn Method> {
        let Self {
            sigma,
            noise,
            luminance,
            chroma,
            grain,
            ..
        } = self.clone();
        if self.facts.sequence {
            let merge = match quality {
                Quality::Fast => 3,
                Quality::Good => 5,
                Quality::Best => 9,
            };
            return Box::new(Film {
                sigma,
                noise,
                luminance,
                chroma,
                grain,
                merge,
                ..Film::default()
            });
        }
        let quality = match quality {
            Quality::Good | Quality::Best if !camera::BUNDLED || self.is_weak_and_white() => {
                Quality::Fast
            }
            quality => quality,
        };
        let network = |quality| {
            Box::new(Camera {
                sigma,
                noise: noise.clone(),
                luminance,
                chroma,
                quality,
            })
        };
        match quality {
            Quality::Fast => Box::new(Eaw {
                sigma,
                noise,
                luminance,
                chroma,
                refine: true,
                ..Eaw::default()
            }),
            Quality::Good => network(camera::Quality::Good),
            Quality::Best => network(camera::Quality::Best),
        }
    }
}

impl Method for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn prepared(&self, frame: &Frame) -> Result<Box<dyn Method>> {
        self.chosen(frame, None)
    }

    fn prepared_for_film(&self, frame: &Frame, after: &Frame) -> Result<Box<dyn Method>> {
        self.chosen(frame, Some(after))
    }

    fn measures_pairs(&self, shape: &Shape) -> bool {
        let is_film = self.facts.sequence && !self.is_render(shape);
        is_film && self.of(shape).is_ok_and(|m| m.measures_pairs(shape))
    }

    /// Frames with two buffers have methods of their own.
    fn wants_motion(&self, shape: &Shape) -> bool {
        let halves = shape.has(Layer::new(Kind::Color, Part::HalfA));
        let follows = self.facts.sequence && self.is_render(shape) && !halves;
        follows && self.of(shape).is_ok_and(|m| m.wants_motion(shape))
    }

    fn schedules(&self, _on: Backend) -> Vec<Schedule> {
        Vec::new()
    }

    fn plan(&self, shape: &Shape, schedule: &Schedule) -> Result<Plan> {
        self.of(shape)?.plan(shape, schedule)
    }

    fn boxed(&self) -> Box<dyn Method> {
        Box::new(self.clone())
    }
}

impl Auto {
    /// The method for a frame, with what is measured in it, and in the one after it.
    fn chosen(&self, frame: &Frame, after: Option<&Frame>) -> Result<Box<dyn Method>> {
        let shape = frame.shape();
        let mut method = self.of(&shape)?;
        let still = !(self.facts.sequence && shape.has(Kind::Motion));
        if method.name() == neural::ENTRY.name
            && still
            && self.quality != Some(Quality::Fast)
            && disagreement(frame).is_some_and(|d| d < CALM)
        {
            method = Box::new(match self.quality {
                Some(Quality::Best) => Ensemble::best(),
                _ => Ensemble::default(),
            });
        }
        let render = self.is_render(&shape);
        if !render && !self.facts.sequence && self.quality != Some(Quality::Fast) {
            let (sigma, noise) = measured(self.sigma, &self.noise, frame)?;
            let known = Self {
                sigma,
                noise,
                ..self.clone()
            };
            method = known.photograph(self.quality.unwrap_or(Quality::Good));
        }
        let removed = 1.0 - self.grain;
        Ok(Box::new(Chosen {
            method: match after {
                Some(after) => method.prepared_for_film(frame, after)?,
                None => method.prepared(frame)?,
            },
            assumed: render && !is_render(&shape),
            amounts: match render {
                true => [removed * self.luminance, self.chroma],
                false => [removed, 1.0],
            },
        }))
    }
}
