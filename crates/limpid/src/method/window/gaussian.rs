//! The Gaussian filter.

use super::{Ready, checked_radius, positive, window_method};
use crate::method::{Entry, InputKind, Use};
use crate::{Frame, Image, Result};
use limpid_kernel_photo::window::Filter;
use limpid_reference::definition::window;

/// The Gaussian filter in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "gaussian",
    Use::Filter,
    "Gaussian blur with a square window",
    || Box::new(Gaussian::default()),
)
.advised(&[(InputKind::Image, "blur; also tent, tent2")]);

crate::options! {
    /// The Gaussian filter with its options: weights `exp(-(i² + j²) / 2σ²)`.
    pub struct Gaussian {
        /// Taps to each side: the window is 2·radius + 1 pixels wide.
        pub radius: usize = 3,
        /// Standard deviation in pixels [default: half the radius].
        pub sigma: Option<f32> = None,
    }
}

impl Gaussian {
    fn ready(&self) -> Result<Ready> {
        let sigma = self.sigma.unwrap_or((self.radius as f32 / 2.0).max(0.5));
        Ok(Ready {
            filter: Filter::Gaussian {
                sigma: positive("sigma", sigma)?,
            },
            radius: checked_radius(self.radius)?,
        })
    }

    fn defined(&self, image: &Image) -> Result<Frame> {
        let sigma = self.sigma.unwrap_or((self.radius as f32 / 2.0).max(0.5));
        Frame::new(window::gaussian(image, self.radius, sigma))
    }

    fn settings() -> Vec<Self> {
        let with = |radius, sigma| Self { radius, sigma };
        vec![
            with(0, None),
            with(1, Some(0.3)),
            with(2, None),
            with(5, Some(4.0)),
        ]
    }
}

window_method!(Gaussian, ENTRY.name);
