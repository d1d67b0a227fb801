//! Devices by name.

use crate::cpu::{Cpu, CpuRunner};
#[cfg(feature = "gpu")]
use crate::gpu::{Adapter, Gpu, GpuRunner};
use crate::{DeviceLimits, Runner};
use limpid_core::{DeviceFault, Error, Result};
use limpid_plan::{Backend, Plan};

/// A device that runs plans: the CPU or a GPU.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub use limpid_exec::*; pub mod exec { pub use limpid_exec::*; } }
/// use limpid::Device;
/// let device = Device::open("cpu")?;
/// assert_eq!(device.backend().to_string(), "cpu");
/// assert!(Device::open("gpu:no such card").is_err());
/// # Ok::<(), limpid::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum Device {
    /// Threads and SIMD.
    Cpu(Cpu),
    /// A GPU.
    #[cfg(feature = "gpu")]
    Gpu(Gpu),
}

impl Device {
    /// Opens `cpu`, `gpu` (the best), `gpu:NAME` (part of its name), `gpu:INDEX`, or `auto`.
    ///
    /// `auto` picks a hardware GPU, otherwise the CPU, and never a software adapter. A named device that is not found is an
    /// error.
    pub fn open(name: &str) -> Result<Self> {
        Self::open_with(name, None, cfg!(debug_assertions))
    }

    /// Opens a device with a number of CPU threads; `checked` keeps runtime checks in shaders.
    pub fn open_with(name: &str, threads: Option<usize>, checked: bool) -> Result<Self> {
        if name == "cpu" {
            return Ok(Self::Cpu(Cpu::new(threads)?));
        }
        let wanted = match name.split_once(':') {
            Some(("gpu", which)) => Some(which),
            None if name == "gpu" => Some(""),
            None if name == "auto" => None,
            _ => {
                return Err(Error::unknown(
                    "device",
                    name,
                    ["auto", "cpu", "gpu", "gpu:NAME", "gpu:INDEX"],
                ));
            }
        };
        open_gpu(wanted, threads, checked)
    }

    /// Opens `cpu`, `gpu` or `auto` in a browser, where nobody can wait for the GPU. Elsewhere the call waits.
    pub async fn open_async(name: &str) -> Result<Self> {
        #[cfg(feature = "gpu")]
        if matches!(name, "gpu" | "auto") {
            let wanted = (name == "gpu").then_some("");
            return match picked(Adapter::all_async().await, wanted)? {
                Some(adapter) => Ok(Self::Gpu(adapter.open_async(cfg!(debug_assertions)).await?)),
                None => Ok(Self::Cpu(Cpu::new(None)?)),
            };
        }
        Self::open(name)
    }

    /// The kind of the device.
    pub fn backend(&self) -> Backend {
        match self {
            Self::Cpu(_) => Backend::Cpu,
            #[cfg(feature = "gpu")]
            Self::Gpu(_) => Backend::Gpu,
        }
    }

    /// Prepares a plan: compiles its shaders and allocates its memory.
    pub fn runner(&self, plan: Plan) -> Result<Box<dyn Runner>> {
        Ok(match self {
            Self::Cpu(cpu) => Box::new(CpuRunner::new(cpu, plan)?),
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => Box::new(GpuRunner::new(gpu, plan)?),
        })
    }

    /// The limits of the device.
    pub fn limits(&self) -> DeviceLimits {
        match self {
            Self::Cpu(_) => DeviceLimits::Cpu,
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => DeviceLimits::Gpu(gpu.target()),
        }
    }

    /// Its display name.
    pub fn name(&self) -> String {
        match self {
            Self::Cpu(cpu) => format!("cpu ({})", cpu.describe()),
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => gpu.name().to_owned(),
        }
    }

    /// Copies `bytes` bytes `runs` times and returns the median time of a copy; each byte is read once and written once.
    #[doc(hidden)]
    pub fn copy_time(&self, bytes: usize, runs: usize) -> Result<std::time::Duration> {
        let mut times = match self {
            Self::Cpu(cpu) => crate::copy::cpu_times(cpu, bytes, runs),
            #[cfg(feature = "gpu")]
            Self::Gpu(gpu) => gpu.copy_times(bytes, runs)?,
        };
        times.sort();
        Ok(times[times.len() / 2])
    }

