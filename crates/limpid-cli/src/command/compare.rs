//! `limpid compare`: differences from a reference, and a page to compare images by eye.

mod crop;
mod films;
mod sequence;
mod table;

use crate::say::{self, OrUsage, tell};
use crate::{batch, shot, video};
use anyhow::{Context, Result, bail};
use crop::Crop;
use limpid::io::y4m::Colour;
use limpid::io::{self, Transfer};
use limpid::metric::page::{self, Compared, Item, Page};
use limpid::metric::{self, Comparison, Options, Space};
use limpid::{Error, Image, Kind, Layer};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Compare images: metrics against a reference, and an HTML page
///
/// The colour layers are compared. With a reference of linear light (EXR, HDR, PFM, float TIFF), MSE and the relative errors use
/// radiance, PSNR and SSIM use display values, and FLIP covers a range of exposures. With any other reference all metrics use the
/// values in the files.
///
/// Sequences, 'clean.####.exr' with the reference 'ref.####.exr', and films are compared frame by frame. Flicker is how much more
/// they change from frame to frame than the reference, along the motion vectors of the files.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Images, folders, 'quoted*.exr', sequences as 'shot.####.exr', or films
    #[arg(required = true, value_name = "IMAGE")]
    images: Vec<PathBuf>,
    /// The reference; without it there are no metrics, only a page
    #[arg(long, short, value_name = "FILE")]
    reference: Option<PathBuf>,
    /// Print the metrics as JSON, an array with an object for each image
    #[arg(long, requires = "reference")]
    json: bool,
    /// Write an HTML page that shows the images and their differences, in one file [default without a reference: the last image's
    /// name with .html, in the current folder]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Output of `limpid denoise --json`: the page shows the time of each image
    #[arg(long, value_name = "FILE", requires = "html")]
    times: Option<PathBuf>,
    /// Compare only a region: width, height and upper left corner
    #[arg(long, value_name = "WxH+X+Y")]
    crop: Option<Crop>,
    /// Brighten linear light by this many stops for PSNR and SSIM
    #[arg(
        long,
        value_name = "STOPS",
        default_value_t = 0.0,
        allow_hyphen_values = true
    )]
    exposure: f32,
    /// Use the layer with this name in the files, such as color=Beauty
    #[arg(long = "layer", value_name = "LAYER=NAME")]
    layers: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(html) = &args.html {
        batch::can_write(html)?;
    }
    let images = batch::expand(&args.images)?;
    let Some(path) = &args.reference else {
        return look(args, &images);
    };
    if sequence::is_sequence(path) {
        return sequence::run(args, &images, path);
    }
    if let Some(sequence) = images.iter().find(|i| shot::is_pattern(i)) {
        let message = format!(
            "{}: a sequence is compared with a sequence: --reference 'ref.####.exr'",
            sequence.display()
        );
        return Err(Error::input(message)).or_usage();
    }
    // Reading is one thread's work: the reference and the first image at once.
    let first = images.first();
    let (reference, mut first) = rayon::join(
        || Loaded::read(path, args),
        || first.map(|path| Loaded::read(path, args)),
    );
    let reference = reference?;
    let space = reference.space;
    let options = Options::new(space).exposed(args.exposure);
    let times = args.times.as_deref().map(times).transpose()?;
    let watch = say::watch("compare");
    let mut all = Vec::new();
    let mut items = Vec::new();
    for (i, image_path) in images.iter().enumerate() {
        watch.check()?;
        watch.done(i as f32 / images.len() as f32);
        let loaded = match first.take() {
            Some(loaded) => loaded?,
            None => Loaded::read(image_path, args)?,
        };
        if loaded.image.size() != reference.image.size() {
            bail!(
                "{} is {}, but the reference {} is {}; images must have the size of the reference",
                image_path.display(),
                loaded.image.size(),
                path.display(),
                reference.image.size()
            );
        }
        let shown = args.html.is_some().then(|| loaded.picture());
        let own = loaded.space;
        let image = loaded.into_space(space, args.exposure);
        let comparison = metric::compare(&image, &reference.image, &options)
            .with_context(|| image_path.display().to_string())?;
        warn(image_path, path, &comparison);
        if let Some(image) = shown {
            items.push(Item {
                name: image_path.display().to_string(),
                image,
                space: own,
                scores: Some(comparison.scores),
                map: Some(comparison.flip.picture()),
                seconds: times.as_ref().and_then(|t| t.get(image_path).copied()),
            });
        }
        all.push(Compared {
            name: image_path.display().to_string(),
            comparison,
            shown: None,
        });
    }
    watch.done(1.0);
    if let Some(html) = &args.html {
        items.push(item(path, reference));
        let first = all.first().map(|c| &c.comparison);
        let page_facts = page::facts(&items[0].image, first, &options);
        let page_items = Page {
            title: path.display().to_string(),
            facts: page_facts,
            reference: Some(items.len() - 1),
            items,
        };
        page_items.write(html)?;
        written(html);
    }
    let mut out = std::io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&table::rows(&all))?)?,
        false => write!(out, "{}", table::as_text(&all))?,
    }
    Ok(())
}

