//! Films: frames flow through a bounded pipeline, read, processed and written at the same time.
//!
//! A film is a `.y4m` file, a y4m stream on standard input or output (`-`), or any format of the ffmpeg on the
//! path. ffmpeg decodes to the samples that the film has; what is encoded gets the samples, colours, times and streams of the
//! source.

mod codec;
mod decoder;
mod encoder;
mod ends;
mod ffmpeg;
mod fields;
mod matroska;
mod options;
mod parts;
mod pictures;
mod probe;
mod streams;

pub(crate) use options::{FilmArgs, Settings};
pub(crate) use parts::Resume;
pub(crate) use probe::{Probe, Stream};

use crate::{say, shot};
use anyhow::{Context, Result, anyhow};
use encoder::Film;
use ends::{Clock, Input, Plan, Source, Target};
use limpid::Image;
use limpid::io::y4m::{Colour, Header};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, sync_channel};

/// Frames that may wait between two stages.
const WAITING: usize = 2;

/// Extensions that are read and written by ffmpeg.
pub(crate) const FILMS: [&str; 14] = [
    "mp4", "mkv", "mov", "avi", "webm", "m4v", "mpg", "mpeg", "ts", "wmv", "mts", "m2ts", "mxf",
    "dv",
];

/// Whether a name denotes a film.
pub(crate) fn is_film(path: &Path) -> bool {
    path == Path::new("-")
        || is_y4m(path)
        || extension(path).is_some_and(|e| FILMS.contains(&e.as_str()))
}

fn extension(path: &Path) -> Option<String> {
    path.extension().map(|e| e.to_string_lossy().to_lowercase())
}

fn is_y4m(path: &Path) -> bool {
    extension(path).is_some_and(|e| e == "y4m")
}

/// Whether ffprobe can describe it.
pub(crate) fn is_by_ffmpeg(path: &Path) -> bool {
    is_film(path) && path != Path::new("-") && !is_y4m(path)
}

/// Says what is lost, beginning with the name of the film.
fn note(source: Option<&Probe>, to: &Path, notes: &[String]) {
    let name = source.map_or(to, |probe| &probe.path).display().to_string();
    let notes: Vec<String> = notes.iter().map(|n| format!("{name}: {n}")).collect();
    say::notes(&notes);
}

/// The beginning of a film, encoded for browsers, and its type.
pub(crate) fn preview(path: &Path, seconds: u32) -> Result<(&'static str, Vec<u8>)> {
    encoder::preview(path, seconds)
}

/// How a film is read and written.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// What the channels of frames mean.
    pub(crate) colour: Colour,
    /// Whether to store 16 bits without loss.
    pub(crate) exact: bool,
    /// Whether the fields of frames are processed separately.
    pub(crate) fields: bool,
}

/// What comes next in a film.
pub(crate) enum Next {
    Frame(Image),
    /// A frame whose result an earlier run has written, and on which no other result depends: none is expected for it.
    Known(Image),
    End,
}

