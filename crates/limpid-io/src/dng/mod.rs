//! DNG: the picture of a sensor, as cameras and converters store it. Mosaics of red, green and blue (Bayer, X-Trans) and linear
//! pictures of three channels; 8 to 16 bits, uncompressed or lossless JPEG, in strips or tiles.
//!
//! A file is read in one of two ways. [`read`] gives the [`Raw`] values of the sensor, and [`Raw::write`] puts changed ones into a
//! copy of the file in which everything else is as it was: levels, matrices, white balance, orientation, EXIF and GPS data, XMP,
//! previews. [`crate::read`] develops the picture plainly, as any other photograph.

mod build;
mod color;
#[cfg(feature = "raw")]
mod convert;
mod demosaic;
mod develop;
#[cfg(feature = "raw")]
mod kept;
mod linear;
mod ljpeg;
mod sensor;
mod tree;
mod write;

use super::codec::{self, Codec, Content, Holds};
use super::raster::{Raster, Transfer};
use super::{Format, ReadOptions, atomic, guard, load};
#[cfg(feature = "raw")]
pub(crate) use convert::{Captured, converted};
#[cfg(feature = "raw")]
pub(crate) use kept::Kept;
use limpid_core::{Error, Image, Result, memory};
use sensor::{Sensor, corrupt};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use tree::{Tree, tag};

/// DNG in the table of formats.
pub(super) const CODEC: Codec = Codec {
    name: "DNG",
    extensions: &["dng"],
    begins: |bytes| {
        let first = Tree::new(bytes).and_then(|t| t.directories().into_iter().next());
        first.is_some_and(|d| d.entry(tag::VERSION).is_some())
    },
    transfer: Transfer::Linear,
    holds: Holds::Color,
    read: |bytes, path, options| {
        let raw = Raw::decode(&bytes, path, options.limit)?;
        let kept = DngExtras {
            iso: raw.iso(),
            kind: raw.kind(),
        };
        let raster = Raster {
            color: Cow::Owned(raw.develop()?),
            alpha: None,
        };
        Content::of((raster, kept, raw.notes))
    },
    inspect: None,
    write: |page| {
        let raster = page.raster(Transfer::Linear)?;
        Ok((build::linear(&raster.color, page.path)?, Vec::new()))
    },
};

/// What is known of a developed file.
#[derive(Debug)]
struct DngExtras {
    iso: Option<u32>,
    /// What the file holds, and of which camera.
    kind: String,
}

impl codec::Extras for DngExtras {
    fn transfer(&self) -> Transfer {
        Transfer::Encoded
    }

    fn sample(&self) -> &'static str {
        "16 bit"
    }

    fn compression(&self) -> String {
        format!("{}, developed", self.kind)
    }

    fn iso(&self) -> Option<u32> {
        self.iso
    }
}

/// The colours of a mosaic, which repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    width: usize,
    height: usize,
    colors: Vec<u8>,
}

impl Pattern {
    /// A pattern of red (0), green (1) and blue (2), row by row; `None` if a colour is missing or unknown.
    ///
    /// ```
    /// use limpid_io::dng::Pattern;
    /// let bayer = Pattern::new(2, 2, vec![0, 1, 1, 2]).unwrap();
    /// assert_eq!(bayer.color(3, 5), 2);
    /// assert!(Pattern::new(2, 2, vec![0, 1, 1, 3]).is_none());
    /// ```
    pub fn new(width: usize, height: usize, colors: Vec<u8>) -> Option<Self> {
        let whole = colors.len() == width * height && colors.iter().all(|c| *c < 3);
        let all = (0..3).all(|c| colors.contains(&c));
        (whole && all).then_some(Self {
            width,
            height,
            colors,
        })
    }

    /// The colour of a pixel.
    pub fn color(&self, x: usize, y: usize) -> usize {
        usize::from(self.colors[y % self.height * self.width + x % self.width])
    }

    /// Width and height after which it repeats.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// Whether it is Bayer's: 2×2 pixels, with green on a diagonal.
    pub fn is_bayer(&self) -> bool {
        (self.width, self.height) == (2, 2)
            && matches!(self.colors[..], [1, a, b, 1] | [a, 1, 1, b] if a != 1 && b != 1)
    }
}

/// The values of a sensor, and the file that they come from.
#[derive(Debug, Clone)]
pub struct Raw {
    /// The active area: one channel for a mosaic, three for a linear picture. Black is 0 and white is 1; noise goes below 0.
    pub image: Image,
    /// The colours of the mosaic; `None` for a linear picture.
    pub pattern: Option<Pattern>,
    /// Notes for the user.
    pub notes: Vec<String>,
    source: Arc<Source>,
}

/// A file, and what was found in it.
#[derive(Debug)]
struct Source {
    bytes: Vec<u8>,
    sensor: Sensor,
    color: color::Color,
    orientation: u8,
    iso: Option<u32>,
    noise: Option<[[f32; 2]; 3]>,
    camera: Option<String>,
}

/// Three colours for each pixel of a mosaic.
pub fn demosaic(mosaic: &Image, pattern: &Pattern) -> Result<Image> {
    match pattern.is_bayer() && mosaic.width() >= 4 && mosaic.height() >= 4 {
        true => demosaic::bayer(mosaic, pattern),
        false => demosaic::interpolated(mosaic, pattern),
    }
}

