//! The fast transform is compared with the definition, on every SIMD level, with bands and strips of all kinds.

use super::general::General;
use super::pieces::Threading;
use super::plane::{Bands, Plane};
use super::streamed::Streamed;
use super::whole::{Workspace, forward, inverse};
use limpid_core::simd;
use limpid_core::{Image, Size};
use limpid_plan::stream::STREAM_BYTES;
use limpid_reference::definition::dwt::{Arrangement as Packing, Dwt};
use limpid_wavelet::{Boundary, Normalisation, Wavelet};

/// Lifting in `f32` against `f64`, a few levels deep, on values below one. The filters of B3 are far from orthogonal: each
/// inverse level amplifies rounding errors about eightfold, to 2e-4 after four.
fn tolerance(name: &str) -> f32 {
    if name == "b3" { 5e-4 } else { 2e-5 }
}

fn noise(width: usize, height: usize) -> Image {
    let mut state = 1u32;
    Image::from_fn(width, height, 1, |_, _, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    })
}

const SIZES: [(usize, usize); 14] = [
    (1, 1),
    (1, 7),
    (2, 2),
    (3, 1),
    (5, 4),
    (16, 16),
    (17, 31),
    (33, 3),
    (64, 63),
    (100, 40),
    (31, 130),
    (257, 66),
    (4, 300),
    (515, 5),
];

