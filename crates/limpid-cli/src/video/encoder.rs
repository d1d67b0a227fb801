//! Frames to a film, which appears when it is complete.

use super::codec::{self, Choice};
use super::ffmpeg::{self, Process};
use super::matroska::{Kind, Tags, h273};
use super::options::Settings;
use super::probe::{Mastering, Probe, Stream};
use super::streams::{self, Fate};
use anyhow::{Context, Result};
use limpid::io::y4m::Header;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is written.
#[derive(Clone, Copy)]
pub(super) struct Film<'a> {
    pub(super) to: &'a Path,
    /// The form of the frames.
    pub(super) header: &'a Header,
    /// Where everything but the pictures comes from.
    pub(super) source: Option<&'a Probe>,
    pub(super) settings: &'a Settings,
    /// Begin and length in seconds, where a part of the source is written.
    pub(super) part: Option<(f64, Option<f64>)>,
    pub(super) tags: &'a Tags,
    /// The time of the first frame in nanoseconds.
    pub(super) first: i64,
    /// Whether frames are turned when they are shown.
    pub(super) turned: bool,
}

/// What an ffmpeg takes and makes.
enum Work<'a> {
    /// The whole film from frames on its standard input.
    Whole,
    /// A part of the pictures, without anything else.
    Part,
    /// The whole film from the parts of this list.
    Join(&'a Path),
}

/// An ffmpeg that encodes.
pub(super) struct Encoder {
    process: Process,
    /// A folder beside the film, removed when this is dropped.
    folder: Option<tempfile::TempDir>,
    part: PathBuf,
    to: PathBuf,
    /// How frames are turned for display, where it takes another step to store that.
    turn: Option<f64>,
}

/// Whether a container stores how frames are turned.
pub(super) fn holds_rotation(to: &Path) -> bool {
    matches!(super::extension(to).as_deref(), Some("mp4" | "mov" | "m4v"))
}

/// The tags of the pictures of a film, which are read and written in this form.
pub(super) fn tags(header: &Header, probe: Option<&Probe>, upper_first: Option<bool>) -> Tags {
    let mut tags = Tags {
        full: header.full_range.then_some(true),
        aspect: header.aspect(),
        rate: header.rate().unwrap_or((25, 1)),
        upper_first,
        ..Tags::default()
    };
    let Some(video) = probe.map(Probe::video) else {
        return tags;
    };
    let number = |kind, name: &Option<String>| h273(kind, name.as_deref()?);
    tags.primaries = number(Kind::Primaries, &video.color_primaries);
    tags.transfer = number(Kind::Transfer, &video.color_transfer);
    tags.matrix = number(Kind::Matrix, &video.color_space);
    tags.full = match video.color_range.as_deref() {
        Some("pc") => Some(true),
        Some("tv") => Some(false),
        _ => tags.full,
    };
    if is_rgb(video) {
        (tags.matrix, tags.full) = (Some(1), Some(false));
    }
    tags.chroma = video.chroma_location.clone().filter(|c| c != "unspecified");
    tags.mastering = video.mastering();
    tags.light = video.light();
    tags.rate = video.rate().unwrap_or(tags.rate);
    let aspect = video.sample_aspect_ratio.as_deref();
    tags.aspect = aspect.and_then(super::probe::fraction).or(tags.aspect);
    tags
}

fn is_rgb(video: &Stream) -> bool {
    video.pix_fmt.as_deref().is_some_and(codec::is_rgb)
}

impl Encoder {
    pub(super) fn start(film: &Film<'_>) -> Result<Self> {
        Self::whole(film, &Work::Whole)
    }

    /// For a part of the pictures.
    pub(super) fn of_part(film: &Film<'_>, to: &Path) -> Result<Self> {
        let part = to.with_file_name(format!(
            "open-{}",
            to.file_name().unwrap_or_default().to_string_lossy()
        ));
        let folder = to.parent().unwrap_or(Path::new("."));
        let mut command = film.command(&Work::Part, &part, folder)?;
        // Ctrl-C is for this program, which ends the part then.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let process = Process::start(command.stdin(Stdio::piped()).stdout(Stdio::null()))?;
        Ok(Self {
            process,
            folder: None,
            part,
            to: to.to_owned(),
            turn: None,
        })
    }