/// Reads a film, processes its frames and writes the result. The closure gets what comes next, and returns
/// results in the same order, possibly delayed. It also gets 0, or for interlaced films 0 and 1 in turn: even and odd fields are
/// two films.
pub(crate) fn run_late(
    (from, to): (&Path, &Path),
    form: Form,
    settings: &Settings,
    mut change: impl FnMut(Next, usize) -> Result<Vec<Image>>,
) -> Result<()> {
    if !is_film(to) && !shot::is_pattern(to) {
        anyhow::bail!(
            "{}: the output for a film must be a film, .y4m, - or {}, or numbered pictures such as OUT.####.png",
            to.display(),
            FILMS.join(", ")
        );
    }
    let upright = ends::is_upright(to);
    let mut source = Source::open(from, to, settings)?;
    let named = || from.display().to_string();
    let mut input = match source.input(form).with_context(named) {
        Ok(input) => input,
        // The program that makes the stream reports the reason.
        Err(error) => return Err(source.finish().err().unwrap_or(error)),
    };
    let mut upper_first = match form.fields {
        true => source.upper_first(input.header(), settings),
        false => None,
    };
    if form.fields && upper_first.is_none() && settings.fields.is_none() {
        upper_first = fields::hidden(from, &source, &input)?;
        if let Some(upper) = upper_first {
            let first = if upper { "upper" } else { "lower" };
            let told = format!(
                "its frames consist of two fields, the {first} one first, which it does not say; they are filtered apart (--fields none: whole frames)"
            );
            say::notes(&[format!("{}: {told}", from.display())]);
        }
    }
    if let Some(probe) = source.probe.as_deref().filter(|p| p.has_alpha()) {
        log::warn!("{}: the alpha channel is not kept", probe.path.display());
    }
    if upper_first.is_some() {
        input = input
            .fields()
            .with_context(|| format!("{}: --fields none filters whole frames", from.display()))?;
    }
    let header = match form.exact {
        true => input.header().clone().widened(16),
        false => input.header().clone(),
    };
    let mut settings = settings.clone();
    settings.encoding.exact = form.exact;
    let mut tags = encoder::tags(&header, source.probe.as_deref(), upper_first);
    if let Input::Pictures(_) = input {
        tags = tags.of_pictures();
    }
    let mut times = source.times();
    let first = times
        .as_mut()
        .and_then(decoder::FrameTimes::peek)
        .unwrap_or(0);
    let begin = match &settings.frames {
        Some(_) => first,
        None => 0,
    };
    let probe = source.probe.clone();
    let mut target = Target::open(&Film {
        to,
        header: &header,
        source: probe.as_deref(),
        settings: &settings,
        part: part(&settings, begin, tags.rate),
        tags: &tags,
        first: (first - begin).max(0),
        turned: !upright,
    })?;
    let done = target.done();
    let before = settings.resume.as_ref().map_or(0, |r| r.before);
    let pipes = Pipes {
        done,
        known: done.saturating_sub(before),
        times,
        cut: source.cut(&input, &settings),
        begin,
        expected: source.expected(&input, &settings),
        input,
        plan: Plan {
            header: header.clone(),
            form,
            tags: tags.clone(),
        },
    };
    let done = pipes.flow(&mut target, &mut change).with_context(named);
    match (done, source.finish()) {
        (Ok(()), Ok(())) => target.finish(),
        // The program that takes the stream reports why it stopped.
        (Err(error), _) if say::broken_pipe(&error) && !matches!(target, Target::Output) => {
            let stopped = || anyhow!("{}: ffmpeg ended before the film", to.display());
            Err(target.finish().err().unwrap_or_else(stopped))
        }
        (Err(error), _) | (Ok(()), Err(error)) => Err(error),
    }
}

/// The part of the source that sound and subtitles are taken from.
fn part(settings: &Settings, begin: i64, rate: (u32, u32)) -> Option<(f64, Option<f64>)> {
    if let Some(frames) = &settings.frames {
        let count = f64::from(frames.end() - frames.start() + 1);
        let length = count * f64::from(rate.1) / f64::from(rate.0);
        return Some((begin as f64 * 1e-9, Some(length)));
    }
    let span = settings.time?;
    Some((span.from, span.to.map(|to| to - span.from)))
}

/// The frames of a film, in order.
pub(crate) struct Frames {
    path: PathBuf,
    source: Option<Source>,
    input: Input,
}

impl Frames {
    pub(crate) fn open(path: &Path, colour: Colour) -> Result<Self> {
        let form = Form {
            colour,
            exact: false,
            fields: false,
        };
        // Frames are upright, as in pictures.
        let mut source = Source::open(path, Path::new("-"), &Settings::default())?;
        match source
            .input(form)
            .with_context(|| path.display().to_string())
        {
            Ok(input) => Ok(Self {
                path: path.to_owned(),
                source: Some(source),
                input,
            }),
            // The program that makes the stream reports the reason.
            Err(error) => Err(source.finish().err().unwrap_or(error)),
        }
    }

    /// The next frame; `None` after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<Image>> {
        let named = || self.path.display().to_string();
        let image = self.input.next_in(None).with_context(named)?;
        if image.is_none()
            && let Some(source) = self.source.take()
        {
            source.finish()?;
        }
        Ok(image)
    }
}

