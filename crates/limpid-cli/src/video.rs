//! Films: frames flow through a bounded pipeline, read, processed and written at the same time.
//!
//! A film is a `.y4m` file, a y4m stream on standard input or output (`-`), or any format of the ffmpeg on the
//! path.

mod ffmpeg;

use crate::say;
use anyhow::{Context, Result, anyhow};
use limpid::Image;
use limpid::io::y4m::{Colour, Header, Reader, Writer};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

/// Frames that may wait between two stages.
const WAITING: usize = 2;

/// Extensions that are read and written by ffmpeg.
const FILMS: [&str; 10] = [
    "mp4", "mkv", "mov", "avi", "webm", "m4v", "mpg", "mpeg", "ts", "wmv",
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

/// How a film is read and written.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    /// What the channels of frames mean.
    pub(crate) colour: Colour,
    /// Whether to store 16 bits without loss.
    pub(crate) exact: bool,
}

/// Reads a film, processes its frames and writes the result. The closure gets each frame in order, then `None`, and returns
/// results in the same order, possibly delayed.
pub(crate) fn run_late(
    from: &Path,
    to: &Path,
    form: Form,
    mut change: impl FnMut(Option<Image>) -> Result<Vec<Image>>,
) -> Result<()> {
    if !is_film(to) {
        anyhow::bail!(
            "{}: the output for a film must be a film: .y4m, - or {}",
            to.display(),
            FILMS.join(", ")
        );
    }
    let mut source = Source::open(from)?;
    let reader =
        Reader::new(source.stream()?, form.colour).with_context(|| from.display().to_string());
    let reader = match reader {
        Ok(reader) => reader,
        // The program that makes the stream reports the reason.
        Err(error) => return Err(source.finish().err().unwrap_or(error)),
    };
    let header = if form.exact {
        reader.header().clone().widened(16)
    } else {
        reader.header().clone()
    };
    let mut target = Target::open(to, from, form)?;
    let done = flow(reader, header, &mut target, form, &mut change)
        .with_context(|| from.display().to_string());
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

/// The frames of a film, in order.
pub(crate) struct Frames {
    path: PathBuf,
    source: Option<Source>,
    reader: Reader<Box<dyn Read + Send>>,
}

impl Frames {
    pub(crate) fn open(path: &Path, colour: Colour) -> Result<Self> {
        let mut source = Source::open(path)?;
        let reader = Reader::new(source.stream()?, colour);
        match reader.with_context(|| path.display().to_string()) {
            Ok(reader) => Ok(Self {
                path: path.to_owned(),
                source: Some(source),
                reader,
            }),
            // The program that makes the stream reports the reason.
            Err(error) => Err(source.finish().err().unwrap_or(error)),
        }
    }

    /// The next frame; `None` after the last one.
    pub(crate) fn next(&mut self) -> Result<Option<Image>> {
        let named = || self.path.display().to_string();
        let image = self.reader.next_image().with_context(named)?;
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
    Ok((film.reader.header().clone(), frames))
}

/// Three stages with bounded queues between them.
fn flow(
    mut reader: Reader<Box<dyn Read + Send>>,
    header: Header,
    target: &mut Target,
    form: Form,
    change: &mut impl FnMut(Option<Image>) -> Result<Vec<Image>>,
) -> Result<()> {
    let (read, to_change) = sync_channel::<limpid::Result<Image>>(WAITING);
    let (changed, to_write) = sync_channel::<Image>(WAITING);
    // Written images lend their memory to the next that are read.
    let (written, spare) = sync_channel::<Image>(WAITING);
    let stream = target.stream()?;
    let name = target.name();
    let counter = say::frames();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while let Some(frame) = reader.next_in(spare.try_recv().ok()).transpose() {
                let last = frame.is_err();
                if read.send(frame).is_err() || last {
                    break;
                }
            }
        });
        let writing = scope.spawn(move || -> limpid::Result<()> {
            let mut writer = Writer::new(stream, header, form.colour)?;
            for image in to_write {
                writer.write(&image)?;
                let _ = written.try_send(image);
            }
            writer.finish().map(drop)
        });
        let send = |images: Vec<Image>| -> Result<()> {
            for image in images {
                let gone = |_| anyhow!("writing the film failed");
                changed.send(image).map_err(gone)?;
                counter.next();
            }
            Ok(())
        };
        let work = || -> Result<()> {
            for frame in to_change {
                send(change(Some(frame?))?)?;
            }
            send(change(None)?)
        };
        let result = work();
        drop(changed);
        counter.end();
        // What stopped the writer explains why a frame could not be sent.
        match writing.join() {
            Ok(Ok(())) => result,
            Ok(Err(error)) => Err(anyhow::Error::from(error).context(name)),
            Err(_) => Err(anyhow!("the film could not be written")),
        }
    })
}

