//! Which options fit which files, and what became of the target.

use super::{Args, follows, in_time};
use crate::batch::Job;
use crate::{shot, video};
use limpid::io::{Format, Transfer, View};
use limpid::method::nfor::Estimate;
use limpid::method::{METHODS, Method};
use limpid::{Error, Result};
use std::path::{Path, PathBuf};

/// Refuses options that would do nothing.
pub(super) fn options(args: &Args, jobs: &[Job]) -> Result<()> {
    if let Some(job) = jobs.iter().find(|j| !in_time(&j.from))
        && args.frames.is_some()
    {
        return Err(Error::input(format!(
            "{}: --frames is for films and numbered files, such as 'shot.####.exr'; leave it out",
            job.from.display()
        )));
    }
    let is_linear = |job: &&Job| {
        let linear = |f: Format| matches!(f, Format::Exr | Format::Hdr | Format::Pfm);
        shot::is_pattern(&job.from) && Format::from_path(&job.from).is_ok_and(linear)
    };
    let to_film = |job: &&Job| video::is_film(&job.to);
    if let Some(job) = jobs.iter().filter(is_linear).find(to_film) {
        return Err(Error::input(format!(
            "{}: scene-linear frames need a view before they are a film; denoise them to numbered .exr files, and grade those",
            job.from.display()
        )));
    }
    let in_film = |j: &Job| video::is_film(&j.from) || video::is_film(&j.to);
    if let Some(job) = jobs.iter().find(|j| !in_film(j))
        && let Some(option) = args.film.given()
    {
        return Err(Error::input(format!(
            "{}: {option} is for films; leave it out",
            job.from.display()
        )));
    }
    if let Some(job) = jobs.iter().find(|j| !video::is_by_ffmpeg(&j.to))
        && let Some(option) = args.film.for_encoder()
    {
        return Err(Error::input(format!(
            "{}: {option} is for films that ffmpeg encodes; leave it out, or choose a name in .mp4, .mov or .mkv",
            job.to.display()
        )));
    }
    if args.film.rate.is_some() && !jobs.iter().any(|j| shot::is_pattern(&j.from)) {
        return Err(Error::input(
            "--rate is for numbered pictures that become a film; a film keeps its own times; leave it out",
        ));
    }
    if args.batch.json && jobs.iter().any(|j| j.to == Path::new("-")) {
        let message = "--json would stand in the film on standard output; leave it out";
        return Err(Error::input(message));
    }
    if args.resume && jobs.iter().any(|j| j.to == Path::new("-")) {
        let message = "--resume needs an output file, not standard output; leave it out";
        return Err(Error::input(message));
    }
    if args.resume && follows(args) && jobs.iter().any(|j| !in_time(&j.from)) {
        return Err(Error::input(
            "--resume needs the frames as one name, such as 'shot.####.exr', because each frame needs the previous one",
        ));
    }
    let is_jpeg = |job: &Job| matches!(Format::from_path(&job.to), Ok(Format::Jpeg));
    if args.jpeg_quality.is_some() && !jobs.iter().any(is_jpeg) {
        let to = args.output.display();
        return Err(Error::input(format!(
            "--jpeg-quality is for JPEG files, and none would be written to {to}; leave it out, or choose a name in .jpg"
        )));
    }
    let is_exr = |job: &Job| matches!(Format::from_path(&job.to), Ok(Format::Exr));
    if args.compression.is_some() && !jobs.iter().any(is_exr) {
        let to = args.output.display();
        return Err(Error::input(format!(
            "--compression is for EXR files, and none would be written to {to}; leave it out, or choose a name in .exr"
        )));
    }
    let shown = args.view != View::Srgb || args.view_exposure != 0.0;
    let to_display = |job: &Job| {
        let encoded = |f: Format| f.transfer() == Transfer::Encoded;
        Format::from_path(&job.to).is_ok_and(encoded) && !video::is_film(&job.from)
    };
    if shown && !jobs.iter().any(to_display) {
        return Err(Error::input(
            "--view and --view-exposure are for PNG, JPEG and WebP results of scene-linear files; leave them out",
        ));
    }
    if let Some(job) = jobs.iter().find(|j| video::is_film(&j.from))
        && let Some(option) = args.layers.given()
    {
        return Err(Error::input(format!(
            "{}: a film has no layers; leave out {option}",
            job.from.display()
        )));
    }
    Ok(())
}

/// Validates the target, and makes the method write the layers that the estimate needs.
pub(super) fn target(target: f32, inputs: &[PathBuf], method: &mut dyn Method) -> Result<()> {
    if !(target.is_finite() && target > 0.0) {
        return Err(Error::option("target", target, "a number above 0"));
    }
    if let Some(input) = inputs.iter().find(|i| in_time(i)) {
        let input = input.display();
        let message =
            format!("{input}: --target is for single images, not for sequences and films");
        return Err(Error::input(message));
    }
    // Other methods have an option of this name too.
    match method.name() {
        name if name == "auto" || estimates(name) => method.set("layers", "all"),
        name => Err(Error::input(no_estimate(name))),
    }
}

fn estimates(name: &str) -> bool {
    METHODS.iter().any(|e| e.name == name && e.estimates)
}

fn no_estimate(method: &str) -> String {
    let able: Vec<&str> = METHODS
        .iter()
        .filter(|e| e.estimates)
        .map(|e| e.name)
        .collect();
    format!(
        "{method} does not estimate its error; {} does",
        able.join(", ")
    )
}

/// Whether the target is reached.
pub(super) fn verdict(target: f32, found: Option<Estimate>, method: &str) -> String {
    let Some(found) = found else {
        return no_estimate(method);
    };
    let (error, [least, most]) = (found.error, found.range());
    let said = format!(
        "estimated relative error {error:.5}, for nine renders of ten between {least:.5} and {most:.5}"
    );
    let more = format!(
        "it would need about {} times as many samples",
        times(found.samples(target))
    );
    if most <= target {
        format!("{said}: below {target}")
    } else if error <= target {
        format!("{said}: probably below {target}")
    } else if least <= target {
        format!("{said}: probably above {target}; {more}")
    } else {
        format!("{said}: above {target}; {more}")
    }
}

/// A factor with one digit after the point, rounded up: more samples are never 1.0 times as many.
fn times(factor: f32) -> String {
    format!("{:.1}", (10.0 * factor).ceil() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::times;

    #[test]
    fn more_is_more() {
        assert_eq!([1.02, 2.0, 3.41].map(times), ["1.1", "2.0", "3.5"]);
    }
}
