//! The front end of methods for renders: surfaces and classes, clamping of outliers, one buffer as two.
//!
//! The definition is `definition::front`. All kernels here read a pixel or a few around it; their shaders have one thread per
//! pixel.

mod limit;
mod point;
mod surface;

pub use limit::Limit;
pub use point::{
    at_least, between, brightness, checkerboard, clamp, divide, finish, follow, follow_each,
    larger, light, log_variance, logarithm, lower, middle, minus, off, pick, roughness,
    scale_others, share, square_difference, square_plus, squared, unrest, variance,
};
pub use surface::{Surface, class, divisor};
