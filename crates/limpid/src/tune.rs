//! The fastest schedule, by measurement.
//!
//! [`Pick::Fastest`](crate::method::Pick) means: what was fastest on this device, for this method with these options, at this size. It
//! is measured once; a file keeps it from run to run.

use crate::method::{Method, Schedule, schedule};
use crate::{Denoiser, Device, Error, Frame, Options, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs of each schedule.
const RUNS: usize = 3;

/// Times of all schedules of a method on a frame, fastest first. Schedules that the device refuses are left out.
///
/// ```
/// use limpid::{Device, Frame, Image, Options, method::Gaussian, tune};
/// let device = Device::open("cpu")?;
/// let options = Options::new(Gaussian { radius: 2, sigma: None });
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
            .and_then(|mut denoiser| denoiser.measure(frame, RUNS));
        match measured {
            Ok(runs) => {
                let total =
                    |passes: &Vec<crate::exec::PassTime>| passes.iter().map(|p| p.time).sum();
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

/// The fastest schedule, from the file of earlier measurements or by a new one.
pub(crate) fn fastest(device: &Device, frame: &Frame, options: &Options) -> Result<Schedule> {
    let method = options.method.as_ref();
    let key = key(device, frame, method);
    let store = store();
    if let Some(name) = store.as_deref().and_then(|path| stored(path, &key))
        && let Ok(known) = schedule(method, device.backend(), &name)
    {
        return Ok(known);
    }
    let fastest = measure(device, frame, options)?.remove(0).0;
    if let Some(path) = store {
        // A file that cannot be written costs the next run a measurement, no more.
        let _ = keep(&path, &key, fastest.as_str());
    }
    Ok(fastest)
}

/// What a measurement holds for.
fn key(device: &Device, frame: &Frame, method: &dyn Method) -> String {
    let knobs = method.knobs();
    let knobs: Vec<String> = knobs
        .iter()
        .map(|k| format!("{}={}", k.name, k.value))
        .collect();
    let version = env!("CARGO_PKG_VERSION");
    let text = format!(
        "{version} {} {} {} {}",
        device.name(),
        method.name(),
        frame.size(),
        knobs.join(" ")
    );
    text.replace(['\t', '\n'], " ")
}

/// Where measurements are kept: the user's folder for caches.
fn store() -> Option<PathBuf> {
    let var = |name: &str| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    let caches = var("XDG_CACHE_HOME")
        .or_else(|| var("LOCALAPPDATA"))
        .or_else(|| var("HOME").map(|home| home.join(".cache")))?;
    Some(caches.join("limpid").join("fastest.txt"))
}

/// The last line of a key: `key<tab>schedule`.
fn stored(path: &Path, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let lines = text.lines().rev();
    let mut pairs = lines.filter_map(|l| l.split_once('\t'));
    pairs
        .find(|(k, _)| *k == key)
        .map(|(_, name)| name.to_owned())
}

fn keep(path: &Path, key: &str, name: &str) -> std::io::Result<()> {
    use std::io::Write;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)?;
    writeln!(file, "{key}\t{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_measurement_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("fastest.txt");
        assert_eq!(stored(&path, "a b"), None);
        keep(&path, "a b", "one").unwrap();
        keep(&path, "c", "two").unwrap();
        keep(&path, "a b", "three").unwrap();
        assert_eq!(stored(&path, "a b").as_deref(), Some("three"));
        assert_eq!(stored(&path, "c").as_deref(), Some("two"));
    }
}
