//! `limpid denoise`: removes noise from images.

use crate::batch::{Batch, Job};
use crate::files;
use crate::knobs::Given;
use crate::layers::{Layers, Reader};
use crate::run::How;
use crate::say::{OrUsage, Report, tell};
use crate::shot::{self, Shot};
use crate::video::{self, Form};
use anyhow::Result;
use limpid::io::WriteOptions;
use limpid::io::y4m::Colour;
use limpid::method::nfor::Estimate;
use limpid::method::{Auto, Method, Use};
use limpid::plan::Role;
use limpid::{
    Device, DeviceLimits, FittedPlan, Frame, Kind, Layer, Options, Sequence, Shape, Size, Watch,
};
use limpid_lab::find;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Remove noise from images, sequences and films
///
/// Without --method, the method is chosen by the contents of the file; `limpid methods` lists which one is for what. Feature layers
/// (albedo, normal, depth, …) are recognised by the names that renderers use; `limpid info FILE` shows what was found.
/// `limpid denoise --method NAME --help` shows the options of a method.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Images, folders, 'quoted*.exr', the frames of a sequence as 'shot.####.exr' or 'shot.%04d.exr', films, or - for y4m on
    /// standard input
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// File to write; a folder for several inputs, which is created; for a sequence, a folder or a name with ####
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Method; `limpid methods` lists them [default: by the contents of the file]
    #[arg(long, value_name = "METHOD")]
    method: Option<String>,
    /// How much of the change to apply: 0 keeps the input, 1 gives the full result
    #[arg(long, default_value_t = 1.0, value_name = "0…1")]
    strength: f32,
    /// For a sequence: first and last frame, like 0..9 [default: all existing frames]
    #[arg(long, value_name = "A..B", value_parser = shot::range)]
    frames: Option<RangeInclusive<u32>>,
    /// For a sequence: keep existing results and continue after them
    #[arg(long)]
    resume: bool,
    /// Report whether the estimated relative error is below this value, and how many samples would reach it (nfor)
    #[arg(long, value_name = "ERROR", allow_negative_numbers = true)]
    target: Option<f32>,
    /// Quality of JPEG output [default: that of the source, or 95]
    #[arg(long, value_name = "1…100", value_parser = clap::value_parser!(u8).range(1..=100))]
    jpeg_quality: Option<u8>,
    #[command(flatten)]
    batch: Batch,
    #[command(flatten)]
    layers: Layers,
    #[command(flatten)]
    how: How,
}

pub(crate) fn run(args: &Args, knobs: &Given) -> Result<()> {
    let mut method: Box<dyn Method> = match &args.method {
        Some(name) => find(Use::Denoise, name).or_usage()?,
        None if args.inputs.iter().any(|i| in_time(i)) => Box::new(Auto::sequence()),
        None => Box::new(Auto::default()),
    };
    if let Some(target) = args.target {
        check_target(target, &args.inputs, method.as_mut()).or_usage()?;
    }
    if method.knobs().iter().any(|k| k.name == "aov") && !args.layers.passes().is_empty() {
        method.set("aov", &args.layers.passes().join(","))?;
    }
    let mut options = args.how.options(method, knobs)?;
    options.strength = args.strength;
    if !(0.0..=1.0).contains(&args.strength) {
        return Err(limpid::Error::option("strength", args.strength, "0 … 1")).or_usage();
    }
    let reader = args.layers.reader()?;
    reader.begin(&args.inputs);
    let device = args.how.open()?;
    if args.method.is_some() {
        args.how.look_up(&mut options, device.backend())?;
    }
    let sequences = follows(args) || args.inputs.iter().any(|i| in_time(i));
    if args.batch.jobs > 1 && sequences && has_history(&options) {
        let expected = "1, because each frame needs the previous one";
        return Err(limpid::Error::option("jobs", args.batch.jobs, expected)).or_usage();
    }
    let jobs = args.batch.jobs(&args.inputs, &args.output)?;
    let start = || Sequence::new(&device, &options);
    args.batch.run(&jobs, start, |job, sequence| {
        let report = |job: &Job, sequence: &Sequence, begin: Instant| {
            Report::new(job, sequence, &device, begin).tell(args.batch.json)
        };
        if shot::is_pattern(&job.from) {
            let shot = Shot {
                from: &job.from,
                to: &job.to,
                frames: args.frames.clone(),
                reader: &reader,
                resume: args.resume,
            };
            return shot.run(sequence, report);
        }
        let begin = Instant::now();
        if video::is_film(&job.from) {
            if args.method.as_deref() == Some("svgf") {
                let message = format!(
                    "{}: svgf needs normals and motion vectors, which a film does not have; use --method film, the default for films",
                    job.from.display()
                );
                return Err(limpid::Error::input(message)).or_usage();
            }
            let form = Form {
                colour: Colour::Encoded,
                exact: false,
            };
            video::run_late(&job.from, &job.to, form, |image| {
                files::push(image, sequence)
            })?;
            return report(job, sequence, begin);
        }
        still(args, knobs, (job, &reader, &device), sequence)
    })
}

