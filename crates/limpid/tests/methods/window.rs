//! Schedules of the window filters: plans for GPUs on the CPU, bands, large images.

use limpid::conformance::define;
use limpid::exec::Runner;
use limpid::exec::cpu::{Cpu, CpuRunner};
use limpid::exec::outputs;
use limpid::method::window::WindowSchedule as By;
use limpid::method::{Backend, Bilateral, Gaussian, Method, Schedule, Tent2, Variance};
use limpid::{Frame, Image, Watch};

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
        Box::new(Variance::with(|m| m.radius = 2)),
        Box::new(Bilateral::default()),
    ];
    for method in methods {
        let expected = define(method.as_ref(), &frame).unwrap();
        for schedule in method.schedules(Backend::Gpu) {
            let plan = method.plan(&frame.shape(), &schedule).unwrap();
            let name = schedule.as_str();
            if name == "fragment" || name == "linear" || name == "quad" || name.starts_with("quad:")
            {
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
    let method = Variance::with(|m| m.radius = 6);
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
    let tent = Tent2::with(|m| {
        m.radius = 1;
        m.peak = None;
        m.slope = 1.0;
    });
    let gaussian = |radius| {
        Gaussian::with(|m| {
            m.radius = radius;
            m.sigma = None;
        })
    };
    let variance = Variance::with(|m| m.radius = 1);
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
    refused(
        &Gaussian::with(|m| {
            m.radius = 1;
            m.sigma = sigma;
        }),
        "sigma 0",
    );
    let peak = Some(3.0);
    refused(
        &Tent2::with(|m| {
            m.radius = 2;
            m.peak = peak;
            m.slope = 1.0;
        }),
        "at least 4",
    );
    refused(&Variance::with(|m| m.radius = 5000), "radius 5000");
}
