//! `limpid dwt` and `limpid idwt`: the wavelet transform of images.

mod npy;
mod stored;

use crate::batch::{self, Job};
use crate::command::plan;
use crate::files;
use crate::method_options::Given;
use crate::report::Report;
use crate::run::{RunArgs, read_options};
use crate::say::{self, OrUsage, tell};
use crate::video::{self, Form, Next, Settings};
use anyhow::{Context, Result};
use limpid::io::y4m::Colour;
use limpid::io::{Bits, Format, WriteOptions};
use limpid::method::{Dwt, DwtSchedule, Idwt, Mapping, Method, Scale, ScheduleChoice};
use limpid::wavelet::{Direction, Lifting, Scheme, SchemeName, Wavelet};
use limpid::{Device, DeviceLimits, FittedPlan, Frame, Image, Options, Sequence, Shape, Size};
use limpid_lab::cost;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Transform images to wavelet coefficients
///
/// Coefficients are floats: write EXR, TIFF, PFM, or NPY for NumPy. EXR and TIFF files also store the options, so that `limpid idwt`
/// needs none. With boundary mirror or periodization (at even sizes) coefficients fill an image of the same size.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Image to transform
    #[arg(required_unless_present = "explain", value_name = "IN")]
    input: Option<PathBuf>,
    /// File to write
    #[arg(short, long, required_unless_present = "explain", value_name = "OUT")]
    output: Option<PathBuf>,
    /// Scheme of the computation on the GPU (lifting*, explosion*:shuffle, …), or auto for the fastest one measured
    #[arg(long, value_name = "SCHEME", conflicts_with = "schedule")]
    scheme: Option<String>,
    /// For idwt: size of the image, if it does not follow from the coefficients; for --explain: size of the transformed image
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,
    /// Print the scheme's steps, its costs and the kernels of the device, and stop
    #[arg(long)]
    explain: bool,
    /// Print a JSON object on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    how: RunArgs,
}

pub(crate) fn run(args: &Args, given: &Given, direction: Direction) -> Result<()> {
    let (mut method, wavelet) = method(args, given, direction)?;
    let mut how = args.how.clone();
    how.schedule = how.schedule.or(args.scheme.clone());
    if args.explain {
        return explain(args, how, (method, wavelet), direction);
    }
    let (Some(input), Some(output)) = (&args.input, &args.output) else {
        return Ok(());
    };
    batch::can_write(output)?;
    if args.json && output == Path::new("-") {
        let message = "--json would stand in the film on standard output; leave it out";
        return Err(limpid::Error::input(message)).or_usage();
    }
    let mut read = None;
    if !video::is_film(input) {
        let (frame, text) = numbers(input)?;
        if direction == Direction::Inverse {
            let given = (given, args.size);
            stored::apply(text.as_deref(), input, method.as_mut(), given)?;
        }
        read = Some(frame);
    }
    let mut options = how.options(method, &Given::default())?;
    let device = how.open()?;
    how.look_up(&mut options, device.backend())?;
    if let ScheduleChoice::Explicit(schedule) = &options.schedule
        && let Ok(DwtSchedule::Scheme(_, Mapping::Shaped(shape))) = schedule.choice()
        && shape.memoryless
    {
        let expected = "a schedule with a result; this one is for `limpid bench dwt` only";
        return Err(limpid::Error::option("schedule", schedule, expected)).or_usage();
    }
    let job = Job {
        from: input.clone(),
        to: output.clone(),
    };
    let begin = Instant::now();
    let mut sequence = Sequence::new(&device, &options);
    let Some(frame) = read else {
        let levels = levels_of_film(options.method.as_ref())?;
        let form = Form {
            colour: Colour::Stored,
            exact: direction == Direction::Forward,
            fields: false,
        };
        let mut groups = Groups {
            levels,
            direction,
            frames: value(options.method.as_ref(), "frames").parse().ok(),
            waiting: Vec::new(),
            device,
            options,
            sequence,
        };
        let settings = Settings::default();
        video::run_late((input, output), form, &settings, |next, _| {
            groups.push(match next {
                Next::Frame(image) | Next::Known(image) => Some(image),
                Next::End => None,
            })
        })?;
        let report = Report::new(&job, &groups.sequence, &groups.device, begin);
        return report.tell(args.json);
    };
    if npy::is_npy(output) {
        let made = say::about(input, || files::made(&job, &frame, &mut sequence))?;
        npy::write(output, made.color()?)?;
        return Report::new(&job, &sequence, &device, begin).tell(args.json);
    }
    let format = Format::from_path(output).or_usage()?;
    if direction == Direction::Forward
        && matches!(
            format,
            Format::Png | Format::Jpeg | Format::Webp | Format::Hdr
        )
    {
        let expected = "a format for floats: .exr, .tif, .pfm or .npy";
        return Err(limpid::Error::option("output", output.display(), expected)).or_usage();
    }
    // Samples of more than 8 bits come back as such.
    let samples: usize = value(options.method.as_ref(), "reversible")
        .parse()
        .unwrap_or(8);
    let deep = direction == Direction::Inverse && format == Format::Png && samples > 8;
    let mut write = WriteOptions::default();
    write.bits = deep.then_some(Bits::Sixteen);
    if direction == Direction::Forward {
        let (method, size) = (options.method.as_ref(), frame.size());
        let scheme = how.schedule.as_deref();
        write.texts.push(stored::text(method, scheme, size));
    }
    say::about(input, || files::numbers(&job, &frame, write, &mut sequence))?;
    Report::new(&job, &sequence, &device, begin).tell(args.json)
}

