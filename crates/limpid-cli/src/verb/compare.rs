//! `limpid compare`: how far images are from a reference.

mod crop;
mod sequence;
mod table;

use crate::say::{self, OrUsage};
use crate::shot;
use anyhow::{Context, Result, bail};
use crop::Crop;
use limpid::io::{self, ReadOptions, Transfer};
use limpid::metric::page::{self, Compared};
use limpid::metric::{self, Comparison, Options, Space};
use limpid::{Image, Kind};
use std::io::Write;
use std::path::{Path, PathBuf};

/// How far images are from a reference: MSE, relative errors, PSNR, SSIM, FLIP.
///
/// The colour layers are compared. A reference of linear light (EXR, HDR, PFM, float TIFF) has MSE and the relative errors
/// taken of radiance, PSNR and SSIM of what a screen shows, FLIP over a series of exposures. Any other reference has all of
/// them taken of the values in the files.
///
/// Sequences, 'clean.####.exr' with the reference 'ref.####.exr', are compared frame by frame. Flicker is how much more they
/// change from frame to frame than the reference does, where nothing but motion should change; motion is taken from the
/// files.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The images.
    #[arg(required = true, value_name = "IMAGE")]
    images: Vec<PathBuf>,
    /// What they should look like.
    #[arg(long, short, value_name = "FILE")]
    reference: PathBuf,
    /// The numbers as JSON, an array with an object for each image.
    #[arg(long)]
    json: bool,
    /// Write a page to look at the images and their errors, in one file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Compare a part only: width, height and the left upper corner.
    #[arg(long, value_name = "WxH+X+Y")]
    crop: Option<Crop>,
    /// Brighten linear light by this many stops before PSNR, SSIM and the page look at it.
    #[arg(
        long,
        value_name = "STOPS",
        default_value_t = 0.0,
        allow_hyphen_values = true
    )]
    exposure: f32,
    /// Take a layer from a name in the files, like color=Beauty.
    #[arg(long = "layer", value_name = "LAYER=NAME")]
    layers: Vec<String>,
}

impl Args {
    /// A table, and a page to look at.
    pub(crate) fn page(images: Vec<PathBuf>, reference: PathBuf, page: PathBuf) -> Self {
        Self {
            images,
            reference,
            json: false,
            html: Some(page),
            crop: None,
            exposure: 0.0,
            layers: Vec::new(),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if shot::is_pattern(&args.reference) {
        return sequence::run(args);
    }
    let reference = Loaded::read(&args.reference, args)?;
    let space = reference.space;
    let options = Options {
        space,
        exposure: args.exposure,
    };
    let watch = say::watch("compare");
    let mut all = Vec::new();
    for (i, path) in args.images.iter().enumerate() {
        watch.go_on()?;
        watch.done(i as f32 / args.images.len() as f32);
        let loaded = Loaded::read(path, args)?;
        if loaded.image.size() != reference.image.size() {
            bail!(
                "{} is {}, the reference {} is {}; a comparison needs one size",
                path.display(),
                loaded.image.size(),
                args.reference.display(),
                reference.image.size()
            );
        }
        let image = loaded.into_space(space, args.exposure);
        let comparison = metric::compare(&image, &reference.image, &options)
            .with_context(|| path.display().to_string())?;
        warn(path, args, &comparison);
        all.push(Compared {
            name: path.display().to_string(),
            comparison,
            shown: args.html.is_some().then(|| page::shown(&image, &options)),
        });
    }
    watch.done(1.0);
    if let Some(html) = &args.html {
        let title = args.reference.display().to_string();
        let shown = page::shown(&reference.image, &options);
        page::write(html, &title, &shown, &all, &options)?;
    }
    let mut out = std::io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&table::rows(&all))?)?,
        false => write!(out, "{}", table::as_text(&all))?,
    }
    Ok(())
}

/// The colour of a file.
struct Loaded {
    image: Image,
    space: Space,
    motion: Option<Image>,
}

impl Loaded {
    fn read(path: &Path, args: &Args) -> Result<Self> {
        let mut options = ReadOptions::default();
        for layer in &args.layers {
            options = options.layer(layer).or_usage()?;
        }
        let picture = io::read(path, &options)?;
        for note in &picture.notes {
            log::warn!("{}: {note}", path.display());
        }
        let part = |image: &Image| match &args.crop {
            Some(crop) => crop.of(image).with_context(|| path.display().to_string()),
            None => Ok(image.clone()),
        };
        Ok(Self {
            image: part(picture.frame.color()?)?,
            motion: picture.frame.get(Kind::Motion).map(part).transpose()?,
            space: match picture.origin.transfer() {
                Transfer::Linear => Space::Linear,
                Transfer::Encoded => Space::Display,
            },
        })
    }

    /// The image as values of another space: linear light is shown on a screen, display values are made linear again.
    fn into_space(self, space: Space, exposure: f32) -> Image {
        match (self.space, space) {
            (Space::Linear, Space::Display) => metric::display(&self.image, exposure),
            (from, to) if from != to => from.convert(&self.image, to),
            _ => self.image,
        }
    }
}

/// Says what was repaired.
fn warn(path: &Path, args: &Args, comparison: &Comparison) {
    if comparison.missing > 0 {
        log::warn!(
            "{}: {} pixels are NaN or infinite; they count as black",
            path.display(),
            comparison.missing
        );
    }
    if comparison.missing_in_reference > 0 {
        log::warn!(
            "{}: {} pixels are NaN or infinite; they were filled from their neighbours",
            args.reference.display(),
            comparison.missing_in_reference
        );
    }
}
