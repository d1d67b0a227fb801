//! Raw files: the noise is removed from the values of the sensor.

use crate::batch::Job;
use crate::method_options::Given;
use crate::say;
use anyhow::{Context, Result};
use limpid::io::{self, Format, Transfer, WriteOptions};
use limpid::raw::{self, SensorNoise};
use limpid::{Device, Error, Frame, Options};
use std::path::Path;

/// Whether a file is a raw file that is read.
pub(crate) fn is_raw(path: &Path) -> bool {
    is_dng(path) || io::is_raw(path)
}

/// Whether a file is DNG by its name: the only raw files that are written.
fn is_dng(path: &Path) -> bool {
    matches!(Format::from_path(path), Ok(Format::Dng))
}

/// Options that have no meaning for a sensor, and those that have one only there.
pub(crate) fn check(jobs: &[Job], options: &Given, linear: bool) -> limpid::Result<()> {
    let to_dng = |job: &Job| is_raw(&job.from) && is_dng(&job.to);
    if let Some(job) = jobs.iter().find(|job| linear && !to_dng(job)) {
        return Err(Error::input(format!(
            "{}: --linear is for raw files that become DNG files; leave it out",
            job.from.display()
        )));
    }
    let raw = jobs.iter().find(|job| is_raw(&job.from));
    let given = ["sigma", "noise"]
        .into_iter()
        .find(|name| options.has(name));
    match (raw, given) {
        (Some(job), Some(name)) => Err(Error::input(format!(
            "{}: --{name} is not for raw files, whose noise is that of the sensor; leave it out, or use --luminance, --chroma or --strength",
            job.from.display()
        ))),
        _ => Ok(()),
    }
}

/// Reads a raw file, removes its noise, and writes it: as DNG with everything else of the file, or developed. Returns the name of
/// the method and what was found.
pub(crate) fn run(
    job: &Job,
    (device, options): (&Device, &Options),
    (write, linear): (&WriteOptions, bool),
) -> Result<(&'static str, Option<String>)> {
    let name = || job.from.display().to_string();
    let mut raw = io::dng::read(&job.from, &crate::run::read_options())?;
    let note = |n: &String| format!("{}: {n}", job.from.display());
    say::notes(&raw.notes.iter().map(note).collect::<Vec<_>>());
    let watch = say::watch(&name());
    let done = raw::denoise(&mut raw, device, options, &watch).with_context(name)?;
    watch.check()?;
    if is_dng(&job.to) && linear {
        raw.write_linear(&job.to)?;
    } else if is_dng(&job.to) {
        raw.write(&job.to)?;
    } else {
        store(&Frame::new(raw.develop()?)?, job, write)?;
    }
    let found = done.noise.map(|noise| summary(&noise, done.defects));
    Ok((done.method, found))
}

/// Writes a developed picture.
fn store(frame: &Frame, job: &Job, write: &WriteOptions) -> Result<()> {
    let mut write = write.clone();
    write.transfer = Some(Transfer::Encoded);
    say::notes(&io::write(&job.to, frame, None, &write)?);
    Ok(())
}

/// The noise in words: relative to the light at white and at a tenth of it.
fn summary(noise: &SensorNoise, defects: usize) -> String {
    let percent = |v: f32| 100.0 * noise.deviation(1, v) / v;
    let mut text = format!(
        "noise {:.1} % at white, {:.1} % at a tenth of it",
        percent(1.0),
        percent(0.1)
    );
    if defects > 0 {
        text += &format!(", {defects} defective pixels replaced");
    }
    text
}
