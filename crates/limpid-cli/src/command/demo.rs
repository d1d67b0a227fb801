//! `limpid demo`: a render, a sequence and a photograph, denoised by the methods that are made for them.

use crate::say::{self, tell};
use crate::{batch, run};
use anyhow::{Context, Result};
use limpid::io::{self, WriteOptions};
use limpid::method::{Camera, Eaw, Method, Use};
use limpid::metric::page::{Item, Page};
use limpid::metric::{self, Space};
use limpid::{Device, Frame, Image, Kind, Layer, Options, Sequence, Size};
use limpid_lab::find;
use limpid_scenes::{Render, RenderOptions, builtin};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// `cornell` at [`SIZE`] with 16384 samples per pixel: `limpid render cornell --spp 16384 --size 256x256 --seed 1
/// --layers color`, in 16-bit floats.
const REFERENCE: &[u8] = include_bytes!("../../assets/cornell-256.exr");
const SIZE: Size = Size::new(256, 256);
const SAMPLES: u32 = 4;
/// The sequence has few frames, so that the demonstration stays short.
const SHOT: Size = Size::new(192, 128);
const FRAMES: u32 = 6;
const SHOT_SAMPLES: u32 = 2;
/// The last frame of the sequence with 4096 samples per pixel: `limpid render corridor --frames 5 --spp 4096 --size 192x128
/// --seed 1 --layers color`, in 16-bit floats.
const SHOT_REFERENCE: &[u8] = include_bytes!("../../assets/corridor-192.exr");

/// Show a render, a sequence and a photograph, before and after denoising
///
/// Renders two built-in scenes with few samples, simulates a noisy photograph of one, and denoises each with the methods that are
/// made for it. Writes pictures, EXR files and HTML pages to a folder.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder to write to
    #[arg(short, long, value_name = "FOLDER", default_value = "limpid-demo")]
    output: PathBuf,
    /// auto, cpu, gpu, gpu:NAME or gpu:INDEX
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: String,
}

/// A part of the demonstration: one input, the results of some methods, and the reference.
struct Chapter<'a> {
    folder: &'a Path,
    /// The name of its page and the prefix of its pictures' names.
    name: &'a str,
    title: &'a str,
    /// A short description.
    about: &'a str,
    command: &'a str,
    space: Space,
    reference: Image,
    items: Vec<Item>,
}

impl Chapter<'_> {
    /// Adds an image: writes it as PNG, compares it with the reference and prints the result.
    fn add(&mut self, name: &str, image: &Image, seconds: Option<f64>, why: &str) -> Result<()> {
        let options = metric::Options::new(self.space);
        let compared = metric::compare(image, &self.reference, &options)?;
        self.write(name, image)?;
        let took = seconds.map_or(String::new(), |s| format!(" in {s:.2} s"));
        let psnr = compared.scores.psnr;
        tell!("   {name:<7} PSNR {psnr:.1} dB{took}{why}");
        self.items.push(Item {
            name: name.to_owned(),
            image: image.clone(),
            space: self.space,
            scores: Some(compared.scores),
            map: Some(compared.flip.picture()),
            seconds,
        });
        Ok(())
    }

    fn write(&self, name: &str, image: &Image) -> Result<()> {
        let mut options = WriteOptions::default();
        options.transfer = Some(match self.space {
            Space::Linear => io::Transfer::Linear,
            Space::Display => io::Transfer::Encoded,
        });
        let path = self.folder.join(format!("{}-{name}.png", self.name));
        io::write(path, &Frame::new(image.clone())?, None, &options)?;
        Ok(())
    }

    /// Writes the page and returns the chapter for the index page.
    fn finish(mut self) -> Result<String> {
        self.write("reference", &self.reference)?;
        self.items.push(Item {
            name: "reference".to_owned(),
            image: self.reference.clone(),
            space: self.space,
            scores: None,
            map: None,
            seconds: None,
        });
        let page = self.folder.join(format!("{}.html", self.name));
        tell!("   page: {}", page.display());
        let captions: Vec<(String, String)> = self.items.iter().map(caption).collect();
        let shown = Page {
            title: self.title.to_owned(),
            facts: self.command.to_owned(),
            reference: Some(self.items.len() - 1),
            items: self.items,
        };
        shown.write(&page)?;
        let figures: Vec<String> = captions
            .iter()
            .map(|(n, text)| {
                let file = format!("{}-{n}.png", self.name);
                format!(
                    "<figure><img src=\"{file}\" alt=\"{n}\"><figcaption>{text}</figcaption></figure>"
                )
            })
            .collect();
        Ok(format!(
            "<h2>{}</h2>\n<p>{}</p>\n<p><code>{}</code></p>\n<div>{}</div>\n<p><a href=\"{}.html\">Compare them</a></p>\n",
            self.title,
            self.about,
            self.command.replace('<', "&lt;"),
            figures.concat(),
            self.name
        ))
    }
}