/// The values of a file, and what it says about coefficients.
fn numbers(input: &Path) -> Result<(Frame, Option<String>)> {
    if npy::is_npy(input) {
        return Ok((Frame::new(npy::read(input)?)?, None));
    }
    let picture = say::about(input, || crate::heif::read(input, &read_options()))?;
    say::notes(&picture.notes);
    let text = picture.origin.text(stored::NAME);
    Ok((picture.frame, text))
}

/// The method with its options, and its wavelet. Coefficients of films have unit scale by default.
fn method(args: &Args, given: &Given, direction: Direction) -> Result<(Box<dyn Method>, Wavelet)> {
    let mut method: Box<dyn Method> = match direction {
        Direction::Forward => Box::new(Dwt::default()),
        Direction::Inverse | Direction::Adjoint => Box::new(Idwt::with(|m| m.size = args.size)),
    };
    if args.input.as_deref().is_some_and(video::is_film) {
        method.set("scale", &Scale::Unit.to_string())?;
    }
    given.apply(method.as_mut())?;
    let (text, wavelet) = find(&value(method.as_ref(), "wavelet"))?;
    method.set("wavelet", &text)?;
    Ok((method, wavelet))
}

/// An option's value.
fn value(method: &dyn Method, name: &str) -> String {
    let mut given = method.named_options().into_iter();
    given
        .find(|k| k.name == name)
        .map(|k| k.value)
        .unwrap_or_default()
}

/// The number of levels, if films can store the coefficients.
fn levels_of_film(method: &dyn Method) -> Result<usize> {
    let held = [
        ("boundary", "mirror"),
        ("layout", "subbands"),
        ("undecimated", "false"),
        ("scale", "unit"),
    ];
    for (name, only) in held {
        let given = value(method, name);
        if given != only {
            let expected = format!("{only}, which films can store");
            return Err(limpid::Error::option(name, given, expected)).or_usage();
        }
    }
    Ok(value(method, "levels").parse()?)
}

/// Frames of a film that are transformed together: one, or a group along time. The last group may be smaller.
///
/// Coefficients of films are stored as samples, 0 … 1: the low-pass band unchanged, others centred on 0.5.
struct Groups {
    levels: usize,
    direction: Direction,
    frames: Option<usize>,
    waiting: Vec<Image>,
    device: Device,
    options: Options,
    sequence: Sequence,
}

impl Groups {
    /// Takes a frame, or the end; returns the results that are complete.
    fn push(&mut self, image: Option<Image>) -> Result<Vec<Image>> {
        let end = image.is_none();
        self.waiting.extend(image);
        let count = self.waiting.len();
        if count == 0 || (count < self.frames.unwrap_or(1) && !end) {
            return Ok(Vec::new());
        }
        if self.frames.is_some_and(|n| n != count) {
            let mut options = self.options.clone();
            options.method.set("frames", &count.to_string())?;
            self.sequence = Sequence::new(&self.device, &options);
        }
        let mut image = stacked(&std::mem::take(&mut self.waiting))?;
        let levels = self.levels;
        if self.direction == Direction::Inverse {
            shift(&mut image, (count, levels), |v| 2.0 * v - 1.0);
            return unstacked(&files::change(image, &mut self.sequence)?, count);
        }
        let mut out = files::change(image, &mut self.sequence)?;
        shift(&mut out, (count, levels), |v| 0.5 + 0.5 * v);
        unstacked(&out, count)
    }
}

