//! What holds for every method, device, schedule and size.

use crate::support::{self, frame};
use limpid::method::{Backend, Entry, Method};
use limpid::{Denoiser, Device, Frame, Options, Size};

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

/// Most pixels that a definition is asked for.
fn largest(name: &str) -> usize {
    match name {
        // Fourteen solves of 75 rows per pixel in double precision: larger images take minutes.
        "reconstruct:patch" => 1000,
        _ => usize::MAX,
    }
}

pub(crate) fn schedule_gives_the_definition(entry: &Entry) {
    let name = &entry.path();
    let devices = Device::all_for_tests().unwrap();
    let examples = (entry.make)().examples();
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

pub(crate) fn tile_is_without_a_seam(entry: &Entry) {
    let name = &entry.path();
    let frame = frame(Size::new(97, 61));
    let method = (entry.make)();
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
