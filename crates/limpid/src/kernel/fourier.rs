//! Fourier transforms of lines.

use rustfft::{Fft, FftDirection, FftPlanner};
use std::sync::Arc;

/// The transform of lines of equal length. `rustfft` is generic throughout and large: who plans here does not compile it again.
pub fn plan(length: usize, direction: FftDirection) -> Arc<dyn Fft<f32>> {
    FftPlanner::new().plan_fft(length, direction)
}
