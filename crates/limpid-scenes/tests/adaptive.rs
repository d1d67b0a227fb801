//! Samples that are not spread evenly.

use limpid::{Image, Kind, Layer, Part, Size, Watch};
use limpid_scenes::{Adaptive, Render, RenderOptions, allot, builtin, render};

fn options(samples: u32) -> RenderOptions {
    RenderOptions {
        size: Size::new(24, 18),
        samples,
        ..RenderOptions::default()
    }
}

#[test]
fn pixels_with_as_many_samples_are_those_of_an_even_render() {
    let scene = builtin("cornell", 0).unwrap();
    let mut uneven = Render::new(&scene, &options(6)).unwrap();
    let counts: Vec<u32> = (0..24 * 18)
        .map(|i| if i % 24 < 12 { 4 } else { 6 })
        .collect();
    uneven.raise(&counts, &Watch::default()).unwrap();
    let made = uneven.frame().unwrap();
    for samples in [4, 6] {
        let even = render(&scene, &options(samples)).unwrap();
        let columns = if samples == 4 { 0..12 } else { 12..24 };
        for (kind, part) in [
            (Kind::Color, Part::Mean),
            (Kind::Color, Part::HalfA),
            (Kind::Color, Part::Variance),
            (Kind::Normal, Part::HalfB),
        ] {
            let layer = Layer::new(kind, part);
            let [a, b] = [&even, &made].map(|f| f.require(layer.clone()).unwrap());
            for y in 0..18 {
                for x in columns.clone() {
                    let [a, b] = [a, b].map(|i| [0, 1, 2].map(|c| i.get(x, y, c)));
                    assert_eq!(a, b, "{layer} {x},{y} with {samples} samples");
                }
            }
        }
    }
    // Fewer samples than a pixel has change nothing.
    uneven.raise(&[2; 24 * 18], &Watch::default()).unwrap();
    assert_eq!(uneven.frame().unwrap(), made);
    assert!(uneven.raise(&[2; 5], &Watch::default()).is_err());
}

#[test]
fn a_budget_is_spent_in_rounds_where_the_error_is() {
    let scene = builtin("cornell", 0).unwrap();
    let mut render = Render::new(&scene, &options(16)).unwrap();
    let mut seen = 0;
    let right = |x: usize| if x < 12 { 0.01 } else { 1.0 };
    let error = |_: &limpid::Frame| {
        seen += 1;
        Ok(Image::from_fn(24, 18, 1, |x, _, _| right(x)))
    };
    let adaptive = Adaptive { rounds: 4 };
    adaptive.run(&mut render, &Watch::default(), error).unwrap();
    assert_eq!(seen, 3);
    let counts = render.sample_counts();
    let total: f32 = counts.data().iter().sum();
    assert!((total - 24.0 * 18.0 * 16.0).abs() <= 8.0, "{total}");
    assert!(counts.get(0, 9, 0) < 9.0 && counts.get(23, 9, 0) > 16.0);
    assert!(counts.data().iter().all(|n| n % 2.0 == 0.0 && *n >= 4.0));
}

#[test]
fn samples_go_with_the_root_of_the_error() {
    let error = Image::from_fn(300, 1, 1, |x, _, _| [1.0, 4.0, 9.0][x / 100]);
    let counts = allot(&error, &[4; 300], 300 * 12);
    let mean = |part: std::ops::Range<usize>| {
        let part = &counts[part];
        f64::from(part.iter().sum::<u32>()) / part.len() as f64
    };
    let [a, b, c] = [10..90, 110..190, 210..290].map(mean);
    assert!(
        (b / a - 2.0).abs() < 0.1 && (c / a - 3.0).abs() < 0.15,
        "{a} {b} {c}"
    );
    // A picture without any error is sampled evenly.
    let even = allot(&Image::new(10, 10, 1), &[4; 100], 400);
    assert!(even.iter().sum::<u32>() <= 800);
}
