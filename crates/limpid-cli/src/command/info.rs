//! `limpid info`: devices, formats, and the contents of a file.

mod file;
mod film;
mod machine;
mod noise;
mod schedules;

use crate::batch;
use crate::say::OrUsage;
use crate::video;
use anyhow::Result;
use limpid_lab::entry;
use std::path::PathBuf;

/// Show the devices of this machine; with a file, its size and layers
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A picture or film to inspect
    file: Option<PathBuf>,
    /// Use the layer with this name in the file: normal=N
    #[arg(long = "layer", value_name = "LAYER=NAME", requires = "file")]
    layers: Vec<String>,
    /// List all schedules of a method, one per line, with the option that each needs
    #[arg(long, value_name = "METHOD", conflicts_with = "file")]
    schedules: Option<String>,
    /// Measure the noise of the picture: its strength at each brightness and its coarseness; with --json, a profile for `denoise --noise`
    #[arg(long, requires = "file")]
    noise: bool,
    /// With --noise: write a plot
    #[arg(long, value_name = "FILE", requires = "noise")]
    svg: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(svg) = &args.svg {
        batch::can_create(svg)?;
    }
    if let (Some(path), true) = (&args.file, args.noise) {
        return noise::run(path, args.svg.as_deref(), args.json);
    }
    match (&args.file, &args.schedules) {
        (Some(path), _) if video::is_film(path) => film::run(path, args.json),
        (Some(path), _) => file::run(path, &args.layers, args.json),
        (None, Some(name)) => schedules::print(entry(name).or_usage()?, args.json),
        (None, None) => machine::run(args.json),
    }
}
