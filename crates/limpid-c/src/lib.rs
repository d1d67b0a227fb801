//! The C interface. Every function catches panics; the last error message is kept for each thread.

mod denoiser;

pub use denoiser::*;
use limpid::{Error, Frame, Image, Layer, io};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_void};
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

/// A set of named layers of the same size.
#[derive(Debug)]
pub struct LimpidFrame(pub(crate) Frame);

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

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

fn remember(message: &str) {
    let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
    LAST.set(text);
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
            LAST.set(CString::default());
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

/// Refuses a number of channels that a layer does not have.
fn checked(layer: &Layer, channels: usize) -> limpid::Result<()> {
    let known: Vec<String> = layer.kind.channels().iter().map(usize::to_string).collect();
    match layer.kind.channels().contains(&channels) {
        true => Ok(()),
        false => Err(Error::input(format!(
            "{layer} has {} channels, not {channels}",
            known.join(" or ")
        ))),
    }
}

fn null(what: &str) -> Error {
    Error::input(format!("{what} is NULL"))
}

/// The version, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn limpid_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The error message of the last call on this thread; empty if it succeeded. Valid until the next call on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn limpid_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}

/// Creates a frame without layers. Returns NULL if width or height is 0.
#[unsafe(no_mangle)]
pub extern "C" fn limpid_frame_new(width: u32, height: u32) -> *mut LimpidFrame {
    boxed(guarded(|| {
        let size = limpid::Size::new(width as usize, height as usize);
        Frame::empty(size).map(LimpidFrame)
    }))
}

/// Reads a file with all recognised layers. Returns NULL on errors.
///
/// # Safety
///
/// `path` is a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_read(path: *const c_char) -> *mut LimpidFrame {
    boxed(guarded(|| {
        // SAFETY: as promised by the caller.
        let path = unsafe { string(path, "path")? };
        let picture = io::read(path, &io::ReadOptions::default())?;
        Ok(LimpidFrame(picture.frame))
    }))
}

/// Writes the frame; the file extension determines the format. The file is written completely or not at all.
///
/// # Safety
///
/// `frame` is a frame that has not been freed, and `path` is a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_write(
    frame: *const LimpidFrame,
    path: *const c_char,
) -> LimpidStatus {
    code(guarded(|| {
        // SAFETY: as promised by the caller.
        let (frame, path) = unsafe { (frame.as_ref(), string(path, "path")?) };
        let frame = frame.ok_or_else(|| null("frame"))?;
        io::write(path, &frame.0, None, &io::WriteOptions::default()).map(drop)
    }))
}

/// Frees a frame; does nothing for NULL.
///
/// # Safety
///
/// `frame` is NULL or a frame that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_free(frame: *mut LimpidFrame) {
    if !frame.is_null() {
        // SAFETY: the frame was made by `boxed` and is freed once, as the caller promises.
        drop(unsafe { Box::from_raw(frame) });
    }
}

/// Width in pixels; 0 for NULL.
///
/// # Safety
///
/// `frame` is NULL or a frame that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_width(frame: *const LimpidFrame) -> u32 {
    // SAFETY: as promised by the caller.
    unsafe { frame.as_ref() }.map_or(0, |f| f.0.size().width as u32)
}

/// Height in pixels; 0 for NULL.
///
/// # Safety
///
/// `frame` is NULL or a frame that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_height(frame: *const LimpidFrame) -> u32 {
    // SAFETY: as promised by the caller.
    unsafe { frame.as_ref() }.map_or(0, |f| f.0.size().height as u32)
}

/// The number of channels of a layer; 0 if the frame does not have this layer.
///
/// # Safety
///
/// `frame` is a frame that has not been freed, and `layer` is a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_channels(
    frame: *const LimpidFrame,
    layer: *const c_char,
) -> u32 {
    let channels = guarded(|| {
        // SAFETY: as promised by the caller.
        let (frame, layer) = unsafe { (frame.as_ref(), string(layer, "layer")?) };
        let frame = frame.ok_or_else(|| null("frame"))?;
        let layer: Layer = layer.parse()?;
        Ok(frame.0.get(layer).map_or(0, Image::channels))
    });
    channels.map_or(0, |c| c as u32)
}

