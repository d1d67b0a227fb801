//! The fastest schedule, by measurement.
//!
//! [`ScheduleChoice::Fastest`](crate::method::ScheduleChoice) is the schedule that was fastest on this device, for this method with these options, for
//! frames of this size with these layers. It is measured once and stored in a file.

use crate::method::{Method, Schedule, schedule};
use crate::{Denoiser, Device, Error, Frame, Options, Result, Shape};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs of each schedule.
const RUNS: usize = 3;

/// Times all schedules of a method on a frame, fastest first. Schedules that the device does not support are left out.
///
/// ```
/// use limpid::{Device, Frame, Image, Options, method::Gaussian, tune};
/// let device = Device::open("cpu")?;
/// let options = Options::new(Gaussian::with(|g| g.radius = 2));
/// let times = tune::measure(&device, &Frame::new(Image::new(32, 32, 1))?, &options)?;
/// assert!(times[0].1 <= times[times.len() - 1].1);
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn measure(
    device: &Device,
    frame: &Frame,
    options: &Options,
) -> Result<Vec<(Schedule, Duration)>> {
    let mut found = Vec::new();
    let mut refused = None;
    for schedule in options.method.schedules(device.backend()) {
        let mut options = options.clone();
        options.schedule = schedule.clone().into();
        let measured = Denoiser::new(device, &frame.shape(), &options)
            .and_then(|mut denoiser| denoiser.measure(std::slice::from_ref(frame), RUNS));
        match measured {
            Ok(runs) => {
                let total =
                    |passes: &Vec<limpid_exec::PassTime>| passes.iter().map(|p| p.time).sum();
                let times: Vec<Duration> = runs.iter().map(total).collect();
                found.extend(times.into_iter().min().map(|time| (schedule, time)));
            }
            Err(error) => refused = Some(error),
        }
    }
    found.sort_by_key(|(_, time)| *time);
    match (found.is_empty(), refused) {
        (true, Some(error)) => Err(error),
        (true, None) => Err(Error::unsupported(format!(
            "{} has no schedule for {}",
            options.method.name(),
            device.name()
        ))),
        (false, _) => Ok(found),
    }
}

/// The fastest schedule, from the stored measurements or a new one. `asked` is the method before it analysed the frame, because
/// parameters that it measures in each frame do not require a new measurement.
pub(crate) fn fastest(
    device: &Device,
    frame: &Frame,
    options: &Options,
    asked: &dyn Method,
) -> Result<Schedule> {
    let method = options.method.as_ref();
    let key = key(device, &frame.shape(), method.name(), asked);
    let store = store();
    if let Some(name) = store.as_deref().and_then(|path| stored(path, &key))
        && let Ok(known) = schedule(method, device.backend(), &name)
    {
        return Ok(known);
    }
    let fastest = measure(device, frame, options)?.remove(0).0;
    if let Some(path) = store {
        // If the file cannot be written, the next run only has to measure again.
        let _ = keep(&path, &key, fastest.as_str());
    }
    Ok(fastest)
}

/// The key of a measurement.
fn key(device: &Device, shape: &Shape, method: &str, asked: &dyn Method) -> String {
    let options = asked.named_options();
    let options = options.iter().map(|k| format!("{}={}", k.name, k.value));
    let options: Vec<String> = options.collect();
    let layers = shape.layers.iter();
    let layers: Vec<String> = layers.map(|(l, n)| format!("{l}:{n}")).collect();
    let text = format!(
        "{VERSION} {} {method} {} {} {}",
        device.name(),
        shape.size,
        layers.join(","),
        options.join(" ")
    );
    text.replace(['\t', '\n'], " ")
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Maximum number of lines in the file; the newest are kept.
const MOST: usize = 500;

/// Where measurements are stored: the user's cache folder.
fn store() -> Option<PathBuf> {
    let var = |name: &str| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    let caches = var("XDG_CACHE_HOME")
        .or_else(|| var("LOCALAPPDATA"))
        .or_else(|| var("HOME").map(|storage| storage.join(".cache")))?;
    Some(caches.join("limpid").join("fastest.txt"))
}

/// The last entry for a key: `key<tab>schedule`.
fn stored(path: &Path, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let lines = text.lines().rev();
    let mut pairs = lines.filter_map(|l| l.split_once('\t'));
    pairs
        .find(|(k, _)| *k == key)
        .map(|(_, name)| name.to_owned())
}

fn keep(path: &Path, key: &str, name: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let old = std::fs::read_to_string(path).unwrap_or_default();
    let worth = |line: &&str| {
        let other = line.split_once('\t').is_some_and(|(k, _)| k != key);
        other && line.starts_with(VERSION)
    };
    let mut lines: Vec<&str> = old.lines().filter(worth).collect();
    let line = format!("{key}\t{name}");
    lines.push(&line);
    let from = lines.len().saturating_sub(MOST);
    // Replaces the file atomically.
    let part = path.with_extension(format!("{}.part", std::process::id()));
    std::fs::write(&part, lines[from..].join("\n") + "\n")?;
    std::fs::rename(&part, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_measurement_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("fastest.txt");
        assert_eq!(stored(&path, "a b"), None);
        let (a, b) = (format!("{VERSION} a b"), format!("{VERSION} c"));
        keep(&path, &a, "one").unwrap();
        keep(&path, &b, "two").unwrap();
        keep(&path, &a, "three").unwrap();
        assert_eq!(stored(&path, &a).as_deref(), Some("three"));
        assert_eq!(stored(&path, &b).as_deref(), Some("two"));
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
    }

    #[test]
    fn the_file_stays_small() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fastest.txt");
        std::fs::write(&path, "0.0.0 old\tone\n".repeat(3)).unwrap();
        for i in 0..MOST + 3 {
            keep(&path, &format!("{VERSION} {i}"), "one").unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap().lines().count(),
            MOST
        );
        assert_eq!(stored(&path, &format!("{VERSION} 2")), None);
    }

    /// Frames differ in their noise, but share the schedule.
    #[test]
    fn one_measurement_serves_all_frames_of_a_kind() {
        let device = Device::open("cpu").unwrap();
        let asked = crate::method::Atrous::default();
        let of = |scale: f32, layers: bool| {
            let image = |c: usize| crate::Image::from_fn(9, 7, c, |x, y, _| scale * (x ^ y) as f32);
            let mut frame = Frame::new(image(3)).unwrap();
            if layers {
                frame.insert(crate::Kind::Depth, image(1)).unwrap();
            }
            let seen = asked.prepared(&frame).unwrap();
            key(&device, &frame.shape(), seen.name(), &asked)
        };
        assert_eq!(of(1.0, true), of(7.0, true));
        assert_ne!(of(1.0, true), of(1.0, false));
    }
}
