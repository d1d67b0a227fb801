//! The bilateral filter.

use super::{Ready, checked_radius, positive, window_method};
use crate::method::{Entry, InputKind, Use};
use crate::{Frame, Image, Result};
use limpid_kernel_photo::window::Filter;
use limpid_reference::definition::window;

/// The bilateral filter in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "bilateral",
    Use::Filter,
    "Blur that keeps edges: weights fall with distance in space and in colour",
    || Box::new(Bilateral::default()),
)
.advised(&[(InputKind::Image, "edge-preserving blur")]);

crate::options! {
    /// The bilateral filter with its options: weights `exp(-(i² + j²) / 2σ_d² - |I(q) - I(p)|² / 2σ_r²)`.
    pub struct Bilateral {
        /// Taps to each side: the window is 2·radius + 1 pixels wide.
        pub radius: usize = 3,
        /// Standard deviation in pixels [default: half the radius].
        pub sigma_space: Option<f32> = None,
        /// Standard deviation in units of the image, over all channels together.
        pub sigma_range: f32 = 0.1,
    }
}

impl Bilateral {
    fn space(&self) -> f32 {
        self.sigma_space
            .unwrap_or((self.radius as f32 / 2.0).max(0.5))
    }

    fn ready(&self) -> Result<Ready> {
        Ok(Ready {
            filter: Filter::Bilateral {
                space: positive("sigma-space", self.space())?,
                range: positive("sigma-range", self.sigma_range)?,
            },
            radius: checked_radius(self.radius)?,
        })
    }

    fn defined(&self, image: &Image) -> Result<Frame> {
        Frame::new(window::bilateral(
            image,
            self.radius,
            self.space(),
            self.sigma_range,
        ))
    }

    fn settings() -> Vec<Self> {
        let with = |radius, sigma_space, sigma_range| Self {
            radius,
            sigma_space,
            sigma_range,
        };
        vec![
            with(1, None, 0.3),
            with(2, Some(4.0), 0.2),
            with(5, Some(3.0), 10.0),
        ]
    }
}

window_method!(Bilateral, ENTRY.name);
