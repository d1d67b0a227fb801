//! Long work: without the interpreter's lock, on a thread of its own, so that Ctrl-C and the caller's progress function are
//! looked at meanwhile. A panic becomes an exception.

use crate::error::{exception, raise};
use limpid::Watch;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often signals are looked at.
const LOOK: Duration = Duration::from_millis(30);

/// Runs a job; `progress` is called with the done share.
pub(crate) fn work<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    job: impl FnOnce(&Watch) -> limpid::Result<T> + Send,
) -> PyResult<T> {
    let share = Arc::new(AtomicU32::new(0));
    let told = share.clone();
    let watch = Watch::with_callback(move |done| told.store(done.to_bits(), Ordering::Relaxed));
    let stop = watch.stop_flag();
    let pool = pool().map_err(|message| raise(py, "InternalError", message))?;
    let mut interrupted = None;
    let result = py.detach(|| {
        let (done, waiting) = channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let result = catch_unwind(AssertUnwindSafe(|| pool.install(|| job(&watch))));
                done.send(result).ok();
            });
            let mut last = f32::NAN;
            loop {
                match waiting.recv_timeout(LOOK) {
                    Ok(result) => return Some(result),
                    Err(RecvTimeoutError::Disconnected) => return None,
                    Err(RecvTimeoutError::Timeout) if interrupted.is_some() => {}
                    Err(RecvTimeoutError::Timeout) => {
                        let done = f32::from_bits(share.load(Ordering::Relaxed));
                        let looked = Python::attach(|py| {
                            py.check_signals()?;
                            if done != last
                                && let Some(progress) = &progress
                            {
                                progress.call1(py, (done.clamp(0.0, 1.0),))?;
                            }
                            PyResult::Ok(())
                        });
                        last = done;
                        if let Err(error) = looked {
                            stop.store(true, Ordering::Relaxed);
                            interrupted = Some(error);
                        }
                    }
                }
            }
        })
    });
    tell_messages(py)?;
    if let Some(error) = interrupted {
        return Err(error);
    }
    match result {
        Some(Ok(Ok(value))) => {
            if let Some(progress) = progress {
                progress.call1(py, (1.0,))?;
            }
            Ok(value)
        }
        Some(Ok(Err(error))) => Err(exception(py, &error)),
        Some(Err(panic)) => Err(internal(py, panic.as_ref())),
        None => Err(raise(
            py,
            "InternalError",
            "the worker thread ended without a result".to_owned(),
        )),
    }
}

/// Runs a short job without the lock; a panic becomes an exception.
pub(crate) fn short<T: Send>(py: Python<'_>, job: impl FnOnce() -> T + Send) -> PyResult<T> {
    let pool = pool().map_err(|message| raise(py, "InternalError", message))?;
    let result = py.detach(|| catch_unwind(AssertUnwindSafe(|| pool.install(job))));
    result.map_err(|panic| internal(py, panic.as_ref()))
}

/// Runs a job on this many values: on this thread when they are few, because handing it to another would take longer.
pub(crate) fn quick(py: Python<'_>, values: usize, job: impl FnOnce() + Send) -> PyResult<()> {
    if values >= limpid::bank::SMALL {
        return short(py, job);
    }
    // Below that the work is over before another thread would have noticed.
    let result = catch_unwind(AssertUnwindSafe(job));
    result.map_err(|panic| internal(py, panic.as_ref()))
}

fn internal(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().map(|t| (*t).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "a panic without a message".to_owned());
    raise(
        py,
        "InternalError",
        format!("an internal error of limpid: {text}"),
    )
}

/// Threads for what does not bring its own. A process that was forked has none of its parent's threads and gets new ones.
fn pool() -> Result<Arc<rayon::ThreadPool>, String> {
    static POOL: Mutex<Option<(u32, Arc<rayon::ThreadPool>)>> = Mutex::new(None);
    let mut kept = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let id = std::process::id();
    if let Some((owner, pool)) = &*kept
        && *owner == id
    {
        return Ok(pool.clone());
    }
    let made = rayon::ThreadPoolBuilder::new().build();
    let made = Arc::new(made.map_err(|error| error.to_string())?);
    // The parent's threads are not there to be waited for.
    std::mem::forget(kept.replace((id, made.clone())));
    Ok(made)
}

static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Collector;

impl log::Log for Collector {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.level() <= log::Level::Warn && metadata.target().starts_with("limpid")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            let mut all = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Keeps the library's warnings until a thread with the interpreter's lock hands them on.
pub(crate) fn collect_messages() {
    if log::set_logger(&Collector).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
}

/// Hands warnings to the logger `limpid`.
pub(crate) fn tell_messages(py: Python<'_>) -> PyResult<()> {
    let all = std::mem::take(&mut *MESSAGES.lock().unwrap_or_else(PoisonError::into_inner));
    if !all.is_empty() {
        let logger = py
            .import("logging")?
            .call_method1("getLogger", ("limpid",))?;
        for message in all {
            logger.call_method1("warning", ("%s", message))?;
        }
    }
    Ok(())
}

/// Panics, so that a test sees what becomes of it.
#[pyfunction]
pub(crate) fn panic_for_tests(py: Python<'_>, after: f32) -> PyResult<()> {
    work(py, None, |watch| {
        let steps = (after * 100.0) as usize;
        for i in 0..steps {
            std::thread::sleep(Duration::from_millis(10));
            watch.done(i as f32 / steps as f32);
            watch.check()?;
        }
        std::panic::panic_any("as asked".to_owned())
    })
}
