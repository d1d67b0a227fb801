//! `limpid view`: images in the browser.

use crate::say::{self, OrUsage, tell};
use crate::{batch, video};
use anyhow::{Context, Result};
use limpid::io::Transfer;
use limpid::metric::Space;
use limpid::metric::page::{Item, Page};
use limpid::{Image, Kind, Layer, Part};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// View images in the browser: exposure, zoom, comparison of any two
///
/// Writes an HTML page and opens it. A single file is shown with all its layers, several files with their colour. If no
/// browser can be opened, the path of the page is printed.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Images, folders, 'quoted*.exr', or the frames of a sequence as 'shot.####.exr'
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the page here and do not open it
    #[arg(short, long, value_name = "PAGE.html")]
    output: Option<PathBuf>,
    /// Use the layer with this name in the files, such as color=Beauty
    #[arg(long = "layer", value_name = "LAYER=NAME")]
    layers: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut options = crate::run::read_options();
    for layer in &args.layers {
        options = options.layer(layer).or_usage()?;
    }
    if let Some(page) = &args.output {
        batch::can_write(page)?;
    }
    if let Some(film) = args.files.iter().find(|file| video::is_film(file)) {
        let film = film.display();
        return batch::usage(format!(
            "{film}: films are played by `limpid compare {film} OTHER`; `limpid denoise {film} -o 'frame.####.png'` makes images of one"
        ));
    }
    let files = batch::images(&args.files)?;
    let mut items = Vec::new();
    for file in &files {
        let picture = crate::heif::read(file, &options)?;
        say::notes(&picture.notes);
        let space = match picture.origin.transfer() {
            Transfer::Linear => Space::Linear,
            Transfer::Encoded => Space::Display,
        };
        let wanted = |layer: &Layer| match files.len() {
            1 => true,
            _ => *layer == Layer::COLOR,
        };
        for (layer, image) in picture.frame.layers().filter(|(l, _)| wanted(l)) {
            let name = match files.len() {
                1 => layer.to_string(),
                _ => file.display().to_string(),
            };
            items.push(shown(name, layer, image, space));
        }
    }
    let page = Page {
        title: match &files[..] {
            [file] => file.display().to_string(),
            files => format!("{} images", files.len()),
        },
        facts: items
            .first()
            .map_or(String::new(), |i| i.image.size().to_string()),
        items,
        reference: None,
    };
    let path = match &args.output {
        Some(path) => path.clone(),
        None => std::env::temp_dir().join(format!("limpid-view-{}.html", std::process::id())),
    };
    page.write(&path)?;
    if args.output.is_none() && open(&path) {
        return Ok(());
    }
    tell!("{}", path.display());
    Ok(())
}

/// A layer in a viewable form: normals centred on grey, distances as a share of the largest.
fn shown(name: String, layer: &Layer, image: &Image, space: Space) -> Item {
    let (image, space) = match (&layer.kind, layer.part) {
        (Kind::Normal, Part::Variance) => (image.clone(), space),
        (Kind::Normal, _) => (image.map(|v| 0.5 + 0.5 * v), Space::Display),
        (Kind::Motion, _) => (three(&spread(image)), Space::Display),
        (Kind::Depth | Kind::Position | Kind::Id, _) => (spread(image), Space::Display),
        (Kind::Alpha | Kind::Visibility, _) => (image.clone(), Space::Display),
        _ => (image.clone(), space),
    };
    Item {
        name,
        image,
        space,
        scores: None,
        map: None,
        seconds: None,
    }
}

/// Maps the finite values to 0 … 1.
fn spread(image: &Image) -> Image {
    let finite = || image.data().iter().filter(|v| v.is_finite());
    let (low, high) = finite().fold((f32::INFINITY, f32::NEG_INFINITY), |(l, h), v| {
        (l.min(*v), h.max(*v))
    });
    let range = (high - low).max(1e-20);
    image.map(|v| match v.is_finite() {
        true => (v - low) / range,
        false => 1.0,
    })
}

/// Two channels, with a third one of zeros.
fn three(image: &Image) -> Image {
    Image::from_fn(image.width(), image.height(), 3, |x, y, c| match c {
        2 => 0.5,
        c => image.get(x, y, c),
    })
}

/// Opens a page in the browser; returns false if there is none.
fn open(page: &Path) -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("cmd", &["/C", "start", ""])
    } else if set("DISPLAY") || set("WAYLAND_DISPLAY") || set("BROWSER") {
        ("xdg-open", &[])
    } else {
        return false;
    };
    let status = Command::new(program)
        .args(before)
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("browser");
    status.is_ok_and(|s| s.success())
}
