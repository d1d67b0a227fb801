//! Frames: their layers, from and to memory and files.

use crate::{LimpidStatus, boxed, code, guarded, null, string};
use half::f16;
use limpid::io::{self, Origin, Transfer};
use limpid::{Error, Frame, Image, Layer};
use std::ffi::{c_char, c_void};

/// A set of named layers of the same size.
#[derive(Debug)]
pub struct LimpidFrame {
    pub(crate) frame: Frame,
    /// The file that it comes from.
    pub(crate) origin: Option<Origin>,
    /// Whether colour is display values.
    pub(crate) encoded: bool,
}

impl LimpidFrame {
    fn new(frame: Frame) -> Self {
        Self {
            frame,
            origin: None,
            encoded: false,
        }
    }

    /// Whether colour without features is a render's: scene-linear light. Float TIFF is as often a measurement as a picture.
    pub(crate) fn is_light(&self) -> bool {
        let tiff = |origin: &Origin| origin.format() == io::Format::Tiff;
        !self.encoded && !self.origin.as_ref().is_some_and(tiff)
    }
}

/// Refuses a number of channels that a layer does not have.
fn checked(layer: &Layer, channels: usize) -> limpid::Result<()> {
    let known: Vec<String> = layer.kind.channels().iter().map(usize::to_string).collect();
    match layer.kind.channels().contains(&channels) {
        true => Ok(()),
        false => Err(Error::input(format!(
            "{layer} has {}, not {channels}",
            match known.as_slice() {
                [one] if one == "1" => "1 channel".to_owned(),
                all => format!("{} channels", all.join(" or ")),
            }
        ))),
    }
}

/// Creates a frame without layers. Its colour is scene-linear light, as renderers have it, unless `limpid_frame_set_encoded` says otherwise.
/// Returns NULL if width or height is 0.
#[unsafe(no_mangle)]
pub extern "C" fn limpid_frame_new(width: u32, height: u32) -> *mut LimpidFrame {
    boxed(guarded(|| {
        let size = limpid::Size::new(width as usize, height as usize);
        Frame::empty(size).map(LimpidFrame::new)
    }))
}

/// Says that the colour of a frame is display values, 0 … 1, as photographs have them (true), or scene-linear light (false). This decides
/// how files store it, and without a named method, which one is chosen. Frames that were read know it.
///
/// # Safety
///
/// `frame` is a frame that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_set_encoded(
    frame: *mut LimpidFrame,
    encoded: bool,
) -> LimpidStatus {
    code(guarded(|| {
        // SAFETY: as promised by the caller.
        let frame = unsafe { frame.as_mut() }.ok_or_else(|| null("frame"))?;
        if frame.origin.is_some() && frame.encoded != encoded {
            let message = "the frame was read from a file, which says what its colour is";
            return Err(Error::input(message));
        }
        frame.encoded = encoded;
        Ok(())
    }))
}

/// Reads a file with all recognised layers; the file says whether its colour is light or display values. Returns NULL on errors.
///
/// # Safety
///
/// `path` is a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_read(path: *const c_char) -> *mut LimpidFrame {
    boxed(guarded(|| {
        // SAFETY: as promised by the caller.
        let path = unsafe { string(path, "path")? };
        read(path, &io::ReadOptions::default())
    }))
}

/// The same for a deep EXR image, which is otherwise refused: the samples of each pixel are composited into one, front to back. Other
/// files are read as by `limpid_frame_read`.
///
/// # Safety
///
/// `path` is a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_read_flattened(path: *const c_char) -> *mut LimpidFrame {
    boxed(guarded(|| {
        // SAFETY: as promised by the caller.
        let path = unsafe { string(path, "path")? };
        let mut options = io::ReadOptions::default();
        options.flatten = true;
        read(path, &options)
    }))
}

fn read(path: &str, options: &io::ReadOptions) -> limpid::Result<LimpidFrame> {
    let picture = io::read(path, options)?;
    Ok(LimpidFrame {
        encoded: picture.origin.transfer() == Transfer::Encoded,
        frame: picture.frame,
        origin: Some(picture.origin),
    })
}

/// Writes the frame; the file extension determines the format. The file is written completely or not at all. A frame that was read, or
/// made from one, keeps the metadata of its file and all layers that were not changed.
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
        write(frame, path, io::WriteOptions::default())
    }))
}

/// The same with a compression of EXR files by its name: none, rle, zips, zip, piz, pxr24, b44, b44a, dwaa, dwab, htj2k or htj2k32. A
/// wrong name is an error that lists them; other formats ignore it.
///
/// # Safety
///
/// `frame` is a frame that has not been freed, and `path` and `compression` are NUL-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_write_compressed(
    frame: *const LimpidFrame,
    path: *const c_char,
    compression: *const c_char,
) -> LimpidStatus {
    code(guarded(|| {
        // SAFETY: as promised by the caller.
        let (frame, path) = unsafe { (frame.as_ref(), string(path, "path")?) };
        // SAFETY: the same.
        let compression = unsafe { string(compression, "compression")? };
        let frame = frame.ok_or_else(|| null("frame"))?;
        let mut options = io::WriteOptions::default();
        options.compression = Some(compression.parse()?);
        write(frame, path, options)
    }))
}

fn write(frame: &LimpidFrame, path: &str, mut options: io::WriteOptions) -> limpid::Result<()> {
    options.transfer = Some(match frame.encoded {
        true => Transfer::Encoded,
        false => Transfer::Linear,
    });
    io::write(path, &frame.frame, frame.origin.as_ref(), &options).map(drop)
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
    unsafe { frame.as_ref() }.map_or(0, |f| f.frame.size().width as u32)
}

