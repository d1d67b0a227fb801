//! References at a few pixels, from a scene or from a file, that show which candidate is best where.

use crate::render_tags::RenderTags;
use crate::say::OrUsage;
use anyhow::{Context, Result};
use limpid::io::{self, Picture};
use limpid::{Error, Frame, Image, Kind, Layer, Options, Part};
use limpid_lab::caches::{Choice, places};
use limpid_scenes::{RenderOptions, builtin_world, sample_pixels};
use std::path::PathBuf;

/// Number of reference pixels if nothing else is given.
const COUNT: usize = 1000;

/// First index of the samples taken at caches: far beyond those of any render.
const FIRST: u32 = 1 << 24;

/// Where references come from.
#[derive(clap::Args, Clone)]
pub(super) struct Caches {
    /// For patch: the built-in scene that the input shows. It is sampled at the pixels where candidates differ
    #[arg(long, value_name = "SCENE", conflicts_with = "references")]
    scene: Option<String>,
    /// For patch: an image that is accurate at some pixels and missing (NaN) at the others
    #[arg(long, value_name = "FILE")]
    references: Option<PathBuf>,
    /// Maximum number of reference pixels [default: 1000]
    #[arg(long, value_name = "COUNT", conflicts_with = "budget")]
    caches: Option<usize>,
    /// Samples per pixel in all: what the input does not have is spent on reference pixels
    #[arg(long, value_name = "N", requires = "scene")]
    budget: Option<f64>,
    /// Samples at each of these pixels
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    cache_samples: u32,
}

/// What is done with candidates.
#[derive(Clone, Copy)]
pub(super) struct Candidates {
    /// Whether they are written.
    all: bool,
    /// How many are compared with references.
    candidates: usize,
}

impl Caches {
    fn given(&self) -> bool {
        self.scene.is_some() || self.references.is_some()
    }

    /// Makes the method write its candidates.
    pub(super) fn prepare(&self, method: &str, options: &mut Options) -> Result<Candidates> {
        let is = |name: &str, value: &str| {
            let known = options.method.named_options();
            known.iter().any(|k| k.name == name && k.value == value)
        };
        let wanted = Candidates {
            all: is("layers", "all"),
            // The plain fit has outliers, which a few references do not show.
            candidates: if is("thesis", "true") { 3 } else { 2 },
        };
        if !self.given() {
            return Ok(wanted);
        }
        if method != "patch" {
            let message = format!("--scene and --references are for --method patch, not {method}");
            return Err(Error::input(message)).or_usage();
        }
        options.method.set("layers", "all").or_usage()?;
        Ok(wanted)
    }

    /// Reports how errors are estimated without references. Without halves the method itself reports it.
    pub(super) fn tell(&self, method: &str, input: &Frame) {
        let half = Layer::new(Kind::Color, Part::HalfA);
        if method == "patch" && !self.given() && input.get(half).is_some() {
            log::warn!(
                "patch: no references; errors are estimated across the halves of the samples"
            );
        }
    }

    /// Takes the candidate that is closest to the references at each pixel.
    pub(super) fn choose(&self, input: &Picture, made: Frame, wanted: Candidates) -> Result<Frame> {
        if !self.given() {
            return Ok(made);
        }
        let mut candidates = Vec::new();
        for layer in layers("candidate").into_iter().take(wanted.candidates) {
            candidates.push(made.require(layer)?.clone());
        }
        let (pixels, colors) = self.references(input, &candidates)?;
        let choice = Choice::new(&candidates, &pixels, &colors)?;
        let maps = Image::from_fn(made.size().width, made.size().height, 3, |x, y, k| {
            f32::from(u8::from(choice.selection.get(x, y, 0) as usize == k))
        });
        let mut out = Frame::new(choice.color)?;
        if wanted.all {
            for (layer, image) in layers("candidate").into_iter().zip(candidates) {
                out.insert(layer, image)?;
            }
            for (layer, image) in layers("error").into_iter().zip(choice.errors) {
                out.insert(layer, image)?;
            }
            out.insert(Layer::from(Kind::Light("selection".into())), maps)?;
        }
        log::info!("patch: errors measured at {} pixels", pixels.len());
        Ok(out)
    }

