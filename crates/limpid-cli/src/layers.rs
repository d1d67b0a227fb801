//! Where layers come from: names in the file, separate files, further passes.

use crate::say::{self, OrUsage};
use crate::{heif, raw, shot, video};
use anyhow::{Context, Result};
use limpid::io::{self, Picture, ReadOptions};
use limpid::{Error, Kind, Layer, Part};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::JoinHandle;

/// Where layers come from.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Layers")]
pub(crate) struct Layers {
    /// Use the layer with this name in the file: normal=N
    #[arg(long, value_name = "LAYER=NAME")]
    layer: Vec<String>,
    /// Read the albedo from this file
    #[arg(long, value_name = "FILE")]
    albedo: Option<PathBuf>,
    /// Read the normals from this file
    #[arg(long, value_name = "FILE")]
    normal: Option<PathBuf>,
    /// Read the depth from this file
    #[arg(long, value_name = "FILE")]
    depth: Option<PathBuf>,
    /// Read the positions from this file
    #[arg(long, value_name = "FILE")]
    position: Option<PathBuf>,
    /// Read the motion vectors from this file
    #[arg(long, value_name = "FILE")]
    motion: Option<PathBuf>,
    /// Read any layer from a separate file: color.variance=variance.exr, color.b=second.exr
    #[arg(long, value_name = "LAYER=FILE")]
    layer_file: Vec<String>,
    /// Also denoise this pass of the file, with the weights of the colour: AO, shadow
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    aov: Vec<String>,
    /// Composite the samples of deep EXR images into one for each pixel, front to back
    #[arg(long)]
    flatten: bool,
}

/// Reads files with their layers.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    sources: Sources,
    /// A file that is being read.
    ahead: Mutex<Option<(PathBuf, JoinHandle<Result<Picture>>)>>,
}

/// What is read of a file, and layers from other files.
#[derive(Debug, Clone, Default)]
struct Sources {
    options: ReadOptions,
    files: Vec<(Layer, PathBuf)>,
}

impl Layers {
    /// The names of further passes.
    pub(crate) fn passes(&self) -> &[String] {
        &self.aov
    }

    /// The first of these options that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let all = [
            ("--layer", !self.layer.is_empty()),
            ("--albedo", self.albedo.is_some()),
            ("--normal", self.normal.is_some()),
            ("--depth", self.depth.is_some()),
            ("--position", self.position.is_some()),
            ("--motion", self.motion.is_some()),
            ("--layer-file", !self.layer_file.is_empty()),
            ("--aov", !self.aov.is_empty()),
            ("--flatten", self.flatten),
        ];
        all.into_iter().find(|o| o.1).map(|o| o.0)
    }

    /// The options, validated.
    pub(crate) fn reader(&self) -> Result<Reader> {
        let mut options = crate::run::read_options();
        options.flatten = self.flatten;
        for layer in &self.layer {
            options = options.layer(layer).or_usage()?;
        }
        for name in &self.aov {
            let own = name.rsplit('.').next().unwrap_or(name);
            options = options.layer(&format!("light:{own}={name}")).or_usage()?;
        }
        let mut files = Vec::new();
        for (kind, file) in [
            (Kind::Albedo, &self.albedo),
            (Kind::Normal, &self.normal),
            (Kind::Depth, &self.depth),
            (Kind::Position, &self.position),
            (Kind::Motion, &self.motion),
        ] {
            files.extend(file.clone().map(|f| (kind.into(), f)));
        }
        for given in &self.layer_file {
            let Some((layer, file)) = given.split_once('=') else {
                let message = format!("'{given}' is not LAYER=FILE, such as color.b=second.exr");
                return Err(Error::input(message)).or_usage();
            };
            files.push((layer.parse().or_usage()?, file.into()));
        }
        for (layer, file) in &files {
            if shot::is_pattern(file) {
                shot::found(file)?;
            } else if !file.exists() {
                let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
                return Err(Error::io(file, missing)).with_context(|| format!("--{layer}"));
            }
        }
        Ok(Reader {
            sources: Sources { options, files },
            ahead: Mutex::default(),
        })
    }
}

impl Reader {
    /// Starts to read the input in the background, if it is one image: opening a device takes as long.
    pub(crate) fn begin(&self, inputs: &[PathBuf]) {
        let [input] = inputs else { return };
        let other = shot::is_pattern(input) || video::is_film(input) || raw::is_raw(input);
        if !input.is_file() || other {
            return;
        }
        let (what, file) = (self.sources.clone(), input.clone());
        let thread = std::thread::spawn(move || say::about(&file, || what.read(&file, None)));
        *self.ahead.lock().unwrap_or_else(|e| e.into_inner()) = Some((input.clone(), thread));
    }

    /// Reads a file and its additional layers; `frame` is its number in a sequence.
    pub(crate) fn read(&self, path: &Path, frame: Option<u32>) -> Result<Picture> {
        let mut ahead = self.ahead.lock().unwrap_or_else(|e| e.into_inner());
        let begun = ahead.take_if(|(file, _)| file == path);
        drop(ahead);
        match begun.map(|(_, thread)| thread.join()) {
            Some(Ok(picture)) => picture,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => self.sources.read(path, frame),
        }
    }
}

impl Sources {
    fn read(&self, path: &Path, frame: Option<u32>) -> Result<Picture> {
        let mut picture = heif::read(path, &self.options).map_err(|e| in_file(e, path))?;
        for (layer, file) in &self.files {
            let file = match (frame, path.file_name()) {
                (_, Some(name)) if file.is_dir() => file.join(name),
                (Some(n), _) if shot::is_pattern(file) => shot::numbered(file, n),
                _ => file.clone(),
            };
            let image = io::read_layer(&file, layer)?;
            if image.size() != picture.frame.size() {
                return Err(Error::input(format!(
                    "{} is {}, but {} is {}; layers must have the size of the colour",
                    file.display(),
                    image.size(),
                    path.display(),
                    picture.frame.size()
                ))
                .into());
            }
            picture.frame.insert(layer.clone(), image)?;
            let half = |part| Layer::new(Kind::Color, part);
            if *layer == half(Part::HalfB) && picture.frame.get(half(Part::HalfA)).is_none() {
                picture.frame.average_halves()?;
            }
        }
        Ok(picture)
    }
}

/// Where a name of a layer is unknown: in which file, and what lists the known ones.
fn in_file(error: Error, path: &Path) -> Error {
    let Error::Unknown { name, near, .. } = error else {
        return error;
    };
    let near = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
    let path = path.display();
    let punctuation = if near.is_empty() { ";" } else { "" };
    Error::input(format!(
        "no layer '{name}' in {path}{near}{punctuation} `limpid info {path}` lists them"
    ))
}
