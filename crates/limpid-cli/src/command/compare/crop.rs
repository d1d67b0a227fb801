//! A rectangle of an image, written `WxH+X+Y`.

use anyhow::{Result, anyhow, ensure};
use limpid::{Image, Size};
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crop {
    size: Size,
    x: usize,
    y: usize,
}

impl Crop {
    /// The rectangle of an image; it must lie inside.
    pub(crate) fn of(&self, image: &Image) -> Result<Image> {
        let inside = |at: usize, length: usize, most: usize| {
            at.checked_add(length).is_some_and(|end| end <= most)
        };
        ensure!(
            inside(self.x, self.size.width, image.width())
                && inside(self.y, self.size.height, image.height()),
            "the crop {self} does not lie inside the image, which is {}",
            image.size()
        );
        Ok(image.crop(self.x, self.y, self.size))
    }
}

impl std::fmt::Display for Crop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}+{}+{}", self.size, self.x, self.y)
    }
}

impl FromStr for Crop {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || anyhow!("'{text}' is not a crop; expected WxH+X+Y, such as 256x256+100+40");
        let mut parts = text.split('+');
        let (size, x, y) = (parts.next(), parts.next(), parts.next());
        let (Some(size), Some(x), Some(y), None) = (size, x, y, parts.next()) else {
            return Err(wrong());
        };
        Ok(Self {
            size: size.parse().map_err(|_| wrong())?,
            x: x.parse().map_err(|_| wrong())?,
            y: y.parse().map_err(|_| wrong())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crops_print_and_parse() {
        let crop: Crop = "3x2+1+0".parse().unwrap();
        assert_eq!(crop.to_string(), "3x2+1+0");
        for wrong in ["", "3x2", "3x2+1", "3x2+1+0+0", "0x2+1+1", "3x2+-1+0"] {
            assert!(wrong.parse::<Crop>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn crops_must_lie_inside() {
        let image = Image::from_fn(4, 2, 1, |x, y, _| (10 * y + x) as f32);
        let crop = |text: &str| text.parse::<Crop>().unwrap().of(&image);
        assert_eq!(crop("2x1+2+1").unwrap().data(), [12.0, 13.0]);
        assert!(crop("3x1+2+1").is_err());
        assert!(crop(&format!("1x1+{}+0", usize::MAX)).is_err());
    }
}
