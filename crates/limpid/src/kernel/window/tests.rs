//! Operation counts of the paper, and plans for GPUs on the CPU.

use super::*;
use crate::exec::Runner;
use crate::exec::cpu::{Cpu, CpuRunner};
use crate::exec::{Watch, outputs};
use crate::method::window::WindowSchedule as By;
use crate::method::{Backend, Bilateral, Gaussian, Method, Schedule, Tent2, Variance};
use crate::{Frame, Image};

const FILTERS: [Filter; 5] = [
    Filter::Gaussian { sigma: 1.5 },
    Filter::Tent {
        peak: 4.0,
        slope: 1.0,
    },
    Filter::Tent2 {
        peak: 7.0,
        slope: 1.0,
    },
    Filter::Variance,
    Filter::Bilateral {
        space: 1.5,
        range: 0.1,
    },
];

const fn quad(exchange: Exchange) -> Walk {
    let coarse = false;
    Walk::Quad { exchange, coarse }
}

/// The text of the sums: what one invocation does.
fn sums_of(filter: Filter, radius: usize, walk: Walk) -> String {
    let source = shader::fragment(filter, radius, walk).source;
    let at = source.find("fn sums(").unwrap();
    let length = source[at..].find("\n}\n").unwrap();
    source[at..at + length].to_owned()
}

#[test]
fn fragments_read_the_window_and_quads_a_quarter_of_it() {
    for filter in FILTERS {
        for radius in 1..=3 {
            let reads = |walk| sums_of(filter, radius, walk).matches("texel(").count();
            assert_eq!(reads(Walk::Fragment), (2 * radius + 1).pow(2), "{filter:?}");
            for exchange in [Exchange::Rows, Exchange::Sums] {
                let count = reads(quad(exchange));
                assert_eq!(count, (radius + 1).pow(2), "{filter:?} {exchange:?}");
            }
        }
    }
}

#[test]
fn exchanges_are_as_few_as_the_paper_says() {
    for radius in 1..=3 {
        let swaps = |filter, exchange| {
            let text = sums_of(filter, radius, quad(exchange));
            text.matches("swap_x(").count() + text.matches("swap_y(").count()
        };
        let [gaussian, tent, tent2, variance, bilateral] = FILTERS;
        assert_eq!(swaps(gaussian, Exchange::Rows), radius + 2);
        assert_eq!(swaps(tent, Exchange::Rows), radius + 2);
        assert_eq!(swaps(tent2, Exchange::Rows), 2 * radius + 3);
        for filter in [gaussian, tent, tent2] {
            assert_eq!(swaps(filter, Exchange::Sums), 3);
        }
        // Three for the mean, three for the squares.
        assert_eq!(swaps(variance, Exchange::Rows), 6);
        // Three for the sums, three for the centre texels; the paper has one more for odd radii above 1.
        assert_eq!(swaps(bilateral, Exchange::Rows), 6);
    }
}

#[test]
fn a_linear_sampler_halves_the_reads_of_an_axis() {
    for radius in 0..=3 {
        for vertical in [false, true] {
            let axis = WindowAxis {
                filter: FILTERS[0],
                radius,
                vertical,
                along: Along::Linear,
            };
            let source = shader::linear(&axis).source;
            // One of the matches is the function's declaration.
            assert_eq!(source.matches("sampled(").count(), radius + 2);
        }
    }
}

#[test]
fn the_neighbours_factor_is_the_papers() {
    // Step 4 of section 3.1: exp((2·i·t_y - 1) / 2σ²), as the quotient of the two factors that are used here.
    let filter = FILTERS[0];
    for i in -3..=3i64 {
        let quotient = filter.side(i - 1).unwrap() / filter.side(i).unwrap();
        let paper = ((2 * i - 1) as f64 / (2.0 * 1.5f64.powi(2))).exp();
        assert!((quotient / paper - 1.0).abs() < 1e-12);
    }
}

fn picture(width: usize, height: usize) -> Frame {
    let value = |x: usize, y: usize, c: usize| ((x * 31 + y * 17 + c * 7) % 23) as f32 / 23.0;
    Frame::new(Image::from_fn(width, height, 3, value)).unwrap()
}

