//! How a method runs: device, schedule, tiles.

use crate::knobs::Given;
use crate::say::OrUsage;
use anyhow::Result;
use limpid::method::{Backend, Method};
use limpid::{Device, Options};

/// How to run.
#[derive(clap::Args, Clone)]
pub(crate) struct How {
    /// auto, cpu, gpu, gpu:NAME or gpu:INDEX
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub(crate) device: String,
    /// Threads of the CPU [default: all cores]
    #[arg(long, value_name = "COUNT")]
    pub(crate) threads: Option<usize>,
    /// Schedule of the method; `limpid info` lists them; auto measures them all once [default: the method's choice]
    #[arg(long, value_name = "SCHEDULE")]
    pub(crate) schedule: Option<String>,
    /// Longest side of a tile, when memory is short [default: by the device's limits]
    #[arg(long, value_name = "PIXELS")]
    pub(crate) tile: Option<usize>,
}

impl How {
    /// Opens the device.
    pub(crate) fn open(&self) -> Result<Device> {
        if self.threads == Some(0) {
            return Err(limpid::Error::option("threads", 0, "at least 1")).or_usage();
        }
        match Device::open_with(&self.device, self.threads, false) {
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
