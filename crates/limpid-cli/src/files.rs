//! From file to file.

use crate::batch::Job;
use crate::layers::Reader;
use crate::say;
use crate::video::Next;
use anyhow::{Context, Result};
use limpid::io::{self, Format, PageWriter, Pages, Picture, WriteOptions};
use limpid::{Error, Frame, Image, Layer, Sequence};
use std::path::Path;

/// Whether the colour of a file is scene-linear light, as renders have it. Float TIFF is as often a measurement as a picture.
pub(crate) fn is_light(path: &Path) -> bool {
    let light = |format: Format| matches!(format, Format::Exr | Format::Hdr | Format::Pfm);
    Format::from_path(path).is_ok_and(light)
}

/// Reads a file, runs the method, and writes the result with everything else in the file.
pub(crate) fn run(job: &Job, reader: &Reader, sequence: &mut Sequence) -> Result<()> {
    let write = WriteOptions::default();
    run_and((job, reader, &write), sequence, |_, result| Ok(result))
}

/// The same, with a step between the method and the output, which also gets the input file.
pub(crate) fn run_and(
    (job, reader, write): (&Job, &Reader, &WriteOptions),
    sequence: &mut Sequence,
    mut last: impl FnMut(&Picture, Frame) -> Result<Frame>,
) -> Result<()> {
    let name = || job.from.display().to_string();
    let picture = match reader.read(&job.from, None) {
        Ok(picture) => picture,
        Err(error) => {
            return match pages(job)? {
                Some(pages) => run_pages((job, write), pages, sequence, last),
                None => Err(error),
            };
        }
    };
    say::notes(&picture.notes);
    let watch = say::watch(&name());
    let result = sequence.run(&picture.frame, &watch).with_context(name)?;
    watch.check()?;
    let result = last(&picture, result)?;
    // Large frames: what was read is not needed beside the bytes to be written.
    drop(picture.frame);
    say::notes(&io::write(&job.to, &result, Some(&picture.origin), write)?);
    Ok(())
}

/// The pages of a file, if it has several and results can have them too.
fn pages(job: &Job) -> Result<Option<Pages>> {
    let pages = Pages::open(&job.from, &crate::run::read_options())?;
    if pages.is_some() && Format::from_path(&job.to)? != Format::Tiff {
        return Err(Error::unsupported(format!(
            "{}: the file has several pages, and {} would hold one; choose a name in .tif",
            job.from.display(),
            job.to.display()
        ))
        .into());
    }
    Ok(pages)
}

/// Writes a file of several pages again, each of which went through `each`.
pub(crate) fn over_pages(
    job: &Job,
    mut pages: Pages,
    write: &WriteOptions,
    mut each: impl FnMut(&Picture) -> Result<Frame>,
) -> Result<()> {
    let mut writer = PageWriter::default();
    let mut notes = Vec::new();
    for page in 0..pages.count() {
        let picture = pages.read(page, &crate::run::read_options())?;
        notes.extend(picture.notes.clone());
        let result = each(&picture)?;
        notes.extend(writer.push(&result, Some(&picture.origin), write)?);
    }
    // Every page may say the same.
    let mut told = std::collections::HashSet::new();
    notes.retain(|note| told.insert(note.clone()));
    say::notes(&notes);
    Ok(writer.write(&job.to)?)
}

/// The same without a method, for a file that has several pages.
pub(crate) fn copied_pages(job: &Job, write: &WriteOptions) -> Result<bool> {
    let Some(pages) = pages(job)? else {
        return Ok(false);
    };
    over_pages(job, pages, write, |picture| Ok(picture.frame.clone()))?;
    Ok(true)
}

fn run_pages(
    (job, write): (&Job, &WriteOptions),
    pages: Pages,
    sequence: &mut Sequence,
    mut last: impl FnMut(&Picture, Frame) -> Result<Frame>,
) -> Result<()> {
    let name = || job.from.display().to_string();
    let watch = say::watch(&name());
    over_pages(job, pages, write, |picture| {
        let result = sequence.run(&picture.frame, &watch).with_context(name)?;
        watch.check()?;
        last(picture, result)
    })
}

/// Runs the method on the values of a file and writes the result without any conversion between light and display values.
pub(crate) fn numbers(
    job: &Job,
    frame: &Frame,
    mut write: WriteOptions,
    sequence: &mut Sequence,
) -> Result<()> {
    let result = made(job, frame, sequence)?;
    write.transfer = Some(Format::from_path(&job.to)?.transfer());
    say::notes(&io::write(&job.to, &result, None, &write)?);
    Ok(())
}

/// Runs the method on the frame of a file.
pub(crate) fn made(job: &Job, frame: &Frame, sequence: &mut Sequence) -> Result<Frame> {
    let name = || job.from.display().to_string();
    let watch = say::watch(&name());
    let result = sequence.run(frame, &watch).with_context(name)?;
    watch.check()?;
    Ok(result)
}

/// Runs the method on an image that does not come from a file.
pub(crate) fn change(image: Image, sequence: &mut Sequence) -> Result<Image> {
    let watch = say::quiet();
    let result = sequence.run(&Frame::new(image)?, &watch)?;
    watch.check()?;
    color(result)
}

/// The colour of a frame.
fn color(mut frame: Frame) -> Result<Image> {
    let missing = || Error::input("the result has no colour");
    Ok(frame.remove(Layer::COLOR).ok_or_else(missing)?)
}

/// Runs the method on the next frame of a film, or ends it; returns the results that are complete.
pub(crate) fn push(next: Next, sequence: &mut Sequence) -> Result<Vec<Image>> {
    let watch = say::quiet();
    let made = match next {
        Next::Frame(image) => {
            let frame = Frame::new(image)?;
            let made = sequence.push(&frame, &watch)?;
            sequence.reuse(frame);
            made
        }
        Next::Known(image) => {
            let frame = Frame::new(image)?;
            sequence.skip(&frame)?;
            sequence.reuse(frame);
            Vec::new()
        }
        Next::End => sequence.finish(&watch)?,
    };
    watch.check()?;
    made.into_iter().map(color).collect()
}