/// One image.
fn still(
    args: &Args,
    knobs: &Given,
    (job, reader, device): (&Job, &Reader, &Device),
    sequence: &mut Sequence,
) -> Result<()> {
    let begin = Instant::now();
    if !follows(args) {
        sequence.finish(&Watch::default())?;
    }
    let (mut found, mut features) = (None, None);
    let mut write = WriteOptions::default();
    write.quality = args.jpeg_quality;
    files::run_and((job, reader, &write), sequence, |picture, mut result| {
        features = features_of(&picture.frame);
        found = Estimate::of(&result);
        if args.target.is_some() && !knobs.has("layers") {
            Estimate::remove_layers(&mut result);
        }
        Ok(result)
    })?;
    let mut report = Report::new(job, sequence, device, begin);
    report.found = report.found.or(features);
    if let (Some(target), Some(found), true) = (args.target, &found, args.batch.json) {
        report.more.insert("target".to_owned(), target.into());
        report.more.insert("error".to_owned(), found.error.into());
    }
    report.tell(args.batch.json)?;
    if let Some(target) = args.target.filter(|_| !args.batch.json) {
        let name = sequence.method().name();
        tell!("{}: {}", job.from.display(), verdict(target, found, name));
    }
    Ok(())
}

/// The features of a frame, for the report of methods that say nothing else about it.
fn features_of(frame: &Frame) -> Option<String> {
    let all = [
        Kind::Albedo,
        Kind::Normal,
        Kind::Position,
        Kind::Depth,
        Kind::Visibility,
    ];
    let names: Vec<String> = all
        .into_iter()
        .map(Layer::from)
        .filter(|layer| frame.get(layer.clone()).is_some())
        .map(|layer| layer.to_string())
        .collect();
    (!names.is_empty()).then(|| format!("with {}", names.join(", ")))
}

/// Whether images are frames of one sequence, although each is named: the method has no other use.
fn follows(args: &Args) -> bool {
    matches!(args.method.as_deref(), Some("svgf" | "taa"))
}

/// Whether the input has several frames: a film, or a sequence of files.
fn in_time(input: &Path) -> bool {
    shot::is_pattern(input) || video::is_film(input)
}

/// Whether a method keeps history from frame to frame.
fn has_history(options: &Options) -> bool {
    let mut shape = Shape::color(Size::new(32, 32), 3);
    for kind in [Kind::Albedo, Kind::Normal] {
        shape = shape.with(kind, 3);
    }
    shape = shape.with(Kind::Depth, 1).with(Kind::Motion, 2);
    let plan = FittedPlan::new(DeviceLimits::Cpu, &shape, options);
    plan.is_ok_and(|fit| fit.plan.slots().iter().any(|s| s.role == Role::History))
}

/// Validates the target, and makes the method write the layers that the estimate needs.
fn check_target(target: f32, inputs: &[PathBuf], method: &mut dyn Method) -> limpid::Result<()> {
    if !(target.is_finite() && target > 0.0) {
        return Err(limpid::Error::option("target", target, "a number above 0"));
    }
    if let Some(input) = inputs.iter().find(|i| in_time(i)) {
        let input = input.display();
        let message =
            format!("{input}: --target is for single images, not for sequences and films");
        return Err(limpid::Error::input(message));
    }
    // Other methods have an option of this name too.
    match method.name() {
        "nfor" | "auto" => method.set("layers", "all"),
        name => Err(limpid::Error::input(no_estimate(name))),
    }
}

fn no_estimate(method: &str) -> String {
    format!("{method} does not estimate its error; nfor does")
}

/// Whether the target is reached.
fn verdict(target: f32, found: Option<Estimate>, method: &str) -> String {
    let Some(found) = found else {
        return no_estimate(method);
    };
    let error = found.error;
    if error <= target {
        format!("estimated relative error {error:.5}, below {target}")
    } else {
        let more = found.samples(target);
        format!(
            "estimated relative error {error:.5}, above {target}: it would need about {more:.1} times as many samples"
        )
    }
}
