//! Both ends of the pipeline: where frames come from, and where they go.

use super::decoder::{self, Decoder, FrameTimes};
use super::encoder::{self, Encoder, Film};
use super::matroska;
use super::options::{Fields, Settings};
use super::parts::Parts;
use super::pictures::{Album, Pictures};
use super::probe::Probe;
use super::{Form, is_y4m};
use crate::shot;
use anyhow::{Context, Result};
use limpid::Image;
use limpid::io::y4m::{Header, Packer, Reader, Writer};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

/// Frames that are read one after the other.
pub(super) enum Input {
    Stream(Reader<Box<dyn Read + Send>>),
    Pictures(Pictures),
}

impl Input {
    pub(super) fn header(&self) -> &Header {
        match self {
            Self::Stream(reader) => reader.header(),
            Self::Pictures(pictures) => pictures.header(),
        }
    }

    /// The same frames as fields.
    pub(super) fn fields(self) -> limpid::Result<Self> {
        match self {
            Self::Stream(reader) => Ok(Self::Stream(reader.fields()?)),
            Self::Pictures(_) => Err(limpid::Error::unsupported("fields of pictures")),
        }
    }

    /// The next frame or field, in the memory of another one if it fits.
    pub(super) fn next_in(&mut self, memory: Option<Image>) -> limpid::Result<Option<Image>> {
        match self {
            Self::Stream(reader) => reader.next_in(memory),
            Self::Pictures(pictures) => pictures.next(),
        }
    }
}

/// Where frames come from.
pub(super) struct Source {
    pictures: Option<Pictures>,
    stream: Option<Box<dyn Read + Send>>,
    decoder: Option<Decoder>,
    pub(super) probe: Option<Box<Probe>>,
}

impl Source {
    /// The frames of a film for another one.
    pub(super) fn open(path: &Path, to: &Path, settings: &Settings) -> Result<Self> {
        let plain = |stream: Box<dyn Read + Send>| Self {
            pictures: None,
            stream: Some(stream),
            decoder: None,
            probe: None,
        };
        if shot::is_pattern(path) {
            let encoder = settings.encoding.encoder.as_deref();
            let fine = !shown_anywhere(to, encoder);
            let rate = settings.rate.unwrap_or((25, 1));
            let pictures = Pictures::open(path, settings.frames.as_ref(), rate, fine)?;
            return Ok(Self {
                pictures: Some(pictures),
                stream: None,
                decoder: None,
                probe: None,
            });
        }
        if path == Path::new("-") {
            return Ok(plain(Box::new(BufReader::new(std::io::stdin()))));
        }
        if is_y4m(path) {
            let file = File::open(path).with_context(|| path.display().to_string())?;
            return Ok(plain(Box::new(BufReader::new(file))));
        }
        let probe = Probe::of(path)?;
        let mut decoder = Decoder::start(&probe, settings, is_upright(to))?;
        Ok(Self {
            pictures: None,
            stream: decoder.stream(),
            decoder: Some(decoder),
            probe: Some(Box::new(probe)),
        })
    }

    /// Reads the header.
    pub(super) fn input(&mut self, form: Form) -> Result<Input> {
        if let Some(pictures) = self.pictures.take() {
            return Ok(Input::Pictures(pictures));
        }
        let stream = self.stream.take().context("the film was opened twice")?;
        let reader = Reader::new(stream, form.colour)?;
        let matrix = self.probe.as_deref().and_then(decoder::matrix);
        Ok(Input::Stream(match matrix {
            Some(matrix) => reader.with_matrix(matrix),
            None => reader,
        }))
    }

    /// The times of the frames, where the film has them.
    pub(super) fn times(&self) -> Option<FrameTimes> {
        self.decoder.as_ref().map(Decoder::times)
    }

    /// Whether the upper field comes first; `None` for whole frames.
    pub(super) fn upper_first(&self, header: &Header, settings: &Settings) -> Option<bool> {
        match (settings.fields, &self.probe) {
            (Some(Fields::Top), _) => Some(true),
            (Some(Fields::Bottom), _) => Some(false),
            (Some(Fields::None), _) => None,
            (None, Some(probe)) => probe.video().upper_field_first(),
            (None, None) => header.is_interlaced().then(|| header.upper_first()),
        }
    }

