//! Output besides results: warnings, progress, errors.

use indicatif::{ProgressBar, ProgressStyle};
use limpid::{Kind, Layer, Watch};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Prints a line on standard output. A closed pipe is an error that ends the program quietly, not a panic.
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

/// Options of the method and their values, as they were typed.
static TYPED: OnceLock<Vec<(String, String)>> = OnceLock::new();

/// Errors show values of these options as they were typed: `25/255`, not 0.09803922.
pub(crate) fn remember(options: &[(String, String)]) {
    TYPED.get_or_init(|| options.to_vec());
}

fn typed(option: &str) -> Option<&String> {
    let mut all = TYPED.get()?.iter();
    all.find(|(name, _)| name == option).map(|(_, value)| value)
}

/// An error of the library in command-line terms.
fn in_words(error: &limpid::Error) -> String {
    use limpid::{DeviceFault, Error};
    match error {
        Error::Option {
            name,
            value,
            expected,
        } => {
            let value = typed(name).unwrap_or(value);
            format!("--{name} {value}: expected {}", form_in_words(expected))
        }
        Error::Missing { layer, .. } if matches!(layer.kind, Kind::Dx | Kind::Dy) => {
            format!("{error}, as `limpid render --gradients` writes them")
        }
        Error::Missing { layer, .. } if *layer == Layer::COLOR => {
            format!("{error}; select it with --layer color=NAME")
        }
        Error::Unknown {
            what, near: None, ..
        } if what == "method" => {
            format!("{error}; `limpid methods` says which to use when")
        }
        Error::Device { fault, .. } => match fault {
            DeviceFault::OutOfMemory(_) => format!("{error}: try --tile or --device cpu"),
            DeviceFault::NotFound(_) => format!("{error}. The CPU always works: --device cpu"),
            _ => error.to_string(),
        },
        other => other.to_string(),
    }
}

/// The form of a value in words.
fn form_in_words(expected: &str) -> String {
    let (form, rest) = expected.split_at(expected.find(';').unwrap_or(expected.len()));
    let words = match form {
        "COUNT" => "a whole number, such as 3",
        "NUMBER" => "a number, such as 0.5 or 25/255",
        "LIST" => "values separated by commas, such as 1,0.5",
        "WxH" => "a size, such as 640x480",
        other => other,
    };
    format!("{words}{rest}")
}

/// The error and its causes, outermost first.
pub(crate) fn message(error: &anyhow::Error) -> String {
    let said = error.chain().map(|e| {
        let ours = e.downcast_ref().map(in_words);
        let system = || e.downcast_ref().map(limpid::Error::system);
        ours.or_else(system).unwrap_or_else(|| e.to_string())
    });
    said.collect::<Vec<_>>().join(": ")
}

/// Whether the command line is wrong.
pub(crate) fn is_usage(error: &anyhow::Error) -> bool {
    let mut chain = error.chain();
    error.is::<Usage>()
        || chain.any(|e| matches!(e.downcast_ref(), Some(limpid::Error::Option { .. })))
}

/// Marks errors of the command line.
pub(crate) trait OrUsage<T> {
    /// Marks the error as wrong usage: exit code 2.
    fn or_usage(self) -> anyhow::Result<T>;
}

impl<T> OrUsage<T> for limpid::Result<T> {
    fn or_usage(self) -> anyhow::Result<T> {
        self.map_err(|e| Usage(e).into())
    }
}

/// Prints warnings of the library on standard error.
struct Warnings;

/// Warnings that were printed, without their numbers, and the number of later files with the same warning.
static SAID: Mutex<BTreeMap<String, PrintedWarning>> = Mutex::new(BTreeMap::new());

/// A warning that was printed.
struct PrintedWarning {
    text: String,
    /// How often it came again.
    again: usize,
    /// Whether it came with other numbers.
    others: bool,
}

thread_local! {
    /// The file that this thread processes.
    static FILE: RefCell<Option<String>> = const { RefCell::new(None) };
}

thread_local! {
    /// Which file of how many this thread processes.
    static POSITION: std::cell::Cell<(usize, usize)> = const { std::cell::Cell::new((1, 1)) };
}

/// Says which file of how many is processed next.
pub(crate) fn set_position(number: usize, count: usize) {
    POSITION.set((number, count));
}

/// `3 of 12`, if there are several files.
pub(crate) fn position() -> Option<String> {
    let (number, count) = POSITION.get();
    (count > 1).then(|| format!("{number} of {count}"))
}

