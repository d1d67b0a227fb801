//! Images as they are compared.

use super::Args;
use crate::say::{self, OrUsage};
use crate::{heif, video};
use anyhow::{Context, Result};
use limpid::io::y4m::Colour;
use limpid::io::{Origin, Picture, Transfer};
use limpid::metric::{self, Space};
use limpid::{Frame, Image, Kind, Layer};
use std::path::Path;

/// Reads a file with all its layers.
pub(super) fn file(path: &Path, args: &Args) -> Result<Picture> {
    let mut options = crate::run::read_options();
    for layer in &args.layers {
        options = options.layer(layer).or_usage()?;
    }
    let picture = heif::read(path, &options)?;
    say::notes(&picture.notes);
    Ok(picture)
}

/// The colour of a file.
pub(super) struct Loaded {
    pub(super) image: Image,
    pub(super) space: Space,
    alpha: Option<Image>,
    pub(super) motion: Option<Image>,
}

/// The side of a square of the board that is seen behind transparent pixels, and the display values of its squares.
const SQUARE: usize = 8;
const BOARD: [f32; 2] = [0.4, 0.6];

impl Loaded {
    pub(super) fn read(path: &Path, args: &Args) -> Result<Self> {
        if video::is_film(path) {
            let mut film = video::Frames::open(path, Colour::Encoded)?;
            let first = film.next()?;
            return Self::shown(first.context("the film has no frame")?, args);
        }
        let Picture { frame, origin, .. } = file(path, args)?;
        Self::of(frame, &origin, path, args)
    }

    /// The colour of a frame that came from a file.
    pub(super) fn of(mut frame: Frame, origin: &Origin, path: &Path, args: &Args) -> Result<Self> {
        frame.color()?;
        let mut part = |layer: Layer| {
            let image = frame.remove(layer)?;
            Some(match &args.crop {
                Some(crop) => crop.of(&image).with_context(|| path.display().to_string()),
                None => Ok(image),
            })
        };
        let (image, motion) = (part(Layer::COLOR), part(Kind::Motion.into()));
        let alpha = part(Kind::Alpha.into());
        Ok(Self {
            image: image.context("the frame has no colour")??,
            alpha: alpha.transpose()?,
            motion: motion.transpose()?,
            space: match origin.transfer() {
                Transfer::Linear => Space::Linear,
                Transfer::Encoded => Space::Display,
            },
        })
    }

    /// A frame of a film.
    pub(super) fn shown(image: Image, args: &Args) -> Result<Self> {
        Ok(Self {
            image: match &args.crop {
                Some(crop) => crop.of(&image)?,
                None => image,
            },
            alpha: None,
            motion: None,
            space: Space::Display,
        })
    }

    /// The colour as it is seen: in front of a checkerboard where it is transparent.
    pub(super) fn picture(&self) -> Image {
        let Some(alpha) = &self.alpha else {
            return self.image.clone();
        };
        let (width, height) = (self.image.width(), self.image.height());
        let board = Image::from_fn(2, 1, 1, |x, _, _| BOARD[x]);
        let board = Space::Display.convert(&board, self.space);
        Image::from_fn(width, height, self.image.channels(), |x, y, c| {
            let cover = alpha.get(x, y, 0).clamp(0.0, 1.0);
            let behind = board.get((x / SQUARE + y / SQUARE) % 2, 0, 0);
            let color = self.image.get(x, y, c);
            // Light is premultiplied, display values are not.
            let color = match self.space {
                Space::Linear => color,
                Space::Display => color * cover,
            };
            color + (1.0 - cover) * behind
        })
    }

    /// Converts an image to another space: linear light to display values, or back.
    pub(super) fn into_space(self, space: Space, exposure: f32) -> Image {
        match (self.space, space) {
            (Space::Linear, Space::Display) => metric::display(&self.image, exposure),
            (from, to) if from != to => from.convert(&self.image, to),
            _ => self.image,
        }
    }
}