/// Sets a layer: "color", "albedo", "normal", "depth", "motion", "color.variance", "light:key", … Pixels are stored row by row from
/// top to bottom, with the channels of a pixel next to each other; they are copied.
///
/// # Safety
///
/// `frame` is a frame that has not been freed, `layer` is a NUL-terminated string, and `pixels` points to width × height × channels
/// floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_set(
    frame: *mut LimpidFrame,
    layer: *const c_char,
    pixels: *const f32,
    channels: u32,
) -> LimpidStatus {
    code(guarded(|| {
        // SAFETY: as promised by the caller.
        let (frame, layer) = unsafe { (frame.as_mut(), string(layer, "layer")?) };
        let frame = frame.ok_or_else(|| null("frame"))?;
        let layer: Layer = layer.parse()?;
        if pixels.is_null() {
            return Err(null("pixels"));
        }
        let (size, channels) = (frame.0.size(), channels as usize);
        checked(&layer, channels)?;
        // SAFETY: the pointer is not null, and the caller promises as many floats.
        let pixels = unsafe { std::slice::from_raw_parts(pixels, size.pixels() * channels) };
        let image = Image::from_fn(size.width, size.height, channels, |x, y, c| {
            pixels[(y * size.width + x) * channels + c]
        });
        frame.0.insert(layer, image)
    }))
}

/// The same from pixels that lie apart, as in the textures and structures of a renderer: a pixel is `pixel_stride` bytes after the one to its
/// left and `row_stride` bytes after the one above. `sample_bytes` is 4 for floats and 2 for half floats, which stand next to each other
/// in a pixel.
///
/// # Safety
///
/// `frame` is a frame that has not been freed, `layer` is a NUL-terminated string, and all samples lie in memory that may be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_set_strided(
    frame: *mut LimpidFrame,
    layer: *const c_char,
    pixels: *const c_void,
    channels: u32,
    sample_bytes: u32,
    pixel_stride: usize,
    row_stride: usize,
) -> LimpidStatus {
    code(guarded(|| {
        // SAFETY: as promised by the caller.
        let (frame, layer) = unsafe { (frame.as_mut(), string(layer, "layer")?) };
        let frame = frame.ok_or_else(|| null("frame"))?;
        let layer: Layer = layer.parse()?;
        if pixels.is_null() {
            return Err(null("pixels"));
        }
        if !matches!(sample_bytes, 2 | 4) {
            let expected = "4 for floats or 2 for half floats";
            return Err(Error::option("sample_bytes", sample_bytes, expected));
        }
        let (size, channels) = (frame.0.size(), channels as usize);
        checked(&layer, channels)?;
        let image = Image::from_fn(size.width, size.height, channels, |x, y, c| {
            let at = y * row_stride + x * pixel_stride + c * sample_bytes as usize;
            let place = pixels.cast::<u8>();
            // SAFETY: the caller promises that all samples lie in memory that may be read; they need no alignment.
            unsafe {
                match sample_bytes {
                    2 => {
                        half::f16::from_bits(place.add(at).cast::<u16>().read_unaligned()).to_f32()
                    }
                    _ => place.add(at).cast::<f32>().read_unaligned(),
                }
            }
        });
        frame.0.insert(layer, image)
    }))
}

/// Copies a layer to `pixels`, in the order of `limpid_frame_set`.
///
/// # Safety
///
/// `frame` is a frame that has not been freed, `layer` is a NUL-terminated string, and `pixels` points to room for width × height ×
/// channels floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_get(
    frame: *const LimpidFrame,
    layer: *const c_char,
    pixels: *mut f32,
    channels: u32,
) -> LimpidStatus {
    code(guarded(|| {
        // SAFETY: as promised by the caller.
        let (frame, layer) = unsafe { (frame.as_ref(), string(layer, "layer")?) };
        let frame = frame.ok_or_else(|| null("frame"))?;
        let layer: Layer = layer.parse()?;
        let image = frame.0.require(layer.clone())?;
        if pixels.is_null() {
            return Err(null("pixels"));
        }
        if image.channels() != channels as usize {
            return Err(Error::input(format!(
                "{layer} has {} channels, not {channels}",
                image.channels()
            )));
        }
        let (width, channels) = (image.width(), image.channels());
        // SAFETY: the pointer is not null, and the caller promises room for as many floats.
        let out =
            unsafe { std::slice::from_raw_parts_mut(pixels, image.size().pixels() * channels) };
        for (i, value) in out.iter_mut().enumerate() {
            let (at, c) = (i / channels, i % channels);
            *value = image.get(at % width, at / width, c);
        }
        Ok(())
    }))
}