/// Runs a closure for a file; warnings name that file.
pub(crate) fn about<T>(file: &Path, work: impl FnOnce() -> T) -> T {
    let before = FILE.replace(Some(file.display().to_string()));
    let result = work();
    FILE.set(before);
    result
}

/// Prints a warning with the file it is about. The same warning about other files is only counted.
fn warn(text: &str) {
    let file = FILE.with_borrow(Clone::clone);
    let (named, plain) = match &file {
        // Notes on what is read and written begin with the name of the file.
        Some(file) => match text.strip_prefix(file.as_str()) {
            Some(rest) => (
                text.to_owned(),
                rest.trim_start_matches([':', ' ']).to_owned(),
            ),
            None if is_about_a_file(text) => (text.to_owned(), without_file(text)),
            None => (format!("{file}: {text}"), text.to_owned()),
        },
        None => (text.to_owned(), without_file(text)),
    };
    let key = plain.replace(|c: char| c.is_ascii_digit(), "");
    let mut said = SAID.lock().unwrap_or_else(|e| e.into_inner());
    match said.get_mut(&key) {
        Some(said) => {
            said.again += 1;
            said.others |= said.text != plain;
        }
        None => {
            let first = PrintedWarning {
                text: plain,
                again: 0,
                others: false,
            };
            said.insert(key, first);
            line(&format!("limpid: {named}"));
        }
    }
}

/// Whether a note begins with the name of a file.
fn is_about_a_file(text: &str) -> bool {
    let name = text.split(": ").next().unwrap_or_default();
    text.contains(": ") && Path::new(name).extension().is_some()
}

fn without_file(text: &str) -> String {
    match text.split_once(": ") {
        Some((_, rest)) if is_about_a_file(text) => rest.to_owned(),
        _ => text.to_owned(),
    }
}

/// Notes on a file that was read or written, in command-line terms.
pub(crate) fn notes(notes: &[String]) {
    for note in notes {
        warn(&note.replace("select it with 'color=", "select it with --layer 'color="));
    }
}

/// Prints how many more files had each warning.
pub(crate) fn repeated_warnings() {
    let mut said = SAID.lock().unwrap_or_else(|e| e.into_inner());
    for said in said.values_mut().filter(|said| said.again > 0) {
        let files = if said.again == 1 { "file" } else { "files" };
        let numbers = if said.others {
            ", with other numbers"
        } else {
            ""
        };
        let (again, text) = (said.again, &said.text);
        line(&format!("limpid: {again} more {files}{numbers}: {text}"));
        (said.again, said.others) = (0, false);
    }
}

/// A line on standard error. Where nobody reads it, there is nobody to tell.
pub(crate) fn line(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints an error that does not end the program.
pub(crate) fn error(error: &anyhow::Error) {
    line(&format!("limpid: {}", message(error)));
}

/// Whether an error concerns all files, not just one.
pub(crate) fn ends_all(error: &anyhow::Error) -> bool {
    // A smaller file may fit memory that has no room for this one.
    let ends = |e: &limpid::Error| match e {
        limpid::Error::Stopped => true,
        limpid::Error::Device { fault, .. } => {
            !matches!(fault, limpid::DeviceFault::OutOfMemory(_))
        }
        _ => false,
    };
    broken_pipe(error) || error.chain().any(|e| e.downcast_ref().is_some_and(ends))
}

impl log::Log for Warnings {
    fn enabled(&self, meta: &log::Metadata<'_>) -> bool {
        meta.level() <= log::Level::Warn && meta.target().starts_with("limpid")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            warn(&record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// The exit code of a program that was interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// How long work may take to stop after Ctrl-C: a reader may wait for a pipe, or a driver for its device.
const TO_STOP: Duration = Duration::from_secs(10);

/// Starts the log, and stops work cleanly at Ctrl-C; a second Ctrl-C, or work that does not stop, ends the program at once.
pub(crate) fn start() {
    static LOG: Warnings = Warnings;
    if log::set_logger(&LOG).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
    let handler = move || {
        let end = || end_now(INTERRUPTED);
        if flag().swap(true, Ordering::Relaxed) {
            end();
        }
        std::thread::spawn(move || {
            std::thread::sleep(TO_STOP);
            line("limpid: stopped in the middle of something that does not end");
            end();
        });
    };
    if let Err(error) = ctrlc::set_handler(handler) {
        log::warn!("Ctrl-C will exit immediately: {error}");
    }
    quiet_about_memory();
}

/// Ends the program at once: drivers that tidy up at the end of a process take a while, and for ever where one does not answer.
pub(crate) fn end_now(code: u8) -> ! {
    use std::io::Write as _;
    let _ = std::io::stdout().flush();
    #[cfg(unix)]
    {
        unsafe extern "C" {
            fn _exit(code: std::ffi::c_int) -> !;
        }
        // SAFETY: the function of POSIX, which ends the process and takes any number.
        unsafe { _exit(i32::from(code)) }
    }
    #[cfg(not(unix))]
    std::process::exit(i32::from(code))
}

/// An image that gets no memory panics, and the library makes an error of it, which is printed like any other.
fn quiet_about_memory() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.payload().is::<limpid::OutOfMemory>() {
            usual(panic);
        }
    }));
}

