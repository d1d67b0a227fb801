//! `limpid demo`: render, denoise, compare: everything once.

use super::compare;
use crate::say::{self, tell};
use anyhow::{Context, Result};
use limpid::io::{self, WriteOptions};
use limpid::method::Use;
use limpid::{Device, Error, Frame, Kind, Layer, Options, Size, denoise_on};
use limpid_scenes::{Render, RenderOptions, builtin};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// `cornell` at [`SIZE`] with 16384 samples per pixel: `limpid render cornell --spp 16384 --size 256x256 --seed 1
/// --layers color`, in 16-bit floats.
const REFERENCE: &[u8] = include_bytes!("../../assets/cornell-256.exr");
const SIZE: Size = Size::new(256, 256);
const SAMPLES: u32 = 4;

/// Render a scene, denoise it with every method, compare
///
/// A box is rendered with 4 samples per pixel, denoised by every method that can with its default options, and compared with
/// a reference. All pictures and a page to look at are left in a folder.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder to write to
    #[arg(short, long, value_name = "FOLDER", default_value = "limpid-demo")]
    output: PathBuf,
    /// auto, cpu, gpu, gpu:NAME or gpu:INDEX
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let device = Device::open(&args.device)?;
    let folder = &args.output;
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let start = Instant::now();
    let frame = render()?;
    let noisy = folder.join("noisy.exr");
    io::write(&noisy, &frame, None, &WriteOptions::default())?;
    tell!(
        "rendered cornell, {SIZE}, {SAMPLES} samples per pixel, in {:.1} s",
        start.elapsed().as_secs_f32()
    );
    let reference = folder.join("reference.exr");
    std::fs::write(&reference, REFERENCE).with_context(|| reference.display().to_string())?;
    let mut images = vec![noisy];
    for entry in limpid_lab::methods().filter(|e| e.used == Use::Denoise) {
        let start = Instant::now();
        let watch = say::watch(entry.name);
        let options = Options::of((entry.make)());
        match denoise_on(&device, &frame, &options, &watch) {
            Ok(result) => {
                let path = folder.join(format!("{}.exr", entry.name));
                write_color(&path, &result)?;
                tell!("{} in {:.2} s", entry.name, start.elapsed().as_secs_f32());
                images.push(path);
            }
            // A method for other inputs: gradients, photographs, sequences.
            Err(error @ (Error::Missing { .. } | Error::Input(_) | Error::Unsupported(_))) => {
                tell!("{} left out: {error}", entry.name);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let page = folder.join("compare.html");
    compare::run(&compare::Args::page(images, reference, page.clone()))?;
    tell!(
        "Look at {}; the layers of the noisy input: limpid info {}",
        page.display(),
        folder.join("noisy.exr").display()
    );
    Ok(())
}

/// The noisy input.
fn render() -> Result<Frame> {
    let scene = builtin("cornell", 0)?;
    let options = RenderOptions {
        size: SIZE,
        samples: SAMPLES,
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
