//! The wavelet transform.

pub mod cpu;
mod forward;
mod inverse;
mod lift;
mod plane;
mod stream;
#[cfg(test)]
mod tests;
