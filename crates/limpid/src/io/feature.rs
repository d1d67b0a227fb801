//! Layers in separate files: `albedo.exr` beside `beauty.exr`.

use super::{ReadOptions, Transfer, read};
use crate::{Error, Image, Kind, Layer, Result, srgb_to_linear};
use std::path::Path;

/// Reads one layer from a file: the layer of that name, or the colour if the file has nothing else.
///
/// In PNG, JPEG and integer TIFF files, colour and albedo are decoded from sRGB to linear light, and normals are mapped
/// from 0 … 1 to -1 … 1.
///
/// ```
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
    let image = with_channels(image, layer.kind.channels()).ok_or_else(|| {
        let counts: Vec<String> = layer.kind.channels().iter().map(usize::to_string).collect();
        Error::input(format!(
            "{}: the image has {} channels; {layer} needs {}",
            path.display(),
            image.channels(),
            counts.join(" or ")
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

/// The image with a supported number of channels: the first of three, or one repeated three times.
fn with_channels(image: &Image, allowed: &[usize]) -> Option<Image> {
    let channels = image.channels();
    if allowed.contains(&channels) {
        return Some(image.clone());
    }
    let wanted = *allowed.last()?;
    if channels == 1 || channels > wanted {
        let from = |c: usize| c.min(channels - 1);
        return Some(Image::from_fn(
            image.width(),
            image.height(),
            wanted,
            |x, y, c| image.get(x, y, from(c)),
        ));
    }
    None
}
