//! How to read and write files.

use super::{Transfer, View};
use limpid_core::{Error, Layer, Result};

/// How to read a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Layers by their names in the file, which take precedence over known names: a layer (`ViewLayer.Normal`, or
    /// just `Normal`) or a list of channels (`n.x,n.y,n.z`).
    pub layers: Vec<(Layer, String)>,
    /// Whether a file without colour is an error; true by default.
    pub need_color: bool,
    /// Limit for the pixels of a file in bytes, 32 GiB by default.
    pub limit: u64,
    /// Whether deep EXR images are composited into one sample for each pixel; otherwise they are refused.
    pub flatten: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            layers: Vec::new(),
            need_color: true,
            limit: 32 << 30,
            flatten: false,
        }
    }
}

impl ReadOptions {
    /// Assigns a layer by its name in the file, like the program's `--layer normal=NAME`.
    ///
    /// ```
    /// # mod limpid { pub use limpid_core::*; pub mod io { pub use limpid_io::*; } }
    /// let options = limpid::io::ReadOptions::default().layer("normal=my normals")?;
    /// assert!(limpid::io::ReadOptions::default().layer("normal").is_err());
    /// # Ok::<(), limpid::Error>(())
    /// ```
    pub fn layer(mut self, assignment: &str) -> Result<Self> {
        let Some((layer, name)) = assignment.split_once('=') else {
            return Err(Error::input(format!(
                "'{assignment}' is not LAYER=NAME; expected something like normal=N"
            )));
        };
        self.layers
            .push((layer.trim().parse()?, name.trim().to_owned()));
        Ok(self)
    }
}

/// How to write a file. Unset options follow the file that the frame came from.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Sample type of EXR files. New files have float.
    pub sample: Option<Sample>,
    /// Compression of EXR files; other formats ignore it. New files have ZIP.
    pub compression: Option<Compression>,
    /// Bits of PNG and integer TIFF files. New PNG files have 8; new TIFF files are float.
    pub bits: Option<Bits>,
    /// Quality of JPEG files, 1 … 100. New files have 95.
    pub quality: Option<u8>,
    /// Whether the colour of the frame is linear or encoded, if its origin does not specify it. Linear by default.
    pub transfer: Option<Transfer>,
    /// How linear light is shown in files of display values.
    pub view: View,
    /// Stops by which linear light is made brighter in files of display values.
    pub exposure: f32,
    /// Names and values of text attributes for EXR files, and for the description of TIFF files; [`super::Origin::text`]
    /// reads them.
    pub texts: Vec<(String, String)>,
}

/// A sample type of EXR files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sample {
    /// 16 bit.
    Half,
    /// 32 bit.
    Float,
}

/// A compression of EXR files, by the names that OpenEXR gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// No compression.
    None,
    /// Run lengths of each line.
    Rle,
    /// Deflate of each line.
    Zips,
    /// Deflate over 16 lines.
    Zip,
    /// Wavelets over 32 lines, suitable for grain.
    Piz,
    /// Deflate over 16 lines, of floats with 24 bits.
    Pxr24,
    /// Half floats in squares of 4×4, with loss, of a fixed size.
    B44,
    /// The same, smaller where a square is of one colour.
    B44a,
    /// Cosines with loss over 32 lines, as in JPEG.
    Dwaa,
    /// The same over 256 lines.
    Dwab,
    /// High-Throughput JPEG 2000 over 256 lines: the smallest lossless files; OpenEXR 3.4 or later reads them.
    Htj2k,
    /// The same over 32 lines.
    Htj2k32,
}

impl Compression {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::None,
        Self::Rle,
        Self::Zips,
        Self::Zip,
        Self::Piz,
        Self::Pxr24,
        Self::B44,
        Self::B44a,
        Self::Dwaa,
        Self::Dwab,
        Self::Htj2k,
        Self::Htj2k32,
    ];

    /// The name, such as `zip`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Rle => "rle",
            Self::Zips => "zips",
            Self::Zip => "zip",
            Self::Piz => "piz",
            Self::Pxr24 => "pxr24",
            Self::B44 => "b44",
            Self::B44a => "b44a",
            Self::Dwaa => "dwaa",
            Self::Dwab => "dwab",
            Self::Htj2k => "htj2k",
            Self::Htj2k32 => "htj2k32",
        }
    }
}

impl std::fmt::Display for Compression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// ```
/// # mod limpid { pub mod io { pub use limpid_io::*; } }
/// use limpid::io::Compression;
/// assert_eq!("dwaa".parse::<Compression>()?, Compression::Dwaa);
/// let wrong = "jpeg".parse::<Compression>().unwrap_err();
/// assert!(wrong.to_string().contains("none, rle, zips, zip, piz"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl std::str::FromStr for Compression {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let lower = name.to_lowercase();
        let found = Self::ALL.into_iter().find(|c| c.name() == lower);
        found.ok_or_else(|| Error::unknown("compression", name, Self::ALL.map(Self::name)))
    }
}

/// Bits per sample of integer formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bits {
    /// 8 bit.
    Eight,
    /// 16 bit.
    Sixteen,
}
