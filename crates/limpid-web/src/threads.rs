//! Work on threads. The page hands it in and is told when it is done; the page itself never waits, because it must not.
//!
//! Workers of JavaScript are the threads (`js/threads.js`). One of them, the leader, opens a pool of the others, and takes the work that the
//! page handed in, in order. All run this module on the same memory, and each has objects of JavaScript of its own.

use crate::{Device, Outcome, Picture, Settings};
use limpid::exec::cpu::Cpu;
use limpid::{Error, Frame, Result, Sequence, Watch};
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wasm_bindgen::prelude::*;

type Work = Box<dyn FnOnce() + Send>;

/// What was handed in and not yet taken.
static WORK: Mutex<VecDeque<Work>> = Mutex::new(VecDeque::new());

/// Threads of the pool that no worker has become yet.
static THREADS: Mutex<Vec<ThreadBuilder>> = Mutex::new(Vec::new());

thread_local! {
    /// The pool, on the leader.
    static POOL: RefCell<Option<ThreadPool>> = const { RefCell::new(None) };
}

/// In how many steps progress is told.
const STEPS: f32 = 200.0;

#[wasm_bindgen]
extern "C" {
    /// Workers have it: a message to the page.
    #[wasm_bindgen(js_name = limpidTold)]
    fn told(job: u32, share: f32);
}

/// Locks without waiting for the system, which the thread of a page must not do. Nobody holds these locks for long.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    loop {
        match mutex.try_lock() {
            Ok(guard) => return guard,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            Err(std::sync::TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
}

/// Makes this thread the one that runs what is not for workers, such as reading files. To be called before there are others.
#[wasm_bindgen(js_name = prepareThreads)]
pub fn prepare() {
    // Rayon takes the first thread that asks for a pool of its own where none can be started.
    rayon::current_num_threads();
}

/// Makes this worker the leader of a pool of so many threads.
#[wasm_bindgen(js_name = leadThreads)]
pub fn lead(count: usize) -> Outcome<()> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(count)
        .spawn_handler(|thread| {
            lock(&THREADS).push(thread);
            Ok(())
        })
        .build();
    let pool = pool.map_err(|e| Error::unsupported(format!("{count} threads: {e}")))?;
    POOL.set(Some(pool));
    Ok(())
}

/// Makes this worker a thread of the pool, until the pool ends.
#[wasm_bindgen(js_name = joinThreads)]
pub fn join() {
    let thread = lock(&THREADS).pop();
    if let Some(thread) = thread {
        thread.run();
    }
}

/// Takes the work that was handed in first. For the leader.
#[wasm_bindgen(js_name = workOnThreads)]
pub fn work() {
    let work = lock(&WORK).pop_front();
    POOL.with_borrow(|pool| {
        if let (Some(pool), Some(work)) = (pool, work) {
            pool.install(work);
        }
    });
}

/// Ends the pool. For the leader.
#[wasm_bindgen(js_name = endThreads)]
pub fn end() {
    POOL.take();
}

/// Hands in work that fails as a fault of Limpid does, for tests.
#[wasm_bindgen(js_name = failOnThreads)]
pub fn fail() {
    lock(&WORK).push_back(Box::new(|| {
        rayon::join(|| (), || core::arch::wasm32::unreachable());
    }));
}

#[wasm_bindgen]
impl Device {
    /// The CPU, for a pool of so many threads.
    #[wasm_bindgen(js_name = onThreads)]
    pub fn on_threads(count: usize) -> Outcome<Self> {
        Ok(Self(limpid::Device::Cpu(Cpu::new(Some(count))?)))
    }
}

/// A method with its options on a device; history between frames lives here.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
}

/// What an engine shares with the worker that runs it, one after the other.
#[derive(Debug)]
struct Shared {
    sequence: Mutex<Sequence>,
    made: Mutex<Option<Result<Vec<Picture>>>>,
}

/// What to do with a picture.
#[wasm_bindgen]
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// The result of the next frame, which later ones have no part in.
    Run,
    /// The next frame of a film.
    Push,
    /// The end of a film.
    Finish,
}

impl Step {
    fn of(self, sequence: &mut Sequence, frame: &Frame, watch: &Watch) -> Result<Vec<Frame>> {
        match self {
            Self::Run => sequence.run(frame, watch).map(|made| vec![made]),
            Self::Push => sequence.push(frame, watch),
            Self::Finish => sequence.finish(watch),
        }
    }
}

/// Tells the page of progress, in steps.
fn watch(job: u32, stop: Arc<AtomicBool>) -> Watch {
    let last = AtomicU32::new(0);
    Watch::with_callback(move |share| {
        let step = (share * STEPS) as u32;
        if last.fetch_max(step, Ordering::Relaxed) < step {
            told(job, share);
        }
    })
    .with_flag(stop)
}

#[wasm_bindgen]
impl Engine {
    /// Prepares a method.
    #[wasm_bindgen(constructor)]
    pub fn new(device: &Device, method: &str, settings: &Settings) -> Outcome<Engine> {
        let options = settings.options(method)?;
        let shared = Shared {
            sequence: Mutex::new(Sequence::new(&device.0, &options)),
            made: Mutex::new(None),
        };
        Ok(Self {
            shared: Arc::new(shared),
            stop: Arc::default(),
        })
    }

    /// Hands a step in. The leader has to be told; what it makes is taken when it is done. Results have the form of the picture.
    pub fn start(&mut self, job: u32, step: Step, picture: &Picture) {
        self.stop = Arc::default();
        let watch = watch(job, self.stop.clone());
        let (shared, input) = (self.shared.clone(), picture.clone());
        let work = move || {
            let mut sequence = shared
                .sequence
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let made = step.of(&mut sequence, &input.frame, &watch);
            drop(sequence);
            let made = made.map(|all| {
                all.into_iter()
                    .map(|frame| input.with_frame(frame))
                    .collect()
            });
            *lock(&shared.made) = Some(made);
        };
        lock(&WORK).push_back(Box::new(work));
    }

    /// Stops what was started last.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What was made.
    pub fn take(&mut self) -> Outcome<Vec<Picture>> {
        let made = lock(&self.shared.made).take();
        Ok(made.unwrap_or_else(|| Err(Error::unsupported("results of work that is not done")))?)
    }

    /// The method that ran last, with what it measured. Not while it runs.
    #[wasm_bindgen(getter)]
    pub fn method(&self) -> String {
        let sequence = lock(&self.shared.sequence);
        let method = sequence.method();
        match method.summary() {
            Some(summary) => format!("{}: {summary}", method.name()),
            None => method.name().to_owned(),
        }
    }
}
