//! `limpid info`: what this build can do, what a file holds.

mod file;
mod machine;

use anyhow::Result;
use std::path::PathBuf;

/// Show devices, methods and schedules of this machine; with a file, its size and layers
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A picture to look into
    file: Option<PathBuf>,
    /// Take a layer from a name in the file: normal=N
    #[arg(long = "layer", value_name = "LAYER=NAME", requires = "file")]
    layers: Vec<String>,
    /// Facts as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    match &args.file {
        Some(path) => file::run(path, &args.layers, args.json),
        None => machine::run(args.json),
    }
}
