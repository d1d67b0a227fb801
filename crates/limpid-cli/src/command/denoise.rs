//! `limpid denoise`: removes noise from images.

mod check;

use crate::batch::{Batch, Job};
use crate::files;
use crate::layers::{Layers, Reader};
use crate::method_options::{self, Given};
use crate::raw;
use crate::report::{self, Report};
use crate::run::RunArgs;
use crate::say::{self, OrUsage};
use crate::shot::{self, Shot};
use crate::video::{self, FilmArgs, Form, Resume};
use anyhow::Result;
use limpid::io::y4m::Colour;
use limpid::io::{Compression, Picture, Transfer, View, WriteOptions};
use limpid::method::nfor::Estimate;
use limpid::method::{Auto, METHODS, Method, Use};
use limpid::plan::Role;
use limpid::{
    Device, DeviceLimits, FittedPlan, Frame, Image, Kind, Options, Sequence, Shape, Size, Watch,
};
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
    /// Write raw files as linear DNG, with three colours for each pixel, instead of a mosaic
    #[arg(long)]
    linear: bool,
    /// First and last frame of numbered files or of a film, such as 0..9; films count from 0 [default: all]
    #[arg(long, value_name = "A..B", value_parser = shot::range)]
    frames: Option<RangeInclusive<u32>>,
    /// Keep existing results, and process only what is missing
    #[arg(long)]
    resume: bool,
    /// Report whether the estimated relative error is below this value, and how many samples would reach it (nfor)
    #[arg(long, value_name = "ERROR", allow_negative_numbers = true)]
    target: Option<f32>,
    /// Quality of JPEG output [default: that of the source, or 95]
    #[arg(long, value_name = "1…100", value_parser = clap::value_parser!(u8).range(1..=100))]
    jpeg_quality: Option<u8>,
    /// Compression of EXR output: none, rle, zips, zip, piz, htj2k, htj2k32; with loss pxr24, b44, b44a, dwaa, dwab [default: that of
    /// the source, or zip]
    #[arg(long, value_name = "NAME")]
    compression: Option<Compression>,
    /// View of scene-linear results in PNG, JPEG and WebP files: srgb; agx or filmic as in Blender; none for values as they are
    #[arg(long, value_name = "VIEW", default_value = "srgb")]
    view: View,
    /// Stops by which such results are made brighter
    #[arg(
        long,
        value_name = "STOPS",
        default_value_t = 0.0,
        allow_negative_numbers = true
    )]
    view_exposure: f32,
    #[command(flatten)]
    batch: Batch,
    #[command(flatten)]
    layers: Layers,
    #[command(flatten)]
    how: RunArgs,
    #[command(flatten)]
    film: FilmArgs,
}

pub(crate) fn run(args: &Args, given: &Given) -> Result<()> {
    if !(0.0..=1.0).contains(&args.strength) {
        return Err(limpid::Error::option("strength", args.strength, "0 … 1")).or_usage();
    }
    let mut methods = Methods::new(args, given)?;
    let reader = args.layers.reader()?;
    reader.begin(&args.inputs);
    let device = args.how.open()?;
    if args.method.is_some() {
        methods.look_up(&args.how, &device)?;
    }
    // Several films, or a film and photographs, are independent.
    let one = follows(args) || matches!(&args.inputs[..], [input] if in_time(input));
    if args.batch.jobs > 1 && one && has_history(methods.of(Input::of(&args.inputs[0]))) {
        let expected = "1, because each frame needs the previous one";
        return Err(limpid::Error::option("jobs", args.batch.jobs, expected)).or_usage();
    }
    let check = |jobs: &[Job]| {
        raw::check(jobs, given, args.linear).or_usage()?;
        check::options(args, jobs).or_usage()
    };
    let jobs = args.batch.jobs(&args.inputs, &args.output, check)?;
    let jobs = match args.resume {
        true => left(args, jobs)?,
        false => jobs,
    };
    let mut write = WriteOptions::default();
    write.quality = args.jpeg_quality;
    write.compression = args.compression;
    (write.view, write.exposure) = (args.view, args.view_exposure);
    let work = BatchWork {
        args,
        given,
        methods: &methods,
        device: &device,
        reader: &reader,
        write: &write,
    };
    args.batch
        .run(&jobs, || None, |job, last| work.run(job, last))
}