/// The name of an item and its caption.
fn caption(item: &Item) -> (String, String) {
    let mut text = item.name.clone();
    if let Some(scores) = &item.scores {
        text += &format!(", {:.1} dB", scores.psnr);
    }
    if let Some(seconds) = item.seconds {
        text += &format!(", {seconds:.2} s");
    }
    (item.name.clone(), text)
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let device = run::open(&args.device)?;
    let folder = &args.output;
    batch::create(folder)?;
    tell!("Three uses of limpid, on {}", device.name());
    let story = [
        still(folder, &device)?,
        sequence(folder, &device)?,
        photograph(folder, &device)?,
    ];
    let page = folder.join("index.html");
    std::fs::write(&page, HEAD.to_owned() + &story.concat())
        .with_context(|| page.display().to_string())?;
    tell!("\nAll results: {}", page.display());
    tell!("Which method when: limpid methods");
    Ok(())
}

const HEAD: &str = "<!doctype html>
<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>limpid demo</title>
<style>
body { margin: 0 auto; padding: 20px; max-width: 1200px; font: 16px/1.5 system-ui, sans-serif; }
div { display: flex; flex-wrap: wrap; gap: 8px; } figure { margin: 0; flex: 1 1 180px; max-width: 320px; }
img { width: 100%; image-rendering: pixelated; } figcaption { font-size: 14px; color: #667; } h2 { margin: 1.4em 0 0; font-size: 20px; }
</style>
<h1>What limpid does</h1>
";

/// A path-traced image: `neural` and `nfor` for quality, `atrous` for speed.
fn still(folder: &Path, device: &Device) -> Result<String> {
    tell!("\n1. A render with {SAMPLES} samples per pixel");
    let frame = render("cornell", 0, (SIZE, SAMPLES), 0)?;
    let noisy = folder.join("render.exr");
    io::write(&noisy, &frame, None, &WriteOptions::default())?;
    let reference = stored(folder, "render-reference.exr", REFERENCE)?;
    let mut chapter = Chapter {
        folder,
        name: "render",
        title: "A render",
        about: "Four samples per pixel are noisy everywhere. neural, the default, is guided by a network and preserves \
                shadows and reflections; nfor fits colour to albedo, normals and depth without a network; atrous is for previews.",
        command: "limpid denoise render.exr -o clean.exr",
        space: Space::Linear,
        reference: reference.color()?.clone(),
        items: Vec::new(),
    };
    chapter.add("noisy", frame.color()?, None, "")?;
    for (name, why) in [
        ("neural", ": the default"),
        ("nfor", ": without a network"),
        ("atrous", ": without a network, for previews"),
    ] {
        let (result, seconds) = timed(device, find(Use::Denoise, name)?, &frame)?;
        write_color(&folder.join(format!("render-{name}.exr")), &result)?;
        chapter.add(name, result.color()?, Some(seconds), why)?;
    }
    chapter.finish()
}

/// A sequence with motion: `neural`, and `svgf` for speed.
fn sequence(folder: &Path, device: &Device) -> Result<String> {
    tell!(
        "\n2. A sequence of {FRAMES} frames with {SHOT_SAMPLES} samples per pixel, with motion vectors"
    );
    let reference = stored(folder, "sequence-reference.exr", SHOT_REFERENCE)?;
    let mut chapter = Chapter {
        folder,
        name: "sequence",
        title: "A sequence",
        about: "A camera moves down a corridor, with two samples per pixel and frame. neural, the default, filters each \
                frame and blends it with those before and after it along the motion vectors, where their light agrees; svgf, \
                which is made for real time, accumulates light from earlier frames. This is the last frame.",
        command: "limpid denoise 'sequence.####.exr' -o 'clean.####.exr'",
        space: Space::Linear,
        reference: reference.color()?.clone(),
        items: Vec::new(),
    };
    let mut frames = Vec::new();
    for n in 0..FRAMES {
        let frame = render("corridor", n, (SHOT, SHOT_SAMPLES), 0)?;
        let path = folder.join(format!("sequence.{n:04}.exr"));
        io::write(path, &frame, None, &WriteOptions::default())?;
        frames.push(frame);
    }
    let last = frames.last().context("no frames")?;
    chapter.add("noisy", last.color()?, None, "")?;
    for (name, why) in [
        ("neural", " per frame: the default"),
        ("svgf", " per frame: real-time on a GPU"),
    ] {
        let mut sequence = Sequence::new(device, &Options::of(find(Use::Denoise, name)?));
        let (mut results, mut begin) = (Vec::new(), Instant::now());
        for (n, frame) in frames.iter().enumerate() {
            // The first frame compiles and allocates.
            if n == 1 {
                begin = Instant::now();
            }
            results.extend(sequence.push(frame, &say::quiet())?);
        }
        results.extend(sequence.finish(&say::quiet())?);
        let seconds = begin.elapsed().as_secs_f64() / (FRAMES - 1) as f64;
        let result = results.last().context("no frames")?;
        chapter.add(name, result.color()?, Some(seconds), why)?;
    }
    chapter.finish()
}

/// A photograph with the noise of a sensor: `eaw`, and `ddid` if it may take longer.
fn photograph(folder: &Path, device: &Device) -> Result<String> {
    tell!("\n3. A photograph with the noise of a small sensor");
    let path = folder.join("render-reference.exr");
    let light = io::read(&path, &io::ReadOptions::default())?.frame;
    let clean = metric::display(light.color()?, 0.0);
    let noisy = Frame::new(sensor(light.color()?))?;
    let mut chapter = Chapter {
        folder,
        name: "photo",
        title: "A photograph",
        about: "The noise of a small sensor grows with brightness. Its strength is measured in the image; eaw removes it quickly, \
                and camera preserves more detail.",
        command: "limpid denoise photo-noisy.png -o clean.png",
        space: Space::Display,
        reference: clean,
        items: Vec::new(),
    };
    chapter.add("noisy", noisy.color()?, None, "")?;
    let eaw = Eaw::with(|m| m.refine = true);
    let (result, seconds) = timed(device, Box::new(eaw), &noisy)?;
    let why = ": --quality fast; the noise is measured in the picture";
    chapter.add("eaw", result.color()?, Some(seconds), why)?;
    let (result, seconds) = timed(device, Box::new(Camera::default()), &noisy)?;
    let why = ": the default, a network that is told what was measured";
    chapter.add("camera", result.color()?, Some(seconds), why)?;
    chapter.finish()
}

/// Light as a sensor records it, in display values: shot noise that grows with the root of the light, and read noise.
fn sensor(light: &Image) -> Image {
    let mut state = 1u64;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 40) as f32 / (1u64 << 24) as f32
    };
    let mut normal = move || (0..12).map(|_| uniform()).sum::<f32>() - 6.0;
    let counted = Image::from_fn(
        light.width(),
        light.height(),
        light.channels(),
        |x, y, c| {
            let v = light.get(x, y, c).clamp(0.0, 1.0);
            v + (0.004 * v + 4e-5).sqrt() * normal()
        },
    );
    metric::display(&counted, 0.0)
}

