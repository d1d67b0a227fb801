//! `limpid filter`: single 2-D filters.

use crate::batch::Batch;
use crate::files;
use crate::layers::Layers;
use crate::method_options::{self, Given};
use crate::report::Report;
use crate::run::RunArgs;
use anyhow::Result;
use limpid::Sequence;
use limpid::method::Use;
use std::path::PathBuf;
use std::time::Instant;

/// Apply a single 2-D filter
///
/// `limpid filter NAME --help` shows the options of a filter.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the filter, such as gaussian
    name: String,
    /// Images to filter: files, folders, 'quoted*.exr' or 'shot.####.exr'
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// File to write; a folder for several inputs
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    #[command(flatten)]
    batch: Batch,
    #[command(flatten)]
    layers: Layers,
    #[command(flatten)]
    how: RunArgs,
}

pub(crate) fn run(args: &Args, given: &Given) -> Result<()> {
    let mut options = args
        .how
        .options(method_options::method(Use::Filter, &args.name)?, given)?;
    let reader = args.layers.reader()?;
    reader.begin(&args.inputs);
    let device = args.how.open()?;
    args.how.look_up(&mut options, device.backend())?;
    let jobs = args.batch.single(&args.inputs, &args.output)?;
    let start = || Sequence::new(&device, &options);
    args.batch.run(&jobs, start, |job, sequence| {
        let begin = Instant::now();
        files::run(job, &reader, sequence)?;
        Report::new(job, sequence, &device, begin).tell(args.batch.json)
    })
}
