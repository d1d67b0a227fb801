//! Frames from a film, with their times.

use super::codec::is_rgb;
use super::ffmpeg::{self, Process};
use super::options::Settings;
use super::probe::Probe;
use anyhow::{Context, Result};
use limpid::io::y4m::Matrix;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::Stdio;

/// The samples to ask for: those of the film where y4m has them, so that nothing is converted, otherwise ones that lose nothing.
pub(super) fn samples(own: &str) -> String {
    let own = own
        .strip_suffix("be")
        .map_or(own.to_owned(), |o| format!("{o}le"));
    let plain = match own.as_str() {
        "nv12" | "nv21" => "yuv420p",
        "nv16" | "uyvy422" | "yuyv422" | "yvyu422" => "yuv422p",
        "nv24" | "nv42" => "yuv444p",
        "p010le" => "yuv420p10le",
        "p012le" => "yuv420p12le",
        "p016le" => "yuv420p16le",
        "p210le" | "y210le" => "yuv422p10le",
        "p216le" => "yuv422p16le",
        "p410le" => "yuv444p10le",
        "p416le" => "yuv444p16le",
        "ya8" => "gray",
        "ya16le" => "gray16le",
        own => own,
    };
    let plain = plain.replace("yuva", "yuv");
    let form = plain.replace("yuvj", "yuv");
    let form = form.strip_suffix("le").unwrap_or(&form);
    let bases = ["yuv420p", "yuv422p", "yuv444p", "gray"];
    let deep = |base: &&str| {
        let bits = form.strip_prefix(base);
        bits.is_some_and(|b| ["", "9", "10", "12", "14", "16"].contains(&b))
    };
    // y4m has no grey of 14 bits.
    let known = (bases.iter().any(deep) && form != "gray14") || form == "yuv411p";
    if known {
        plain
    } else {
        "yuv444p16le".to_owned()
    }
}

/// The weights of the colours in luma, where a film tells.
pub(super) fn matrix(probe: &Probe) -> Option<Matrix> {
    let video = probe.video();
    if video.pix_fmt.as_deref().is_some_and(is_rgb) {
        return Some(Matrix::Bt709);
    }
    match video.color_space.as_deref()? {
        "bt709" => Some(Matrix::Bt709),
        "smpte170m" | "bt470bg" | "fcc" => Some(Matrix::Bt601),
        "bt2020nc" | "bt2020c" => Some(Matrix::Bt2020),
        _ => None,
    }
}

/// An ffmpeg that decodes.
pub(super) struct Decoder {
    process: Process,
    path: PathBuf,
    /// Holds the times; removed when this is dropped.
    folder: tempfile::TempDir,
}

/// The file of the times, in the folder.
const TIMES: &str = "times";

impl Decoder {
    /// `upright` turns frames as they are meant to be shown.
    pub(super) fn start(probe: &Probe, settings: &Settings, upright: bool) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("limpid-").tempdir();
        let folder = folder.context("a folder for temporary files")?;
        let mut command = ffmpeg::command();
        if !upright {
            command.arg("-noautorotate");
        }
        if let Some(span) = settings.time {
            command.args(["-ss", &span.from.to_string()]);
            if let Some(to) = span.to {
                command.args(["-t", &(to - span.from).to_string()]);
            }
        }
        let path = std::path::absolute(&probe.path).unwrap_or_else(|_| probe.path.clone());
        command.arg("-i").arg(&path);
        let video = probe.video();
        command.args(["-map", &format!("0:{}", video.index)]);
        let own = video.pix_fmt.as_deref().unwrap_or_default();
        let form = samples(own);
        let mut filters = Vec::new();
        if let Some(frames) = &settings.frames {
            let (first, after) = (frames.start(), u64::from(*frames.end()) + 1);
            filters.push(format!("trim=start_frame={first}:end_frame={after}"));
        }
        // Times go to a file of their own, because y4m has none.
        filters.push("settb=1/1000000000".to_owned());
        filters.push("metadata=add:key=limpid:value=1".to_owned());
        filters.push(format!("metadata=print:file={TIMES}:direct=1"));
        if is_rgb(own) {
            filters.push("scale=out_color_matrix=bt709:out_range=tv:flags=accurate_rnd".to_owned());
        }
        command.args(["-vf", &filters.join(",")]);
        command.args(ffmpeg::every_frame());
        command.args([
            "-f",
            "yuv4mpegpipe",
            "-pix_fmt",
            &form,
            "-strict",
            "-1",
            "-",
        ]);
        command.current_dir(folder.path());
        let process = Process::start(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        Ok(Self {
            process,
            path: probe.path.clone(),
            folder,
        })
    }

    pub(super) fn stream(&mut self) -> Option<Box<dyn Read + Send>> {
        let stream = self.process.stdout()?;
        Some(Box::new(BufReader::with_capacity(1 << 20, stream)))
    }

    /// The times of the frames that have come through.
    pub(super) fn times(&self) -> FrameTimes {
        FrameTimes {
            path: self.folder.path().join(TIMES),
            file: None,
            next: None,
        }
    }

    pub(super) fn finish(self) -> Result<()> {
        self.process.finish(&self.path)
    }
}

/// Times of frames in nanoseconds, in the order of the frames. A time is there as soon as its frame is.
pub(super) struct FrameTimes {
    path: PathBuf,
    file: Option<BufReader<File>>,
    next: Option<i64>,
}

impl FrameTimes {
    /// The time of the next frame; `None` if the film does not tell.
    pub(super) fn next(&mut self) -> Option<i64> {
        self.next.take().or_else(|| self.read())
    }

    /// The same, without going on.
    pub(super) fn peek(&mut self) -> Option<i64> {
        if self.next.is_none() {
            self.next = self.read();
        }
        self.next
    }

    fn read(&mut self) -> Option<i64> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok().map(BufReader::new);
        }
        let file = self.file.as_mut()?;
        let mut line = String::new();
        while file.read_line(&mut line).ok()? > 0 {
            if line.starts_with("frame:") {
                let mut words = line.split_whitespace();
                return words.find_map(|w| w.strip_prefix("pts:"))?.parse().ok();
            }
            line.clear();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn films_are_asked_for_the_samples_they_have() {
        for (has, asked) in [
            ("yuv420p", "yuv420p"),
            ("yuvj422p", "yuvj422p"),
            ("yuv420p10le", "yuv420p10le"),
            ("yuv422p12be", "yuv422p12le"),
            ("yuva444p10le", "yuv444p10le"),
            ("gray", "gray"),
            ("gray14le", "yuv444p16le"),
            ("nv12", "yuv420p"),
            ("p010le", "yuv420p10le"),
            ("uyvy422", "yuv422p"),
            ("yuv411p", "yuv411p"),
            ("gbrp", "yuv444p16le"),
            ("", "yuv444p16le"),
        ] {
            assert_eq!(samples(has), asked, "{has}");
        }
    }
}