fn run(cpu: &Cpu, method: &dyn Method, by: By, frame: &Frame) -> Frame {
    let schedule = Schedule::new(Backend::Cpu, by);
    run_by(cpu, method, &schedule, frame)
}

fn run_by(cpu: &Cpu, method: &dyn Method, schedule: &Schedule, frame: &Frame) -> Frame {
    let plan = method.plan(&frame.shape(), schedule).unwrap();
    let mut out = outputs(&plan, frame.size()).unwrap();
    let mut runner = CpuRunner::new(cpu, plan).unwrap();
    runner.run(frame, &mut out, &Watch::default()).unwrap();
    out
}

/// Plans of fragment shaders, which need textures, are refused.
#[test]
fn plans_of_compute_shaders_run_on_the_cpu() {
    let cpu = Cpu::new(Some(2)).unwrap();
    let frame = picture(19, 14);
    let methods: [Box<dyn Method>; 4] = [
        Box::new(Gaussian::default()),
        Box::new(Tent2::default()),
        Box::new(Variance { radius: 2 }),
        Box::new(Bilateral::default()),
    ];
    for method in methods {
        let expected = method.define(&frame).unwrap();
        for schedule in method.schedules(Backend::Gpu) {
            let plan = method.plan(&frame.shape(), &schedule).unwrap();
            if ["fragment", "quad", "quad:sums", "linear"].contains(&schedule.as_str()) {
                let error = CpuRunner::new(&cpu, plan).unwrap_err();
                assert!(error.to_string().contains("GPUs only"), "{error}");
                continue;
            }
            let got = run_by(&cpu, method.as_ref(), &schedule, &frame);
            for (layer, want) in expected.layers() {
                let have = got.get(layer.clone()).unwrap();
                for (a, b) in want.data().iter().zip(have.data()) {
                    assert!((a - b).abs() < 1e-5, "{method:?} {schedule}: {a} {b}");
                }
            }
        }
    }
}

#[test]
fn bands_do_not_change_a_bit_of_a_sliding_window() {
    let frame = picture(37, 61);
    let method = Variance { radius: 6 };
    let cpu = Cpu::new(Some(2)).unwrap();
    let whole = run(&cpu.clone().with_band(61), &method, By::Sliding, &frame);
    for band in [1, 5, 13, 14] {
        let got = run(&cpu.clone().with_band(band), &method, By::Sliding, &frame);
        assert_eq!(got, whole, "bands of {band}");
    }
}

/// Large images are computed in stretches of columns, with non-temporal stores.
#[test]
fn large_images_are_as_small_ones() {
    let frame = picture(1111, 960);
    let cpu = Cpu::new(Some(2)).unwrap();
    let tent = Tent2 {
        radius: 1,
        peak: None,
        slope: 1.0,
    };
    let gaussian = |radius| Gaussian {
        radius,
        sigma: None,
    };
    let variance = Variance { radius: 1 };
    let cases: [(&dyn Method, By); 5] = [
        (&gaussian(1), By::Separable),
        (&gaussian(2), By::Separable),
        (&gaussian(3), By::Separable),
        (&tent, By::Separable),
        (&variance, By::Sliding),
    ];
    for (method, schedule) in cases {
        let (got, expected) = [schedule, By::Direct]
            .map(|s| run(&cpu, method, s, &frame))
            .into();
        for (got, expected) in got.layers().zip(expected.layers()) {
            let pairs = got.1.data().iter().zip(expected.1.data());
            for (i, (a, b)) in pairs.enumerate() {
                assert!(
                    (a - b).abs() < 1e-3,
                    "{method:?} {schedule} at {i}: {a} {b}"
                );
            }
        }
    }
}

#[test]
fn impossible_options_are_refused() {
    let frame = picture(4, 4);
    let schedule = Schedule::new(Backend::Cpu, By::Direct);
    let refused = |method: &dyn Method, what: &str| {
        let error = method.plan(&frame.shape(), &schedule).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    };
    let sigma = Some(0.0);
    refused(&Gaussian { radius: 1, sigma }, "sigma 0");
    let peak = Some(3.0);
    refused(
        &Tent2 {
            radius: 2,
            peak,
            slope: 1.0,
        },
        "at least 4",
    );
    refused(&Variance { radius: 5000 }, "radius 5000");
}