/// The jobs whose results are not there yet.
fn left(args: &Args, jobs: Vec<Job>) -> Result<Vec<Job>> {
    let all = jobs.len();
    let mut left = Vec::new();
    for job in jobs {
        let done = match shot::is_pattern(&job.from) && !video::is_film(&job.to) {
            true => shot::is_done(&job, args.frames.as_ref())?,
            false => job.to.exists(),
        };
        if !done {
            left.push(job);
        }
    }
    if left.is_empty() && !say::is_quiet() {
        let to = args.output.display();
        say::line(&format!(
            "nothing to do: all results are there already, in {to}"
        ));
    } else if left.len() < all && !say::is_quiet() {
        let kept = all - left.len();
        say::line(&format!(
            "{kept} of {all} results are there already and are kept"
        ));
    }
    Ok(left)
}

/// The kinds of input for which methods differ, unless one was named.
#[derive(Clone, Copy, PartialEq)]
struct Input {
    /// A film or a sequence.
    in_time: bool,
    /// A file of scene-linear light.
    linear: bool,
}

impl Input {
    fn of(path: &Path) -> Self {
        Self {
            in_time: in_time(path),
            linear: files::is_light(path),
        }
    }
}

/// The methods for each kind of input.
struct Methods {
    still: [Options; 2],
    in_time: [Options; 2],
}

impl Methods {
    fn new(args: &Args, given: &Given) -> Result<Self> {
        let options = |usual: Auto| -> Result<Options> {
            let mut method: Box<dyn Method> = match &args.method {
                Some(name) => method_options::method(Use::Denoise, name)?,
                None => Box::new(usual),
            };
            if let Some(target) = args.target {
                check::target(target, &args.inputs, method.as_mut()).or_usage()?;
            }
            if method.named_options().iter().any(|k| k.name == "aov")
                && !args.layers.passes().is_empty()
            {
                method.set("aov", &args.layers.passes().join(","))?;
            }
            let mut options = args.how.options(method, given)?;
            options.strength = args.strength;
            Ok(options)
        };
        Ok(Self {
            still: [
                options(Auto::default())?,
                options(Auto::default().scene_linear())?,
            ],
            in_time: [
                options(Auto::sequence())?,
                options(Auto::sequence().scene_linear())?,
            ],
        })
    }

    /// The method for a kind of input.
    fn of(&self, input: Input) -> &Options {
        match input.in_time {
            true => &self.in_time[usize::from(input.linear)],
            false => &self.still[usize::from(input.linear)],
        }
    }

    fn look_up(&mut self, how: &RunArgs, device: &Device) -> Result<()> {
        for options in self.still.iter_mut().chain(&mut self.in_time) {
            how.look_up(options, device.backend())?;
        }
        Ok(())
    }
}

/// The sequence that the last file ended with.
struct Last {
    input: Input,
    sequence: Sequence,
}

/// What every file of a batch needs.
struct BatchWork<'a> {
    args: &'a Args,
    given: &'a Given,
    methods: &'a Methods,
    device: &'a Device,
    reader: &'a Reader,
    write: &'a WriteOptions,
}

