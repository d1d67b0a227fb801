//! ffmpeg as a child process, at either end of a pipe.

use anyhow::{Context, Result, bail};
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Starts ffmpeg, or returns an error that says how to install it.
fn start(command: &mut Command) -> Result<Child> {
    command.stderr(Stdio::piped()).spawn().map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            anyhow::anyhow!(
                "films other than .y4m need the program ffmpeg on the path, which was not found; install it \
                 (on Debian and Ubuntu: apt-get install ffmpeg), or pipe frames as y4m: … | limpid denoise - -o - | …"
            )
        } else {
            anyhow::anyhow!("ffmpeg: {error}")
        }
    })
}

fn quiet() -> Command {
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y"]);
    command
}

/// Waits for ffmpeg to exit, and reports its messages if it failed.
fn finish(child: Child, path: &Path) -> Result<()> {
    let output = child.wait_with_output().context("ffmpeg")?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said
        .lines()
        .filter(|l| !l.trim().is_empty())
        .take(3)
        .collect();
    bail!("{}: ffmpeg failed: {}", path.display(), said.join("; "))
}

/// The samples to ask for: those of the film where y4m has them, so that nothing is converted, otherwise ones that lose nothing.
fn samples(path: &Path) -> String {
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-select_streams", "v:0"]);
    command.args(["-show_entries", "stream=pix_fmt", "-of", "csv=p=0"]);
    let said = command.arg(path).stdin(Stdio::null()).output();
    let said = said.map_or_else(|_| Vec::new(), |said| said.stdout);
    let said = String::from_utf8_lossy(&said);
    let own = said.lines().next().unwrap_or("").trim_end_matches(',');
    let known = match own {
        "nv12" | "nv21" => Some("yuv420p"),
        "p010le" => Some("yuv420p10le"),
        own => {
            let form = own.replace("yuvj", "yuv");
            let form = form.strip_suffix("le").unwrap_or(&form);
            let plain = ["yuv420p", "yuv422p", "yuv444p", "gray"];
            let deep = |p: &&str| ["10", "12"].iter().any(|bits| form == format!("{p}{bits}"));
            (plain.contains(&form) || plain.iter().any(deep)).then_some(own)
        }
    };
    known.unwrap_or("yuv444p16le").to_owned()
}

/// Frames from a film.
pub(super) struct Decoder {
    child: Child,
    path: PathBuf,
}

impl Decoder {
    pub(super) fn start(path: &Path) -> Result<Self> {
        // ffmpeg's own message would not say that the file does not exist.
        std::fs::File::open(path).with_context(|| path.display().to_string())?;
        let mut command = quiet();
        command.arg("-i").arg(path);
        let form = samples(path);
        command.args(["-map", "0:v:0", "-f", "yuv4mpegpipe", "-pix_fmt", &form]);
        command.args(["-strict", "-1", "-"]);
        let child = start(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        Ok(Self {
            child,
            path: path.to_owned(),
        })
    }

    pub(super) fn stream(&mut self) -> Option<Box<dyn Read + Send>> {
        let stream = self.child.stdout.take()?;
        Some(Box::new(BufReader::with_capacity(1 << 20, stream)))
    }

    pub(super) fn finish(self) -> Result<()> {
        finish(self.child, &self.path)
    }
}

/// Frames to a film, which appears when it is complete.
pub(super) struct Encoder {
    child: Child,
    /// A folder beside the film, removed when this is dropped.
    folder: tempfile::TempDir,
    part: PathBuf,
    to: PathBuf,
}

impl Encoder {
    /// `from` provides the sound. `exact` keeps every sample.
    pub(super) fn start(to: &Path, from: &Path, exact: bool) -> Result<Self> {
        let parent = match to.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let folder = tempfile::Builder::new()
            .prefix(".limpid")
            .tempdir_in(parent);
        let folder = folder.with_context(|| to.display().to_string())?;
        let part = folder.path().join(to.file_name().unwrap_or_default());
        let mut command = quiet();
        command.args(["-f", "yuv4mpegpipe", "-i", "-"]);
        if !exact && from != Path::new("-") {
            command.arg("-i").arg(from);
            command.args(["-map", "0:v", "-map", "1:a?", "-c:a", "copy"]);
        }
        command.args(if exact {
            ["-c:v", "ffv1", "-pix_fmt", "yuv444p16le"].as_slice()
        } else {
            &["-pix_fmt", "yuv420p"]
        });
        command.arg(&part);
        let child = start(command.stdin(Stdio::piped()).stdout(Stdio::null()))?;
        Ok(Self {
            child,
            folder,
            part,
            to: to.to_owned(),
        })
    }

    pub(super) fn name(&self) -> String {
        self.to.display().to_string()
    }

    pub(super) fn stream(&mut self) -> Option<Box<dyn Write + Send>> {
        let stream = self.child.stdin.take()?;
        Some(Box::new(BufWriter::with_capacity(1 << 20, stream)))
    }

    pub(super) fn finish(self) -> Result<()> {
        finish(self.child, &self.to)?;
        std::fs::rename(&self.part, &self.to).with_context(|| self.to.display().to_string())?;
        self.folder
            .close()
            .with_context(|| self.to.display().to_string())
    }
}
