//! `limpid compare`: differences from a reference, and a page to compare images by eye.

mod crop;
mod films;
mod loaded;
mod methods;
mod sequence;
mod table;

use crate::say::{self, OrUsage, tell};
use crate::{batch, shot, video};
use anyhow::{Context, Result, bail};
use crop::Crop;
use limpid::Error;
use limpid::metric::page::{self, Compared, Item, Page};
use limpid::metric::{self, Comparison, Options};
use loaded::Loaded;
use methods::Methods;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Compare images: metrics against a reference, and an HTML page
///
/// The colour layers are compared. With a reference of linear light (EXR, HDR, PFM, float TIFF), MSE and the relative errors use
/// radiance, PSNR and SSIM use display values, and FLIP covers a range of exposures. With any other reference all metrics use the
/// values in the files.
///
/// With --methods the images are noisy files, which are denoised by each of these methods; nothing but the page is written.
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
    /// Denoise each image by these methods, such as neural,nfor,atrous, and compare the results; auto is the default one
    #[arg(long, value_name = "METHODS", value_delimiter = ',')]
    methods: Vec<String>,
    /// Device for --methods: auto, cpu, gpu, gpu:NAME or gpu:INDEX
    #[arg(
        long,
        value_name = "DEVICE",
        default_value = "auto",
        requires = "methods"
    )]
    device: String,
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
    let mut methods = Methods::new(args, &images)?;
    let sources = sources(args, &images);
    let Some(path) = &args.reference else {
        return look(args, &images, (&sources, &mut methods));
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
    let first = sources.first().filter(|s| s.method.is_none());
    let (reference, mut first) = rayon::join(
        || Loaded::read(path, args),
        || first.map(|source| Loaded::read(source.path, args)),
    );
    let reference = reference?;
    let space = reference.space;
    let options = Options::new(space).exposed(args.exposure);
    let times = args.times.as_deref().map(times).transpose()?;
    let watch = say::watch("compare");
    let mut all = Vec::new();
    let mut items = Vec::new();
    for (i, source) in sources.iter().enumerate() {
        watch.check()?;
        watch.done(i as f32 / sources.len() as f32);
        let (loaded, seconds) = match first.take() {
            Some(loaded) => (loaded?, None),
            None => match source.load(&mut methods, args)? {
                Some(made) => made,
                None => continue,
            },
        };
        let name = source.to_string();
        let known = times.as_ref().and_then(|t| t.get(source.path).copied());
        let seconds = seconds.or(known.filter(|_| source.method.is_none()));
        if loaded.image.size() != reference.image.size() {
            bail!(
                "{name} is {}, but the reference {} is {}; images must have the size of the reference",
                loaded.image.size(),
                path.display(),
                reference.image.size()
            );
        }
        let shown = args.html.is_some().then(|| loaded.picture());
        let own = loaded.space;
        let image = loaded.into_space(space, args.exposure);
        let comparison =
            metric::compare(&image, &reference.image, &options).with_context(|| name.clone())?;
        warn(source.path, path, &comparison);
        if let Some(image) = shown {
            items.push(Item {
                name: name.clone(),
                image,
                space: own,
                scores: Some(comparison.scores),
                map: Some(comparison.flip.picture()),
                seconds,
            });
        }
        let compared = Compared {
            name,
            comparison,
            shown: None,
        };
        all.push((compared, seconds));
    }
    watch.done(1.0);
    if let Some(html) = &args.html {
        items.push(item(path, reference));
        let first = all.first().map(|(c, _)| &c.comparison);
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

/// An image to be compared: a file, or what a method makes of it.
struct Source<'a> {
    path: &'a Path,
    method: Option<&'a str>,
}

impl std::fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.method.map_or(Ok(()), |name| write!(f, " by {name}"))
    }
}

impl Source<'_> {
    /// The image, and the seconds that its method took. None if the method cannot work on this file, which is said.
    fn load(
        &self,
        methods: &mut Option<Methods>,
        args: &Args,
    ) -> Result<Option<(Loaded, Option<f64>)>> {
        let (Some(name), Some(methods)) = (self.method, methods) else {
            return Ok(Some((Loaded::read(self.path, args)?, None)));
        };
        match methods.run(self.path, name, args) {
            Ok((loaded, seconds)) => Ok(Some((loaded, Some(seconds)))),
            Err(error) if say::ends_all(&error) => Err(error),
            Err(error) => {
                say::error(&error.context(self.to_string()));
                Ok(None)
            }
        }
    }
}

/// Each image, and each of the methods on it.
fn sources<'a>(args: &'a Args, images: &'a [PathBuf]) -> Vec<Source<'a>> {
    let of = |path: &'a PathBuf| {
        let methods = args.methods.iter().map(|name| Some(name.as_str()));
        let all = std::iter::once(None).chain(methods);
        all.map(|method| Source { path, method })
    };
    images.iter().flat_map(of).collect()
}

/// A page without metrics.
fn look(
    args: &Args,
    images: &[PathBuf],
    (sources, methods): (&[Source<'_>], &mut Option<Methods>),
) -> Result<()> {
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
        for source in sources {
            if let Some((loaded, seconds)) = source.load(methods, args)? {
                let name = source.to_string();
                let mut item = Item::new(&name, loaded.picture(), loaded.space);
                item.seconds = seconds;
                items.push(item);
            }
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