impl BatchWork<'_> {
    /// Single images share what was made for the last one; each film and each sequence begins anew.
    fn sequence<'s>(&self, input: Input, last: &'s mut Option<Last>) -> &'s mut Sequence {
        // With a named method, frames of different formats may follow each other.
        let alike = |last: &Last| self.args.method.is_some() || last.input == input;
        let kept = last
            .take()
            .filter(|last| !input.in_time && !last.input.in_time && alike(last));
        let sequence = kept.map_or_else(
            || Sequence::new(self.device, self.methods.of(input)),
            |last| last.sequence,
        );
        &mut last.insert(Last { input, sequence }).sequence
    }

    fn run(&self, job: &Job, last: &mut Option<Last>) -> Result<()> {
        let json = self.args.batch.json;
        let input = Input::of(&job.from);
        if raw::is_raw(&job.from) && !input.in_time {
            let begin = Instant::now();
            let how = (self.device, self.methods.of(input));
            let (method, found) = raw::run(job, how, (self.write, self.args.linear))?;
            return Report::of(job, (method, found), self.device, begin).tell(json);
        }
        let sequence = self.sequence(input, last);
        if !input.in_time {
            return self.still(job, sequence);
        }
        if shot::is_pattern(&job.from) && !video::is_film(&job.to) {
            let shot = Shot {
                from: &job.from,
                to: &job.to,
                frames: self.args.frames.clone(),
                reader: self.reader,
                resume: self.args.resume,
                history: has_history(self.methods.of(input)),
                around: looks_ahead(self.methods.of(input)),
                write: self.write,
                json,
            };
            return shot.run(sequence, |done, sequence| {
                let report = Report::new(&done.job, sequence, self.device, done.begin);
                report.with_layers(done.layers).tell(json)
            });
        }
        let begin = Instant::now();
        let refuses = follows(self.args) && !takes_colour_alone(self.methods.of(input));
        if let Some(name) = self.args.method.as_deref().filter(|_| refuses) {
            let message = format!(
                "{}: {name} needs normals and motion vectors, which a film does not have; use --method film, the default for films",
                job.from.display()
            );
            return Err(limpid::Error::input(message)).or_usage();
        }
        let form = Form {
            colour: Colour::Encoded,
            exact: false,
            fields: true,
        };
        let mut settings =
            (self.args.film).settings(self.args.frames.clone(), self.args.jpeg_quality);
        if self.args.resume {
            settings.resume = Some(self.resumed(job, &settings)?);
        }
        // The odd fields of an interlaced film.
        let mut odd: Option<Sequence> = None;
        video::run_late((&job.from, &job.to), form, &settings, |next, field| {
            if field == 0 {
                return files::push(next, sequence);
            }
            let new = || Sequence::new(self.device, self.methods.of(input));
            files::push(next, odd.get_or_insert_with(new))
        })?;
        Report::new(job, sequence, self.device, begin).tell(json)
    }

    /// How a film goes on where an earlier run stopped.
    fn resumed(&self, job: &Job, settings: &video::Settings) -> Result<Resume> {
        let options = self.methods.of(Input::of(&job.from));
        let Some(before) = frames_before(options) else {
            let message = format!(
                "--resume: with {}, every frame depends on all before it, so a film cannot go on in the middle; leave it out",
                options.method.name()
            );
            return Err(limpid::Error::input(message)).or_usage();
        };
        let file = std::fs::metadata(&job.from).ok();
        let file = file.map(|file| (file.len(), file.modified().ok()));
        let made_by = format!(
            "limpid {} {:?} {file:?} {options:?} {settings:?}",
            env!("CARGO_PKG_VERSION"),
            std::path::absolute(&job.from)
        );
        Ok(Resume { before, made_by })
    }

    /// One image.
    fn still(&self, job: &Job, sequence: &mut Sequence) -> Result<()> {
        let (args, begin) = (self.args, Instant::now());
        if !follows(args) {
            sequence.finish(&Watch::default())?;
        }
        let (mut found, mut layers) = (None, Vec::new());
        let from_to = (job, self.reader, self.write);
        files::run_and(from_to, sequence, |picture, mut result| {
            layers = report::layers(&picture.frame);
            if args.method.is_none() && is_developed_render(picture) {
                say::notes(&[format!(
                    "{}: rendered by Blender; from a multilayer EXR with the pass Denoising Data far more noise can be removed",
                    job.from.display()
                )]);
            }
            found = Estimate::of(&result);
            if args.target.is_some() && !self.given.has("layers") {
                Estimate::remove_layers(&mut result);
            }
            Ok(result)
        })?;
        let report = Report::new(job, sequence, self.device, begin);
        let mut report = report.with_layers(layers);
        if let (Some(target), Some(found), true) = (args.target, &found, args.batch.json) {
            report.more.insert("target".to_owned(), target.into());
            report.more.insert("error".to_owned(), found.error.into());
            let range = found.range().map(serde_json::Value::from);
            report
                .more
                .insert("error_range".to_owned(), range.to_vec().into());
        }
        report.tell(args.batch.json)?;
        if let Some(target) = args.target.filter(|_| !args.batch.json) {
            let verdict = check::verdict(target, found, sequence.method().name());
            report::line(&format!("{}: {verdict}", job.from.display()))?;
        }
        Ok(())
    }
}