/// Height in pixels; 0 for NULL.
///
/// # Safety
///
/// `frame` is NULL or a frame that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_height(frame: *const LimpidFrame) -> u32 {
    // SAFETY: as promised by the caller.
    unsafe { frame.as_ref() }.map_or(0, |f| f.frame.size().height as u32)
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
        Ok(frame.frame.get(layer).map_or(0, Image::channels))
    });
    channels.map_or(0, |c| c as u32)
}

/// The frame and the layer that pixels are for.
///
/// # Safety
///
/// `frame` is null or a frame that has not been freed, and `layer` null or a NUL-terminated string.
unsafe fn target<'a>(
    frame: *mut LimpidFrame,
    layer: *const c_char,
    no_pixels: bool,
) -> limpid::Result<(&'a mut LimpidFrame, Layer)> {
    // SAFETY: as promised by the caller.
    let (frame, layer) = unsafe { (frame.as_mut(), string(layer, "layer")?) };
    let frame = frame.ok_or_else(|| null("frame"))?;
    match no_pixels {
        true => Err(null("pixels")),
        false => Ok((frame, layer.parse()?)),
    }
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
        let (frame, layer) = unsafe { target(frame, layer, pixels.is_null())? };
        let (size, channels) = (frame.frame.size(), channels as usize);
        checked(&layer, channels)?;
        // SAFETY: the pointer is not null, and the caller promises as many floats.
        let pixels = unsafe { std::slice::from_raw_parts(pixels, size.pixels() * channels) };
        let image = Image::from_fn(size.width, size.height, channels, |x, y, c| {
            pixels[(y * size.width + x) * channels + c]
        });
        frame.frame.insert(layer, image)
    }))
}

/// The same from pixels that lie apart, as in the textures and structures of a renderer: a pixel is `pixel_stride` bytes after the one to its
/// left and `row_stride` bytes after the one above; `pixels` is the first sample of the topmost row, also where rows are stored from bottom to
/// top and `row_stride` is negative. `sample_bytes` is 4 for floats and 2 for half floats, which stand next to each other in a pixel.
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
    pixel_stride: isize,
    row_stride: isize,
) -> LimpidStatus {
    code(guarded(|| {
        // SAFETY: as promised by the caller.
        let (frame, layer) = unsafe { target(frame, layer, pixels.is_null())? };
        let half = is_half(sample_bytes)?;
        let (size, channels) = (frame.frame.size(), channels as usize);
        checked(&layer, channels)?;
        let image = Image::from_fn(size.width, size.height, channels, |x, y, c| {
            let at = y as isize * row_stride + x as isize * pixel_stride;
            let at = at + (c * sample_bytes as usize) as isize;
            // SAFETY: the caller promises that all samples lie in memory that may be read; they need no alignment.
            unsafe {
                let place = pixels.cast::<u8>().offset(at);
                match half {
                    true => f16::from_bits(place.cast::<u16>().read_unaligned()).to_f32(),
                    false => place.cast::<f32>().read_unaligned(),
                }
            }
        });
        frame.frame.insert(layer, image)
    }))
}

/// Whether samples of this size are half floats.
fn is_half(sample_bytes: u32) -> limpid::Result<bool> {
    match sample_bytes {
        2 => Ok(true),
        4 => Ok(false),
        other => {
            let expected = "4 for floats or 2 for half floats";
            Err(Error::option("sample_bytes", other, expected))
        }
    }
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
        let image = held(frame, layer, channels)?;
        if pixels.is_null() {
            return Err(null("pixels"));
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

/// Copies a layer to pixels that lie apart, as `limpid_frame_set_strided` reads them: into a texture of half floats, or beside other
/// members of a structure. What lies between stays as it is.
///
/// # Safety
///
/// `frame` is a frame that has not been freed, `layer` is a NUL-terminated string, and all samples lie in memory that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn limpid_frame_get_strided(
    frame: *const LimpidFrame,
    layer: *const c_char,
    pixels: *mut c_void,
    channels: u32,
    sample_bytes: u32,
    pixel_stride: isize,
    row_stride: isize,
) -> LimpidStatus {
    code(guarded(|| {
        // SAFETY: as promised by the caller.
        let (frame, layer) = unsafe { (frame.as_ref(), string(layer, "layer")?) };
        let image = held(frame, layer, channels)?;
        if pixels.is_null() {
            return Err(null("pixels"));
        }
        let half = is_half(sample_bytes)?;
        for c in 0..image.channels() {
            for y in 0..image.height() {
                for (x, value) in image.row(c, y).iter().enumerate() {
                    let at = y as isize * row_stride + x as isize * pixel_stride;
                    let at = at + (c * sample_bytes as usize) as isize;
                    // SAFETY: the caller promises that all samples lie in memory that may be written; they need no alignment.
                    unsafe {
                        let place = pixels.cast::<u8>().offset(at);
                        match half {
                            true => {
                                let bits = f16::from_f32(*value).to_bits();
                                place.cast::<u16>().write_unaligned(bits);
                            }
                            false => place.cast::<f32>().write_unaligned(*value),
                        }
                    }
                }
            }
        }
        Ok(())
    }))
}

/// A layer with this number of channels.
fn held<'a>(
    frame: Option<&'a LimpidFrame>,
    layer: &str,
    channels: u32,
) -> limpid::Result<&'a Image> {
    let frame = frame.ok_or_else(|| null("frame"))?;
    let layer: Layer = layer.parse()?;
    let image = frame.frame.require(layer.clone())?;
    match image.channels() == channels as usize {
        true => Ok(image),
        false => Err(Error::input(format!(
            "{layer} has {} channels, not {channels}",
            image.channels()
        ))),
    }
}
