//! Every schedule of every method on every device gives the picture of the definition.
//!
//! The test loops over what is listed: methods, their example settings, devices (each SIMD level, a GPU with runtime
//! checks on), schedules, and sizes: one pixel, lines, odd, prime, smaller than the filter, larger than a tile. A failing
//! case writes both images and their difference.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod support;

use limpid::method::{Backend, Entry, METHODS, Method, entry};
use limpid::{Denoiser, Device, Frame, Options, Size};
use support::{frame, tolerance};

const SIZES: [Size; 8] = [
    Size::new(1, 1),
    Size::new(1, 9),
    Size::new(11, 1),
    Size::new(3, 2),
    Size::new(17, 13),
    Size::new(40, 24),
    Size::new(31, 67),
    Size::new(83, 50),
];

/// One test per method, so that they run side by side and can be run alone.
macro_rules! conformance {
    ($($name:ident = $method:literal),* $(,)?) => {
        const COVERED: &[&str] = &[$($method),*];
        $(mod $name {
            #[test]
            fn every_schedule_on_every_device_gives_the_definition() {
                super::every_schedule_gives_the_definition($method);
            }

            #[test]
            fn tiles_leave_no_seam() {
                super::tiles_leave_no_seam($method);
            }
        })*
    };
}

conformance! {
    atrous = "atrous",
    bilateral = "bilateral",
    cdf22 = "cdf22",
    ddid = "ddid",
    dwt = "filter:dwt",
    eaw = "eaw",
    eaw_cdf22 = "eaw-cdf22",
    eaw_redblack = "eaw-redblack",
    filter_bilateral = "filter:bilateral",
    gaussian = "filter:gaussian",
    idwt = "filter:idwt",
    multilateral = "multilateral",
    redblack = "redblack",
    svgf = "svgf",
    shrink = "shrink",
    taa = "taa",
    tent = "filter:tent",
    tent2 = "filter:tent2",
    variance = "filter:variance",
    nfor = "nfor",
    nlm = "nlm",
    patch = "reconstruct:patch",
    poisson = "reconstruct:poisson",
    rdfc = "rdfc",
}

#[test]
fn every_method_is_covered() {
    for path in METHODS.iter().map(Entry::path) {
        assert!(
            COVERED.contains(&path.as_str()),
            "{path} has no line in conformance!"
        );
    }
    for (name, _) in tolerance::NAMED {
        assert!(
            METHODS.iter().any(|e| e.path() == *name),
            "tolerance of unknown {name}"
        );
    }
}

/// Most pixels that a definition is asked for.
fn largest(name: &str) -> usize {
    match name {
        // Fourteen solves of 75 rows per pixel in double precision: larger images take minutes.
        "reconstruct:patch" => 1000,
        _ => usize::MAX,
    }
}

fn every_schedule_gives_the_definition(name: &str) {
    let devices = Device::all_for_tests().unwrap();
    let examples = (entry(name).unwrap().make)().examples();
    for (turn, method) in examples.into_iter().enumerate() {
        for size in SIZES {
            if size.pixels() > largest(name) {
                continue;
            }
            let frame = frame(size);
            let mut method = method.boxed();
            method.prepare(&frame).unwrap();
            let expected = method.define(&frame).unwrap();
            for device in &devices {
                let schedules = method.schedules(device.backend());
                assert!(
                    !schedules.is_empty(),
                    "{name} has no schedule for {}",
                    device.backend()
                );
                // A GPU builds shaders for every pair of settings and schedule, which takes minutes: the first settings run
                // on all schedules, later ones on the best and on every other one in turn, of many on every fourth.
                let every = if schedules.len() > 12 { 4 } else { 2 };
                for (k, schedule) in schedules.into_iter().enumerate() {
                    if device.backend() == Backend::Gpu && turn * k > 0 && (turn + k) % every > 0 {
                        continue;
                    }
                    let mut options = Options::of(method.boxed());
                    options.schedule = schedule.clone().into();
                    let case = format!("{method:?} {schedule} {} {size}", device.name());
                    let got = run(device, &frame, &options, &case);
                    support::compare(&case, name, &expected, &got);
                }
            }
        }
    }
}

fn tiles_leave_no_seam(name: &str) {
    let frame = frame(Size::new(97, 61));
    let method = (entry(name).unwrap().make)();
    // The first settings that look beyond a pixel, but not so far that tiles would mostly repeat their surroundings.
    let settings = std::iter::once(method.boxed()).chain(method.examples());
    let near = |m: &dyn Method| {
        let schedule = &m.schedules(Backend::Cpu)[0];
        let reach = m.plan(&frame.shape(), schedule).unwrap().reach();
        reach.is_some_and(|r| (1..12).contains(&r))
    };
    let mut method = settings
        .into_iter()
        .find(|m| near(m.as_ref()))
        .unwrap_or(method);
    method.prepare(&frame).unwrap();
    for device in Device::all_for_tests().unwrap() {
        for schedule in method.schedules(device.backend()) {
            let plan = method.plan(&frame.shape(), &schedule).unwrap();
            // A plan that reaches further than this image is wide has no tiles in it.
            let Some(least) = plan
                .reach()
                .map(|r| 2 * r + 2 * plan.align())
                .filter(|n| *n < 40)
            else {
                continue;
            };
            let mut options = Options::of(method.boxed());
            options.schedule = schedule.clone().into();
            let case = format!("{name} {schedule} {} in tiles", device.name());
            let whole = run(&device, &frame, &options, &case);
            options.tile = Some(least.max(25));
            let mut denoiser = Denoiser::new(&device, &frame.shape(), &options).unwrap();
            assert!(denoiser.tile_count() > 1, "{case}");
            let tiled = denoiser.run(&frame).unwrap();
            support::compare(&case, name, &whole, &tiled);
        }
    }
}

fn run(device: &Device, frame: &Frame, options: &Options, name: &str) -> Frame {
    Denoiser::new(device, &frame.shape(), options)
        .and_then(|mut denoiser| denoiser.run(frame))
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}