    /// For the film of parts.
    pub(super) fn of_parts(film: &Film<'_>, list: &Path) -> Result<Self> {
        Self::whole(film, &Work::Join(list))
    }

    fn whole(film: &Film<'_>, work: &Work<'_>) -> Result<Self> {
        let to = film.to;
        let parent = match to.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let folder = tempfile::Builder::new()
            .prefix(".limpid")
            .tempdir_in(parent);
        let folder = folder.with_context(|| to.display().to_string())?;
        let part = folder.path().join(to.file_name().unwrap_or_default());
        let mut command = film.command(work, &part, folder.path())?;
        let input = match work {
            Work::Join(_) => Stdio::null(),
            _ => Stdio::piped(),
        };
        let process = Process::start(command.stdin(input).stdout(Stdio::null()))?;
        let turn = film.turn().filter(|_| ffmpeg::version() < (6, 0));
        Ok(Self {
            process,
            turn,
            folder: Some(folder),
            part,
            to: to.to_owned(),
        })
    }

    pub(super) fn name(&self) -> String {
        self.to.display().to_string()
    }

    pub(super) fn stream(&mut self) -> Option<Box<dyn Write + Send>> {
        let stream = self.process.stdin()?;
        Some(Box::new(BufWriter::with_capacity(1 << 20, stream)))
    }

    /// Whether it has written its last frame.
    pub(super) fn has_ended(&mut self) -> bool {
        self.process.has_ended()
    }

    pub(super) fn finish(self) -> Result<()> {
        self.process.finish(&self.to)?;
        if let Some(turn) = self.turn {
            turned(&self.part, turn)?;
        }
        let named = || self.to.display().to_string();
        std::fs::rename(&self.part, &self.to).with_context(named)?;
        match self.folder {
            Some(folder) => folder.close().with_context(named),
            None => Ok(()),
        }
    }
}

/// Stores how frames are turned, which ffmpeg before version 6 does for copies only.
fn turned(film: &Path, turn: f64) -> Result<()> {
    let name = film.file_name().unwrap_or_default();
    let copy = film.with_file_name("turned").join(name);
    std::fs::create_dir_all(film.with_file_name("turned"))?;
    let mut command = ffmpeg::command();
    command.arg("-i").arg(film);
    // Time codes and chapters are written anew.
    command.args(["-map", "0", "-map", "-0:d", "-c", "copy"]);
    command.args(["-metadata:s:v:0"]);
    command.arg(format!("rotate={turn}")).arg(&copy);
    let process = Process::start(command.stdin(Stdio::null()).stdout(Stdio::null()))?;
    process.finish(film)?;
    Ok(std::fs::rename(copy, film)?)
}

