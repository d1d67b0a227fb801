//! Named layers of one size.
//!
//! A [`Frame`] is the input and output of a method. A [`Layer`] combines what a layer shows (its [`Kind`], with stated unit,
//! space and sign) and its [`Part`] of the estimate: the mean over all samples, one of two independent halves, or the variance
//! of the mean.
//!
//! Invariants: all layers have one size, at least 1×1; a layer has the number of channels of its kind.

mod mend;

use crate::{Error, Image, Result, Size};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

pub use mend::Mended;

/// What a layer shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// Radiance (renders, linear) or pixel value (photographs, as encoded in the file). 1 or 3 channels.
    Color,
    /// Coverage, 0 … 1. 1 channel.
    Alpha,
    /// Surface reflectance, 0 … 1, linear. 3 channels.
    Albedo,
    /// Shading normal, world or camera space, unit length; zero where a ray escaped. 3 channels.
    Normal,
    /// World position of the first hit, scene units. 3 channels.
    Position,
    /// Distance from the camera, scene units; 0 or infinite where a ray escaped. 1 channel.
    Depth,
    /// Share of direct light that is not shadowed, 0 … 1. 1 channel.
    Visibility,
    /// Position of this point in the previous frame minus its current position: pixels, x to the right, y down. 2 channels.
    Motion,
    /// Object id. 1 channel.
    Id,
    /// Horizontal difference of colour: `I(x+1, y) - I(x, y)`; the last column is undefined. 1 or 3 channels.
    Dx,
    /// Vertical difference of colour: `I(x, y+1) - I(x, y)`; the last row is undefined. 1 or 3 channels.
    Dy,
    /// A part of colour by light or by path, named; parts may add up to colour. 1 or 3 channels.
    Light(Box<str>),
}

impl Kind {
    /// The kinds with a fixed name.
    pub const NAMED: [Self; 11] = [
        Self::Color,
        Self::Alpha,
        Self::Albedo,
        Self::Normal,
        Self::Position,
        Self::Depth,
        Self::Visibility,
        Self::Motion,
        Self::Id,
        Self::Dx,
        Self::Dy,
    ];

    /// The supported channel counts of this kind.
    pub fn channels(&self) -> &'static [usize] {
        match self {
            Self::Color | Self::Dx | Self::Dy | Self::Light(_) => &[1, 3],
            Self::Albedo | Self::Normal | Self::Position => &[3],
            Self::Motion => &[2],
            Self::Alpha | Self::Depth | Self::Visibility | Self::Id => &[1],
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Color => "color",
            Self::Alpha => "alpha",
            Self::Albedo => "albedo",
            Self::Normal => "normal",
            Self::Position => "position",
            Self::Depth => "depth",
            Self::Visibility => "visibility",
            Self::Motion => "motion",
            Self::Id => "id",
            Self::Dx => "dx",
            Self::Dy => "dy",
            Self::Light(name) => name,
        }
    }
}

/// The part of an estimate that a layer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The mean over all samples.
    Mean,
    /// The mean over one half of the samples.
    HalfA,
    /// The mean over the other half.
    HalfB,
    /// The variance of the mean, estimated from the samples.
    Variance,
}

/// A layer's identity: what it shows, and which part of the estimate it is.
///
/// Written as `normal`, `color.a`, `albedo.variance`, `light:diffuse`.
///
/// ```
/// # use limpid_core as limpid;
/// use limpid::{Kind, Layer, Part};
/// let layer: Layer = "albedo.variance".parse()?;
/// assert_eq!(layer, Layer::new(Kind::Albedo, Part::Variance));
/// assert_eq!(layer.to_string(), "albedo.variance");
/// # Ok::<(), limpid::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Layer {
    /// What it shows.
    pub kind: Kind,
    /// Which part of the estimate.
    pub part: Part,
}

impl Layer {
    /// The colour itself.
    pub const COLOR: Self = Self {
        kind: Kind::Color,
        part: Part::Mean,
    };

    /// A layer of this kind and part.
    pub const fn new(kind: Kind, part: Part) -> Self {
        Self { kind, part }
    }
}

