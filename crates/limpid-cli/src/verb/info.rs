//! `limpid info`: what this build can do, what a file holds.

mod file;

use anyhow::Result;
use std::path::PathBuf;

/// Devices, methods and schedules of this machine; with a file, its size and layers.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A picture to look into.
    file: Option<PathBuf>,
    /// Take a layer from a name in the file, like normal=N or depth=Z.
    #[arg(long = "layer", value_name = "LAYER=NAME", requires = "file")]
    layers: Vec<String>,
    /// Facts as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(path) = &args.file {
        return file::run(path, &args.layers, args.json);
    }
    println!("limpid {}", env!("CARGO_PKG_VERSION"));
    Ok(())
}
