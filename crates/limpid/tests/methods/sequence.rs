//! Prepare once, run many times: over a film nothing is compiled again, and each frame gets the same result as alone.

use crate::support;
use crate::support::frame;
use limpid::conformance::examples;
use limpid::method::{Backend, Entry, Method, Neural, entry};
use limpid::plan::{Backing, Role};
use limpid::{Device, Frame, Kind, Options, Sequence, Size, Watch, denoise_on};

const SIZE: Size = Size::new(24, 17);

/// A frame of a film: brightness, noise and extent change, so that all estimates change.
fn shot(t: usize) -> Frame {
    let base = frame(SIZE);
    let mut made = Frame::empty(SIZE).unwrap();
    for (layer, image) in base.layers() {
        let gain = match layer.kind {
            Kind::Color | Kind::Dx | Kind::Dy => 1.0 + 0.13 * t as f32,
            Kind::Position => 1.0 + 0.07 * t as f32,
            _ => 1.0,
        };
        made.insert(layer.clone(), image.map(|v| gain * v)).unwrap();
    }
    made
}

fn has_history(method: &dyn Method) -> bool {
    let schedule = &method.schedules(Backend::Cpu)[0];
    let plan = method.plan(&shot(0).shape(), schedule).unwrap();
    plan.slots().iter().any(|s| s.role == Role::History)
}

/// A method whose first frame does not take minutes on a software device.
fn method(entry: &Entry) -> Box<dyn Method> {
    match entry.name {
        "ddid" | "ensemble" | "rdfc" => examples((entry.make)().as_ref()).swap_remove(0),
        "shrink" => {
            let mut method = (entry.make)();
            method.set("shifts", "1").unwrap();
            method
        }
        "patch" => {
            let mut method = (entry.make)();
            method.set("rounds", "1").unwrap();
            method.set("tolerance", "0.1").unwrap();
            method
        }
        _ => (entry.make)(),
    }
}

/// One test per method, each with its own devices, whose pipelines it counts: they run in parallel.
macro_rules! sequences {
    ($($name:ident = $method:literal),* $(,)?) => {
        $(#[test]
        fn $name() {
            nothing_is_compiled_after_the_first_frame_and_each_frame_is_its_own(entry($method).unwrap());
        })*
    };
}

each_method!(sequences);

fn nothing_is_compiled_after_the_first_frame_and_each_frame_is_its_own(entry: &Entry) {
    let devices = Device::own_for_tests().unwrap();
    let watch = Watch::default();
    for device in [&devices[0], &devices[devices.len() - 1]] {
        let options = Options::of(method(entry));
        let mut sequence = Sequence::new(device, &options);
        sequence.run(&shot(0), &watch).unwrap();
        let built = built(device);
        let mut last = None;
        for t in 1..5 {
            last = Some(sequence.run(&shot(t), &watch).unwrap());
            let more = self::built(device) - built;
            assert_eq!(more, 0, "{}: compiled for frame {t}", entry.name);
        }
        if !has_history(options.method.as_ref()) {
            let alone = denoise_on(device, &shot(4), &options, &watch).unwrap();
            let case = format!("{} on {}", entry.name, device.name());
            support::compare(&case, &entry.path(), &alone, &last.unwrap());
        }
    }
}

/// Pipelines that were built on a device.
fn built(device: &Device) -> usize {
    match device {
        Device::Cpu(_) => 0,
        #[cfg(feature = "gpu")]
        Device::Gpu(gpu) => gpu.pipelines_built(),
    }
}

