//! `limpid reconstruct`: one image from a base image and its differences.

mod caches;

use crate::batch::Batch;
use crate::files;
use crate::layers::Layers;
use crate::method_options::{self, Given, RECONSTRUCTION};
use crate::report::{self, Report};
use crate::run::RunArgs;
use anyhow::Result;
use caches::Caches;
use limpid::Sequence;
use limpid::io::WriteOptions;
use limpid::method::Use;
use std::path::PathBuf;
use std::time::Instant;

/// Reconstruct a gradient-domain render: combine a base image and its differences into one image
///
/// Needs the layers color, dx and dy, as `limpid render --gradients` writes them: `dx(x, y) = I(x+1, y) - I(x, y)`.
/// `limpid reconstruct --method NAME --help` shows the options of a method.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Renders with differences: files, folders, 'quoted*.exr' or 'shot.####.exr'
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// File to write; a folder for several inputs
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Method; `limpid methods` lists them
    #[arg(long, value_name = "METHOD", default_value = RECONSTRUCTION)]
    method: String,
    #[command(flatten)]
    batch: Batch,
    /// Print the residual after each step of each solve, as a share of the right-hand side
    #[arg(long)]
    residuals: bool,
    #[command(flatten)]
    known: Caches,
    #[command(flatten)]
    layers: Layers,
    #[command(flatten)]
    how: RunArgs,
}

pub(crate) fn run(args: &Args, given: &Given) -> Result<()> {
    let method = method_options::method(Use::Reconstruct, &args.method)?;
    let mut options = args.how.options(method, given)?;
    let wanted = args.known.prepare(&args.method, &mut options)?;
    let reader = args.layers.reader()?;
    reader.begin(&args.inputs);
    let device = args.how.open()?;
    args.how.look_up(&mut options, device.backend())?;
    let jobs = args.batch.single(&args.inputs, &args.output)?;
    let start = || Sequence::new(&device, &options);
    args.batch.run(&jobs, start, |job, sequence| {
        let begin = Instant::now();
        let write = WriteOptions::default();
        files::run_and((job, &reader, &write), sequence, |input, made| {
            args.known.tell(&args.method, &input.frame);
            args.known.choose(input, made, wanted)
        })?;
        if args.residuals {
            report::line(&table(sequence.residuals()))?;
        }
        Report::new(job, sequence, &device, begin).tell(args.batch.json)
    })
}

/// One column per solve, one line per step.
fn table(residuals: &[Vec<f32>]) -> String {
    let mut text = "step".to_owned();
    for k in 1..=residuals.len() {
        text += &format!(" {:>9}", format!("solve {k}"));
    }
    for step in 0..residuals.iter().map(Vec::len).max().unwrap_or(0) {
        let mut line = format!("{:>4}", step + 1);
        for solve in residuals {
            line += &match solve.get(step) {
                Some(v) => format!(" {:>9.1e}", v.sqrt()),
                None => " ".repeat(10),
            };
        }
        text += "\n";
        text += line.trim_end();
    }
    text
}
