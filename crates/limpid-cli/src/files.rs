//! From file to file.

use crate::say::{self, OrUsage};
use anyhow::{Context, Result};
use limpid::io::{self, ReadOptions, WriteOptions};
use limpid::{Frame, Image, Layer, Sequence};
use std::path::{Path, PathBuf};

/// Reads a file, runs the method, writes the result with all that the file had.
pub(crate) fn run(
    from: &Path,
    to: &Path,
    layers: &[String],
    sequence: &mut Sequence,
) -> Result<()> {
    let mut read = ReadOptions::default();
    for layer in layers {
        read = read.layer(layer).or_usage()?;
    }
    // A wrong extension should be told before the work, not after it.
    io::Format::from_path(to).or_usage()?;
    let picture = io::read(from, &read)?;
    for note in &picture.notes {
        log::warn!("{note}");
    }
    let watch = say::watch(&from.display().to_string());
    let result = sequence
        .run(&picture.frame, &watch)
        .with_context(|| from.display().to_string())?;
    watch.go_on()?;
    // Layers that are kept beside the result must have its size.
    let origin = (result.size() == picture.frame.size()).then_some(&picture.origin);
    for note in io::write(to, &result, origin, &WriteOptions::default())? {
        log::warn!("{}: {note}", to.display());
    }
    Ok(())
}

/// Runs the method on an image that is no file.
pub(crate) fn change(image: Image, sequence: &mut Sequence) -> Result<Image> {
    let watch = say::quiet();
    let result = sequence.run(&Frame::new(image)?, &watch)?;
    watch.go_on()?;
    Ok(result.require(Layer::COLOR)?.clone())
}

/// Where the result of each input goes: the given file, or a file of the same name in the given folder.
pub(crate) fn target(from: &Path, to: &Path, several: bool) -> Result<PathBuf> {
    if !several && !to.is_dir() {
        return Ok(to.to_owned());
    }
    if !to.is_dir() {
        let message = format!("{}: several inputs need a folder to write to", to.display());
        return Err(limpid::Error::input(message)).or_usage();
    }
    let name = from
        .file_name()
        .with_context(|| format!("{}: not a file", from.display()))?;
    Ok(to.join(name))
}
