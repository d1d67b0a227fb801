//! How a method runs: device, schedule, tiles.

use crate::method_options::Given;
use crate::say::OrUsage;
use anyhow::Result;
use limpid::io::ReadOptions;
use limpid::method::{Backend, Method};
use limpid::{Device, Options};
use std::sync::OnceLock;

/// The requested number of threads.
static THREADS: OnceLock<usize> = OnceLock::new();

/// Limits the threads of everything that runs on the CPU.
pub(crate) fn set_threads(count: Option<usize>) -> Result<()> {
    let Some(count) = count else { return Ok(()) };
    if count == 0 {
        return Err(limpid::Error::option("threads", 0, "at least 1")).or_usage();
    }
    THREADS.get_or_init(|| count);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count);
    Ok(pool.build_global()?)
}

/// The requested number of threads; all cores by default.
pub(crate) fn threads() -> Option<usize> {
    THREADS.get().copied()
}

/// A number of bytes: `500M`, `8G`, `2GiB`; K, M, G and T are powers of 1024.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bytes(u64);

impl std::str::FromStr for Bytes {
    type Err = limpid::Error;

    fn from_str(text: &str) -> limpid::Result<Self> {
        let wrong = || limpid::Error::option("memory", text, "a size such as 500M or 8G");
        let end = text.find(|c: char| c.is_ascii_alphabetic());
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let factor = match unit
            .to_ascii_lowercase()
            .trim_end_matches('b')
            .trim_end_matches('i')
        {
            "" => 1u64,
            "k" => 1 << 10,
            "m" => 1 << 20,
            "g" => 1 << 30,
            "t" => 1 << 40,
            _ => return Err(wrong()),
        };
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let bytes = number * factor as f64;
        // A limit of nothing would be a mistake, and infinity no limit.
        if !(bytes >= 1.0 && bytes < u64::MAX as f64) {
            return Err(wrong());
        }
        Ok(Self(bytes as u64))
    }
}

/// The memory limit.
static MEMORY: OnceLock<Bytes> = OnceLock::new();

/// Limits the memory of everything that is read and run.
pub(crate) fn set_memory(most: Option<Bytes>) {
    if let Some(most) = most {
        MEMORY.get_or_init(|| most);
    }
}

/// Options for reading files within the memory limit.
pub(crate) fn read_options() -> ReadOptions {
    let mut options = ReadOptions::default();
    if let Some(Bytes(most)) = MEMORY.get() {
        options.limit = options.limit.min(*most);
    }
    options
}

/// How to run.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Device")]
pub(crate) struct RunArgs {
    /// auto, cpu, gpu, gpu:NAME or gpu:INDEX
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub(crate) device: String,
    /// Schedule of the method, or auto to measure all of them once; `limpid info --schedules METHOD` lists them [default: the method's choice]
    #[arg(long, value_name = "SCHEDULE")]
    pub(crate) schedule: Option<String>,
    /// Longest side of a tile, when memory is limited [default: by the limits of the device]
    #[arg(long, value_name = "PIXELS")]
    pub(crate) tile: Option<usize>,
}

impl RunArgs {
    /// Opens the device.
    pub(crate) fn open(&self) -> Result<Device> {
        open(&self.device)
    }

    /// The method with its options, ready to run.
    pub(crate) fn options(&self, mut method: Box<dyn Method>, given: &Given) -> Result<Options> {
        given.apply(method.as_mut())?;
        let mut options = Options::of(method);
        if let Some(name) = &self.schedule {
            options.schedule = name.as_str().into();
        }
        options.tile = self.tile;
        options.memory = MEMORY.get().map(|most| most.0);
        Ok(options)
    }

    /// Looks up the schedule; an unknown one is a usage error.
    pub(crate) fn look_up(&self, options: &mut Options, on: Backend) -> Result<()> {
        let method = options.method.as_ref();
        options.schedule.look_up(method, on).or_usage()
    }
}

/// Opens a device by its name; one that cannot exist is a usage error.
pub(crate) fn open(name: &str) -> Result<Device> {
    match Device::open_with(name, threads(), false) {
        Err(error @ (limpid::Error::Input(_) | limpid::Error::Unknown { .. })) => {
            Err(error).or_usage()
        }
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let bytes = |text: &str| text.parse::<Bytes>().ok().map(|b| b.0);
        assert_eq!(bytes("512"), Some(512));
        assert_eq!(bytes("1.5K"), Some(1536));
        assert_eq!(bytes("500M"), Some(500 << 20));
        assert_eq!(bytes("2GiB"), Some(2 << 30));
        for wrong in ["", "M", "-1G", "0", "inf", "nan", "8X", "1e99T"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }
}