/// A page without metrics.
fn look(args: &Args, images: &[PathBuf]) -> Result<()> {
    let films = images.iter().filter(|i| video::is_film(i)).count();
    let films = films == images.len() && images.iter().all(|i| i != Path::new("-"));
    if let Some(sequence) = images.iter().find(|i| !films && sequence::is_sequence(i)) {
        let message = format!(
            "{}: sequences and films are compared with a --reference, frame by frame; to look at some frames, name their files",
            sequence.display()
        );
        return Err(Error::input(message)).or_usage();
    }
    let name = images.last().and_then(|last| last.file_name());
    let path = match (&args.html, name) {
        (Some(path), _) => path.clone(),
        (None, Some(name)) => Path::new(name).with_extension("html"),
        (None, None) => return Ok(()),
    };
    if args.html.is_none() && path.exists() {
        bail!(
            "{} is there already; name the page with --html",
            path.display()
        );
    }
    if films {
        films::write(images, &path)?;
    } else {
        let mut items = Vec::new();
        for path in images {
            items.push(item(path, Loaded::read(path, args)?));
        }
        let shown = Page {
            title: "limpid compare".to_owned(),
            facts: String::new(),
            items,
            reference: None,
        };
        shown.write(&path)?;
    }
    match args.html {
        Some(_) => written(&path),
        None => tell!("page written to {}", path.display()),
    }
    Ok(())
}

/// Says where the page is.
fn written(page: &Path) {
    if !say::is_quiet() {
        say::line(&format!("page written to {}", page.display()));
    }
}

fn item(path: &Path, loaded: Loaded) -> Item {
    Item::new(&path.display().to_string(), loaded.picture(), loaded.space)
}

/// The seconds of each output, from the output of `limpid denoise --json`.
fn times(path: &Path) -> Result<BTreeMap<PathBuf, f64>> {
    let named = || path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(named)?;
    let mut all = BTreeMap::new();
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let value: serde_json::Value = serde_json::from_str(line)
            .with_context(|| format!("{}: not what `limpid denoise --json` prints", named()))?;
        if let (Some(output), Some(seconds)) = (value["output"].as_str(), value["seconds"].as_f64())
        {
            all.insert(PathBuf::from(output), seconds);
        }
    }
    Ok(all)
}

/// The colour of a file.
struct Loaded {
    image: Image,
    space: Space,
    alpha: Option<Image>,
    motion: Option<Image>,
}

/// The side of a square of the board that is seen behind transparent pixels, and the display values of its squares.
const SQUARE: usize = 8;
const BOARD: [f32; 2] = [0.4, 0.6];

impl Loaded {
    fn read(path: &Path, args: &Args) -> Result<Self> {
        let mut options = crate::run::read_options();
        for layer in &args.layers {
            options = options.layer(layer).or_usage()?;
        }
        if video::is_film(path) {
            let mut film = video::Frames::open(path, Colour::Encoded)?;
            let first = film.next()?;
            return Self::shown(first.context("the film has no frame")?, args);
        }
        let mut picture = io::read(path, &options)?;
        say::notes(&picture.notes);
        picture.frame.color()?;
        let mut part = |layer: Layer| {
            let image = picture.frame.remove(layer)?;
            Some(match &args.crop {
                Some(crop) => crop.of(&image).with_context(|| path.display().to_string()),
                None => Ok(image),
            })
        };
        let (image, motion) = (part(Layer::COLOR), part(Kind::Motion.into()));
        let alpha = part(Kind::Alpha.into());
        Ok(Self {
            image: image.context("the frame has no colour")??,
            alpha: alpha.transpose()?,
            motion: motion.transpose()?,
            space: match picture.origin.transfer() {
                Transfer::Linear => Space::Linear,
                Transfer::Encoded => Space::Display,
            },
        })
    }

    /// A frame of a film.
    fn shown(image: Image, args: &Args) -> Result<Self> {
        Ok(Self {
            image: match &args.crop {
                Some(crop) => crop.of(&image)?,
                None => image,
            },
            alpha: None,
            motion: None,
            space: Space::Display,
        })
    }

    /// The colour as it is seen: in front of a checkerboard where it is transparent.
    fn picture(&self) -> Image {
        let Some(alpha) = &self.alpha else {
            return self.image.clone();
        };
        let (width, height) = (self.image.width(), self.image.height());
        let board = Image::from_fn(2, 1, 1, |x, _, _| BOARD[x]);
        let board = Space::Display.convert(&board, self.space);
        Image::from_fn(width, height, self.image.channels(), |x, y, c| {
            let cover = alpha.get(x, y, 0).clamp(0.0, 1.0);
            let behind = board.get((x / SQUARE + y / SQUARE) % 2, 0, 0);
            let color = self.image.get(x, y, c);
            // Light is premultiplied, display values are not.
            let color = match self.space {
                Space::Linear => color,
                Space::Display => color * cover,
            };
            color + (1.0 - cover) * behind
        })
    }

    /// Converts an image to another space: linear light to display values, or back.
    fn into_space(self, space: Space, exposure: f32) -> Image {
        match (self.space, space) {
            (Space::Linear, Space::Display) => metric::display(&self.image, exposure),
            (from, to) if from != to => from.convert(&self.image, to),
            _ => self.image,
        }
    }
}

/// Reports repaired pixels.
fn warn(path: &Path, reference: &Path, comparison: &Comparison) {
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
            reference.display(),
            comparison.missing_in_reference
        );
    }
}