impl From<Kind> for Layer {
    fn from(kind: Kind) -> Self {
        Self {
            kind,
            part: Part::Mean,
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Kind::Light(_) = self.kind {
            f.write_str("light:")?;
        }
        f.write_str(self.kind.name())?;
        match self.part {
            Part::Mean => Ok(()),
            Part::HalfA => f.write_str(".a"),
            Part::HalfB => f.write_str(".b"),
            Part::Variance => f.write_str(".variance"),
        }
    }
}

impl FromStr for Layer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, part) = match text.rsplit_once('.') {
            Some((name, "a")) => (name, Part::HalfA),
            Some((name, "b")) => (name, Part::HalfB),
            Some((name, "variance")) => (name, Part::Variance),
            _ => (text, Part::Mean),
        };
        if let Some(light) = name.strip_prefix("light:") {
            return Ok(Self {
                kind: Kind::Light(light.into()),
                part,
            });
        }
        match Kind::NAMED.into_iter().find(|k| k.name() == name) {
            Some(kind) => Ok(Self { kind, part }),
            None => Err(Error::unknown(
                "layer",
                name,
                Kind::NAMED.iter().map(Kind::name),
            )),
        }
    }
}

/// The properties of a frame that a plan depends on: its size, and its layers with their channel counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Width and height.
    pub size: Size,
    /// The layers, with their channels.
    pub layers: BTreeMap<Layer, usize>,
}

impl Shape {
    /// The shape of a frame with only a colour layer.
    pub fn color(size: Size, channels: usize) -> Self {
        Self {
            size,
            layers: BTreeMap::from([(Layer::COLOR, channels)]),
        }
    }

    /// The shape with an additional layer.
    #[must_use]
    pub fn with(mut self, layer: impl Into<Layer>, channels: usize) -> Self {
        self.layers.insert(layer.into(), channels);
        self
    }

    /// The number of channels of a layer, if it exists.
    pub fn channels(&self, layer: &Layer) -> Option<usize> {
        self.layers.get(layer).copied()
    }

    /// The number of channels of a layer that must exist.
    pub fn require(&self, layer: &Layer) -> Result<usize> {
        let found = self.channels(layer);
        found.ok_or_else(|| Error::missing(layer.clone(), ""))
    }

    /// Whether the layer exists.
    pub fn has(&self, layer: impl Into<Layer>) -> bool {
        self.layers.contains_key(&layer.into())
    }

    /// The same layers at a different size.
    pub fn resized(&self, size: Size) -> Self {
        Self {
            size,
            layers: self.layers.clone(),
        }
    }
}

/// Named layers of one size.
///
/// ```
/// # use limpid_core as limpid;
/// use limpid::{Frame, Image, Kind};
/// let mut frame = Frame::new(Image::new(8, 8, 3))?;
/// frame.insert(Kind::Normal, Image::new(8, 8, 3))?;
/// assert!(frame.get(Kind::Normal).is_some());
/// assert!(frame.insert(Kind::Depth, Image::new(9, 8, 1)).is_err());
/// # Ok::<(), limpid::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    size: Size,
    layers: BTreeMap<Layer, Image>,
    every: usize,
    iso: Option<u32>,
}

impl Frame {
    /// A frame with a colour layer.
    pub fn new(color: Image) -> Result<Self> {
        let mut frame = Self::empty(color.size())?;
        frame.insert(Kind::Color, color)?;
        Ok(frame)
    }

    /// A frame without layers, at least 1×1 pixel.
    pub fn empty(size: Size) -> Result<Self> {
        if size.pixels() == 0 {
            return Err(Error::input(format!(
                "an image of {size} has no pixels; at least 1x1 is needed"
            )));
        }
        Ok(Self {
            size,
            layers: BTreeMap::new(),
            every: 1,
            iso: None,
        })
    }

    /// Adds or replaces a layer. It must have the size of the frame and a number of channels that its kind allows.
    pub fn insert(&mut self, layer: impl Into<Layer>, image: Image) -> Result<()> {
        let layer = layer.into();
        if image.size() != self.size {
            return Err(Error::mismatch(format!(
                "layer {layer} is {}, the frame is {}; all layers must have the same size",
                image.size(),
                self.size
            )));
        }
        let allowed = layer.kind.channels();
        if !allowed.contains(&image.channels()) {
            return Err(Error::mismatch(format!(
                "layer {layer} has {} channels; expected {}",
                image.channels(),
                allowed
                    .iter()
                    .map(usize::to_string)
                    .collect::<Vec<_>>()
                    .join(" or ")
            )));
        }
        self.layers.insert(layer, image);
        Ok(())
    }

