//! How a method runs: device, schedule, tiles.

use crate::knobs::Given;
use crate::say::OrUsage;
use anyhow::Result;
use limpid::method::{Backend, Method};
use limpid::{Device, Options};
use std::sync::OnceLock;

/// The number of threads that was asked for.
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

/// The number of threads that was asked for; all cores if none.
pub(crate) fn threads() -> Option<usize> {
    THREADS.get().copied()
}

/// How to run.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Device")]
pub(crate) struct How {
    /// auto, cpu, gpu, gpu:NAME or gpu:INDEX
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub(crate) device: String,
    /// Schedule of the method; `limpid info --schedules METHOD` lists them; auto measures all once [default: the method's choice]
    #[arg(long, value_name = "SCHEDULE")]
    pub(crate) schedule: Option<String>,
    /// Longest side of a tile, when memory is short [default: by the device's limits]
    #[arg(long, value_name = "PIXELS")]
    pub(crate) tile: Option<usize>,
}

impl How {
    /// Opens the device.
    pub(crate) fn open(&self) -> Result<Device> {
        match Device::open_with(&self.device, threads(), false) {
            Err(error @ (limpid::Error::Input(_) | limpid::Error::Unknown { .. })) => {
                Err(error).or_usage()
            }
            other => Ok(other?),
        }
    }

    /// The method with what was given, on the way to a run.
    pub(crate) fn options(&self, mut method: Box<dyn Method>, knobs: &Given) -> Result<Options> {
        knobs.apply(method.as_mut())?;
        let mut options = Options::of(method);
        if let Some(name) = &self.schedule {
            options.schedule = name.as_str().into();
        }
        options.tile = self.tile;
        Ok(options)
    }

    /// Looks the schedule up; an unknown one is an error of the command line.
    pub(crate) fn look_up(&self, options: &mut Options, on: Backend) -> Result<()> {
        let method = options.method.as_ref();
        options.schedule.look_up(method, on).or_usage()
    }
}
