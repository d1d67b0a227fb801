//! Coefficients computed by PyWavelets 1.8: `wavelet boundary width height levels: low ; hl ; lh ; hh ; …`, finest first.

use super::{Coefficients, Dwt, Undecimated};
use limpid_core::Image;
use limpid_wavelet::{Normalisation, Wavelet};

const VECTORS: &str = include_str!("vectors.txt");

/// The stored vectors have seven digits.
const TOLERANCE: f32 = 2e-6;

fn picture(width: usize, height: usize) -> Image {
    Image::from_fn(width, height, 1, |x, y, _| {
        ((x * 37 + y * 61 + x * y * 13 + 7) % 101) as f32 / 101.0
    })
}

#[test]
fn coefficients_equal_those_of_pywavelets() {
    let mut seen = 0;
    for line in VECTORS.lines() {
        let (head, bands) = line.split_once(':').unwrap();
        let [name, border, width, height, levels] = head.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{head}");
        };
        let (width, height, levels) = (
            width.parse().unwrap(),
            height.parse().unwrap(),
            levels.parse().unwrap(),
        );
        let wavelet = Wavelet::named(name).unwrap();
        let image = picture(width, height);
        let found = match border {
            "undecimated" => Undecimated { wavelet, levels }.forward(&image),
            border => {
                let normalisation = Normalisation::Orthonormal;
                let border = border.parse().unwrap();
                Dwt {
                    wavelet,
                    border,
                    normalisation,
                    levels,
                }
                .forward(&image)
            }
        };
        compare(&found.unwrap(), bands, head);
        seen += 1;
    }
    assert_eq!(seen, 36 + 8 + 27 + 2);
}

fn compare(found: &Coefficients, bands: &str, head: &str) {
    let details = found.details.iter().flat_map(|d| [&d.hl, &d.lh, &d.hh]);
    let images: Vec<&Image> = std::iter::once(&found.low).chain(details).collect();
    let bands: Vec<&str> = bands.split(';').collect();
    assert_eq!(images.len(), bands.len(), "{head}");
    for (i, (image, band)) in images.iter().zip(bands).enumerate() {
        let wanted: Vec<f32> = band
            .split_ascii_whitespace()
            .map(|v| v.parse().unwrap())
            .collect();
        assert_eq!(image.data().len(), wanted.len(), "{head} band {i}");
        for (a, b) in image.data().iter().zip(wanted) {
            assert!(
                (a - b).abs() <= TOLERANCE * (1.0 + b.abs()),
                "{head} band {i}: {a} {b}"
            );
        }
    }
}