/// A reference that is included in the program.
fn stored(folder: &Path, name: &str, bytes: &[u8]) -> Result<Frame> {
    let path = folder.join(name);
    std::fs::write(&path, bytes).with_context(|| path.display().to_string())?;
    Ok(io::read(&path, &io::ReadOptions::default())?.frame)
}

fn timed(device: &Device, method: Box<dyn Method>, frame: &Frame) -> Result<(Frame, f64)> {
    let mut sequence = Sequence::new(device, &Options::of(method));
    let begin = Instant::now();
    let result = sequence.run(frame, &say::quiet())?;
    Ok((result, begin.elapsed().as_secs_f64()))
}

/// A frame of a built-in scene.
fn render(name: &str, frame: u32, (size, samples): (Size, u32), seed: u64) -> Result<Frame> {
    let scene = builtin(name, frame)?;
    let options = RenderOptions {
        size,
        samples,
        seed,
        frame: u64::from(frame),
        ..RenderOptions::default()
    };
    let mut render = Render::new(&scene, &options)?;
    render.finish(&say::watch("rendering"))?;
    Ok(render.frame()?)
}

fn write_color(path: &Path, frame: &Frame) -> Result<()> {
    let mut color = Frame::empty(frame.size())?;
    color.insert(Kind::Color, frame.require(Layer::COLOR)?.clone())?;
    io::write(path, &color, None, &WriteOptions::default())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid::io::ReadOptions;

    #[test]
    fn the_reference_is_the_scene() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reference.exr");
        std::fs::write(&path, REFERENCE).unwrap();
        let reference = io::read(&path, &ReadOptions::default()).unwrap().frame;
        assert_eq!(reference.size(), SIZE);
        let scene = builtin("cornell", 0).unwrap();
        let options = RenderOptions {
            size: SIZE,
            samples: 4,
            ..RenderOptions::default()
        };
        let frame = limpid_scenes::render(&scene, &options).unwrap();
        // The noise of a render averages out over a picture, so a change of the scene shows in the means.
        for c in 0..3 {
            let mean = |f: &Frame| f.color().unwrap().plane(c).iter().sum::<f32>();
            let ratio = mean(&frame) / mean(&reference);
            assert!((0.97..1.03).contains(&ratio), "channel {c}: {ratio}");
        }
    }
}