impl Film<'_> {
    /// How frames are turned for display, counter-clockwise in degrees.
    fn turn(&self) -> Option<f64> {
        let source = self.source.filter(|_| self.turned)?;
        source.video().rotation()
    }

    fn command(&self, work: &Work<'_>, part: &Path, folder: &Path) -> Result<Command> {
        let container = super::extension(self.to).unwrap_or_default();
        let video = self.source.map(Probe::video);
        let encoding = &self.settings.encoding;
        let choice = codec::choose(encoding, video, self.header, &container)?;
        let is_part = matches!(work, Work::Part);
        if !is_part {
            super::note(self.source, self.to, &choice.notes);
        }
        let mut command = ffmpeg::command();
        command.arg("-noautorotate");
        if let (Some(turn), true, false) = (self.turn(), ffmpeg::version() >= (6, 0), is_part) {
            command.args(["-display_rotation", &turn.to_string()]);
        }
        if !is_part {
            // ffmpeg moves each input to time 0.
            command.args(["-itsoffset", &format!("{:.6}", self.first as f64 * 1e-9)]);
        }
        match work {
            Work::Join(list) => command.args(["-f", "concat", "-i"]).arg(list),
            _ => command.args(["-f", "matroska", "-i", "-"]),
        };
        let mut at = 0;
        match self.source.filter(|_| !encoding.exact && !is_part) {
            Some(source) => at = self.keep(&mut command, source, (&container, folder)),
            None => {
                command.args(["-map", "0:0"]);
            }
        }
        let coder = format!("-c:{at}");
        if let Work::Join(_) = work {
            command.args([&coder, "copy"]);
            if choice.name == "libx265" && matches!(container.as_str(), "mov" | "mp4" | "m4v") {
                command.args(["-tag:v", "hvc1"]);
            }
        } else {
            command.args([coder, choice.name.clone()]);
            self.pictures(&mut command, &choice, &container);
            command.args(ffmpeg::every_frame());
            command.args(&choice.args);
        }
        command.arg(part);
        Ok(command)
    }

    /// Everything of the source but its pictures. Returns the place of the pictures in the result.
    fn keep(
        &self,
        command: &mut Command,
        source: &Probe,
        (container, folder): (&str, &Path),
    ) -> usize {
        let mut after = Vec::new();
        if let Some((begin, length)) = self.part {
            command.args(["-ss", &begin.to_string()]);
            after.extend(["-copypriorss", "0"]);
            if let Some(length) = length {
                command.args(["-t", &length.to_string()]);
            }
        }
        command.arg("-i").arg(&source.path);
        command.args(after);
        let (mut at, mut out, mut lost) = (0, 0, Vec::new());
        for (stream, fate) in (source.streams.iter()).zip(streams::fates(source, container, folder))
        {
            match fate {
                Fate::Made => continue,
                Fate::Dropped => {
                    lost.push(streams::in_words(stream));
                    continue;
                }
                Fate::Pictures => {
                    at = out;
                    command.args(["-map", "0:0"]);
                }
                Fate::Copied => {
                    command.args(["-map", &format!("1:{}", stream.index)]);
                    command.args([&format!("-c:{out}"), "copy"]);
                }
                Fate::Encoded(codec) => {
                    command.args(["-map", &format!("1:{}", stream.index)]);
                    if let Some(codec) = codec {
                        command.args([&format!("-c:{out}"), codec]);
                    }
                    if container == "mxf" {
                        command.args(streams::MXF_SOUND);
                    }
                    if stream.codec_type == "audio" {
                        command.args([&format!("-b:{out}"), "256k"]);
                    }
                }
            }
            let from = format!("1:s:{}", stream.index);
            command.args([&format!("-map_metadata:s:{out}"), &from]);
            command.args([&format!("-disposition:{out}"), &stream.dispositions()]);
            if fate == Fate::Pictures {
                // What another program counted in the source.
                let counted = ["BPS", "NUMBER_OF_FRAMES", "NUMBER_OF_BYTES", "_STATISTICS"];
                let stale = |tag: &&String| counted.iter().any(|c| tag.starts_with(c));
                for tag in stream.tags.keys().filter(stale) {
                    command.args([format!("-metadata:s:{out}"), format!("{tag}=")]);
                }
            }
            out += 1;
        }
        command.args(["-map_metadata", "1", "-map_chapters", "1"]);
        let start = source.start();
        let moved = |name: &str| ["mpegts", "mpeg"].iter().any(|m| name.starts_with(m));
        // Transport streams begin anywhere.
        if self.part.is_none()
            && start > 0.0
            && !moved(&source.format.format_name)
            && !["ts", "mpg", "mpeg"].contains(&container)
        {
            command.args(["-output_ts_offset", &start.to_string()]);
        }
        let of_apple = |tag: &String| tag.starts_with("com.");
        if matches!(container, "mov" | "mp4" | "m4v") && source.format.tags.keys().any(of_apple) {
            command.args(["-movflags", "use_metadata_tags"]);
        }
        if !lost.is_empty() {
            let note = format!(".{container} does not hold {}; not kept", lost.join(", "));
            super::note(Some(source), self.to, &[note]);
        }
        if source.video().is_dolby_vision() {
            let note = "Dolby Vision's own data is not kept; the picture below it is";
            super::note(Some(source), self.to, &[note.to_owned()]);
        }
        at
    }

    /// How the pictures are written.
    fn pictures(&self, command: &mut Command, choice: &Choice, container: &str) {
        if let Some(samples) = &choice.samples {
            if choice.is_rgb() {
                let scale = "scale=in_color_matrix=bt709:in_range=tv:flags=accurate_rnd";
                command.args(["-vf", &format!("{scale},format={samples}")]);
            }
            command.args(["-pix_fmt", samples]);
        }
        let Some(video) = self.source.map(Probe::video) else {
            return;
        };
        let rgb = is_rgb(video);
        for (option, value) in [
            ("-color_primaries", &video.color_primaries),
            ("-color_trc", &video.color_transfer),
            ("-colorspace", &video.color_space),
            ("-color_range", &video.color_range),
            ("-chroma_sample_location", &video.chroma_location),
        ] {
            let known = value.as_deref().filter(|v| {
                !["unknown", "unspecified", "reserved"].contains(v)
                    && (!rgb || !["-colorspace", "-color_range"].contains(&option))
            });
            if let Some(value) = known {
                // ffmpeg takes these curves of tapes by other names than it tells.
                let value = match (option, value) {
                    ("-color_trc", "bt470m") => "gamma22",
                    ("-color_trc", "bt470bg") => "gamma28",
                    (_, value) => value,
                };
                command.args([option, value]);
            }
        }
        let constant = [
            "mpeg1", "mpeg2", "mpeg4", "msmpeg4", "wmv", "flv", "h263", "dvvideo",
        ];
        let constant = constant.iter().any(|c| choice.name.starts_with(c));
        let ticks = video.time_base.replace('/', ":");
        // Containers of one rate.
        let constant = constant || ["avi", "mxf"].contains(&container);
        if !constant && super::probe::fraction(&ticks).is_some() {
            command.args(["-enc_time_base", &ticks]);
        }
        if self.tags.upper_first.is_some() && choice.name != "libx265" {
            command.args(["-flags:v", "+ildct+ilme"]);
        }
        if choice.name == "libx265" {
            command.args(["-x265-params", &x265(self.tags)]);
            if matches!(container, "mov" | "mp4" | "m4v") {
                command.args(["-tag:v", "hvc1"]);
            }
        }
    }
}

