//! The values of a sensor, before they are developed.
//!
//! A mosaic is mapped so that the noise of the sensor has standard deviation 1 everywhere ([`SensorNoise`]). It is demosaiced, a method
//! for photographs removes the noise, which is known, and the pixels return into the mosaic, which is mapped back.
//!
//! ```no_run
//! use limpid::{Device, Options, Watch, io, raw};
//! let mut picture = io::dng::read("IMG_0042.dng", &io::ReadOptions::default())?;
//! raw::denoise(&mut picture, &Device::open("auto")?, &Options::default(), &Watch::default())?;
//! picture.write("clean.dng")?;
//! # Ok::<(), limpid::Error>(())
//! ```

mod defects;
mod first;
mod greens;
mod noise;
#[cfg(test)]
mod tests;

use crate::{Device, Frame, Options, Result, Sequence, Watch};
use limpid_io::dng::Raw;
pub use noise::SensorNoise;

/// What was done to a picture.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The name of the method that made the first estimate, or a linear picture.
    pub method: &'static str,
    /// The noise that was removed; `None` for a linear picture, whose noise the method measures.
    pub noise: Option<SensorNoise>,
    /// Whether the file declares its noise.
    pub declared: bool,
    /// The number of defective pixels that were replaced.
    pub defects: usize,
}

/// Removes the noise of a sensor with a method for photographs: of a mosaic, or of a linear picture. The noise of
/// a mosaic is the one that the file declares, or else it is measured.
pub fn denoise(raw: &mut Raw, device: &Device, options: &Options, watch: &Watch) -> Result<Report> {
    let Some(pattern) = raw.pattern.clone() else {
        let mut sequence = Sequence::new(device, options);
        let frame = Frame::new(raw.image.clone())?;
        raw.image = sequence.run(&frame, watch)?.color()?.clone();
        return Ok(Report {
            method: sequence.method().name(),
            noise: None,
            declared: false,
            defects: 0,
        });
    };
    let noise = match raw.noise() {
        Some(pairs) => SensorNoise { pairs },
        None => SensorNoise::measure(&raw.image, &pattern),
    };
    let (mended, defects) = defects::replaced(&raw.image, &pattern, &noise);
    let noisy = noise.stabilised(&mended, &pattern);
    let how = (device, options, watch);
    let white = noise.stabilised_value(1, 1.0);
    let (made, method) = first::filtered(&noisy, (&pattern, raw.balance(), white), how)?;
    let made = noise.restored(&made, &pattern);
    let strength = options.strength;
    let pairs = raw.image.data_mut().iter_mut().zip(made.data());
    pairs.for_each(|(to, made)| *to += strength * (made - *to));
    Ok(Report {
        method,
        noise: Some(noise),
        declared: raw.noise().is_some(),
        defects,
    })
}
