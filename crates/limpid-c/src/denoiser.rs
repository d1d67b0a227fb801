//! Denoisers: a method with its options on a device.

use crate::{LimpidFrame, LimpidStatus, boxed, code, guarded, null, string};
use limpid::method::{Auto, Method, Use, find};
use limpid::{Device, Error, Options, Sequence, Watch};
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A method on a device. It keeps compiled shaders, memory and the history of sequences from frame to frame.
#[derive(Debug)]
pub struct LimpidDenoiser {
    /// The device by the name that opened it.
    name: String,
    device: Device,
    /// For display values, and for scene-linear light.
    options: [Options; 2],
    sequence: Option<Sequence>,
    /// Which options the sequence has.
    light: bool,
    /// The method of the last run.
    chosen: CString,
    watch: Option<ProgressCallback>,
}

/// The caller's function that is told of progress.
#[derive(Debug, Clone, Copy)]
struct ProgressCallback {
    function: Progress,
    data: *mut c_void,
}

// SAFETY: the caller of `limpid_denoiser_watch` promises that the function may be called with its data from any thread.
unsafe impl Send for ProgressCallback {}
// SAFETY: as above.
unsafe impl Sync for ProgressCallback {}

impl ProgressCallback {
    fn watch(self) -> Watch {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        let tell = move |share: f32| {
            if !self.goes_on(share) {
                stop.store(true, Ordering::Relaxed);
            }
        };
        Watch::with_callback(tell).with_flag(flag)
    }

    fn goes_on(&self, share: f32) -> bool {
        // SAFETY: as the caller of `limpid_denoiser_watch` promises.
        unsafe { (self.function)(share, self.data) }
    }
}

type Progress = unsafe extern "C" fn(f32, *mut c_void) -> bool;

/// Creates a denoiser on a device ("auto", "cpu", "gpu", "gpu:NAME") with a method ("nfor", "svgf", …), or NULL to choose a method
/// by the contents of each frame: "neural" for renders, which have features or scene-linear colour, "camera" or "eaw" for
/// photographs. Returns NULL on errors.
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
        let name = unsafe { string(device, "device")? }.to_owned();
        let device = Device::open_with(&name, None, false)?;
        let named = match method.is_null() {
            true => None,
            // SAFETY: not null, and so a string, as promised by the caller.
            false => Some(unsafe { string(method, "method")? }),
        };
        let options = |usual: Auto| -> limpid::Result<Options> {
            let method: Box<dyn Method> = match named {
                Some(name) => find(Use::Denoise, name)?,
                None => Box::new(usual),
            };
            Ok(Options::of(method))
        };
        Ok(LimpidDenoiser {
            name,
            device,
            options: [
                options(Auto::default())?,
                options(Auto::default().scene_linear())?,
            ],
            sequence: None,
            light: false,
            chosen: CString::default(),
            watch: None,
        })
    }))
}

/// An error about an unknown name also lists the options that are not of the method.
fn with_general_options(mut error: Error) -> Error {
    if let Error::Unknown { known, .. } = &mut error {
        known.extend(["strength", "threads", "memory"].map(str::to_owned));
    }
    error
}

/// Sets an option of the method by its name on the command line ("quality", "sigma"), or "strength", 0 … 1, "threads" of the CPU, or
/// "memory" in bytes, beyond which images are processed in tiles. This clears the history.
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
            let strength = strength.ok_or_else(|| Error::option(name, value, "0 … 1"))?;
            for options in &mut denoiser.options {
                options.strength = strength;
            }
        } else if name == "threads" {
            let threads: Option<usize> = value.parse().ok().filter(|count| *count > 0);
            let threads = threads.ok_or_else(|| Error::option(name, value, "at least 1"))?;
            denoiser.device = Device::open_with(&denoiser.name, Some(threads), false)?;
        } else if name == "memory" {
            let bytes: Option<u64> = value.parse().ok().filter(|bytes| *bytes > 0);
            let bytes = bytes.ok_or_else(|| Error::option(name, value, "a number of bytes"))?;
            for options in &mut denoiser.options {
                options.memory = Some(bytes);
            }
        } else {
            for options in &mut denoiser.options {
                let set = options.method.set_all([(name, value)]);
                set.map_err(with_general_options)?;
            }
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
        let watch = denoiser
            .watch
            .map_or_else(Watch::default, ProgressCallback::watch);
        let LimpidDenoiser {
            device,
            options,
            sequence,
            light,
            chosen,
            ..
        } = denoiser;
        if *light != frame.is_light() {
            (*light, *sequence) = (frame.is_light(), None);
        }
        let options = &options[usize::from(*light)];
        let sequence = sequence.get_or_insert_with(|| Sequence::new(device, options));
        let made = sequence.run(&frame.frame, &watch)?;
        watch.check()?;
        *chosen = CString::new(sequence.method().name()).unwrap_or_default();
        Ok(LimpidFrame {
            frame: made,
            origin: frame.origin.clone(),
            encoded: frame.encoded,
        })
    }))
}

/// The method of the last run: the one that was named, or the one that was chosen for its frame. Empty before the first run; valid until
/// the next one.
///
/// # Safety
///
/// `denoiser` is NULL or a denoiser that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_denoiser_method(denoiser: *const LimpidDenoiser) -> *const c_char {
    // SAFETY: as promised by the caller.
    let chosen = unsafe { denoiser.as_ref() }.map(|d| d.chosen.as_ptr());
    chosen.unwrap_or(c"".as_ptr())
}

/// Sets a function that is told of the progress of `limpid_denoiser_run`, 0 … 1, with `data`; if it returns false, the work stops and
/// `limpid_denoiser_run` returns NULL. NULL removes it.
///
/// # Safety
///
/// `denoiser` is a denoiser that has not been freed. `function` may be called with `data` from any thread, until it is removed or the
/// denoiser is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_denoiser_watch(
    denoiser: *mut LimpidDenoiser,
    function: Option<unsafe extern "C" fn(share: f32, data: *mut c_void) -> bool>,
    data: *mut c_void,
) -> LimpidStatus {
    code(guarded(|| {
        // SAFETY: as promised by the caller.
        let denoiser = unsafe { denoiser.as_mut() }.ok_or_else(|| null("denoiser"))?;
        denoiser.watch = function.map(|function| ProgressCallback { function, data });
        Ok(())
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
