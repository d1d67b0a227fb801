//! Prepare once, run many times: over a film nothing is compiled again, and each frame gets the same result as alone.

use crate::support;
use crate::support::frame;
use limpid::conformance::examples;
use limpid::method::{Backend, Entry, Method, Neural, entry};
use limpid::plan::Role;
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
