//! The pixels of JPEG files.

use limpid_core::{Error, Size};
use std::path::Path;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Why a file could not be decoded.
pub(super) enum Fault {
    Decoder(DecodeErrors),
    /// The decoder sees another size than the structure.
    Size,
    Memory(Error),
}

impl Fault {
    pub(super) fn about(self, damaged: &dyn Fn(String) -> Error, path: &Path) -> Error {
        match self {
            Self::Decoder(DecodeErrors::Unsupported(e)) => {
                Error::unsupported(format!("{}: {e:?}", path.display()))
            }
            Self::Decoder(e) => damaged(plain(&e)),
            Self::Size => damaged("it declares its size twice".to_owned()),
            Self::Memory(e) => e,
        }
    }
}

/// An error of the decoder in one line.
pub(super) fn plain(error: &DecodeErrors) -> String {
    let text = error.to_string();
    let text = text.trim().trim_matches(['"', '.']);
    text.lines().next().unwrap_or_default().to_owned()
}

/// The number of channels and the samples of a file; not strictly, what can be had of a corrupt one.
pub(super) fn decoded(
    (bytes, size): (&[u8], Size),
    strict: bool,
) -> Result<(usize, Vec<u8>), Fault> {
    let options = DecoderOptions::default()
        .set_strict_mode(strict)
        .set_max_width(size.width)
        .set_max_height(size.height);
    // A copy, as the reader of TIFF files has: for another type, the decoder would be compiled twice.
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes.to_vec()), options);
    decoder.decode_headers().map_err(Fault::Decoder)?;
    if decoder.dimensions() != Some((size.width, size.height)) {
        return Err(Fault::Size);
    }
    // Everything except grey is converted to red, green and blue.
    let (channels, space) = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => (1, ColorSpace::Luma),
        _ => (3, ColorSpace::RGB),
    };
    decoder.set_options(options.jpeg_set_out_colorspace(space));
    let length = size.pixels() * channels;
    let mut buffer = limpid_core::memory::zeroed::<u8>(length).map_err(Fault::Memory)?;
    decoder.decode_into(&mut buffer).map_err(Fault::Decoder)?;
    Ok((channels, buffer))
}
