//! Properties of every method, device, schedule and size.

#[path = "decide.rs"]
mod decide;

use crate::known;
use crate::support::{self, frame, grey_frame, real_frame};
use limpid::method::{Backend, Entry, Method, Schedule};
use limpid::{Denoiser, Device, Frame, Options, Size};

const SIZES: [Size; 8] = [
    Size::new(1, 1),
    Size::new(1, 9),
    Size::new(11, 1),
    Size::new(3, 2),
    Size::new(17, 13),
    Size::new(40, 24),
    Size::new(23, 67),
    Size::new(71, 37),
];

/// Maximum number of pixels for a definition, with the settings of this turn.
fn largest(name: &str, turn: usize) -> usize {
    match name {
        // Fourteen solves of 75 rows per pixel in double precision: larger images take minutes.
        "reconstruct:patch" if turn > 0 => 1000,
        "reconstruct:patch" => 1600,
        // Each pixel reads large windows, several times.
        "rdfc" | "ddid" | "nfor" | "ensemble" => 2100,
        // `neural` has larger images through the same convolutions.
        "camera" => 1100,
        _ => usize::MAX,
    }
}

/// Whether a definition takes seconds with later settings at a size, and a larger one of another shape is there.
fn is_left_out(name: &str, turn: usize, size: Size) -> bool {
    let slow = matches!(name, "rdfc" | "ddid" | "nfor" | "ensemble");
    size.pixels() > largest(name, turn) || (slow && turn > 0 && size.width == 40)
}

/// Whether a GPU runs these settings with this schedule. Compiling all shaders would take a software driver many minutes, and
/// `tests/shaders.rs` validates all of them. So all settings run with the best schedule, and every other schedule runs with one
/// of the settings. Colour of one channel has shaders of its own: it runs with the best schedule of the first settings.
fn runs_on_gpu(name: &str, (turn, k): (usize, usize), size: Size) -> bool {
    match k {
        0 => turn == 0 || !is_grey(size),
        _ => turn == turn_of(name, k) && !is_grey(size),
    }
}

/// The settings that a schedule other than the best runs with on a GPU: the first. The schedules of a wavelet transform are many, and
/// those of its inverse are the same with all steps reversed: every second one of each runs with the second settings, the shortest
/// wavelet, and its counterpart with the first.
fn turn_of(name: &str, k: usize) -> usize {
    match name {
        "filter:dwt" => k % 2,
        "filter:idwt" => 1 - k % 2,
        _ => 0,
    }
}

/// The frame of this size: some have what real files have, one has a single channel of colour.
fn frame_of(size: Size) -> Frame {
    match size {
        Size { width: 17, .. } | Size { width: 71, .. } => real_frame(size),
        _ if is_grey(size) => grey_frame(size),
        _ => frame(size),
    }
}

/// Whether the frame of this size has a single channel of colour.
fn is_grey(size: Size) -> bool {
    size.width == 3
}

pub(crate) fn schedule_gives_the_definition(entry: &Entry, devices: &[Device]) {
    let name = &entry.path();
    let examples = known::examples((entry.make)().as_ref());
    for (turn, method) in examples.into_iter().enumerate() {
        for size in SIZES {
            if is_left_out(name, turn, size) {
                continue;
            }
            let frame = frame_of(size);
            let method = method.prepared(&frame).unwrap();
            let expected = known::define(method.as_ref(), &frame).unwrap();
            for device in devices {
                let schedules = method.schedules(device.backend());
                assert!(
                    !schedules.is_empty(),
                    "{name} has no schedule for {}",
                    device.backend()
                );
                for (k, schedule) in schedules.into_iter().enumerate() {
                    let gpu = device.backend() == Backend::Gpu;
                    if gpu && !runs_on_gpu(name, (turn, k), size) {
                        continue;
                    }
                    let mut options = Options::of(method.boxed());
                    options.schedule = schedule.clone().into();
                    let case = format!("{method:?} {schedule} {} {size}", device.name());
                    let got = run(device, &frame, &options, &case);
                    let both = (&expected, &got);
                    decide::hold((&case, name), method.as_ref(), &frame, both);
                }
            }
        }
    }
}

/// The longest tile of the seam test. Settings with a larger reach would mostly recompute halos, for minutes.
const TILE: usize = 40;

pub(crate) fn tile_is_without_a_seam(entry: &Entry, devices: &[Device]) {
    let name = &entry.path();
    let frame = frame(Size::new(97, 61));
    let default = (entry.make)();
    let examples = known::examples(default.as_ref());
    let settings = examples.into_iter().chain([default]);
    // A plan that reaches further than the width of this image has no tiles in it; one that reads single pixels has no seams.
    let least = |m: &dyn Method, schedule: &Schedule| {
        let plan = m.plan(&frame.shape(), schedule).unwrap();
        let reach = plan.reach().filter(|r| *r > 0)?;
        // The remainder of the image beside aligned tiles is read too.
        Some(2 * reach + 4 * plan.align()).filter(|n| *n < TILE)
    };
    let mut fitting: Vec<(usize, usize, Box<dyn Method>)> = Vec::new();
    for (turn, method) in settings.enumerate() {
        let method = method.prepared(&frame).unwrap();
        let first = method.schedules(Backend::Cpu).remove(0);
        if let Some(least) = least(method.as_ref(), &first) {
            fitting.push((least, turn, method));
        }
    }
    // The first, and the fastest of the others.
    let first = fitting.first().map(|(_, turn, _)| *turn);
    fitting.sort_by_key(|(least, turn, _)| (Some(*turn) != first, *least));
    for (_, turn, method) in fitting.into_iter().take(4) {
        for device in devices {
            for (k, schedule) in method.schedules(device.backend()).into_iter().enumerate() {
                // Tiles are the same on all devices, and a GPU already has the shaders of these.
                let built = match k {
                    0 => turn == 0 || Some(turn) == first,
                    _ => turn == turn_of(name, k),
                };
                if device.backend() == Backend::Gpu && !built {
                    continue;
                }
                let Some(least) = least(method.as_ref(), &schedule) else {
                    continue;
                };
                let mut options = Options::of(method.boxed());
                options.schedule = schedule.clone().into();
                let case = format!("{method:?} {schedule} {} in tiles", device.name());
                let whole = run(device, &frame, &options, &case);
                options.tile = Some(least.max(25));
                let mut denoiser = Denoiser::new(device, &frame.shape(), &options).unwrap();
                assert!(denoiser.tile_count() > 1, "{case}");
                let tiled = denoiser.run(&frame).unwrap();
                support::compare(&case, name, &whole, &tiled);
            }
        }
    }
}

fn run(device: &Device, frame: &Frame, options: &Options, name: &str) -> Frame {
    Denoiser::new(device, &frame.shape(), options)
        .and_then(|mut denoiser| denoiser.run(frame))
        .unwrap_or_else(|e| panic!("{name}: {e}"))
}
