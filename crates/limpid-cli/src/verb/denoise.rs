//! `limpid denoise`: takes noise out of images.

use crate::files;
use crate::knobs::Given;
use crate::run::How;
use crate::say::{self, OrUsage, tell};
use crate::shot::{self, Shot};
use crate::video::{self, Form};
use anyhow::Result;
use limpid::io::WriteOptions;
use limpid::io::y4m::Colour;
use limpid::method::nfor::Estimate;
use limpid::method::{Auto, Method, Use};
use limpid::{Device, Sequence};
use limpid_lab::find;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Take noise out of images
///
/// Feature layers (albedo, normal, depth, …) are recognised by the names that renderers give them; `limpid info FILE`
/// shows what was found. `limpid denoise --method NAME --help` shows the options of a method.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Images to denoise; for a method with history the frames of a sequence, in order, or 'shot.####.exr'; or films, - for y4m
    /// on standard input
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// File to write; a folder for several inputs; for 'shot.####.exr' a name with #### too
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Method; `limpid info` lists them [default: by the layers of the image]
    #[arg(long, value_name = "METHOD")]
    method: Option<String>,
    /// How much of the change is applied: 0 keeps the input, 1 takes the result
    #[arg(long, default_value_t = 1.0, value_name = "0…1")]
    strength: f32,
    /// Take a layer from a name in the file: normal=N
    #[arg(long, value_name = "LAYER=NAME")]
    layer: Vec<String>,
    /// For 'shot.####.exr': first and last frame, like 0..9 [default: all that are there]
    #[arg(long, value_name = "A..B", value_parser = shot::range)]
    frames: Option<RangeInclusive<u32>>,
    /// For 'shot.####.exr': keep the results that are there and go on after them
    #[arg(long)]
    resume: bool,
    /// Say whether the estimated relative error is below this, and how many samples would get there (nfor)
    #[arg(long, value_name = "ERROR", allow_negative_numbers = true)]
    target: Option<f32>,
    /// Quality of JPEG files that are written [default: the source's, or 95]
    #[arg(long, value_name = "1…100", value_parser = clap::value_parser!(u8).range(1..=100))]
    jpeg_quality: Option<u8>,
    /// Print nothing but warnings and errors [also: LIMPID_QUIET=1]
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    how: How,
}

pub(crate) fn run(args: &Args, knobs: &Given) -> Result<()> {
    let mut method: Box<dyn Method> = match &args.method {
        Some(name) => find(Use::Denoise, name).or_usage()?,
        None if args.inputs.iter().any(|i| in_time(i)) => Box::new(Auto::sequence()),
        None => Box::new(Auto::default()),
    };
    let asked = args.target.is_some();
    if let Some(target) = args.target {
        check_target(target, &args.inputs, method.as_mut()).or_usage()?;
    }
    let mut options = args.how.options(method, knobs)?;
    options.strength = args.strength;
    if !(0.0..=1.0).contains(&args.strength) {
        return Err(limpid::Error::option("strength", args.strength, "0 … 1")).or_usage();
    }
    let device = args.how.open()?;
    if args.method.is_some() {
        args.how.look_up(&mut options, device.backend())?;
    }
    let mut sequence = Sequence::new(&device, &options);
    for from in &args.inputs {
        if shot::is_pattern(from) {
            let shot = Shot {
                from,
                to: &args.output,
                frames: args.frames.clone(),
                layers: &args.layer,
                resume: args.resume,
            };
            shot.run(&mut sequence)?;
            continue;
        }
        let to = files::target(from, &args.output, args.inputs.len() > 1)?;
        if video::is_film(from) {
            let form = Form {
                colour: Colour::Encoded,
                exact: false,
            };
            let begin = Instant::now();
            video::run_late(from, &to, form, |image| files::push(image, &mut sequence))?;
            if !args.quiet && !say::is_quiet() {
                report(from, &to, &sequence, &device, begin.elapsed());
            }
            continue;
        }
        let begin = Instant::now();
        let mut found = None;
        let mut write = WriteOptions::default();
        write.quality = args.jpeg_quality;
        let ways = (from.as_path(), to.as_path(), &write);
        files::run_and(ways, &args.layer, &mut sequence, |_, mut result| {
            found = Estimate::of(&result);
            if asked && !knobs.has("layers") {
                Estimate::remove_layers(&mut result);
            }
            Ok(result)
        })?;
        if !args.quiet && !say::is_quiet() {
            report(from, &to, &sequence, &device, begin.elapsed());
        }
        if let Some(target) = args.target {
            tell!(
                "{}: {}",
                from.display(),
                verdict(target, found, sequence.method().name())
            );
        }
    }
    Ok(())
}

/// Whether frames come one after the other: a film, or a sequence of files.
fn in_time(input: &Path) -> bool {
    shot::is_pattern(input) || video::is_film(input)
}

/// One line about a file: what was done, on what, what was seen, how long it took.
fn report(from: &Path, to: &Path, sequence: &Sequence, device: &Device, time: Duration) {
    let method = sequence.method();
    let seen = method
        .seen()
        .map_or(String::new(), |seen| format!(", {seen}"));
    eprintln!(
        "{}: {} on {}{seen}, {:.2} s, written to {}",
        from.display(),
        method.name(),
        device.name(),
        time.as_secs_f64(),
        to.display()
    );
}

/// Checks the target, and asks the method for what the estimate is made of.
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
            "estimated relative error {error:.5}, above {target}: about {more:.1} times the samples would get there"
        )
    }
}