    /// A layer, if it exists.
    pub fn get(&self, layer: impl Into<Layer>) -> Option<&Image> {
        self.layers.get(&layer.into())
    }

    /// A mutable layer, if it exists.
    pub fn get_mut(&mut self, layer: impl Into<Layer>) -> Option<&mut Image> {
        self.layers.get_mut(&layer.into())
    }

    /// Removes a layer and returns it.
    pub fn remove(&mut self, layer: impl Into<Layer>) -> Option<Image> {
        self.layers.remove(&layer.into())
    }

    /// A layer that must exist.
    pub fn require(&self, layer: impl Into<Layer>) -> Result<&Image> {
        let layer = layer.into();
        self.layers.get(&layer).ok_or_else(|| {
            let have: Vec<String> = self.layers.keys().map(Layer::to_string).collect();
            Error::missing(layer, format!("the frame has: {}", have.join(", ")))
        })
    }

    /// The colour, which must exist.
    pub fn color(&self) -> Result<&Image> {
        self.require(Layer::COLOR)
    }

    /// Width and height.
    pub fn size(&self) -> Size {
        self.size
    }

    /// If the colour is the first of two buffers with equal numbers of samples, it becomes their mean, with half the variance, and the
    /// first half is kept. Does nothing without a second half.
    pub fn average_halves(&mut self) -> Result<()> {
        let half = |part| Layer::new(Kind::Color, part);
        let Some(second) = self.get(half(Part::HalfB)).cloned() else {
            return Ok(());
        };
        let first = match self.get(half(Part::HalfA)) {
            Some(first) => first.clone(),
            None => self.color()?.clone(),
        };
        let (width, height) = (first.width(), first.height());
        let last = second.channels() - 1;
        let mean = Image::from_fn(width, height, first.channels(), |x, y, c| {
            0.5 * (first.get(x, y, c) + second.get(x, y, c.min(last)))
        });
        if let Some(variance) = self.get_mut(half(Part::Variance)) {
            variance.data_mut().iter_mut().for_each(|v| *v *= 0.5);
        }
        self.insert(half(Part::HalfA), first)?;
        self.insert(Layer::COLOR, mean)
    }

    /// The side of the blocks whose first pixel holds a colour sample while the others are missing;
    /// 1 if all pixels hold one.
    pub fn sample_spacing(&self) -> usize {
        self.every
    }

    /// Declares that colour is sampled only at the first pixel of each block with this side.
    pub fn set_sample_spacing(&mut self, every: usize) {
        self.every = every.max(1);
    }

    /// The ISO speed that the camera of a photograph wrote.
    pub fn iso(&self) -> Option<u32> {
        self.iso
    }

    /// Declares the ISO speed of a photograph. It tells how much noise there can be.
    pub fn set_iso(&mut self, iso: Option<u32>) {
        self.iso = iso;
    }

    /// The layers in order.
    pub fn layers(&self) -> impl Iterator<Item = (&Layer, &Image)> {
        self.layers.iter()
    }

    /// The size, and the layers with their channel counts.
    pub fn shape(&self) -> Shape {
        Shape {
            size: self.size,
            layers: self
                .layers
                .iter()
                .map(|(l, i)| (l.clone(), i.channels()))
                .collect(),
        }
    }

    /// The rectangle at `(x, y)` of every layer. It must lie inside the frame.
    pub fn crop(&self, x: usize, y: usize, size: Size) -> Self {
        Self {
            size,
            layers: self
                .layers
                .iter()
                .map(|(l, i)| (l.clone(), i.crop(x, y, size)))
                .collect(),
            every: self.every,
            iso: self.iso,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layer_names_round_trip() {
        for kind in Kind::NAMED
            .into_iter()
            .chain([Kind::Light("key.left".into())])
        {
            for part in [Part::Mean, Part::HalfA, Part::HalfB, Part::Variance] {
                let layer = Layer::new(kind.clone(), part);
                assert_eq!(layer.to_string().parse::<Layer>().unwrap(), layer);
            }
        }
        assert!(
            "norml"
                .parse::<Layer>()
                .unwrap_err()
                .to_string()
                .contains("'normal'")
        );
    }

    #[test]
    fn empty_frames_are_refused() {
        assert!(Frame::new(Image::new(0, 4, 3)).is_err());
        assert!(Frame::new(Image::new(2, 2, 2)).is_err());
    }
}
