//! `limpid bench`: schedules side by side on this machine, relative to a copy.

mod accuracy;
mod dwt;
mod filters;
mod plot;
mod table;

use crate::batch;
use crate::command::plan::shape;
use crate::method_options::Given;
use crate::run::RunArgs;
use crate::say::{self, OrUsage, tell};
use crate::video;
use anyhow::Result;
use limpid::exec::PassTime;
use limpid::io::y4m::Colour;
use limpid::method::ScheduleChoice;
use limpid::plan::Role;
use limpid::{Denoiser, Device, Frame, Image, Kind, Layer, Options, Part, Shape, Size};
use limpid_lab::entry;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Measure schedules side by side, relative to a copy
///
/// Measures how fast memory can be copied, then each schedule: the median of several runs. The column `/copy` is the time of the
/// schedule divided by the time of a copy of its inputs to its outputs: 1 is as fast as memory allows.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Method, such as atrous or filter:gaussian; `filters` measures all window filters, `dwt` forward and inverse wavelet transforms
    method: String,
    /// Size of the frame [default: 3840x2160; for filters 1920x1080 and 3840x2160; for dwt 4096x4096 or, on a GPU, 8192x8192]
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,
    /// Layers of the frame, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "LAYERS")]
    layers: Vec<Layer>,
    /// Measure on a file instead of noise: the time of iterative methods depends on the image. For a film, on its first frames
    #[arg(long, value_name = "FILE", conflicts_with_all = ["size", "layers", "grey"])]
    file: Option<PathBuf>,
    /// Measure a grey image without other layers
    #[arg(long, conflicts_with = "layers")]
    grey: bool,
    /// Runs of each schedule
    #[arg(long, default_value_t = 9, value_name = "COUNT")]
    runs: usize,
    /// Also show the time of each pass
    #[arg(long)]
    passes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write a plot
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// For filters: measure the accuracy of shared sums on 8-bit textures instead of the time
    #[arg(long)]
    accuracy: bool,
    /// The image for --accuracy [default: a test card]
    #[arg(long, value_name = "FILE", requires = "accuracy")]
    image: Option<PathBuf>,
    #[command(flatten)]
    how: RunArgs,
}

/// A measurement of one device.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) device: String,
    pub(crate) method: String,
    /// The layers of the frame.
    pub(crate) layers: String,
    pub(crate) copy_gbps: f64,
    pub(crate) rows: Vec<Row>,
}

/// One schedule.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) schedule: String,
    pub(crate) size: String,
    pub(crate) median_ms: f64,
    /// Half the distance between the quartiles, as a share of the median.
    pub(crate) spread: f64,
    pub(crate) ns_per_pixel: f64,
    /// Bytes of inputs and outputs over the time.
    pub(crate) gbps: f64,
    /// Time over the time of a copy of the same bytes.
    pub(crate) ratio_to_copy: f64,
    pub(crate) passes: Vec<Pass>,
}

/// One pass of a schedule.
#[derive(Serialize)]
pub(crate) struct Pass {
    pub(crate) name: String,
    pub(crate) ms: f64,
}

pub(crate) fn run(args: &Args, given: &Given) -> Result<()> {
    if let Some(svg) = &args.svg {
        batch::can_create(svg)?;
    }
    match (args.method.as_str(), args.accuracy) {
        ("filters", false) => return filters::run(args),
        ("filters", true) => return accuracy::run(args),
        ("dwt", false) => return dwt::run(args),
        (_, true) => {
            return Err(limpid::Error::input(
                "--accuracy is for: limpid bench filters",
            ))
            .or_usage();
        }
        (_, false) => {}
    }
    let entry = entry(&args.method).or_usage()?;
    let mut options = args.how.options((entry.make)(), given)?;
    let read = crate::run::read_options();
    let given = match &args.file {
        Some(path) if video::is_film(path) => Some(film(path)?),
        Some(path) => {
            let frame = limpid::io::read(path, &read)?.frame;
            Some(vec![frame.mend()?.frame.into_owned()])
        }
        None => None,
    };
    let size = args.size.unwrap_or(Size::new(3840, 2160));
    // Methods that look at other frames need several, in which things move.
    let ahead = options.method.lookahead();
    let given = given.or_else(|| (ahead > 0).then(|| moving(size, args.grey)));
    if let Some([first, ..]) = given.as_deref() {
        options.method = options.method.prepared(first)?;
    }
    // Results may wait for later frames, as in files.
    if given.is_none() || ahead > 0 {
        options.method.set_lookahead(usize::MAX, 0);
    }
    let device = args.how.open()?;
    args.how.look_up(&mut options, device.backend())?;
    let shape = match (given.as_deref(), args.grey) {
        (Some([first, ..]), _) => first.shape(),
        (_, true) => Shape::color(size, 1),
        (_, false) => shape(size, &args.layers, entry),
    };
    let size = shape.size;
    let mut report = Report {
        device: device.name(),
        method: args.method.clone(),
        layers: layers(&shape),
        copy_gbps: copy_gbps(&device, size, args.runs)?,
        rows: Vec::new(),
    };
    let schedules = match &options.schedule {
        ScheduleChoice::Explicit(schedule) => vec![schedule.clone()],
        _ => options.method.schedules(device.backend()),
    };
    for schedule in schedules {
        let mut options = options.clone();
        options.schedule = schedule.clone().into();
        let subject = (&shape, given.as_deref());
        match measure(&device, subject, &options, args.runs, report.copy_gbps) {
            Ok(row) => report.rows.push(row),
            Err(error) => say::line(&format!("limpid: {schedule}: {error:#}")),
        }
    }
    if args.json {
        tell!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        table::print(&report, args.passes)?;
    }
    if let Some(path) = &args.svg {
        plot::write(&report, path)?;
    }
    Ok(())
}