    /// Frames to leave out, and frames to take. A film that ffmpeg reads comes cut.
    pub(super) fn cut(&self, input: &Input, settings: &Settings) -> (u64, Option<u64>) {
        let header = input.header();
        if self.decoder.is_some() || matches!(input, Input::Pictures(_)) {
            return (0, None);
        }
        if let Some(frames) = &settings.frames {
            let (first, last) = (u64::from(*frames.start()), u64::from(*frames.end()));
            return (first, Some(last - first + 1));
        }
        let (count, seconds) = header.rate().unwrap_or((25, 1));
        let frame = |time: f64| (time * f64::from(count) / f64::from(seconds)).round() as u64;
        match settings.time {
            Some(span) => {
                let first = frame(span.from);
                (first, span.to.map(|to| frame(to).saturating_sub(first)))
            }
            None => (0, None),
        }
    }

    /// The number of frames to come, as far as it is known.
    pub(super) fn expected(&self, input: &Input, settings: &Settings) -> Option<u64> {
        if let Input::Pictures(pictures) = input {
            return Some(pictures.len());
        }
        let probe = self.probe.as_ref()?;
        let (all, _) = probe.frames()?;
        if let Some(frames) = &settings.frames {
            let last = all.min(u64::from(*frames.end()) + 1);
            return Some(last.saturating_sub(u64::from(*frames.start())));
        }
        let Some(span) = settings.time else {
            return Some(all);
        };
        let length = probe.seconds()?;
        let share = (span.to.unwrap_or(length).min(length) - span.from) / length;
        Some((all as f64 * share.max(0.0)).round() as u64)
    }

    /// Waits for the end of the program that makes the stream.
    pub(super) fn finish(self) -> Result<()> {
        self.decoder.map_or(Ok(()), Decoder::finish)
    }
}

/// Where frames go. A file appears when it is complete.
pub(super) enum Target<'a> {
    Output,
    File {
        part: tempfile::NamedTempFile,
        to: PathBuf,
    },
    Ffmpeg(Encoder),
    Parts(Box<Parts<'a>>),
    Album(Option<Album>, PathBuf),
}

impl<'a> Target<'a> {
    pub(super) fn open(film: &Film<'a>) -> Result<Self> {
        let to = film.to;
        if shot::is_pattern(to) {
            let first = film.settings.frames.as_ref().map_or(0, |f| *f.start());
            let form = (film.header.bits, film.tags.upper_first.is_some());
            let mut album = Album::new(to, first, form, film.settings.quality);
            if film.settings.resume.is_some() {
                album.keep_existing();
            }
            return Ok(Self::Album(Some(album), to.to_owned()));
        }
        if to == Path::new("-") {
            return Ok(Self::Output);
        }
        let folder = match to.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if !is_y4m(to) {
            return Ok(match &film.settings.resume {
                Some(resume) => Self::Parts(Box::new(Parts::open(film, resume)?)),
                None => Self::Ffmpeg(Encoder::start(film)?),
            });
        }
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
        Ok(Self::File {
            part,
            to: to.to_owned(),
        })
    }

    /// Frames that an earlier run has written.
    pub(super) fn done(&self) -> u64 {
        match self {
            Self::Parts(parts) => parts.done(),
            Self::Album(Some(album), _) => album.done(),
            _ => 0,
        }
    }

    /// What it is called in messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Output => "standard output".to_owned(),
            Self::File { to, .. } | Self::Album(_, to) => to.display().to_string(),
            Self::Ffmpeg(encoder) => encoder.name(),
            Self::Parts(parts) => parts.name(),
        }
    }

    fn stream(&mut self) -> Result<Box<dyn Write + Send>> {
        Ok(match self {
            Self::Output => Box::new(BufWriter::new(std::io::stdout())),
            Self::File { part, .. } => Box::new(BufWriter::new(part.reopen()?)),
            Self::Ffmpeg(encoder) => encoder.stream().context("the film was opened twice")?,
            Self::Parts(_) | Self::Album(..) => Box::new(std::io::sink()),
        })
    }

    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Output | Self::Album(..) => Ok(()),
            Self::File { part, to } => {
                let on_disk = part.as_file().sync_all();
                on_disk.with_context(|| to.display().to_string())?;
                part.persist(&to)
                    .map_err(|e| e.error)
                    .with_context(|| to.display().to_string())?;
                Ok(())
            }
            Self::Ffmpeg(encoder) => encoder.finish(),
            Self::Parts(parts) => parts.join(),
        }
    }
}

