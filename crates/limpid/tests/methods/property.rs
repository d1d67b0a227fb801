//! Random plans: method, settings, size, layers, values, threads, bands, SIMD level, tiles and schedule. The result matches the
//! definition, and is bit-identical for any number of threads and any bands. Failing cases shrink.

use crate::support;
use limpid::conformance::{define, examples};
use limpid::exec::cpu::Cpu;
use limpid::method::{Backend, METHODS, Method};
use limpid::{Denoiser, Device, Frame, Image, Kind, Layer, Options, Part, Size, Watch, denoise_on};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// The contents of the colour.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Values {
    /// Surfaces with noise.
    Usual,
    /// One value everywhere.
    Equal,
    /// Alternating black and white.
    Checkerboard,
}

/// A random plan and what it runs on.
#[derive(Debug, Clone)]
struct Case {
    method: usize,
    settings: usize,
    size: (usize, usize),
    values: Values,
    /// Layers besides colour that are left out, one bit each.
    without: u32,
    threads: usize,
    band: usize,
    level: usize,
    schedule: usize,
    tile: Option<usize>,
}

fn case() -> impl Strategy<Value = Case> {
    let values = prop_oneof![
        3 => Just(Values::Usual),
        1 => Just(Values::Equal),
        1 => Just(Values::Checkerboard),
    ];
    let plan = (
        0..METHODS.len(),
        0usize..8,
        (1usize..34, 1usize..27),
        values,
    );
    let layers = prop_oneof![Just(0), any::<u32>()];
    let machine = (1usize..18, 1usize..20, 0usize..4, 0usize..64);
    let tile = prop_oneof![3 => Just(None), 1 => (8usize..32).prop_map(Some)];
    (plan, layers, machine, tile).prop_map(
        |((method, settings, size, values), without, (threads, band, level, schedule), tile)| {
            Case {
                method,
                settings,
                size,
                values,
                without,
                threads,
                band,
                level,
                schedule,
                tile,
            }
        },
    )
}

impl Case {
    /// The frame.
    fn frame(&self) -> Frame {
        let (width, height) = self.size;
        let whole = support::frame(Size::new(width, height));
        let mut frame = Frame::empty(whole.size()).unwrap();
        let is_color = |layer: &Layer| layer.kind == Kind::Color && layer.part == Part::Mean;
        for (i, (layer, image)) in whole.layers().enumerate() {
            if is_color(layer) {
                frame.insert(layer.clone(), self.colored(image)).unwrap();
            } else if self.without >> (i % 32) & 1 == 0 {
                frame.insert(layer.clone(), image.clone()).unwrap();
            }
        }
        frame
    }

    fn colored(&self, image: &Image) -> Image {
        let (width, height) = self.size;
        match self.values {
            Values::Usual => image.clone(),
            Values::Equal => Image::from_fn(width, height, 3, |_, _, _| 0.5),
            Values::Checkerboard => {
                Image::from_fn(width, height, 3, |x, y, _| ((x + y) % 2) as f32)
            }
        }
    }

    /// The method, with settings that do not take minutes.
    fn method(&self) -> Box<dyn Method> {
        let entry = &METHODS[self.method];
        let mut all = examples((entry.make)().as_ref());
        let most = if ["patch", "ddid", "camera"].contains(&entry.name) {
            1
        } else {
            all.len()
        };
        all.swap_remove(self.settings % most)
    }

    fn cpu(&self, threads: usize, band: usize) -> Device {
        let levels = Cpu::levels();
        let level = levels[self.level % levels.len()].1;
        let cpu = Cpu::with_level(Some(threads), level).unwrap();
        Device::Cpu(cpu.with_band(band))
    }

    fn check(&self) {
        let name = METHODS[self.method].path();
        if name == "reconstruct:patch" && self.size.0 * self.size.1 > 300 {
            return;
        }
        let frame = self.frame();
        let prepared = self.method().prepared(&frame);
        // A method may need a missing layer: then it reports an error, everywhere.
        let made = prepared.and_then(|method| Ok((define(method.as_ref(), &frame)?, method)));
        let Ok((expected, method)) = made else {
            let device = self.cpu(1, 4);
            let options = Options::of(self.method());
            let run = denoise_on(&device, &frame, &options, &Watch::default());
            assert!(
                run.is_err(),
                "{name}: the definition refuses this, the plan does not"
            );
            return;
        };
        let schedules = method.schedules(Backend::Cpu);
        let schedule = &schedules[self.schedule % schedules.len()];
        let mut options = Options::of(method.boxed());
        options.schedule = schedule.clone().into();
        let run = |device: &Device, options: &Options| {
            Denoiser::new(device, &frame.shape(), options)
                .and_then(|mut denoiser| denoiser.run(&frame))
        };
        let what = format!("{method:?} {schedule} {self:?}");
        let got = run(&self.cpu(self.threads, self.band), &options)
            .unwrap_or_else(|e| panic!("{what}: {e}"));
        // Methods that choose between nearly equal numbers may choose differently at many of few pixels; the conformance test
        // can compare those.
        if !["ensemble", "nfor", "rdfc"].contains(&name.as_str()) {
            support::compare(&what, &name, &expected, &got);
        }
        let alone = run(&self.cpu(1, 1000), &options).unwrap();
        same_bits(&what, &alone, &got);
        if self.tile.is_some() {
            options.tile = self.tile;
            // Tiles that are too small for the plan's reach are rejected.
            if let Ok(tiled) = run(&self.cpu(self.threads, self.band), &options) {
                support::compare(&format!("{what} tiled"), &name, &got, &tiled);
            }
        }
    }
}

