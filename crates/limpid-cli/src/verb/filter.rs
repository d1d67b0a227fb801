//! `limpid filter`: single 2-D filters.

use crate::files;
use crate::knobs::Given;
use crate::run::How;
use crate::say::OrUsage;
use anyhow::Result;
use limpid::Sequence;
use limpid::method::Use;
use limpid_lab::find;
use std::path::PathBuf;

/// Apply a single 2-D filter
///
/// `limpid filter NAME --help` shows the options of a filter.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the filter, such as gaussian
    name: String,
    /// Images to filter
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// File to write; a folder for several inputs
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Take a layer from a name in the file: color=Beauty
    #[arg(long, value_name = "LAYER=NAME")]
    layer: Vec<String>,
    #[command(flatten)]
    how: How,
}

pub(crate) fn run(args: &Args, knobs: &Given) -> Result<()> {
    let mut options = args
        .how
        .options(find(Use::Filter, &args.name).or_usage()?, knobs)?;
    let device = args.how.open()?;
    args.how.look_up(&mut options, device.backend())?;
    let mut sequence = Sequence::new(&device, &options);
    for from in &args.inputs {
        let to = files::target(from, &args.output, args.inputs.len() > 1)?;
        files::run(from, &to, &args.layer, &mut sequence)?;
    }
    Ok(())
}