/// The beginning of a film in a form that browsers play, and its type.
pub(super) fn preview(path: &Path, seconds: u32) -> Result<(&'static str, Vec<u8>)> {
    std::fs::File::open(path).with_context(|| path.display().to_string())?;
    let folder = tempfile::tempdir().context("a folder for temporary files")?;
    let (kind, name, codec) = match ffmpeg::has_encoder("libx264") {
        true => ("video/mp4", "film.mp4", ["libx264", "-preset", "veryfast"]),
        false => ("video/webm", "film.webm", ["libvpx-vp9", "-cpu-used", "5"]),
    };
    let part = folder.path().join(name);
    let mut command = ffmpeg::command();
    command.args(["-t", &seconds.to_string()]);
    command.arg("-i").arg(path).args(["-map", "0:v:0", "-c:v"]);
    command.args(codec).args(["-crf", "14"]);
    // Browsers show 4:2:0 of 8 bits, of an even size.
    command.args(["-vf", "scale=ceil(iw/2)*2:ceil(ih/2)*2,format=yuv420p"]);
    command
        .args(["-g", "10", "-movflags", "faststart"])
        .arg(&part);
    let process = Process::start(command.stdin(Stdio::null()).stdout(Stdio::null()))?;
    process.finish(path)?;
    let bytes = std::fs::read(&part).with_context(|| path.display().to_string())?;
    Ok((kind, bytes))
}

/// What x265 is told about light.
fn x265(tags: &Tags) -> String {
    let mut all = "log-level=error".to_owned();
    if let Some(Mastering {
        points,
        least,
        most,
    }) = &tags.mastering
    {
        let [r, g, b, w] = points.map(|p| p.map(|v| (50_000.0 * v).round()));
        let (most, least) = ((10_000.0 * most).round(), (10_000.0 * least).round());
        all += &format!(
            ":hdr10=1:repeat-headers=1:master-display=G({},{})B({},{})R({},{})WP({},{})L({most},{least})",
            g[0], g[1], b[0], b[1], r[0], r[1], w[0], w[1]
        );
    }
    if let Some((most, average)) = tags.light {
        all += &format!(":max-cll={most},{average}");
    }
    all
}
