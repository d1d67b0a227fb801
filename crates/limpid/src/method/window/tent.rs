//! The tent filters: a product of two tents (rank one), and a sum of two (rank two).

use super::{Ready, checked_radius, positive, window_method};
use crate::method::{Entry, Use};
use crate::{Error, Frame, Image, Result};
use limpid_kernel_photo::window::Filter;
use limpid_reference::definition::window;

/// The tent filter in the list of methods.
pub(super) const ENTRY: Entry = Entry::new(
    "tent",
    Use::Filter,
    "Tent blur: the product of a tent along each axis",
    || Box::new(Tent::default()),
);

/// The tent filter of rank two in the list of methods.
pub(super) const ENTRY2: Entry = Entry::new(
    "tent2",
    Use::Filter,
    "Tent blur of rank two: the sum of a tent along each axis",
    || Box::new(Tent2::default()),
);

crate::options! {
    /// The tent filter with its options: weights `max(k - b|i|, 0) · max(k - b|j|, 0)`.
    pub struct Tent {
        /// Taps to each side: the window is 2·radius + 1 pixels wide.
        pub radius: usize = 3,
        /// Weight of the centre along one axis, k [default: (radius + 1) · slope].
        pub peak: Option<f32> = None,
        /// Decrease of the weight from tap to tap, b.
        pub slope: f32 = 1.0,
    }
}

crate::options! {
    /// The tent filter of rank two with its options: weights `k - b(|i| + |j|)`.
    pub struct Tent2 {
        /// Taps to each side: the window is 2·radius + 1 pixels wide.
        pub radius: usize = 3,
        /// Weight of the centre, k, at least 2 · radius · slope [default: (2 · radius + 1) · slope].
        pub peak: Option<f32> = None,
        /// Decrease of the weight from tap to tap, b.
        pub slope: f32 = 1.0,
    }
}

impl Tent {
    fn peak(&self) -> f32 {
        self.peak.unwrap_or((self.radius + 1) as f32 * self.slope)
    }

    fn ready(&self) -> Result<Ready> {
        Ok(Ready {
            filter: Filter::Tent {
                slope: positive("slope", self.slope)?,
                peak: positive("peak", self.peak())?,
            },
            radius: checked_radius(self.radius)?,
        })
    }

    fn defined(&self, image: &Image) -> Result<Frame> {
        Frame::new(window::tent(image, self.radius, self.peak(), self.slope))
    }

    fn settings() -> Vec<Self> {
        let with = |radius, peak, slope| Self {
            radius,
            peak,
            slope,
        };
        vec![
            with(2, None, 0.5),
            // Weights that reach zero inside the window.
            with(3, Some(2.0), 1.0),
        ]
    }
}

impl Tent2 {
    fn peak(&self) -> f32 {
        self.peak
            .unwrap_or((2 * self.radius + 1) as f32 * self.slope)
    }

    fn ready(&self) -> Result<Ready> {
        let (radius, slope) = (checked_radius(self.radius)?, positive("slope", self.slope)?);
        let peak = positive("peak", self.peak())?;
        let least = 2.0 * radius as f32 * slope;
        if peak < least {
            return Err(Error::option(
                "peak",
                peak,
                format!("at least {least}, so that no weight is negative"),
            ));
        }
        Ok(Ready {
            filter: Filter::Tent2 { peak, slope },
            radius,
        })
    }

    fn defined(&self, image: &Image) -> Result<Frame> {
        Frame::new(window::tent2(image, self.radius, self.peak(), self.slope))
    }

    fn settings() -> Vec<Self> {
        let with = |radius, peak, slope| Self {
            radius,
            peak,
            slope,
        };
        vec![
            with(1, None, 1.0),
            with(2, Some(2.0), 0.5),
            with(5, None, 0.25),
        ]
    }
}

window_method!(Tent, ENTRY.name);
window_method!(Tent2, ENTRY2.name);
