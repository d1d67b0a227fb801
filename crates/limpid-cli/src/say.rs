//! What the program says beside its results: warnings, progress, whose fault an error is.

use indicatif::{ProgressBar, ProgressStyle};
use limpid::{Kind, Watch};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Prints a line on standard output. Who has stopped reading gets an error that ends the program quietly, not a panic.
macro_rules! tell {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout(), $($text)*)?
    }};
}
pub(crate) use tell;

/// An error of the command line: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) limpid::Error);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&in_words(&self.0))
    }
}

impl std::error::Error for Usage {}

/// An error of the library in the words of the command line.
fn in_words(error: &limpid::Error) -> String {
    use limpid::{DeviceFault, Error};
    match error {
        Error::Option {
            name,
            value,
            expected,
        } => format!("--{name} {value}: expected {expected}"),
        Error::Missing { layer, .. } if matches!(layer.kind, Kind::Dx | Kind::Dy) => {
            format!("{error}, as `limpid render --gradients` writes them")
        }
        Error::Device { fault, .. } => match fault {
            DeviceFault::OutOfMemory(_) => format!("{error}: try --tile or --device cpu"),
            DeviceFault::Absent(_) => format!("{error}. The CPU is always there: --device cpu"),
            _ => error.to_string(),
        },
        other => other.to_string(),
    }
}

/// What went wrong, from the outermost to the cause.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let said = error.chain().map(|e| match e.downcast_ref() {
        Some(error) => in_words(error),
        None => e.to_string(),
    });
    said.collect::<Vec<_>>().join(": ")
}

/// Whether the command line is at fault.
pub(crate) fn is_usage(error: &anyhow::Error) -> bool {
    let mut chain = error.chain();
    error.is::<Usage>()
        || chain.any(|e| matches!(e.downcast_ref(), Some(limpid::Error::Option { .. })))
}

/// Marks errors of the command line.
pub(crate) trait OrUsage<T> {
    /// The error is the user's: exit code 2.
    fn or_usage(self) -> anyhow::Result<T>;
}

impl<T> OrUsage<T> for limpid::Result<T> {
    fn or_usage(self) -> anyhow::Result<T> {
        self.map_err(|e| Usage(e).into())
    }
}

/// Prints warnings of the library on standard error.
struct Warnings;

impl log::Log for Warnings {
    fn enabled(&self, meta: &log::Metadata<'_>) -> bool {
        meta.level() <= log::Level::Warn && meta.target().starts_with("limpid")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            eprintln!("limpid: {}", record.args());
        }
    }

    fn flush(&self) {}
}

/// Starts the log, and stops work cleanly at Ctrl-C; a second Ctrl-C ends the program at once.
pub(crate) fn start() {
    static LOG: Warnings = Warnings;
    if log::set_logger(&LOG).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
    let stopped = AtomicBool::new(false);
    let handler = move || {
        if stopped.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        flag().store(true, Ordering::Relaxed);
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        log::warn!("Ctrl-C will end the program at once: {error}");
    }
}

/// The flag that Ctrl-C sets.
fn flag() -> &'static Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    FLAG.get_or_init(Arc::default)
}

/// A watch that is stopped by Ctrl-C.
pub(crate) fn quiet() -> Watch {
    Watch::default().with_flag(flag().clone())
}

/// A watch that shows a bar on a terminal, and is stopped by Ctrl-C.
pub(crate) fn watch(what: &str) -> Watch {
    if !std::io::stderr().is_terminal() {
        return quiet();
    }
    let bar = ProgressBar::new(1000);
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} {percent:>3} % {eta}") {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    let tell = move |share: f32| {
        bar.set_position((1000.0 * share) as u64);
        if share >= 1.0 {
            bar.finish_and_clear();
        }
    };
    Watch::telling(tell).with_flag(flag().clone())
}

/// Counts frames on a terminal.
pub(crate) struct Frames(Option<ProgressBar>);

/// A counter of frames.
pub(crate) fn frames() -> Frames {
    let bar = std::io::stderr()
        .is_terminal()
        .then(ProgressBar::new_spinner);
    if let (Some(bar), Ok(style)) = (
        &bar,
        ProgressStyle::with_template("{spinner} {pos} frames, {per_sec}"),
    ) {
        bar.set_style(style);
    }
    Frames(bar)
}

impl Frames {
    /// One more.
    pub(crate) fn next(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }

    /// The last one was counted.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Whether somebody stopped reading what we print, which is not an error.
pub(crate) fn broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().filter_map(|e| match e.downcast_ref() {
        Some(limpid::Error::Io { cause, .. }) => Some(cause),
        _ => e.downcast_ref::<std::io::Error>(),
    });
    io.map(std::io::Error::kind)
        .any(|kind| kind == std::io::ErrorKind::BrokenPipe)
}

/// Whether the environment asks for silence.
pub(crate) fn is_quiet() -> bool {
    std::env::var_os("LIMPID_QUIET").is_some_and(|v| !v.is_empty() && v != "0")
}
