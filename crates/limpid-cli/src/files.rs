//! From file to file.

use crate::say::{self, OrUsage};
use anyhow::{Context, Result};
use limpid::io::{self, Bits, Format, Picture, ReadOptions, WriteOptions};
use limpid::{Frame, Image, Layer, Sequence};
use std::path::{Path, PathBuf};

/// Reads a file, runs the method, writes the result with all that the file had.
pub(crate) fn run(
    from: &Path,
    to: &Path,
    layers: &[String],
    sequence: &mut Sequence,
) -> Result<()> {
    let write = WriteOptions::default();
    run_and((from, to, &write), layers, sequence, |_, result| Ok(result))
}

/// The same, with something done to the result before it is written; that sees the file that was read.
pub(crate) fn run_and(
    (from, to, write): (&Path, &Path, &WriteOptions),
    layers: &[String],
    sequence: &mut Sequence,
    last: impl FnOnce(&Picture, Frame) -> Result<Frame>,
) -> Result<()> {
    let mut read = ReadOptions::default();
    for layer in layers {
        read = read.layer(layer).or_usage()?;
    }
    // A wrong extension should be told before the work, not after it.
    Format::from_path(to).or_usage()?;
    let picture = io::read(from, &read)?;
    for note in &picture.notes {
        log::warn!("{note}");
    }
    let watch = say::watch(&from.display().to_string());
    let result = sequence
        .run(&picture.frame, &watch)
        .with_context(|| from.display().to_string())?;
    watch.go_on()?;
    let result = last(&picture, result)?;
    // Large frames: what was read is not needed beside the bytes to be written.
    drop(picture.frame);
    for note in io::write(to, &result, Some(&picture.origin), write)? {
        log::warn!("{}: {note}", to.display());
    }
    Ok(())
}

/// Reads a file, runs the method on its numbers and writes the result as it is: no curve between light and display values.
pub(crate) fn numbers(
    from: &Path,
    to: &Path,
    bits: Option<Bits>,
    sequence: &mut Sequence,
) -> Result<()> {
    let format = Format::from_path(to).or_usage()?;
    let picture = io::read(from, &ReadOptions::default())?;
    let watch = say::watch(&from.display().to_string());
    let result = sequence
        .run(&picture.frame, &watch)
        .with_context(|| from.display().to_string())?;
    watch.go_on()?;
    let mut options = WriteOptions::default();
    options.transfer = Some(format.transfer());
    options.bits = bits;
    for note in io::write(to, &result, None, &options)? {
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

/// Runs the method on the next frame of a film, or ends it: the results that are there.
pub(crate) fn push(image: Option<Image>, sequence: &mut Sequence) -> Result<Vec<Image>> {
    let watch = say::quiet();
    let made = match image {
        Some(image) => sequence.push(&Frame::new(image)?, &watch)?,
        None => sequence.finish(&watch)?,
    };
    watch.go_on()?;
    let color = |frame: Frame| Ok(frame.require(Layer::COLOR)?.clone());
    made.into_iter().map(color).collect()
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