    /// The devices that tests run on: the CPU at every SIMD level with several bands, and a GPU, possibly a software adapter,
    /// with runtime checks in shaders. Having no GPU is an error, so that GPU tests are never skipped silently. Tests of a
    /// program share a few GPUs with their shaders, because compiling them takes a software adapter most of its time.
    #[doc(hidden)]
    pub fn all_for_tests() -> Result<Vec<Self>> {
        #[cfg_attr(
            not(feature = "gpu"),
            expect(unused_mut, reason = "only GPUs are added")
        )]
        let mut devices = Self::cpus_for_tests()?;
        #[cfg(feature = "gpu")]
        devices.push(shared_gpu()?);
        Ok(devices)
    }

    /// The same with a GPU of its own, for tests that change or count something on it.
    #[doc(hidden)]
    pub fn own_for_tests() -> Result<Vec<Self>> {
        #[cfg_attr(
            not(feature = "gpu"),
            expect(unused_mut, reason = "only GPUs are added")
        )]
        let mut devices = Self::cpus_for_tests()?;
        #[cfg(feature = "gpu")]
        devices.push(open_gpu(Some(""), None, true)?);
        Ok(devices)
    }

    fn cpus_for_tests() -> Result<Vec<Self>> {
        let mut devices = Vec::new();
        for (i, (_, level)) in Cpu::levels().into_iter().enumerate() {
            devices.push(Self::Cpu(
                Cpu::with_level(Some(i % 3 + 1), level)?.with_band([3, 16, 7, 64][i % 4]),
            ));
        }
        Ok(devices)
    }
}

/// A GPU that this thread shares with others: a software adapter compiles all shaders of a device in one thread, so there is a device
/// for each processor. A thread always gets the same.
#[cfg(feature = "gpu")]
fn shared_gpu() -> Result<Device> {
    use std::{cell, num, sync, thread};
    static SHARED: sync::Mutex<Vec<Device>> = sync::Mutex::new(Vec::new());
    thread_local! {
        static MINE: cell::RefCell<Option<Device>> = const { cell::RefCell::new(None) };
    }
    MINE.with_borrow_mut(|mine| {
        if let Some(gpu) = mine {
            return Ok(gpu.clone());
        }
        let mut shared = SHARED.lock().unwrap_or_else(|e| e.into_inner());
        let most = thread::available_parallelism().map_or(1, num::NonZero::get);
        let users = |device: &Device| match device {
            Device::Gpu(gpu) => gpu.users(),
            Device::Cpu(_) => 0,
        };
        let free = shared.iter().min_by_key(|device| users(device));
        let gpu = match free {
            Some(free) if users(free) == 1 || shared.len() >= most.min(4) => free.clone(),
            _ => {
                shared.push(open_gpu(Some(""), None, true)?);
                shared[shared.len() - 1].clone()
            }
        };
        *mine = Some(gpu.clone());
        Ok(gpu)
    })
}

#[cfg(feature = "gpu")]
fn open_gpu(wanted: Option<&str>, threads: Option<usize>, checked: bool) -> Result<Device> {
    match picked(Adapter::all(), wanted)? {
        Some(adapter) => Ok(Device::Gpu(adapter.open(checked)?)),
        None => Ok(Device::Cpu(Cpu::new(threads)?)),
    }
}

/// The wanted adapter; `None` for the CPU, which `auto` falls back to.
#[cfg(feature = "gpu")]
fn picked(all: Result<Vec<Adapter>>, wanted: Option<&str>) -> Result<Option<Adapter>> {
    let all = match (all, wanted) {
        (Ok(all), _) => all,
        (Err(error), None) => {
            log::warn!("{error}; the CPU is used");
            Vec::new()
        }
        (Err(error), Some(_)) => return Err(error),
    };
    let found = match wanted {
        None => return Ok(all.into_iter().find(|a| !a.software)),
        Some("") => all.first(),
        Some(which) => match which.parse::<usize>() {
            Ok(index) => all.get(index),
            Err(_) => all
                .iter()
                .find(|a| a.info.name.to_lowercase().contains(&which.to_lowercase())),
        },
    };
    match found {
        Some(adapter) => Ok(Some(adapter.clone())),
        None => {
            let names: Vec<&str> = all.iter().map(|a| a.info.name.as_str()).collect();
            let have = if names.is_empty() {
                "This machine has no Vulkan, Metal or DirectX 12 driver; install one (on Debian \
                 and Ubuntu: apt-get install mesa-vulkan-drivers)"
                    .to_owned()
            } else {
                format!("This machine has: {}", names.join(", "))
            };
            let name = wanted
                .filter(|w| !w.is_empty())
                .map_or("gpu".to_owned(), |w| format!("gpu:{w}"));
            Err(Error::device(name, DeviceFault::NotFound(have)))
        }
    }
}

#[cfg(not(feature = "gpu"))]
fn open_gpu(wanted: Option<&str>, threads: Option<usize>, _checked: bool) -> Result<Device> {
    match wanted {
        None => Ok(Device::Cpu(Cpu::new(threads)?)),
        Some(_) => Err(Error::device(
            "gpu",
            DeviceFault::NotFound("This build has no GPU support".into()),
        )),
    }
}