    /// Pixels and their reference values.
    #[expect(clippy::type_complexity, reason = "two lists of the same length")]
    fn references(
        &self,
        picture: &Picture,
        candidates: &[Image],
    ) -> Result<(Vec<(usize, usize)>, Vec<[f32; 3]>)> {
        let input = &picture.frame;
        let count = self.count(picture)?;
        let wanted = places(candidates, &variance(input)?, count, 1);
        if let Some(name) = &self.scene {
            let taken = self.taken(name, picture)?;
            let options = RenderOptions {
                size: input.size(),
                frame: u64::from(taken.frame),
                bounces: taken.bounces,
                ..RenderOptions::default()
            };
            let scene = taken.load().or_usage()?;
            let samples = FIRST..FIRST + self.cache_samples;
            let known = sample_pixels(&scene, &options, &wanted, samples)?;
            return Ok((wanted, known.into_iter().map(|e| e.color).collect()));
        }
        let path = self.references.as_ref().context("no references")?;
        let known = io::read(path, &crate::run::read_options())?;
        let image = known.frame.color()?;
        if image.size() != input.size() {
            return Err(Error::input(format!(
                "{}: is {}, the input {}",
                path.display(),
                image.size(),
                input.size()
            ))
            .into());
        }
        let color = |(x, y): (usize, usize)| {
            let last = image.channels() - 1;
            std::array::from_fn(|c: usize| image.get(x, y, c.min(last)))
        };
        let known = |p: &(usize, usize)| color(*p).iter().all(|v: &f32| v.is_finite());
        let width = image.width();
        let mut pixels: Vec<(usize, usize)> = (0..image.size().pixels())
            .map(|i| (i % width, i / width))
            .filter(known)
            .collect();
        // A whole reference, as tests have it, serves at the places that would be asked for.
        if pixels.len() > count {
            pixels = wanted.into_iter().filter(known).collect();
        }
        if pixels.is_empty() {
            return Err(Error::input(format!("{}: all pixels are missing", path.display())).into());
        }
        let colors = pixels.iter().map(|p| color(*p)).collect();
        Ok((pixels, colors))
    }

    /// Number of reference pixels: as many as the budget has left.
    fn count(&self, input: &Picture) -> Result<usize> {
        let Some(budget) = self.budget else {
            return Ok(self.caches.unwrap_or(COUNT));
        };
        let wrong =
            |what: String| Err(Error::input(format!("--budget {budget}: {what}"))).or_usage();
        let Some(samples) = RenderTags::read(&input.origin).and_then(|t| t.samples) else {
            let what = "the file does not store its samples per pixel; use --caches instead";
            return wrong(what.to_owned());
        };
        let left = (budget - f64::from(samples)) * input.frame.size().pixels() as f64;
        let count = (left / f64::from(self.cache_samples)).floor();
        if count.is_nan() || count < 1.0 {
            return wrong(format!(
                "the input has {samples} samples per pixel, which leaves nothing for a reference pixel"
            ));
        }
        Ok((count as usize).min(input.frame.size().pixels()))
    }

    /// What the input shows: according to its file, or else the scene from its default camera.
    fn taken(&self, scene: &str, input: &Picture) -> Result<RenderTags> {
        let world = builtin_world(scene, 0.0).or_usage()?;
        match RenderTags::read(&input.origin) {
            Some(taken) if taken.scene == scene => Ok(taken),
            Some(taken) => Err(Error::input(format!(
                "--scene {scene}: according to its attributes, the file shows {}",
                taken.scene
            )))
            .or_usage(),
            None => {
                log::warn!(
                    "patch: the file does not store its camera; the default camera of {scene} is used"
                );
                let bounces = RenderOptions::default().bounces;
                Ok(RenderTags::new(scene, 0, bounces, &world.camera))
            }
        }
    }
}

fn layers(what: &str) -> [Layer; 3] {
    [1, 2, 3].map(|k| Kind::Light(format!("{what}-{k}").into()).into())
}

/// Variance of the base image: from its halves, from its variance layer, or none.
fn variance(input: &Frame) -> Result<Image> {
    let part = |p: Part| input.get(Layer::new(Kind::Color, p));
    let color = input.color()?;
    Ok(
        match (part(Part::HalfA), part(Part::HalfB), part(Part::Variance)) {
            (Some(a), Some(b), _) => Image::from_fn(
                color.width(),
                color.height(),
                color.channels(),
                |x, y, c| (0.5 * (a.get(x, y, c) - b.get(x, y, c))).powi(2),
            ),
            (_, _, Some(v)) => v.clone(),
            _ => color.map(|_| 0.0),
        },
    )
}
