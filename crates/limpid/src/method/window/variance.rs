//! Mean and standard deviation of a window.

use super::{Ready, checked_radius, window_method};
use crate::method::{Entry, InputKind, Use};
use crate::{Frame, Image, Kind, Layer, Result};
use limpid_kernel_photo::window::Filter;
use limpid_reference::definition::window;

/// Mean and deviation in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "variance",
    Use::Filter,
    "Mean and standard deviation of a square window",
    || Box::new(Variance::default()),
)
.advised(&[(InputKind::Image, "mean and deviation of a window")]);

crate::options! {
    /// Mean and standard deviation of a window: the mean is the colour of the result, the deviation its layer
    /// `light:deviation`.
    pub struct Variance {
        /// Pixels to each side: the window is 2·radius + 1 pixels wide.
        pub radius: usize = 1,
    }
}

/// Name of the layer that holds the standard deviation.
pub const DEVIATION: &str = "deviation";

/// The layer that holds the standard deviation.
pub fn deviation() -> Layer {
    Kind::Light(DEVIATION.into()).into()
}

impl Variance {
    fn ready(&self) -> Result<Ready> {
        Ok(Ready {
            filter: Filter::Variance,
            radius: checked_radius(self.radius)?,
        })
    }

    fn defined(&self, image: &Image) -> Result<Frame> {
        let (mean, spread) = window::variance(image, self.radius);
        let mut frame = Frame::new(mean)?;
        frame.insert(deviation(), spread)?;
        Ok(frame)
    }

    fn settings() -> Vec<Self> {
        [0, 1, 2, 5]
            .into_iter()
            .map(|radius| Self { radius })
            .collect()
    }
}

window_method!(Variance, ENTRY.name);
