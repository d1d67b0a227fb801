//! Timeouts for drivers that do not respond.
//!
//! Calls into a driver that may never return run on another thread with a timeout. When it expires, the device counts as lost
//! and the caller gets an error. The thread is leaked, since nothing can stop it.

use super::device::{Gpu, locked};
use super::mapping::WAITS;
use crate::Watch;
use crate::clock::Instant;
use limpid_core::{DeviceFault, Error, Result};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(target_family = "wasm"))]
use std::sync::mpsc::Receiver;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Default timeout of one driver call: listing devices, compiling a shader, or the work of a frame.
const TIMEOUT: Duration = Duration::from_secs(300);

/// How often a waiting call checks whether it should stop.
const LOOK: Duration = Duration::from_millis(100);

/// Timeout of a driver call: five minutes, or the seconds in the environment variable `LIMPID_TIMEOUT`.
pub(super) fn timeout() -> Duration {
    let given = std::env::var("LIMPID_TIMEOUT").ok();
    let seconds = given.and_then(|text| text.parse().ok());
    let seconds = seconds.filter(|s: &f64| (1e-3..=1e9).contains(s));
    seconds.map_or(TIMEOUT, Duration::from_secs_f64)
}

/// The result of a call, or an error if it did not return in time.
#[cfg(not(target_family = "wasm"))]
fn answer<T>(device: &str, doing: &str, timeout: Duration, from: &Receiver<T>) -> Result<T> {
    from.recv_timeout(timeout).map_err(|error| {
        let fault = match error {
            RecvTimeoutError::Timeout => no_answer(doing, timeout),
            RecvTimeoutError::Disconnected => failed(doing),
        };
        Error::device(device, fault)
    })
}

fn failed(doing: &str) -> DeviceFault {
    DeviceFault::Rejected(format!("the driver failed while {doing}"))
}

/// Whether a driver has ever failed to return: then a thread of this process waits for it forever, and so may the ordinary exit
/// of the process, which closes drivers.
static STUCK: AtomicBool = AtomicBool::new(false);

/// Whether a driver has ever failed to return. A program should then exit without the usual clean-up, which may wait for the
/// driver.
pub fn driver_has_hung() -> bool {
    STUCK.load(Ordering::Relaxed)
}

fn no_answer(doing: &str, timeout: Duration) -> DeviceFault {
    STUCK.store(true, Ordering::Relaxed);
    DeviceFault::Timeout(format!(
        "The driver has been {doing} for {} s; a restart of the machine may help, and the CPU does without it",
        timeout.as_secs_f64()
    ))
}

/// Browsers do not let anyone wait.
#[cfg(target_family = "wasm")]
pub(super) fn call_driver<T>(device: &str, doing: &str, _work: impl FnOnce() -> T) -> Result<T> {
    let fault = format!("{doing} would block the page; the asynchronous call does not");
    Err(Error::device(device, DeviceFault::Rejected(fault)))
}

/// Calls a driver before a device is open.
#[cfg(not(target_family = "wasm"))]
pub(super) fn call_driver<T: Send + 'static>(
    device: &str,
    doing: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let (send, receive) = channel();
    let thread = std::thread::Builder::new().name("limpid-driver".to_owned());
    let started = thread.spawn(move || drop(send.send(work())));
    started.map_err(|e| Error::device(device, DeviceFault::Rejected(e.to_string())))?;
    answer(device, doing, timeout(), &receive)
}

type Job = Box<dyn FnOnce() + Send>;

/// A thread that calls the driver of an open device. One for all calls, since wgpu keeps state for every thread that calls it.
#[derive(Debug)]
pub(super) struct DriverThread(Mutex<Sender<Job>>);

impl DriverThread {
    pub(super) fn new() -> Self {
        let (jobs, next) = channel::<Job>();
        let work = move || {
            for job in next {
                // A panic closes the channel, which the caller detects.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
            }
        };
        let thread = std::thread::Builder::new().name("limpid-driver".to_owned());
        // If no thread can be spawned, the first call returns an error.
        let _ = thread.spawn(work);
        Self(Mutex::new(jobs))
    }
}

impl Gpu {
    /// Sets the timeout of one driver call, such as compiling a shader or the work of a frame; when it expires the device
    /// counts as lost. The default is five minutes, or the seconds in the environment variable `LIMPID_TIMEOUT`.
    #[doc(hidden)]
    pub fn set_timeout(&self, timeout: Duration) {
        *locked(&self.0.timeout) = timeout;
    }

    pub(super) fn timeout(&self) -> Duration {
        *locked(&self.0.timeout)
    }

    /// Runs a driver call that may take long, with the timeout.
    pub(super) fn call_driver<T: Send + 'static>(
        &self,
        doing: &str,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.call_watched(doing, &Watch::default(), work)
    }

    fn call_watched<T: Send + 'static>(
        &self,
        doing: &str,
        watch: &Watch,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.check()?;
        if !WAITS {
            // Browsers do the work elsewhere, and answer later.
            return work(self);
        }
        let (send, receive) = channel();
        let gpu = self.clone();
        let job: Job = Box::new(move || drop(send.send(work(&gpu))));
        // If the thread is gone, the channel closes.
        let _ = locked(&self.0.driver.0).send(job);
        let (begin, timeout) = (Instant::now(), self.timeout());
        loop {
            let fault = match receive.recv_timeout(LOOK.min(timeout)) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if begin.elapsed() < timeout => {
                    watch.check()?;
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => no_answer(doing, timeout),
                Err(RecvTimeoutError::Disconnected) => failed(doing),
            };
            self.abandon_device(&fault);
            return Err(Error::device(self.name(), fault));
        }
    }

    /// Submits commands. Software drivers execute them during the call, so the call can be cancelled meanwhile.
    pub(super) fn submit(
        &self,
        commands: wgpu::CommandBuffer,
        watch: &Watch,
    ) -> Result<wgpu::SubmissionIndex> {
        let work = move |gpu: &Self| gpu.guarded(|| Ok(gpu.queue().submit([commands])));
        self.call_watched("working on a frame", watch, work)
    }

    /// Waits until a submission is done, or all of them, up to the timeout. Ends early if the watch is stopped.
    pub(super) fn wait_for(
        &self,
        done: Option<wgpu::SubmissionIndex>,
        watch: &Watch,
    ) -> Result<()> {
        if !WAITS {
            let fault = "waiting would block the page; the asynchronous call does not".to_owned();
            return Err(Error::device(self.name(), DeviceFault::Rejected(fault)));
        }
        let (begin, timeout) = (Instant::now(), self.timeout());
        loop {
            let polled = self.device().poll(wgpu::PollType::Wait {
                submission_index: done.clone(),
                timeout: Some(LOOK.min(timeout)),
            });
            self.check()?;
            match polled {
                Ok(_) => return Ok(()),
                Err(wgpu::PollError::Timeout) if begin.elapsed() < timeout => watch.check()?,
                Err(wgpu::PollError::Timeout) => {
                    let fault = no_answer("working on a frame", timeout);
                    self.abandon_device(&fault);
                    return Err(Error::device(self.name(), fault));
                }
                Err(error) => {
                    let fault = DeviceFault::Lost(error.to_string());
                    self.set_lost(fault.clone());
                    return Err(Error::device(self.name(), fault));
                }
            }
        }
    }

    /// Marks the device as lost. It is leaked instead of closed, because closing would wait for the driver.
    fn abandon_device(&self, fault: &DeviceFault) {
        if matches!(fault, DeviceFault::Timeout(_)) {
            self.set_lost(fault.clone());
            std::mem::forget(self.clone());
        }
    }
}