/// What writes frames.
pub(super) struct Plan {
    pub(super) header: Header,
    pub(super) form: Form,
    pub(super) tags: matroska::Tags,
}

/// Writes frames.
pub(super) enum Sink<'t, 'a> {
    Y4m(Writer<Box<dyn Write + Send>>),
    Album(Album),
    Raw {
        packer: Packer,
        to: matroska::Writer<Box<dyn Write + Send>>,
        clock: Clock,
    },
    Parts {
        packer: Packer,
        parts: &'t mut Parts<'a>,
        clock: Clock,
    },
}

/// The times of the frames.
pub(super) struct Clock {
    /// As the source has them, in nanoseconds.
    pub(super) told: Option<Receiver<Option<i64>>>,
    /// The time of the first frame of a part.
    pub(super) begin: i64,
    pub(super) rate: (u32, u32),
    pub(super) count: i128,
    pub(super) last: Option<i64>,
    /// Frames that an earlier run has written.
    pub(super) known: u64,
}

impl Clock {
    fn next(&mut self) -> i64 {
        for _ in 0..std::mem::take(&mut self.known) {
            self.tick();
        }
        self.tick()
    }

    fn tick(&mut self) -> i64 {
        let (count, seconds) = self.rate;
        let even = 1_000_000_000 * self.count * i128::from(seconds) / i128::from(count);
        self.count += 1;
        let told = self.told.as_ref().and_then(|t| t.recv().ok().flatten());
        let time = told.map_or(even as i64, |t| t - self.begin);
        // No film goes back in time.
        let time = self.last.map_or(time, |last| time.max(last + 1)).max(0);
        self.last = Some(time);
        time
    }
}

impl Plan {
    pub(super) fn sink<'t, 'a>(
        self,
        target: &'t mut Target<'a>,
        mut clock: Clock,
    ) -> Result<Sink<'t, 'a>> {
        if let Target::Album(album, _) = target {
            let album = album.take().context("the film was opened twice")?;
            return Ok(Sink::Album(album));
        }
        let Self { header, form, tags } = self;
        let fields = tags.upper_first.is_some();
        if let Target::Parts(parts) = target {
            let packer = Packer::new(header, form.colour);
            let packer = if fields { packer.fields()? } else { packer };
            clock.known = parts.done();
            return Ok(Sink::Parts {
                packer,
                parts,
                clock,
            });
        }
        let stream = target.stream()?;
        if !matches!(target, Target::Ffmpeg(_)) {
            let writer = Writer::new(stream, header, form.colour)?;
            let writer = if fields { writer.fields()? } else { writer };
            return Ok(Sink::Y4m(writer));
        }
        let code = matroska::code(&header)
            .with_context(|| format!("ffmpeg does not take frames of {} bits", header.bits))?;
        let to = matroska::Writer::new(stream, &header, code, &tags)?;
        let packer = Packer::new(header, form.colour);
        let packer = if fields { packer.fields()? } else { packer };
        Ok(Sink::Raw { packer, to, clock })
    }
}

impl Sink<'_, '_> {
    pub(super) fn write(&mut self, image: &Image) -> Result<()> {
        match self {
            Self::Y4m(writer) => writer.write(image)?,
            Self::Album(album) => album.write(image)?,
            Self::Raw { packer, to, clock } => {
                if let Some(bytes) = packer.pack(image)? {
                    to.write(clock.next(), bytes)?;
                }
            }
            Self::Parts {
                packer,
                parts,
                clock,
            } => {
                if let Some(bytes) = packer.pack(image)? {
                    parts.write(clock.next(), bytes)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Y4m(writer) => drop(writer.finish()?),
            Self::Album(_) => {}
            Self::Raw { to, .. } => to.finish()?,
            Self::Parts { parts, .. } => parts.end()?,
        }
        Ok(())
    }
}

/// Whether a film is for players, most of which show 4:2:0 only.
fn shown_anywhere(to: &Path, encoder: Option<&str>) -> bool {
    let delivery = ["x264", "x265", "h264", "hevc", "av1", "vp9", "vp8", "vpx"];
    let named = encoder.is_none_or(|name| delivery.iter().any(|d| name.contains(d)));
    named && super::is_by_ffmpeg(to)
}

/// Whether frames are turned before they are filtered: where the result cannot say that they are to be turned.
pub(super) fn is_upright(to: &Path) -> bool {
    !encoder::holds_rotation(to)
}