/// Where frames come from.
enum Source {
    Plain(Option<Box<dyn Read + Send>>),
    Ffmpeg(ffmpeg::Decoder),
}

impl Source {
    fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Plain(Some(Box::new(
                BufReader::new(std::io::stdin()),
            ))));
        }
        if is_y4m(path) {
            let file = File::open(path).with_context(|| path.display().to_string())?;
            return Ok(Self::Plain(Some(Box::new(BufReader::new(file)))));
        }
        Ok(Self::Ffmpeg(ffmpeg::Decoder::start(path)?))
    }

    fn stream(&mut self) -> Result<Box<dyn Read + Send>> {
        let stream = match self {
            Self::Plain(stream) => stream.take(),
            Self::Ffmpeg(decoder) => decoder.stream(),
        };
        stream.context("the film was opened twice")
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Ffmpeg(decoder) => decoder.finish(),
        }
    }
}

/// Where frames go. A file appears when it is complete.
enum Target {
    Output,
    File {
        part: tempfile::NamedTempFile,
        to: PathBuf,
    },
    Ffmpeg(ffmpeg::Encoder),
}

impl Target {
    fn open(to: &Path, from: &Path, form: Form) -> Result<Self> {
        if to == Path::new("-") {
            return Ok(Self::Output);
        }
        let folder = match to.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if is_y4m(to) {
            let mut builder = tempfile::Builder::new();
            builder.prefix(".limpid-").suffix(".tmp");
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                // Like any new file: all may read and write what the user's mask leaves.
                builder.permissions(std::fs::Permissions::from_mode(0o666));
            }
            let part = (builder.tempfile_in(folder)).with_context(|| to.display().to_string())?;
            // As long as it is locked, nobody takes it for one that was left behind.
            let _ = part.as_file().try_lock();
            return Ok(Self::File {
                part,
                to: to.to_owned(),
            });
        }
        Ok(Self::Ffmpeg(ffmpeg::Encoder::start(to, from, form.exact)?))
    }

    /// What it is called in messages.
    fn name(&self) -> String {
        match self {
            Self::Output => "standard output".to_owned(),
            Self::File { to, .. } => to.display().to_string(),
            Self::Ffmpeg(encoder) => encoder.name(),
        }
    }

    fn stream(&mut self) -> Result<Box<dyn Write + Send>> {
        Ok(match self {
            Self::Output => Box::new(BufWriter::new(std::io::stdout())),
            Self::File { part, .. } => Box::new(BufWriter::new(part.reopen()?)),
            Self::Ffmpeg(encoder) => encoder.stream().context("the film was opened twice")?,
        })
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Output => Ok(()),
            Self::File { part, to } => {
                let on_disk = part.as_file().sync_all();
                on_disk.with_context(|| to.display().to_string())?;
                part.persist(&to)
                    .map_err(|e| e.error)
                    .with_context(|| to.display().to_string())?;
                Ok(())
            }
            Self::Ffmpeg(encoder) => encoder.finish(),
        }
    }
}