/// Stacks frames vertically.
fn stacked(frames: &[Image]) -> Result<Image> {
    let (size, channels) = (frames[0].size(), frames[0].channels());
    let planes = (0..channels).flat_map(|c| frames.iter().flat_map(move |f| f.plane(c)));
    let data = planes.copied().collect();
    let image = Image::from_planes(size.width, size.height * frames.len(), channels, data);
    Ok(image?)
}

fn unstacked(image: &Image, count: usize) -> Result<Vec<Image>> {
    let size = Size::new(image.width(), image.height() / count);
    let frame = |t: usize| image.crop(0, t * size.height, size);
    Ok((0..count).map(frame).collect())
}

/// Changes all coefficients except those that are low along all axes.
fn shift(image: &mut Image, (count, levels): (usize, usize), change: impl Fn(f32) -> f32) {
    let low = |n: usize| (0..levels).fold(n, |n, _| n.div_ceil(2));
    let (width, height) = (image.width(), image.height() / count);
    // A film that is not transformed along time has groups of one frame, which is low.
    let (lw, lh, lt) = (low(width), low(height), low(count));
    for c in 0..image.channels() {
        for (y, row) in image.plane_mut(c).chunks_exact_mut(width).enumerate() {
            let inside = y % height < lh && y / height < lt;
            let first = if inside { lw } else { 0 };
            row[first..].iter_mut().for_each(|v| *v = change(*v));
        }
    }
}

/// The name of a wavelet, or the text of a file.
fn find(name: &str) -> Result<(String, Wavelet)> {
    let path = Path::new(name);
    if path.is_file() {
        let text = std::fs::read_to_string(path).with_context(|| name.to_owned())?;
        let wavelet = Wavelet::parse(name, &text)?;
        return Ok((text, wavelet));
    }
    Ok((name.to_owned(), Wavelet::named(name).or_usage()?))
}

/// Side of the image whose passes are explained if no size is given.
const EXPLAINED: Size = Size::new(512, 512);

/// Steps and costs of a scheme, and what runs on the device.
fn explain(
    args: &Args,
    mut how: RunArgs,
    (method, wavelet): (Box<dyn Method>, Wavelet),
    direction: Direction,
) -> Result<()> {
    // Schemes are for GPUs: those that `auto` does not take because they are slow can still be explained.
    if how.device == "auto" {
        how.device = "gpu".to_owned();
    }
    let limits = plan::limits(&how)?;
    let options = how.options(method, &Given::default())?;
    let shape = Shape::color(args.size.unwrap_or(EXPLAINED), 1);
    let fit = FittedPlan::new(limits, &shape, &options).or_usage()?;
    if let (Some(lifting), DeviceLimits::Gpu(_)) = (wavelet.lifting(), limits)
        && let Some(name) = fit.schedule.choice().ok().and_then(DwtSchedule::scheme)
    {
        print_scheme(wavelet.name(), lifting, name, direction)?;
    }
    tell!("{}", fit.plan);
    plan::print_kernels(&fit.plan, limits)
}

/// Matrices and counts of a scheme.
fn print_scheme(
    wavelet: &str,
    lifting: &Lifting,
    name: SchemeName,
    direction: Direction,
) -> Result<()> {
    let scheme = Scheme::new(lifting, name, direction);
    tell!(
        "{wavelet} by {name}, per quad of samples; x^-1 is one quad to the right, y^-1 one below\n"
    );
    for (i, stage) in scheme.stages.iter().enumerate() {
        if i > 0 {
            tell!("-- barrier --");
        }
        for matrix in stage {
            tell!("{matrix}");
        }
    }
    let (l, h) = (lifting.low_scale, lifting.high_scale);
    tell!(
        "scale: LL {:.6}, HL and LH {:.6}, HH {:.6}\n",
        l * l,
        l * h,
        h * h
    );
    let compute = cost::compute(&scheme);
    tell!(
        "compute:  {} operations, {} barriers, {} reads, {} writes, {} cells (single buffer), {} (double)",
        compute.operations,
        compute.barriers,
        compute.reads,
        compute.writes,
        compute.single,
        compute.double
    );
    let passes = cost::passes(&scheme);
    tell!(
        "graphics: {} operations, {} passes, {} reads, {} writes, {} cells\n",
        passes.operations,
        passes.steps,
        passes.reads,
        passes.writes,
        passes.memory
    );
    Ok(())
}
