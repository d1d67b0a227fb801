//! Wavelets: an image to coefficients, small ones to zero, and back. `cargo run --release -p limpid --example wavelets`

use limpid::method::{Dwt, Idwt};
use limpid::{Frame, Image, Options, denoise};

fn main() -> limpid::Result<()> {
    let image = Image::from_fn(256, 256, 1, |x, y, _| {
        let (x, y) = (x as f32 / 256.0, y as f32 / 256.0);
        0.5 + 0.3 * (9.0 * x).sin() * (7.0 * y).cos()
    });
    let forward = Dwt::with(|m| {
        m.wavelet = "cdf97".to_owned();
        m.levels = 4;
    });
    let inverse = Idwt::with(|m| {
        m.wavelet = "cdf97".to_owned();
        m.levels = 4;
    });
    let mut coefficients = denoise(&Frame::new(image.clone())?, &Options::new(forward))?;
    let mut kept = 0;
    if let Some(values) = coefficients.get_mut(limpid::Layer::COLOR) {
        for v in values.data_mut() {
            if v.abs() < 0.01 {
                *v = 0.0;
            } else {
                kept += 1;
            }
        }
    }
    let back = denoise(&coefficients, &Options::new(inverse))?;
    let pairs = back.color()?.data().iter().zip(image.data());
    let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    println!(
        "{kept} of {} coefficients kept, largest error {worst:.4}",
        image.data().len()
    );
    Ok(())
}