/// Whether a picture was saved by Blender for display, without what guides a filter of renders.
fn is_developed_render(picture: &Picture) -> bool {
    let guided = picture
        .frame
        .get(Kind::Albedo)
        .or(picture.frame.get(Kind::Normal));
    let display = picture.origin.transfer() == Transfer::Encoded;
    display && guided.is_none() && picture.origin.text("RenderTime").is_some()
}

/// Whether images are frames of one sequence, although each is named: the method has no other use.
fn follows(args: &Args) -> bool {
    let name = args.method.as_deref();
    METHODS.iter().any(|e| e.over_time && Some(e.name) == name)
}

/// Whether the input has several frames: a film, or a sequence of files.
fn in_time(input: &Path) -> bool {
    shot::is_pattern(input) || video::is_film(input)
}

/// Whether a method works without features, as films have none.
fn takes_colour_alone(options: &Options) -> bool {
    let shape = Shape::color(Size::new(32, 32), 3);
    FittedPlan::new(DeviceLimits::Cpu, &shape, options).is_ok()
}

/// A black frame with the layers that a sequence may have.
fn with_motion() -> limpid::Result<Frame> {
    let mut frame = Frame::new(Image::new(32, 32, 3))?;
    let layers = [
        (Kind::Albedo, 3),
        (Kind::Normal, 3),
        (Kind::Depth, 1),
        (Kind::Motion, 2),
    ];
    for (kind, channels) in layers {
        frame.insert(kind, Image::new(32, 32, channels))?;
    }
    Ok(frame)
}

/// Whether a method keeps history from frame to frame.
fn has_history(options: &Options) -> bool {
    let plan =
        with_motion().and_then(|frame| FittedPlan::new(DeviceLimits::Cpu, &frame.shape(), options));
    plan.is_ok_and(|fit| fit.plan.slots().iter().any(|s| s.role == Role::History))
}

/// On how many frames before it the result of a frame of a film depends; `None` if on all.
fn frames_before(options: &Options) -> Option<u64> {
    let frame = Frame::new(Image::new(32, 32, 3)).ok()?;
    let method = options.method.prepared(&frame).ok()?;
    let mut options = options.clone();
    options.method = method;
    let plan = FittedPlan::new(DeviceLimits::Cpu, &frame.shape(), &options).ok()?;
    let remembers = plan.plan.slots().iter().any(|s| s.role == Role::History);
    match options.method.lookahead() {
        0 if remembers => None,
        // A method that waits for frames looks back as far.
        ahead => Some(ahead as u64),
    }
}

/// For how many later frames of a sequence with motion a method waits.
fn looks_ahead(options: &Options) -> usize {
    let prepared = with_motion().and_then(|frame| options.method.prepared(&frame));
    prepared.map_or(0, |method| method.lookahead())
}
