//! `limpid info`: what this build can do, what a file holds.

use anyhow::Result;

/// Devices, methods and schedules of this machine; with a file, its size and layers.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> Result<()> {
    println!("limpid {}", env!("CARGO_PKG_VERSION"));
    Ok(())
}