fn same_bits(what: &str, a: &Frame, b: &Frame) {
    for (layer, image) in a.layers() {
        let other = b.get(layer.clone()).unwrap();
        let bits =
            |image: &Image| -> Vec<u32> { image.data().iter().map(|v| v.to_bits()).collect() };
        assert!(
            bits(image) == bits(other),
            "{what}: {layer} depends on threads or bands"
        );
    }
}

fn cases() -> u32 {
    let given = std::env::var("LIMPID_CASES").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(150)
}

fn seed() -> u64 {
    let given = std::env::var("LIMPID_SEED").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(1)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        // The same cases in every run, or tests would fail for unrelated changes; LIMPID_SEED selects others.
        rng_seed: RngSeed::Fixed(seed()),
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_plan_gives_the_definition(case in case()) {
        case.check();
    }

    /// Missing samples, large and small numbers: an error or finite pixels, for any method.
    #[test]
    fn results_are_finite(case in case(), at in 0usize..500, power in -30i32..31) {
        let mut frame = case.frame();
        let scale = 10f32.powi(power);
        let color = frame.get_mut(Kind::Color).unwrap();
        color.data_mut().iter_mut().for_each(|v| *v *= scale);
        let count = color.data().len();
        color.data_mut()[at % count] = f32::NAN;
        color.data_mut()[(7 * at + 1) % count] = f32::INFINITY;
        let name = METHODS[case.method].path();
        if name != "reconstruct:patch" || count < 900 {
            let options = Options::of(case.method());
            if let Ok(out) = denoise_on(&case.cpu(2, 8), &frame, &options, &Watch::default()) {
                for (layer, image) in out.layers() {
                    prop_assert!(image.non_finite() == 0, "{name}: {layer} at 1e{power}");
                }
            }
        }
    }
}

/// The longest rows and columns that files have.
#[test]
fn long_rows_and_columns_run() {
    let cpu = Device::Cpu(Cpu::new(Some(2)).unwrap());
    for (width, height) in [(65_535, 1), (1, 65_535)] {
        let frame = support::frame(Size::new(width, height));
        let run = |device: &Device, entry: &limpid::method::Entry| {
            let options = Options::of((entry.make)());
            let out = denoise_on(device, &frame, &options, &Watch::default());
            let out = out.unwrap_or_else(|e| panic!("{} {width}x{height}: {e}", entry.name));
            let finite = out.layers().all(|(_, image)| image.non_finite() == 0);
            assert!(finite, "{} {width}x{height}", entry.name);
        };
        let quick = ["gaussian", "atrous", "svgf", "taa", "shrink", "film", "dwt"];
        for entry in METHODS.iter().filter(|e| quick.contains(&e.name)) {
            run(&cpu, entry);
        }
        if cfg!(feature = "gpu") {
            let gpu = Device::open("gpu").unwrap();
            // Shaders take long to build on a software device.
            let some = ["gaussian", "taa"];
            for entry in METHODS.iter().filter(|e| some.contains(&e.name)) {
                run(&gpu, entry);
            }
        }
    }
}

/// Checkerboards of few pixels, in all settings and schedules of the à-trous filter: whole classes of pixels are black, and
/// weights are extreme.
#[test]
fn small_checkerboards_give_the_definition() {
    let method = METHODS.iter().position(|e| e.name == "atrous").unwrap();
    for size in [(1, 4), (4, 1), (2, 2), (3, 4)] {
        for settings in 0..11 {
            for (turn, without) in [0, 0x3ff, 0x7fff_fff0, 0xffff_ffff].into_iter().enumerate() {
                let case = Case {
                    method,
                    settings,
                    size,
                    values: Values::Checkerboard,
                    without,
                    threads: 2,
                    band: 3,
                    level: turn,
                    schedule: settings + turn,
                    tile: None,
                };
                case.check();
            }
        }
    }
}
