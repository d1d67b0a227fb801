//! HEIC and AVIF, which other programs decode: those of libheif, or ffmpeg.

use limpid::io::{self, Facts, Picture, ReadOptions};
use limpid::{Error, Result, Size};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A program that decodes files to PNG.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Decoder {
    /// By its name; it takes the names of both files.
    Libheif(&'static str),
    Ffmpeg,
}

/// In the order of preference: ffmpeg knows fewer kinds of files.
const DECODERS: [Decoder; 3] = [
    Decoder::Libheif("heif-dec"),
    Decoder::Libheif("heif-convert"),
    Decoder::Ffmpeg,
];

impl Decoder {
    fn name(self) -> &'static str {
        match self {
            Self::Libheif(name) => name,
            Self::Ffmpeg => "ffmpeg",
        }
    }

    fn is_installed(self) -> bool {
        let asked = match self {
            Self::Libheif(_) => "--version",
            Self::Ffmpeg => "-version",
        };
        let mut command = Command::new(self.name());
        let command = command.arg(asked).stdin(Stdio::null());
        // Older programs of libheif do not know the question, but they start.
        command.output().is_ok()
    }

    /// Decodes a file; returns what the program says if it fails.
    fn run(self, from: &Path, to: &Path) -> std::result::Result<(), String> {
        let mut command = Command::new(self.name());
        match self {
            Self::Libheif(_) => command.arg(from).arg(to),
            Self::Ffmpeg => command
                .args(["-hide_banner", "-nostdin", "-loglevel", "error", "-y", "-i"])
                .arg(from)
                .args(["-frames:v", "1", "-f", "image2", "-update", "1"])
                .arg(to),
        };
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty());
        Err(last.unwrap_or("it said nothing").trim().to_owned())
    }
}

/// The decoders that are installed.
fn decoders() -> &'static [Decoder] {
    static FOUND: OnceLock<Vec<Decoder>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let all = DECODERS.into_iter();
        all.filter(|decoder| decoder.is_installed()).collect()
    })
}

/// Whether a file is HEIC or AVIF by its name.
pub(crate) fn is_heif(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let extension = extension.to_ascii_lowercase();
    ["heic", "heif", "hif", "avif"].contains(&extension.as_str())
}

/// The name of the format, if it is one of these.
pub(crate) fn format_of(path: &Path) -> Option<&'static str> {
    let extension = path.extension().unwrap_or_default();
    is_heif(path).then(|| match extension.eq_ignore_ascii_case("avif") {
        true => "AVIF",
        false => "HEIC",
    })
}

/// Whether such files can be read here.
pub(crate) fn is_readable() -> bool {
    !decoders().is_empty()
}

/// Reads any file: HEIC and AVIF by one of the decoders, all others as usual.
pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Picture> {
    if !is_heif(path) {
        return io::read(path, options);
    }
    let decoded = Decoded::new(path)?;
    let mut picture = io::read(&decoded.png, options)?;
    picture.notes.push(decoded.note);
    Ok(picture)
}

/// Looks into any file, in the same way.
pub(crate) fn inspect(path: &Path, options: &ReadOptions) -> Result<Facts> {
    if !is_heif(path) {
        return io::inspect(path, options);
    }
    let decoded = Decoded::new(path)?;
    let mut facts = io::inspect(&decoded.png, options)?;
    facts.notes.push(decoded.note);
    Ok(facts)
}

/// A file as PNG, which goes away with this.
struct Decoded {
    png: PathBuf,
    note: String,
    _folder: TempDir,
}

impl Decoded {
    fn new(path: &Path) -> Result<Self> {
        let fault = |e| Error::io(path, e);
        let mut head = Vec::new();
        let file = File::open(path).map_err(fault)?;
        file.take(HEAD).read_to_end(&mut head).map_err(fault)?;
        let shown = path.display();
        if decoders().is_empty() {
            return Err(Error::unsupported(format!(
                "{shown}: HEIC and AVIF files are decoded by other programs, of which none is installed; install ffmpeg or \
                 libheif's heif-dec (on Debian and Ubuntu: apt-get install ffmpeg libheif-examples)"
            )));
        }
        let folder = tempfile::tempdir().map_err(fault)?;
        let mut failed = Vec::new();
        for decoder in decoders() {
            let to = folder.path().join("picture.png");
            if let Err(said) = decoder.run(path, &to) {
                failed.push(format!("{}: {said}", decoder.name()));
                continue;
            }
            // Of several pictures, libheif writes picture-1.png and so on.
            let first = folder.path().join("picture-1.png");
            let png = if to.exists() { to } else { first };
            let size = png_size(&png).map_err(fault)?;
            if size.pixels() < largest(&head).map_or(0, |whole| whole.pixels() / 2) {
                failed.push(format!("{}: reads only a part, {size}", decoder.name()));
                continue;
            }
            let note = format!(
                "{shown}: decoded by {}; what else the file holds, such as its EXIF data, is not kept",
                decoder.name()
            );
            return Ok(Self {
                png,
                note,
                _folder: folder,
            });
        }
        let more = match decoders() {
            [Decoder::Ffmpeg] => {
                "; libheif's heif-dec reads more kinds of files (on Debian and Ubuntu: apt-get install libheif-examples)"
            }
            _ => "",
        };
        Err(Error::input(format!(
            "{shown}: cannot be decoded: {}{more}",
            failed.join("; ")
        )))
    }
}

/// The size in the first chunk of a PNG file.
fn png_size(path: &Path) -> std::io::Result<Size> {
    let mut head = [0; 24];
    File::open(path)?.read_exact(&mut head)?;
    let side = |at: usize| {
        head[at..at + 4]
            .iter()
            .fold(0, |n, b| n << 8 | usize::from(*b))
    };
    Ok(Size::new(side(16), side(20)))
}

/// Where sizes are stated.
const HEAD: u64 = 1 << 18;

/// The size of the whole picture, of which tiles are parts: the largest that the file states.
fn largest(head: &[u8]) -> Option<Size> {
    let number = |at: usize| {
        let four = head.get(at..at + 4)?;
        usize::try_from(u32::from_be_bytes(four.try_into().ok()?)).ok()
    };
    // A box of image spatial extents: its name, version and flags, width, height.
    let boxes = head.windows(4).enumerate().filter(|(_, w)| *w == b"ispe");
    let sizes = boxes.filter_map(|(at, _)| Some(Size::new(number(at + 8)?, number(at + 12)?)));
    sizes
        .filter(|size| size.width < 1 << 20 && size.height < 1 << 20)
        .max_by_key(|size| size.pixels())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_is_larger_than_its_tiles() {
        let ispe = |width: u32, height: u32| {
            let mut bytes = b"\0\0\0\x14ispe\0\0\0\0".to_vec();
            bytes.extend(width.to_be_bytes());
            bytes.extend(height.to_be_bytes());
            bytes
        };
        let file = [ispe(512, 512), ispe(4032, 3024), ispe(320, 240)].concat();
        assert_eq!(largest(&file), Some(Size::new(4032, 3024)));
        assert_eq!(largest(b"ftypheic ispe"), None);
    }
}