/// Reads the values of a sensor from a DNG file, or from the raw file of a camera.
///
/// ```no_run
/// let mut raw = limpid_io::dng::read("IMG_0042.dng", &limpid_io::ReadOptions::default())?;
/// raw.image.data_mut().iter_mut().for_each(|v| *v *= 0.5);
/// raw.write("darker.dng")?;
/// # Ok::<(), limpid_core::Error>(())
/// ```
pub fn read(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Raw> {
    let path = path.as_ref();
    let (bytes, format, _) = load(path, options.limit)?;
    if format != Format::Dng {
        return Err(Error::input(format!(
            "{}: the content is {format}; expected DNG",
            path.display()
        )));
    }
    guard(path, || Raw::decode(&bytes, path, options.limit))
}

impl Raw {
    /// Decodes a file in memory. `path` is for messages only.
    pub(super) fn decode(bytes: &[u8], path: &Path, limit: u64) -> Result<Self> {
        let Some(tree) = Tree::new(bytes) else {
            return Err(corrupt(path, "it is not a TIFF file of 32 bits"));
        };
        let all = tree.directories();
        let sensor = Sensor::find(&tree, &all, limit, path)?;
        let values = sensor.values(&tree, path)?;
        let image = sensor.light(&values)?;
        drop(values);
        let first = &all[0];
        let mut notes = Vec::new();
        if tag::OPCODES
            .iter()
            .any(|t| sensor.directory.entry(*t).is_some())
        {
            notes.push("corrections of the lens and the sensor (opcode lists) are kept, and not applied here".to_owned());
        }
        let iso = all.iter().find_map(|d| tree.count(d, tag::ISO));
        let source = Source {
            color: color::Color::read(&tree, first),
            orientation: tree
                .count(first, tag::ORIENTATION)
                .map_or(1, |v| v.min(255) as u8),
            iso: iso.and_then(|v| u32::try_from(v).ok()),
            camera: tree
                .text(first, tag::CAMERA)
                .or_else(|| tree.text(first, tag::MODEL)),
            noise: noise(&tree.numbers(&sensor.directory, tag::NOISE)),
            bytes: memory::collected(bytes.len(), bytes.iter().copied())?,
            sensor,
        };
        Ok(Self {
            image,
            pattern: source.sensor.pattern.clone(),
            notes,
            source: Arc::new(source),
        })
    }

    /// The noise that the file declares for red, green and blue: the variance at a value `v` is `a·v + b`.
    pub fn noise(&self) -> Option<[[f32; 2]; 3]> {
        self.source.noise
    }

    /// Factors of red, green and blue that make what was white in the shot grey, at least 1.
    pub fn balance(&self) -> [f32; 3] {
        self.source.color.balance
    }

    /// The name of the camera.
    pub fn camera(&self) -> Option<&str> {
        self.source.camera.as_deref()
    }

    /// What the file holds in words: `Bayer mosaic of Nikon D1, ISO 200`.
    fn kind(&self) -> String {
        let mut text = match self.pattern.as_ref().map(Pattern::size) {
            None => "linear",
            Some((2, 2)) => "Bayer mosaic",
            Some((6, 6)) => "X-Trans mosaic",
            Some(_) => "mosaic",
        }
        .to_owned();
        if let Some(camera) = self.camera() {
            text += &format!(" of {camera}");
        }
        if let Some(iso) = self.iso() {
            text += &format!(", ISO {iso}");
        }
        text
    }

    /// The ISO speed.
    pub fn iso(&self) -> Option<u32> {
        self.source.iso
    }

    /// Develops the picture: camera white balance, demosaicing, camera matrix, sRGB. Nothing else is done to it: no lens
    /// correction, no sharpening, no tone curve. Highlights are clipped to white.
    pub fn develop(&self) -> Result<Image> {
        let Source {
            sensor,
            color,
            orientation,
            ..
        } = &*self.source;
        develop::develop(
            &self.image,
            self.pattern.as_ref(),
            (sensor.shown, *orientation),
            color,
        )
    }

    /// Writes a DNG file with these values; everything else is as in the source.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let bytes = guard(path, || self.encode(path))?;
        atomic::write(path, &bytes)
    }

    /// Writes a DNG file with three colours for each pixel, which were interpolated, instead of a mosaic. Everything else is as in
    /// the source; corrections that belong before this step (the first two opcode lists) are left out.
    pub fn write_linear(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let Some(pattern) = &self.pattern else {
            return self.write(path);
        };
        let bytes = guard(path, || {
            let full = linear::colors(&self.image, pattern, self.balance())?;
            linear::write(&full, &self.source.bytes, &self.source.sensor, path)
        })?;
        atomic::write(path, &bytes)
    }

    /// The file in memory. `path` is for messages only.
    fn encode(&self, path: &Path) -> Result<Vec<u8>> {
        write::write(&self.image, &self.source.bytes, &self.source.sensor, path)
    }
}

/// The noise of red, green and blue; the same for all if there is one pair.
fn noise(numbers: &[f64]) -> Option<[[f32; 2]; 3]> {
    let pair = |i: usize| Some([*numbers.get(2 * i)? as f32, *numbers.get(2 * i + 1)? as f32]);
    let first = pair(0)?;
    let all: [[f32; 2]; 3] = std::array::from_fn(|c| pair(c).unwrap_or(first));
    let sane = |[a, b]: &[f32; 2]| {
        (0.0..1.0).contains(a) && (-1.0..1.0).contains(b) && *a + b.max(0.0) > 0.0
    };
    all.iter().all(sane).then_some(all)
}
