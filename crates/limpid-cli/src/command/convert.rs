//! `limpid convert`: from one format to another, without denoising.

use crate::batch::{Batch, Job};
use crate::say::{self, OrUsage};
use anyhow::Result;
use limpid::Error;
use limpid::io::{self, Compression, Format, Transfer, View, WriteOptions};
use std::path::PathBuf;

/// Convert images from one format to another, without denoising
///
/// Layers and metadata are kept where the format holds them. Scene-linear light (EXR, HDR, PFM) becomes display values (PNG, JPEG,
/// WebP) through a view.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Images, folders, 'quoted*.exr', or the frames of a sequence as 'shot.####.exr'
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// File to write; a folder for several inputs; for a sequence, a folder or a name with ####
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Quality of JPEG output [default: that of the source, or 95]
    #[arg(long, value_name = "1…100", value_parser = clap::value_parser!(u8).range(1..=100))]
    jpeg_quality: Option<u8>,
    /// Compression of EXR output: none, rle, zips, zip, piz, htj2k, htj2k32; with loss pxr24, b44, b44a, dwaa, dwab [default: that of
    /// the source, or zip]
    #[arg(long, value_name = "NAME")]
    compression: Option<Compression>,
    /// Composite the samples of deep EXR images into one for each pixel, front to back
    #[arg(long)]
    flatten: bool,
    /// View of scene-linear light in PNG, JPEG and WebP files: srgb; agx or filmic as in Blender; none for values as they are
    #[arg(long, value_name = "VIEW", default_value = "srgb")]
    view: View,
    /// Stops by which scene-linear light is made brighter in such files
    #[arg(
        long,
        value_name = "STOPS",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    exposure: f32,
    #[command(flatten)]
    batch: Batch,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if !args.exposure.is_finite() {
        return Err(Error::option(
            "exposure",
            args.exposure,
            "a number of stops, such as 1",
        ))
        .or_usage();
    }
    let jobs = args.batch.single(&args.inputs, &args.output)?;
    let asked = args.view != View::Srgb || args.exposure != 0.0;
    if let Some(job) = jobs.iter().find(|job| asked && is_linear(job)) {
        return Err(Error::input(format!(
            "{}: stores light itself; --view and --exposure are for PNG, JPEG and WebP files; leave them out",
            job.to.display()
        )))
        .or_usage();
    }
    let is_exr = |job: &Job| matches!(Format::from_path(&job.to), Ok(Format::Exr));
    if args.compression.is_some() && !jobs.iter().any(is_exr) {
        return Err(Error::input(format!(
            "--compression is for EXR files, and none would be written to {}; leave it out, or choose a name in .exr",
            args.output.display()
        )))
        .or_usage();
    }
    let mut write = WriteOptions::default();
    write.quality = args.jpeg_quality;
    write.compression = args.compression;
    (write.view, write.exposure) = (args.view, args.exposure);
    let work = |job: &Job, _: &mut ()| -> Result<()> {
        let mut read = crate::run::read_options();
        read.flatten = args.flatten;
        match crate::heif::read(&job.from, &read) {
            Ok(picture) => {
                say::notes(&picture.notes);
                let notes = io::write(&job.to, &picture.frame, Some(&picture.origin), &write)?;
                say::notes(&notes);
            }
            Err(_) if crate::files::copied_pages(job, &write)? => {}
            Err(error) => return Err(error.into()),
        }
        match args.batch.json {
            true => tell(job),
            false => Ok(()),
        }
    };
    args.batch.run(&jobs, || (), work)
}

fn tell(job: &Job) -> Result<()> {
    let name = |path: &std::path::Path| path.display().to_string();
    let facts = serde_json::json!({ "input": name(&job.from), "output": name(&job.to) });
    say::tell!("{facts}");
    Ok(())
}

/// Whether a result stores linear light.
fn is_linear(job: &Job) -> bool {
    Format::from_path(&job.to).is_ok_and(|format| format.transfer() == Transfer::Linear)
}
