//! Drivers that do not answer.
//!
//! What may never come back is asked from another thread, and waiting has an end: then the device counts as lost, and the caller gets
//! an error. The thread that asked stays behind, since nothing can stop it.

use super::device::{Gpu, locked};
use crate::{DeviceFault, Error, Result, Watch};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long a driver may take for one answer: a list of devices, a shader, the work of a frame.
const PATIENCE: Duration = Duration::from_secs(300);

/// How often a wait looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// How long to wait for an answer of a driver: five minutes, or the seconds in the environment variable `LIMPID_PATIENCE`.
pub(super) fn patience() -> Duration {
    let given = std::env::var("LIMPID_PATIENCE").ok();
    let seconds = given.and_then(|text| text.parse().ok());
    let seconds = seconds.filter(|s: &f64| (1e-3..=1e9).contains(s));
    seconds.map_or(PATIENCE, Duration::from_secs_f64)
}

/// What came of a question, or that there was no answer.
fn answer<T>(device: &str, doing: &str, patience: Duration, from: &Receiver<T>) -> Result<T> {
    from.recv_timeout(patience).map_err(|error| {
        let fault = match error {
            RecvTimeoutError::Timeout => no_answer(doing, patience),
            RecvTimeoutError::Disconnected => failed(doing),
        };
        Error::device(device, fault)
    })
}

fn failed(doing: &str) -> DeviceFault {
    DeviceFault::Refused(format!("the driver failed while {doing}"))
}

/// Whether a driver did not answer once: then a thread of this process waits for it for ever, and an ordinary end of the process, which
/// closes drivers, may do so too.
static STUCK: AtomicBool = AtomicBool::new(false);

/// Whether a driver did not answer once. A program should then end without the usual tidying up, which may wait for the driver.
pub fn driver_is_stuck() -> bool {
    STUCK.load(Ordering::Relaxed)
}

fn no_answer(doing: &str, patience: Duration) -> DeviceFault {
    STUCK.store(true, Ordering::Relaxed);
    DeviceFault::NoAnswer(format!(
        "The driver has been {doing} for {} s; a restart of the machine may help, and the CPU does without it",
        patience.as_secs_f64()
    ))
}

/// Asks a driver before a device is open.
pub(super) fn ask<T: Send + 'static>(
    device: &str,
    doing: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let (send, receive) = channel();
    let thread = std::thread::Builder::new().name("limpid-driver".to_owned());
    let started = thread.spawn(move || drop(send.send(work())));
    started.map_err(|e| Error::device(device, DeviceFault::Refused(e.to_string())))?;
    answer(device, doing, patience(), &receive)
}

type Job = Box<dyn FnOnce() + Send>;

/// A thread that asks the driver of an open device. One for all questions, since wgpu keeps something for every thread that asks.
#[derive(Debug)]
pub(super) struct Asker(Mutex<Sender<Job>>);

impl Asker {
    pub(super) fn new() -> Self {
        let (jobs, next) = channel::<Job>();
        let work = move || {
            for job in next {
                // A panic is told by the answer that does not come.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
            }
        };
        let thread = std::thread::Builder::new().name("limpid-driver".to_owned());
        // Without a thread the first question is answered by an error.
        let _ = thread.spawn(work);
        Self(Mutex::new(jobs))
    }
}

impl Gpu {
    /// How long the driver may take for one answer, a shader or the work of a frame: after that the device counts as lost. Five
    /// minutes, or the seconds in the environment variable `LIMPID_PATIENCE`, unless set here.
    #[doc(hidden)]
    pub fn set_patience(&self, patience: Duration) {
        *locked(&self.0.patience) = patience;
    }

    pub(super) fn patience(&self) -> Duration {
        *locked(&self.0.patience)
    }

    /// Asks the driver for something that it may take long for.
    pub(super) fn ask<T: Send + 'static>(
        &self,
        doing: &str,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.ask_watched(doing, &Watch::default(), work)
    }

    fn ask_watched<T: Send + 'static>(
        &self,
        doing: &str,
        watch: &Watch,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.check()?;
        let (send, receive) = channel();
        let gpu = self.clone();
        let job: Job = Box::new(move || drop(send.send(work(&gpu))));
        // Where nobody takes the job, its answer never comes.
        let _ = locked(&self.0.asker.0).send(job);
        let (begin, patience) = (Instant::now(), self.patience());
        loop {
            let fault = match receive.recv_timeout(LOOK.min(patience)) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if begin.elapsed() < patience => {
                    watch.go_on()?;
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => no_answer(doing, patience),
                Err(RecvTimeoutError::Disconnected) => failed(doing),
            };
            self.give_up(&fault);
            return Err(Error::device(self.name(), fault));
        }
    }

    /// Submits commands. Drivers in software do the work then and there, so it can be stopped meanwhile.
    pub(super) fn submit(
        &self,
        commands: wgpu::CommandBuffer,
        watch: &Watch,
    ) -> Result<wgpu::SubmissionIndex> {
        let work = move |gpu: &Self| gpu.guarded(|| Ok(gpu.queue().submit([commands])));
        self.ask_watched("working on a frame", watch, work)
    }

    /// Waits until a submission is done, or all of them; no longer than the driver may take. Ends early when the watch says so.
    pub(super) fn wait_for(
        &self,
        done: Option<wgpu::SubmissionIndex>,
        watch: &Watch,
    ) -> Result<()> {
        let (begin, patience) = (Instant::now(), self.patience());
        loop {
            let polled = self.device().poll(wgpu::PollType::Wait {
                submission_index: done.clone(),
                timeout: Some(LOOK.min(patience)),
            });
            self.check()?;
            match polled {
                Ok(_) => return Ok(()),
                Err(wgpu::PollError::Timeout) if begin.elapsed() < patience => watch.go_on()?,
                Err(wgpu::PollError::Timeout) => {
                    let fault = no_answer("working on a frame", patience);
                    self.give_up(&fault);
                    return Err(Error::device(self.name(), fault));
                }
                Err(error) => {
                    let fault = DeviceFault::Lost(error.to_string());
                    self.lose(fault.clone());
                    return Err(Error::device(self.name(), fault));
                }
            }
        }
    }

    /// From now on this device is lost. What is left of it is never closed: that would wait for the driver.
    fn give_up(&self, fault: &DeviceFault) {
        if matches!(fault, DeviceFault::NoAnswer(_)) {
            self.lose(fault.clone());
            std::mem::forget(self.clone());
        }
    }
}