/// The form of a film, and the number of its frames. All frames are read, because the header does not store their number.
pub(crate) fn look(path: &Path) -> Result<(Header, usize)> {
    let mut film = Frames::open(path, Colour::Stored)?;
    let mut frames = 0;
    while film.next()?.is_some() {
        frames += 1;
    }
    Ok((film.input.header().clone(), frames))
}

/// Three stages with bounded queues between them.
struct Pipes {
    input: Input,
    /// Frames that an earlier run has written, and those of them on which no other result depends.
    done: u64,
    known: u64,
    times: Option<decoder::FrameTimes>,
    /// Frames to leave out, and frames to take.
    cut: (u64, Option<u64>),
    /// The time of the first frame, in nanoseconds.
    begin: i64,
    expected: Option<u64>,
    plan: Plan,
}

impl Pipes {
    fn flow(
        self,
        target: &mut Target<'_>,
        change: &mut impl FnMut(Next, usize) -> Result<Vec<Image>>,
    ) -> Result<()> {
        let Self {
            mut input,
            done,
            known,
            mut times,
            cut: (skip, take),
            begin,
            expected,
            plan,
        } = self;
        let fields = if plan.tags.upper_first.is_some() {
            2
        } else {
            1
        };
        let (read, to_change) = sync_channel::<limpid::Result<Image>>(WAITING);
        let (changed, to_write) = sync_channel::<Image>(WAITING);
        // Written images lend their memory to the next that are read.
        let (written, spare) = sync_channel::<Image>(WAITING);
        let (tell, told) = channel();
        let clock = Clock {
            told: times.is_some().then_some(told),
            begin,
            rate: plan.tags.rate,
            count: 0,
            last: None,
            known: 0,
        };
        let name = target.name();
        let mut sink = plan.sink(target, clock).with_context(|| name.clone())?;
        let counter = say::frames(expected.map(|all| all.saturating_sub(done)));
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let (skip, take) = (skip * fields, take.map(|take| take * fields));
                let mut count = 0;
                while take.is_none_or(|take| count < skip + take)
                    && let Some(frame) = input.next_in(spare.try_recv().ok()).transpose()
                {
                    if let (true, Some(times)) = (count % fields == 0, &mut times) {
                        // Nobody asks for times where none are stored.
                        let _ = tell.send(times.next());
                    }
                    count += 1;
                    let last = frame.is_err();
                    let wanted = count > skip || last;
                    if (wanted && read.send(frame).is_err()) || last {
                        break;
                    }
                }
            });
            let writing = scope.spawn(move || -> Result<()> {
                for image in to_write {
                    sink.write(&image)?;
                    let _ = written.try_send(image);
                }
                sink.finish()
            });
            let mut sent = 0;
            let mut again = fields * (done - known);
            let mut send = |images: Vec<Image>| -> Result<()> {
                for image in images {
                    if again > 0 {
                        again -= 1;
                        continue;
                    }
                    let gone = |_| anyhow!("writing the film failed");
                    changed.send(image).map_err(gone)?;
                    sent += 1;
                    if sent % fields == 0 {
                        counter.next();
                    }
                }
                Ok(())
            };
            let work = || -> Result<()> {
                let mut field = 0;
                for (count, frame) in (0..).zip(to_change) {
                    let next = match count < fields * known {
                        true => Next::Known(frame?),
                        false => Next::Frame(frame?),
                    };
                    send(change(next, field)?)?;
                    field = (field + 1) % fields as usize;
                }
                let ends = (0..fields as usize).map(|field| change(Next::End, field));
                let ends: Vec<Vec<Image>> = ends.collect::<Result<_>>()?;
                send(in_turn(ends))
            };
            let result = work();
            drop(changed);
            counter.end();
            // What stopped the writer explains why a frame could not be sent.
            match writing.join() {
                Ok(Ok(())) => result,
                Ok(Err(error)) => Err(error.context(name)),
                Err(_) => Err(anyhow!("the film could not be written")),
            }
        })
    }
}

/// The first of each, the second of each, and so on.
fn in_turn(lists: Vec<Vec<Image>>) -> Vec<Image> {
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let next: Vec<Image> = lists.iter_mut().filter_map(Iterator::next).collect();
        if next.is_empty() {
            return all;
        }
        all.extend(next);
    }
}