/// Two threads compile the same shaders at the same time, and each keeps its history when the parameters change with the next frame.
#[test]
fn sequences_of_one_device_do_not_disturb_each_other() {
    let mut method = Neural::default();
    method.alpha = 0.3;
    let options = Options::new(method);
    let walk = crate::walk::sequence(SIZE, 3);
    let frames: Vec<Frame> = walk
        .iter()
        .enumerate()
        .map(|(t, frame)| {
            let mut brighter = frame.clone();
            let color = frame.color().unwrap().map(|v| v * (1 << t) as f32);
            brighter.insert(Kind::Color, color).unwrap();
            brighter
        })
        .collect();
    let devices = Device::own_for_tests().unwrap();
    let device = &devices[devices.len() - 1];
    let together = std::sync::Barrier::new(2);
    let run = |begin: &dyn Fn()| {
        let mut sequence = Sequence::new(device, &options);
        begin();
        let frames = frames.iter();
        let made = frames.map(|frame| sequence.run(frame, &Watch::default()).unwrap());
        made.collect::<Vec<Frame>>()
    };
    let wait = || {
        together.wait();
    };
    let both = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| run(&wait)));
        both.map(|thread| thread.join().unwrap())
    });
    let want = run(&|| ());
    for made in both {
        for (t, (made, want)) in made.iter().zip(&want).enumerate() {
            let case = format!("frame {t}, two threads");
            support::compare(&case, "neural", want, made);
        }
    }
}

/// The calls that a browser makes give the same results: in one piece, in tiles, and in films whose results are delayed.
#[test]
fn asynchronous_calls_give_the_same_results() {
    let watch = Watch::default();
    for device in Device::all_for_tests().unwrap() {
        for tile in [None, Some(16)] {
            let mut options = Options::of((entry("filter:gaussian").unwrap().make)());
            options.tile = tile;
            options.strength = 0.7;
            let here = denoise_on(&device, &shot(1), &options, &watch).unwrap();
            let mut sequence = Sequence::new(&device, &options);
            let made = pollster::block_on(sequence.run_async(&shot(1), &watch)).unwrap();
            assert_eq!(made, here, "{} {tile:?}", device.name());
        }
        let options = Options::of((entry("film").unwrap().make)());
        let mut films = [(); 2].map(|()| Sequence::new(&device, &options));
        let mut made = [const { Vec::new() }; 2];
        for t in 0..4 {
            let frame = shot(t);
            made[0].extend(films[0].push(&frame, &watch).unwrap());
            let results = films[1].push_async(&frame, &watch);
            made[1].extend(pollster::block_on(results).unwrap());
        }
        made[0].extend(films[0].finish(&watch).unwrap());
        made[1].extend(pollster::block_on(films[1].finish_async(&watch)).unwrap());
        assert_eq!(made[0].len(), 4);
        assert_eq!(made[0], made[1], "{}", device.name());
    }
}

/// Browsers bind ten storage buffers at a time: passes that need more read textures, with the same result.
#[test]
fn few_bindings_are_enough() {
    for name in ["svgf", "neural", "atrous", "film", "eaw"] {
        let method = (entry(name).unwrap().make)();
        let method = method.prepared(&shot(0)).unwrap();
        let schedule = &method.schedules(Backend::Gpu)[0];
        let plain = method.plan(&shot(0).shape(), schedule).unwrap();
        let plan = plain.clone().with_bindings(10);
        for pass in plan.passes() {
            let ids = pass.reads().iter().chain(pass.writes());
            let buffers = ids.filter(|id| plan.slots()[id.0].backing == Backing::Buffer);
            assert!(buffers.count() <= 10, "{name} {}", pass.kernel().name());
        }
        assert_eq!(plan.passes().len() > plain.passes().len(), name == "svgf");
        if name != "svgf" {
            continue;
        }
        let device = Device::all_for_tests().unwrap().pop().unwrap();
        let made = [plain, plan].map(|plan| {
            let mut out = limpid::exec::outputs(&plan, SIZE).unwrap();
            let mut runner = device.runner(plan).unwrap();
            for t in 0..2 {
                runner.run(&shot(t), &mut out, &Watch::default()).unwrap();
            }
            out
        });
        assert_eq!(made[0], made[1]);
    }
}