/// Whether Ctrl-C was pressed.
pub(crate) fn interrupted() -> bool {
    flag().load(Ordering::Relaxed)
}

/// The flag that Ctrl-C sets.
fn flag() -> &'static Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    FLAG.get_or_init(Arc::default)
}

/// Whether several files are processed at the same time.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// Announces that several files are processed at the same time: no bars, which would overwrite each other.
pub(crate) fn several_bars() {
    SEVERAL.store(true, Ordering::Relaxed);
}

/// A watch that is stopped by Ctrl-C.
pub(crate) fn quiet() -> Watch {
    Watch::default().with_flag(flag().clone())
}

/// A watch that shows a bar on a terminal, and is stopped by Ctrl-C.
pub(crate) fn watch(what: &str) -> Watch {
    if !std::io::stderr().is_terminal() || is_quiet() || SEVERAL.load(Ordering::Relaxed) {
        return quiet();
    }
    let bar = ProgressBar::new(1000);
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} {percent:>3} % {eta}") {
        bar.set_style(style);
    }
    bar.set_message(match position() {
        Some(position) => format!("{position}: {what}"),
        None => what.to_owned(),
    });
    let tell = move |share: f32| {
        bar.set_position((1000.0 * share) as u64);
        if share >= 1.0 {
            bar.finish_and_clear();
        }
    };
    Watch::with_callback(tell).with_flag(flag().clone())
}

/// Counts frames on a terminal.
pub(crate) struct Frames(Option<ProgressBar>);

/// A counter of frames; with the number of all that are expected, it shows how long they will take.
pub(crate) fn frames(expected: Option<u64>) -> Frames {
    let shown = std::io::stderr().is_terminal() && !is_quiet() && !SEVERAL.load(Ordering::Relaxed);
    let bar = shown.then(|| match expected {
        Some(count) => ProgressBar::new(count),
        None => ProgressBar::new_spinner(),
    });
    let form = match expected {
        Some(_) => "{msg}{bar:40} {pos} of {len} frames, {per_sec}, {eta} left",
        None => "{msg}{spinner} {pos} frames, {per_sec}",
    };
    if let (Some(bar), Ok(style)) = (&bar, ProgressStyle::with_template(form)) {
        let rate = |state: &indicatif::ProgressState, to: &mut dyn std::fmt::Write| {
            let _ = write!(to, "{:.1} frames/s", state.per_sec());
        };
        bar.set_style(style.with_key("per_sec", rate));
        if let Some(position) = position() {
            bar.set_message(format!("{position}: "));
        }
    }
    Frames(bar)
}

impl Frames {
    /// Counts one more frame.
    pub(crate) fn next(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }

    /// Removes the counter.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Whether the reader of our output has closed the pipe, which is not an error.
pub(crate) fn broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.chain().filter_map(|e| match e.downcast_ref() {
        Some(limpid::Error::Io { cause, .. }) => Some(cause),
        _ => e.downcast_ref::<std::io::Error>(),
    });
    io.map(std::io::Error::kind)
        .any(|kind| kind == std::io::ErrorKind::BrokenPipe)
}

/// Whether `--quiet` was given.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Prints only warnings and errors from now on.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether the command line or the environment asks for quiet output.
pub(crate) fn is_quiet() -> bool {
    let set = |v: std::ffi::OsString| !v.is_empty() && v != "0";
    QUIET.load(Ordering::Relaxed) || std::env::var_os("LIMPID_QUIET").is_some_and(set)
}
