//! ffmpeg and ffprobe as child processes.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};
use std::thread::JoinHandle;

/// The most that is kept of what a program says.
const SAID: usize = 64 * 1024;

/// A running ffmpeg. It is ended when this is dropped.
pub(super) struct Process {
    child: Child,
    said: Option<JoinHandle<Vec<u8>>>,
}

/// ffmpeg with the options that every call needs.
pub(super) fn command() -> Command {
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y"]);
    command
}

/// Says how to install what was not found.
fn not_started(program: &str, error: &std::io::Error) -> anyhow::Error {
    if error.kind() == ErrorKind::NotFound {
        anyhow::anyhow!(
            "films other than .y4m need the program ffmpeg on the path, and ffprobe, which comes with it; {program} was not found; \
             install it (on Debian and Ubuntu: apt-get install ffmpeg), or pipe frames as y4m: … | limpid denoise - -o - | …"
        )
    } else {
        anyhow::anyhow!("{program}: {error}")
    }
}

impl Process {
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let child = command.stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| not_started("ffmpeg", &error))?;
        // A program that nobody listens to would wait for ever.
        let said = child.stderr.take().map(|mut from| {
            std::thread::spawn(move || {
                let (mut kept, mut more) = (Vec::new(), [0; 4096]);
                while let Ok(count @ 1..) = from.read(&mut more) {
                    let room = SAID.saturating_sub(kept.len()).min(count);
                    kept.extend(&more[..room]);
                }
                kept
            })
        });
        Ok(Self { child, said })
    }

    pub(super) fn stdin(&mut self) -> Option<std::process::ChildStdin> {
        self.child.stdin.take()
    }

    pub(super) fn stdout(&mut self) -> Option<std::process::ChildStdout> {
        self.child.stdout.take()
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Waits for its end, and reports its messages if it failed.
    pub(super) fn finish(mut self, path: &Path) -> Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait().context("ffmpeg")?;
        let said = self.said.take().and_then(|s| s.join().ok());
        if status.success() {
            return Ok(());
        }
        let said = said.unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let lines = said.lines().filter(|l| !l.trim().is_empty());
        let said: Vec<&str> = lines.take(3).collect();
        bail!("{}: ffmpeg failed: {}", path.display(), said.join("; "))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail where it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks ffprobe about a file; gives JSON.
pub(super) fn probe(path: &Path, what: &[&str]) -> Result<Vec<u8>> {
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-of", "json"]).args(what);
    let output = command.arg("-i").arg(path).stdin(Stdio::null()).output();
    let output = output.map_err(|error| not_started("ffprobe", &error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().last().unwrap_or("it said nothing").to_owned();
        // The last line begins with the name of the file.
        let reason = said.rsplit(": ").next().unwrap_or_default();
        bail!("{}: ffprobe failed: {reason}", path.display());
    }
    Ok(output.stdout)
}

/// What ffmpeg prints for a question; nothing if it fails.
fn answer(question: &[&str]) -> String {
    let mut command = Command::new("ffmpeg");
    command.arg("-hide_banner").args(question);
    let output = command.stdin(Stdio::null()).output();
    let text = output.map(|output| match output.status.success() {
        true => output.stdout,
        false => Vec::new(),
    });
    String::from_utf8_lossy(&text.unwrap_or_default()).into_owned()
}

/// The installed version, such as 5.1; builds between versions count as new.
pub(super) fn version() -> (u32, u32) {
    static VERSION: OnceLock<(u32, u32)> = OnceLock::new();
    *VERSION.get_or_init(|| {
        let text = answer(&["-version"]);
        let word = text.split_whitespace().nth(2).unwrap_or_default();
        let mut numbers = word
            .trim_start_matches('n')
            .split(|c: char| !c.is_ascii_digit())
            .map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => (major, minor),
            (Some(Ok(major)), _) => (major, 0),
            _ => (u32::MAX, 0),
        }
    })
}

/// The option that writes every frame once, with the time that it has.
pub(super) fn every_frame() -> [&'static str; 2] {
    match version() < (5, 1) {
        true => ["-vsync", "passthrough"],
        false => ["-fps_mode", "passthrough"],
    }
}

/// Whether ffmpeg has this encoder for pictures. Where it does not answer, the encoder is tried.
pub(super) fn has_encoder(name: &str) -> bool {
    static ENCODERS: OnceLock<Vec<String>> = OnceLock::new();
    let all = ENCODERS.get_or_init(|| {
        let text = answer(&["-encoders"]);
        let lines = text.lines().map(str::trim_start);
        let pictures = lines.filter(|line| line.starts_with('V'));
        let name = |line: &str| line.split_whitespace().nth(1).map(str::to_owned);
        pictures.filter_map(name).collect()
    });
    all.is_empty() || all.iter().any(|known| known == name)
}

/// The pixel formats of an encoder; none if it takes any, or does not tell.
pub(super) fn formats(encoder: &str) -> Vec<String> {
    static FORMATS: Mutex<BTreeMap<String, Vec<String>>> = Mutex::new(BTreeMap::new());
    let mut known = FORMATS.lock().unwrap_or_else(|e| e.into_inner());
    let entry = known.entry(encoder.to_owned());
    let found = entry.or_insert_with(|| {
        let text = answer(&["-h", &format!("encoder={encoder}")]);
        let mut lines = text.lines();
        let list = lines.find_map(|l| l.trim().strip_prefix("Supported pixel formats:"));
        let names = list.unwrap_or_default().split_whitespace();
        names.map(str::to_owned).collect()
    });
    found.clone()
}
