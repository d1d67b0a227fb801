//! The C interface. Every function catches panics; the last error message is kept for each thread.

use limpid::method::{Auto, Method, Use, find};
use limpid::{Device, Error, Frame, Image, Layer, Options, Sequence, Watch, io};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
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
}

/// A set of named layers of the same size.
#[derive(Debug)]
pub struct LimpidFrame(Frame);

/// A method on a device. It keeps compiled shaders, memory and the history of sequences from frame to frame.
#[derive(Debug)]
pub struct LimpidDenoiser {
    device: Device,
    options: Options,
    sequence: Option<Sequence>,
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
        if !layer.kind.channels().contains(&channels) {
            return Err(Error::input(format!(
                "{layer} has {:?} channels, not {channels}",
                layer.kind.channels()
            )));
        }
        // SAFETY: the pointer is not null, and the caller promises as many floats.
        let pixels = unsafe { std::slice::from_raw_parts(pixels, size.pixels() * channels) };
        let image = Image::from_fn(size.width, size.height, channels, |x, y, c| {
            pixels[(y * size.width + x) * channels + c]
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

/// Creates a denoiser on a device ("auto", "cpu", "gpu", "gpu:NAME") with a method ("nfor", "svgf", …), or NULL to choose a method
/// from the layers of each frame. Returns NULL on errors.
///
/// # Safety
///
/// `device` is a NUL-terminated string, and `method` is such a string or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_denoiser_new(
    device: *const c_char,
    method: *const c_char,
) -> *mut LimpidDenoiser {
    boxed(guarded(|| {
        // SAFETY: as promised by the caller.
        let device = Device::open_with(unsafe { string(device, "device")? }, None, false)?;
        let method: Box<dyn Method> = match method.is_null() {
            true => Box::new(Auto::default()),
            // SAFETY: not null, and so a string, as promised by the caller.
            false => find(Use::Denoise, unsafe { string(method, "method")? })?,
        };
        Ok(LimpidDenoiser {
            device,
            options: Options::of(method),
            sequence: None,
        })
    }))
}

/// Sets an option of the method by its name on the command line ("quality", "sigma"), or "strength", 0 … 1. This clears the
/// history.
///
/// # Safety
///
/// `denoiser` is a denoiser that has not been freed, and `name` and `value` are NUL-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_denoiser_set(
    denoiser: *mut LimpidDenoiser,
    name: *const c_char,
    value: *const c_char,
) -> LimpidStatus {
    code(guarded(|| {
        // SAFETY: as promised by the caller.
        let (denoiser, name, value) = unsafe {
            (
                denoiser.as_mut(),
                string(name, "name")?,
                string(value, "value")?,
            )
        };
        let denoiser = denoiser.ok_or_else(|| null("denoiser"))?;
        if name == "strength" {
            let strength = value.parse().ok().filter(|s| (0.0..=1.0).contains(s));
            denoiser.options.strength =
                strength.ok_or_else(|| Error::option(name, value, "0 … 1"))?;
        } else {
            denoiser.options.method.set(name, value)?;
        }
        denoiser.sequence = None;
        Ok(())
    }))
}

/// Denoises a frame; pass the frames of a sequence in order. Returns a new frame, or NULL on errors.
///
/// # Safety
///
/// `denoiser` and `frame` have not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_denoiser_run(
    denoiser: *mut LimpidDenoiser,
    frame: *const LimpidFrame,
) -> *mut LimpidFrame {
    boxed(guarded(|| {
        // SAFETY: as promised by the caller.
        let (denoiser, frame) = unsafe { (denoiser.as_mut(), frame.as_ref()) };
        let denoiser = denoiser.ok_or_else(|| null("denoiser"))?;
        let frame = frame.ok_or_else(|| null("frame"))?;
        let LimpidDenoiser {
            device,
            options,
            sequence,
        } = denoiser;
        let sequence = sequence.get_or_insert_with(|| Sequence::new(device, options));
        sequence.run(&frame.0, &Watch::default()).map(LimpidFrame)
    }))
}

/// Clears the history of a sequence; call it after a cut.
///
/// # Safety
///
/// `denoiser` is NULL or a denoiser that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_denoiser_reset(denoiser: *mut LimpidDenoiser) {
    // SAFETY: as promised by the caller.
    if let Some(denoiser) = unsafe { denoiser.as_mut() } {
        denoiser.sequence = None;
    }
}

/// Frees a denoiser; does nothing for NULL.
///
/// # Safety
///
/// `denoiser` is NULL or a denoiser that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_denoiser_free(denoiser: *mut LimpidDenoiser) {
    if !denoiser.is_null() {
        // SAFETY: the denoiser was made by `boxed` and is freed once, as the caller promises.
        drop(unsafe { Box::from_raw(denoiser) });
    }
}
