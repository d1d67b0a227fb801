//! The C interface. Every function catches panics; the last error message is kept for each thread.

mod denoiser;
mod frame;

pub use denoiser::*;
pub use frame::*;
use limpid::Error;
use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a call.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimpidStatus {
    /// The call succeeded.
    Ok = 0,
    /// An argument or the input is wrong.
    Input = 1,
    /// An option has a value that is not allowed.
    Option = 2,
    /// A layer that the method needs is missing.
    Missing = 3,
    /// Not supported by this build or device.
    Unsupported = 4,
    /// The device failed or was not found.
    Device = 5,
    /// A file could not be read or written.
    Io = 6,
    /// An internal error in the library (a bug).
    Internal = 7,
    /// The work was stopped by the function of `limpid_denoiser_watch`.
    Stopped = 8,
}

/// Runs when the library is loaded, before it has threads: without a desktop, a layer of Mesa's Vulkan drivers complains on
/// standard error that there is no Wayland display. The layer only sorts devices for windows.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static HEADLESS: extern "C" fn() = headless;

#[cfg(target_os = "linux")]
extern "C" fn headless() {
    let place = std::env::var_os("XDG_RUNTIME_DIR");
    let place = place.is_some_and(|p| std::path::Path::new(&p).is_absolute());
    let asked = |name: &str| std::env::var_os(name).is_some();
    if !place && !asked("MESA_VK_DEVICE_SELECT") && !asked("NODEVICE_SELECT") {
        // SAFETY: the loader runs this before the functions of the library, on the thread that loads it.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

/// Bytes of the longest message, with the zero at its end.
const MESSAGE: usize = 1024;

thread_local! {
    // It stays where it is: a caller that keeps the pointer, as `printf("%d %s", limpid_…(), limpid_error())` may, reads another
    // message at worst.
    static LAST: RefCell<[u8; MESSAGE]> = const { RefCell::new([0; MESSAGE]) };
}

fn remember(message: &str) {
    let mut end = message.len().min(MESSAGE - 1);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    let text = &message[..end];
    LAST.with_borrow_mut(|last| {
        last.fill(0);
        for (to, byte) in last.iter_mut().zip(text.bytes()) {
            *to = if byte == 0 { b' ' } else { byte };
        }
    });
}

fn status(error: &Error) -> LimpidStatus {
    match error {
        Error::Option { .. } | Error::Unknown { .. } => LimpidStatus::Option,
        Error::Missing { .. } => LimpidStatus::Missing,
        Error::Unsupported(_) => LimpidStatus::Unsupported,
        Error::Device { .. } => LimpidStatus::Device,
        Error::Io { .. } => LimpidStatus::Io,
        Error::Stopped => LimpidStatus::Stopped,
        _ => LimpidStatus::Input,
    }
}

/// Runs `work`; an error becomes the last error of this thread.
fn guarded<T>(work: impl FnOnce() -> limpid::Result<T>) -> Result<T, LimpidStatus> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => {
            remember("");
            Ok(value)
        }
        Ok(Err(error)) => {
            remember(&error.to_string());
            Err(status(&error))
        }
        Err(_) => {
            remember("internal error of limpid; please report it");
            Err(LimpidStatus::Internal)
        }
    }
}

fn code(result: Result<(), LimpidStatus>) -> LimpidStatus {
    result.err().unwrap_or(LimpidStatus::Ok)
}

fn boxed<T>(result: Result<T, LimpidStatus>) -> *mut T {
    match result {
        Ok(value) => Box::into_raw(Box::new(value)),
        Err(_) => std::ptr::null_mut(),
    }
}

/// A C string.
///
/// # Safety
///
/// `text` is null or points to a NUL-terminated string.
unsafe fn string<'a>(text: *const c_char, what: &str) -> limpid::Result<&'a str> {
    if text.is_null() {
        return Err(Error::input(format!("{what} is NULL")));
    }
    // SAFETY: the caller promises a NUL-terminated string.
    let text = unsafe { CStr::from_ptr(text) };
    let wrong = |_| Error::input(format!("{what} is not UTF-8"));
    text.to_str().map_err(wrong)
}

fn null(what: &str) -> Error {
    Error::input(format!("{what} is NULL"))
}

/// The version, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn limpid_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The error message of the last call on this thread; empty if it succeeded. The next call on this thread replaces the text; the
/// pointer stays the same until the thread ends.
#[unsafe(no_mangle)]
pub extern "C" fn limpid_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr().cast())
}
