//! Layers in separate files: `albedo.exr` beside `beauty.exr`.

use super::{ReadOptions, Transfer, read};
use limpid_core::{Error, Image, Kind, Layer, Result, srgb_to_linear};
use std::path::Path;

/// Reads one layer from a file: the layer of that name, or the colour if the file has nothing else.
///
/// In PNG, JPEG and integer TIFF files, colour and albedo are decoded from sRGB to linear light, and normals are mapped
/// from 0 … 1 to -1 … 1.
///
/// ```
/// # mod limpid { pub use limpid_core::*; pub mod io { pub use limpid_io::*; } }
/// use limpid::{Frame, Image, Kind, io};
/// let path = std::env::temp_dir().join("limpid-albedo-example.exr");
/// io::write(&path, &Frame::new(Image::new(4, 3, 3))?, None, &io::WriteOptions::default())?;
/// let albedo = io::read_layer(&path, &Kind::Albedo.into())?;
/// assert_eq!(albedo.channels(), 3);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), limpid::Error>(())
/// ```
pub fn read_layer(path: impl AsRef<Path>, layer: &Layer) -> Result<Image> {
    let path = path.as_ref();
    let options = ReadOptions {
        need_color: false,
        ..ReadOptions::default()
    };
    let picture = read(path, &options)?;
    let frame = &picture.frame;
    let Some(image) = frame.get(layer.clone()).or_else(|| frame.get(Layer::COLOR)) else {
        let found: Vec<String> = frame.layers().map(|(l, _)| l.to_string()).collect();
        let found = match found.is_empty() {
            true => "no known layer".to_owned(),
            false => found.join(", "),
        };
        return Err(Error::input(format!(
            "{}: expected {layer} or colour, found {found}",
            path.display()
        )));
    };
    let image = with_channels(image, &layer.kind, picture.origin.transfer()).ok_or_else(|| {
        Error::input(format!(
            "{}: {layer} needs {}; the image has {}",
            path.display(),
            needed(&layer.kind),
            image.channels()
        ))
    })?;
    Ok(match (picture.origin.transfer(), &layer.kind) {
        (Transfer::Encoded, Kind::Normal) => image.map(|v| 2.0 * v - 1.0),
        (Transfer::Encoded, Kind::Color | Kind::Albedo | Kind::Light(_)) => {
            image.map(srgb_to_linear)
        }
        _ => image,
    })
}

/// The channels of a layer, in words.
fn needed(kind: &Kind) -> &'static str {
    match kind.channels() {
        [1] => "1 channel, or 3 that are equal",
        [2] => "2 channels",
        [3] => "3 channels",
        _ => "1 or 3 channels",
    }
}

/// Converts the image to the channels of a layer. Albedo may be grey, the third channel of motion is ignored, and
/// single-channel layers may be stored as equal red, green and blue.
fn with_channels(image: &Image, kind: &Kind, transfer: Transfer) -> Option<Image> {
    let (channels, allowed) = (image.channels(), kind.channels());
    if allowed.contains(&channels) {
        return Some(image.clone());
    }
    let fits = match kind {
        Kind::Albedo => channels == 1,
        Kind::Motion => channels > 2,
        _ => allowed == [1] && is_grey(image, transfer),
    };
    let wanted = *allowed.last()?;
    let (width, height) = (image.width(), image.height());
    let image = |x, y, c: usize| image.get(x, y, c.min(channels - 1));
    fits.then(|| Image::from_fn(width, height, wanted, image))
}

/// Whether all channels are equal; those of JPEG files may differ by two steps.
fn is_grey(image: &Image, transfer: Transfer) -> bool {
    let most = match transfer {
        Transfer::Linear => 0.0,
        Transfer::Encoded => 2.5 / 255.0,
    };
    let alike = |a: &f32, b: &f32| a.to_bits() == b.to_bits() || (a - b).abs() <= most;
    (1..image.channels()).all(|c| {
        let mut pairs = image.plane(0).iter().zip(image.plane(c));
        pairs.all(|(a, b)| alike(a, b))
    })
}