fn difference(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

#[test]
fn the_definition_is_met_there_and_back() {
    for name in [
        "haar", "cdf53", "cdf97", "b3", "bior2.2", "bior4.4", "dd137", "bior2.4",
    ] {
        let wavelet = Wavelet::named(name).unwrap();
        let steps = Streamed::new(wavelet.lifting().unwrap(), Normalisation::Unit).unwrap();
        for (width, height) in SIZES {
            for levels in [0, 1, 2, 4] {
                let size = Size::new(width, height);
                if !steps.takes(size, levels) {
                    assert_eq!(name, "haar");
                    continue;
                }
                let image = noise(width, height);
                let definition = Dwt {
                    wavelet: wavelet.clone(),
                    border: Boundary::Mirror,
                    normalisation: Normalisation::Unit,
                    levels,
                };
                let wanted = definition.forward(&image).unwrap();
                let wanted = definition.pack(&wanted, Packing::Subbands).unwrap();
                let layout = Threading::new(simd::levels()[0].1, 1);
                let (mut there, mut back) = (vec![0.0; size.pixels()], vec![0.0; size.pixels()]);
                let mut memory = Workspace::default();
                forward(
                    &steps,
                    &layout,
                    (image.data(), size),
                    levels,
                    &mut there,
                    &mut memory,
                )
                .unwrap();
                let error = difference(&there, wanted.data());
                assert!(error < tolerance(name), "{name} {size} {levels}: {error}");
                inverse(
                    &steps,
                    &layout,
                    (&there, size),
                    levels,
                    &mut back,
                    &mut memory,
                )
                .unwrap();
                let error = difference(&back, image.data());
                assert!(
                    error < tolerance(name),
                    "{name} {size} {levels} back: {error}"
                );
            }
        }
    }
}

#[test]
fn bands_strips_and_simd_change_no_bit() {
    for (name, (width, height)) in ["cdf97", "dd137"]
        .into_iter()
        .flat_map(|n| SIZES.map(|s| (n, s)))
    {
        let wavelet = Wavelet::named(name).unwrap();
        let steps = Streamed::new(wavelet.lifting().unwrap(), Normalisation::Orthonormal).unwrap();
        let size = Size::new(width, height);
        let image = noise(width, height);
        let mut first: Option<(Vec<f32>, Vec<f32>)> = None;
        for (_, level) in simd::levels() {
            for (threads, strip) in [(1, 1024), (2, 16), (3, 64), (7, 32)] {
                let layout = Threading {
                    level,
                    threads,
                    strip,
                };
                let (mut there, mut back) = (vec![0.0; size.pixels()], vec![0.0; size.pixels()]);
                let mut memory = Workspace::default();
                forward(
                    &steps,
                    &layout,
                    (image.data(), size),
                    3,
                    &mut there,
                    &mut memory,
                )
                .unwrap();
                inverse(&steps, &layout, (&there, size), 3, &mut back, &mut memory).unwrap();
                let (a, b) = first.get_or_insert_with(|| (there.clone(), back.clone()));
                assert_eq!((&there, &back), (&*a, &*b), "{size} {threads} {strip}");
            }
        }
    }
}

/// Any lifting matches the definition, in blocks far smaller than the image or larger.
#[test]
fn blocks_of_any_lifting_meet_the_definition() {
    for name in ["haar", "dd137", "db4", "sym8", "bior3.5"] {
        let wavelet = Wavelet::named(name).unwrap();
        let factors = Normalisation::Orthonormal.factors();
        let mut general = General::new(wavelet.lifting().unwrap(), factors);
        for (n, (width, height)) in SIZES.into_iter().enumerate() {
            let (size, image) = (Size::new(width, height), noise(width, height));
            let definition = Dwt {
                wavelet: wavelet.clone(),
                border: Boundary::Mirror,
                normalisation: Normalisation::Orthonormal,
                levels: 1,
            };
            let wanted = definition.forward(&image).unwrap();
            let wanted = definition.pack(&wanted, Packing::Subbands).unwrap();
            let levels = simd::levels();
            for (i, block) in [(1, 64), (8, 4096), (64, 1 << 17)].into_iter().enumerate() {
                general.block = block;
                let layout = Threading::new(levels[(n + i) % levels.len()].1, 1 + (n + i) % 3);
                let mut work = vec![f32::NAN; general.scratch_words(width, layout.threads)];
                let (mut there, mut back) = (vec![0.0; size.pixels()], vec![0.0; size.pixels()]);
                let plane = |data, size| Plane {
                    data,
                    stride: width,
                    size,
                };
                let src = plane(image.data(), size);
                let packed = (&mut there[..], width);
                general.forward((&layout, [0.0; 3]), &src, packed, None, &mut work);
                let error = difference(&there, wanted.data());
                assert!(error < 2e-5, "{name} {size} {block:?}: {error}");
                let low = Size::new(width.div_ceil(2), height.div_ceil(2));
                let bands = Bands {
                    ll: plane(&there, low),
                    packed: &there,
                    stride: width,
                    size,
                    limits: [0.0; 3],
                };
                general.inverse(&layout, &bands, (&mut back, width), &mut work);
                let error = difference(&back, image.data());
                assert!(error < 2e-5, "{name} {size} {block:?} back: {error}");
            }
        }
    }
}

/// Large images use non-temporal stores, in whole cache lines if their bands are aligned alike, otherwise through scratch rows.
/// A path without this distinction gives the same result.
#[test]
fn large_images_are_as_small_ones() {
    let wavelet = Wavelet::named("cdf97").unwrap();
    let (lifting, factors) = (wavelet.lifting().unwrap(), Normalisation::Unit.factors());
    let steps = Streamed::new(lifting, Normalisation::Unit).unwrap();
    let general = General::new(lifting, factors);
    for (width, height) in [(1056, 1024), (1070, 1001)] {
        let (size, image) = (Size::new(width, height), noise(width, height));
        assert!(4 * size.pixels() > STREAM_BYTES);
        for (n, (_, level)) in simd::levels().into_iter().enumerate() {
            let layout = Threading {
                strip: 256,
                ..Threading::new(level, 1 + n % 2)
            };
            let mut work = vec![0.0; general.scratch_words(width, layout.threads)];
            let mut wanted = vec![0.0; size.pixels()];
            let src = Plane {
                data: image.data(),
                stride: width,
                size,
            };
            let packed = (&mut wanted[..], width);
            general.forward((&layout, [0.0; 3]), &src, packed, None, &mut work);
            let (mut there, mut back) = (vec![0.0; size.pixels()], vec![0.0; size.pixels()]);
            let mut memory = Workspace::default();
            let from = (image.data(), size);
            forward(&steps, &layout, from, 1, &mut there, &mut memory).unwrap();
            let error = difference(&there, &wanted);
            assert!(error < 2e-6, "{size}: {error}");
            inverse(&steps, &layout, (&there, size), 1, &mut back, &mut memory).unwrap();
            let error = difference(&back, image.data());
            assert!(error < 2e-6, "{size} back: {error}");
        }
    }
}

#[test]
fn what_does_not_fit_is_not_taken() {
    for name in ["db4", "sym8", "bior3.5"] {
        let wavelet = Wavelet::named(name).unwrap();
        assert_eq!(
            Streamed::new(wavelet.lifting().unwrap(), Normalisation::Unit),
            None,
            "{name}"
        );
    }
    let wavelet = Wavelet::named("haar").unwrap();
    let steps = Streamed::new(wavelet.lifting().unwrap(), Normalisation::Unit).unwrap();
    let layout = Threading::new(simd::levels()[0].1, 1);
    let short = forward(
        &steps,
        &layout,
        (&[1.0], Size::new(2, 2)),
        1,
        &mut [0.0; 4],
        &mut Workspace::default(),
    );
    assert!(short.is_err());
}