/// The names of a frame's layers.
fn layers(shape: &Shape) -> String {
    let names: Vec<String> = shape.layers.keys().map(ToString::to_string).collect();
    names.join(", ")
}

/// Speed of a copy of an RGB image of this size, bytes read and written.
fn copy_gbps(device: &Device, size: Size, runs: usize) -> Result<f64> {
    let bytes = 12 * size.pixels();
    let time = device.copy_time(bytes, runs)?;
    Ok(2.0 * bytes as f64 / time.as_secs_f64() / 1e9)
}

fn measure(
    device: &Device,
    (shape, given): (&Shape, Option<&[Frame]>),
    options: &Options,
    runs: usize,
    copy_gbps: f64,
) -> Result<Row> {
    let mut denoiser = Denoiser::new(device, shape, options)?;
    let own;
    let frames = match given {
        Some(frames) => frames,
        None => {
            own = [noise(denoiser.plan().size(), shape, &denoiser)?];
            &own[..]
        }
    };
    let runs = denoiser.measure(frames, runs.max(1))?;
    let sum = |times: &Vec<PassTime>| times.iter().map(|p| p.time).sum::<Duration>().as_secs_f64();
    let mut totals: Vec<f64> = runs.iter().map(sum).collect();
    totals.sort_by(f64::total_cmp);
    let quantile = |q: f64| totals[((totals.len() - 1) as f64 * q).round() as usize];
    let median = quantile(0.5);
    let plan = denoiser.plan();
    let outside = plan
        .slots()
        .iter()
        .filter(|s| matches!(s.role, Role::Input(_) | Role::Output(_)));
    let bytes: usize = outside.map(limpid::plan::Slot::bytes).sum();
    let gbps = bytes as f64 / median / 1e9;
    let pass = |i: usize| {
        let mut ms: Vec<f64> = runs.iter().map(|r| 1e3 * r[i].time.as_secs_f64()).collect();
        ms.sort_by(f64::total_cmp);
        Pass {
            name: runs[0][i].name.clone(),
            ms: ms[ms.len() / 2],
        }
    };
    Ok(Row {
        schedule: denoiser.schedule().to_string(),
        size: plan.size().to_string(),
        median_ms: 1e3 * median,
        spread: (quantile(0.75) - quantile(0.25)) / 2.0 / median,
        ns_per_pixel: 1e9 * median / plan.size().pixels() as f64,
        gbps,
        ratio_to_copy: copy_gbps / gbps,
        passes: (0..runs[0].len()).map(pass).collect(),
    })
}

/// Noisy light, pixel by pixel.
fn light(state: &mut u32) -> f32 {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    0.1 + (*state >> 8) as f32 / (1 << 24) as f32
}

/// A frame with the layers that the plan reads: noisy light on static surfaces, eight pixels to a texel.
fn noise(size: Size, shape: &Shape, denoiser: &Denoiser) -> Result<Frame> {
    let mut frame = Frame::empty(size)?;
    let mut state = 1u32;
    for slot in denoiser.plan().slots() {
        if let Role::Input(layer) = &slot.role
            && shape.has(layer.clone())
        {
            let image = Image::from_fn(size.width, size.height, slot.planes, |x, y, c| {
                let surface = (x / 200 + y / 120) % 3;
                match (&layer.kind, layer.part) {
                    (Kind::Motion, Part::Mean) => 0.0,
                    (Kind::Id, Part::Mean) => surface as f32,
                    (Kind::Normal, Part::Mean) => f32::from(u8::from(c == surface)),
                    (Kind::Depth, Part::Mean) => 3.0 + surface as f32 + 0.001 * x as f32,
                    (Kind::Albedo, Part::Mean) => 0.2 + 0.1 * ((x / 8 + y / 8) % 7) as f32,
                    _ => light(&mut state),
                }
            });
            frame.insert(layer.clone(), image)?;
        }
    }
    Ok(frame)
}

/// Frames of a film that are measured in turn.
const FRAMES: usize = 12;

/// The first frames of a film.
fn film(path: &Path) -> Result<Vec<Frame>> {
    let mut film = video::Frames::open(path, Colour::Encoded)?;
    let mut frames = Vec::new();
    while frames.len() < FRAMES
        && let Some(image) = film.next()?
    {
        frames.push(Frame::new(image)?);
    }
    if frames.is_empty() {
        anyhow::bail!("{}: the film has no frames", path.display());
    }
    Ok(frames)
}

/// Frames of a moving picture, each with its own noise.
fn moving(size: Size, grey: bool) -> Vec<Frame> {
    let mut state = 1u32;
    let mut random = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    let channels = if grey { 1 } else { 3 };
    let mut frame = |n: usize| {
        let (right, down) = (2.5 * n as f32, 1.5 * n as f32);
        let image = Image::from_fn(size.width, size.height, channels, |x, y, c| {
            let (u, v) = (x as f32 + right, y as f32 + down);
            let waves = (0.31 * u).sin() * (0.17 * v).cos() + (0.013 * u + 0.029 * v).sin();
            let colour = 0.4 + 0.05 * c as f32;
            colour + 0.1 * waves + 0.06 * (random() + random() + random())
        });
        Frame::new(image)
    };
    (0..FRAMES).filter_map(|n| frame(n).ok()).collect()
}
