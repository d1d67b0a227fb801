//! Safe code cannot make a GPU read or write outside its memory.

#![cfg(feature = "gpu")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[expect(dead_code, reason = "only frames are needed here")]
mod support;

use limpid::exec::Runner;
use limpid::exec::gpu::{GpuRunner, Recorder, Resource};
use limpid::kernel::{Contract, Dispatch, Job, Kernel, Need, PassSlots, Target};
use limpid::method::{Atrous, Backend, METHODS, Method};
use limpid::plan::{Element, Plan, Role, Slot, SlotId, Until};
use limpid::{Device, Frame, Image, Kind, Layer, Part, Result, Shape, Size, Watch};
use limpid_plan::stencil::stencil;
use support::frame;

const SIZE: Size = Size::new(64, 48);

const EXTENT: wgpu::Extent3d = wgpu::Extent3d {
    width: 64,
    height: 48,
    depth_or_array_layers: 1,
};

/// Memory that is too small for its slot, or of another kind, is rejected.
#[test]
fn memory_that_does_not_fit_is_refused() {
    for device in Device::own_for_tests().unwrap() {
        let Device::Gpu(gpu) = &device else { continue };
        let buffer = |size: u64, usage| {
            Resource::Buffer(gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: false,
            }))
        };
        let view = |size: wgpu::Extent3d, format, levels| {
            let texture = gpu.device().create_texture(&wgpu::TextureDescriptor {
                label: None,
                size,
                mip_level_count: levels,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format,
                usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::STORAGE_BINDING,
                view_formats: &[],
            });
            let one = wgpu::TextureViewDescriptor {
                mip_level_count: Some(1),
                ..Default::default()
            };
            Resource::Texture(texture.create_view(&one))
        };
        let storage = wgpu::BufferUsages::STORAGE;
        let refused = |recorder: &Recorder, resource: Resource, what: &str| {
            let told = recorder.bind_slots(|_| Some(resource.clone())).unwrap_err();
            assert!(told.to_string().contains(what), "{told}");
        };
        let planes = Recorder::new(gpu, beyond()).unwrap();
        let bytes = 4 * SIZE.pixels() as u64;
        refused(&planes, buffer(bytes - 4, storage), "the plan needs");
        refused(
            &planes,
            buffer(bytes, wgpu::BufferUsages::COPY_DST),
            "usage",
        );
        let rgba = wgpu::TextureFormat::Rgba32Float;
        refused(&planes, view(EXTENT, rgba, 1), "needs a buffer");
        let method = Atrous::default();
        let schedule = method.schedules(Backend::Gpu).remove(0);
        let plan = method.plan(&frame(SIZE).shape(), &schedule).unwrap();
        let textures = Recorder::new(gpu, plan.on_textures(Element::F32x4)).unwrap();
        refused(&textures, buffer(1 << 20, storage), "needs a texture");
        let half = wgpu::TextureFormat::Rgba16Float;
        refused(&textures, view(EXTENT, half, 1), "Rgba16Float");
        let mut small = EXTENT;
        small.height -= 1;
        refused(&textures, view(small, rgba, 1), "64x47");
        refused(&textures, view(EXTENT, rgba, 2), "levels");
    }
}

/// The memory of a small plan must not be bound to the shaders of a large one.
#[test]
fn bindings_of_another_recorder_are_refused() {
    for device in Device::own_for_tests().unwrap() {
        let Device::Gpu(gpu) = &device else { continue };
        let method = Atrous::default();
        let recorder = |size: Size| {
            let schedule = method.schedules(Backend::Gpu).remove(0);
            Recorder::new(gpu, method.plan(&frame(size).shape(), &schedule).unwrap()).unwrap()
        };
        let (small, large) = (recorder(Size::new(16, 16)), recorder(SIZE));
        let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 1 << 16,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        });
        let bindings = small.bind_slots(|_| Some(Resource::Buffer(buffer.clone())));
        let bindings = bindings.unwrap();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let error = large.record(&mut encoder, &bindings).unwrap_err();
        assert!(error.to_string().contains("another recorder"), "{error}");
        small.record(&mut encoder, &bindings).unwrap();
    }
}

/// Reads and writes far beyond its slots.
#[derive(Debug)]
struct Beyond;

impl Kernel for Beyond {
    fn name(&self) -> &'static str {
        "beyond"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn cpu(&self, _job: &mut Job<'_>) {}

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let source = format!(
            "{}struct Params {{ far: u32 }}
@group(0) @binding(0) var<uniform> p: Params;
@compute @workgroup_size(1)
fn main() {{ write0[p.far] = 1.0 + read0[p.far]; }}
",
            pass.wgsl()
        );
        Ok(Dispatch::compute(source, &0x3000_0000u32, [1; 3]))
    }
}

fn beyond() -> Plan {
    let mut plan = Plan::new("beyond", SIZE);
    let (input, output) = (plan.input(Layer::COLOR, 1), plan.output(Layer::COLOR, 1));
    plan.pass(Beyond, [input], [output]);
    plan
}

/// A kernel of another crate cannot access other memory, even on a device that is not opened for tests.
#[test]
fn kernels_from_outside_are_checked() {
    let plain = Device::open_with("gpu", None, false).unwrap();
    let Device::Gpu(gpu) = &plain else {
        panic!("a GPU was asked for");
    };
    let mut runner = GpuRunner::new(gpu, beyond()).unwrap();
    let frame = Frame::new(Image::new(SIZE.width, SIZE.height, 1)).unwrap();
    let mut out = frame.clone();
    runner.run(&frame, &mut out, &Watch::default()).unwrap();
    let known = [0.0, 1.0];
    assert!(
        out.color()
            .unwrap()
            .data()
            .iter()
            .all(|v| known.contains(v))
    );
}

/// Tables are indices for some shaders. Nobody outside can change them.
#[test]
fn tables_are_private() {
    let Some(gpu) = Device::own_for_tests()
        .unwrap()
        .into_iter()
        .find_map(|d| match d {
            Device::Gpu(gpu) => Some(gpu),
            Device::Cpu(_) => None,
        })
    else {
        return;
    };
    let mut tables = 0;
    for path in ["filter:dwt", "neural"] {
        let method = (limpid::method::entry(path).unwrap().make)();
        let schedule = method.schedules(Backend::Gpu).remove(0);
        let plan = method.plan(&frame(SIZE).shape(), &schedule).unwrap();
        let recorder = Recorder::new(&gpu, plan).unwrap();
        for (i, slot) in recorder.plan().slots().iter().enumerate() {
            if matches!(slot.role, Role::Data(_)) {
                assert!(recorder.resource(SlotId(i)).is_none(), "{}", slot.name);
                tables += 1;
            }
        }
    }
    assert!(tables > 0);
}

/// Methods whose kernels read all channels of the features; others take as many as there are.
const FULL: [&str; 5] = ["neural", "ensemble", "nfor", "atrous", "svgf"];

/// A layer with fewer channels than its kind has is refused by the methods whose kernels read all of them, before anything runs.
#[test]
fn layers_without_their_channels_are_refused() {
    let full = frame(SIZE).shape();
    for entry in METHODS.iter().filter(|e| FULL.contains(&e.name)) {
        for kind in [Kind::Normal, Kind::Motion, Kind::Position] {
            let mut shape = full.clone();
            for part in [Part::Mean, Part::HalfA, Part::HalfB, Part::Variance] {
                let layer = Layer {
                    kind: kind.clone(),
                    part,
                };
                if shape.has(layer.clone()) {
                    shape = shape.with(layer, 1);
                }
            }
            for backend in [Backend::Cpu, Backend::Gpu] {
                refused_or_unread((entry.make)().as_ref(), &shape, backend, &kind);
            }
        }
    }
}

fn refused_or_unread(method: &dyn Method, shape: &Shape, backend: Backend, kind: &Kind) {
    for schedule in method.schedules(backend) {
        let Ok(plan) = method.plan(shape, &schedule) else {
            continue;
        };
        let short = |slot: &Slot| {
            slot.planes == 1 && matches!(&slot.role, Role::Input(layer) if layer.kind == *kind)
        };
        let read = plan.slots().iter().any(short);
        let name = method.name();
        assert!(
            !read || plan.check().is_err(),
            "{name} {schedule:?} takes {kind:?} of one channel"
        );
    }
}

/// Sizes whose number of pixels exceeds the address space do not become small ones.
#[test]
fn sizes_do_not_wrap_around() {
    let huge = Size::new(1 << 40, (1 << 40) + 1);
    assert_eq!(huge.pixels(), usize::MAX);
    let mut plan = Plan::new("huge", huge);
    let (input, output) = (plan.input(Layer::COLOR, 3), plan.output(Layer::COLOR, 3));
    plan.pass(Beyond, [input], [output]);
    assert_eq!(plan.memory().bytes(), usize::MAX);
    assert_eq!(plan.slots()[0].bytes(), usize::MAX);
    for device in Device::own_for_tests().unwrap() {
        let Device::Gpu(gpu) = &device else { continue };
        assert!(Recorder::new(gpu, plan.clone()).is_err());
    }
}

/// A shader that is trusted on its own slots keeps its checks on others, and when it is changed.
#[test]
fn trust_does_not_outlast_its_slots() {
    let method = Atrous::default();
    let schedule = method.schedules(Backend::Gpu).remove(0);
    let plan = |size: Size| method.plan(&frame(size).shape(), &schedule).unwrap();
    let (large, small) = (plan(SIZE), plan(Size::new(16, 16)));
    for (a, b) in large.passes().iter().zip(small.passes()) {
        let own = a.slots(&large, Target::BASE);
        let dispatch = a.kernel().gpu(&own).unwrap();
        assert!(dispatch.is_trusted_on(&own), "{}", a.name());
        let other = b.slots(&small, Target::BASE);
        assert!(!dispatch.is_trusted_on(&other), "{}", a.name());
        assert!(!dispatch.clone().constant("more", 1).is_trusted_on(&own));
        assert!(!dispatch.with_params(vec![0; 16]).is_trusted_on(&own));
    }
}

/// A plan whose slots lack what a kernel needs is refused, on every device.
#[test]
fn slots_without_what_a_kernel_needs_are_refused() {
    #[derive(Debug)]
    struct Three;
    impl Kernel for Three {
        fn name(&self) -> &'static str {
            "three"
        }
        fn contract(&self) -> Contract {
            Contract::rows(1, 1, 0)
        }
        fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
            pass.each(|slot| Need::planes(slot.size, 3))
        }
        fn gpu(&self, _pass: &PassSlots<'_>) -> Result<Dispatch> {
            Ok(Dispatch::compute("", &0u32, [1; 3]))
        }
    }
    let mut plan = Plan::new("three", SIZE);
    let (input, output) = (plan.input(Layer::COLOR, 1), plan.output(Layer::COLOR, 3));
    plan.pass(Three, [input], [output]);
    let told = plan.check().unwrap_err().to_string();
    assert!(
        told.contains("three needs 3 planes of 64x48 of the layer color"),
        "{told}"
    );
}

/// The size of subgroups decides which part of workgroup memory a thread uses, so a shader written for one device is not trusted on
/// another. Kernels from outside can make up the device that they ask a kernel of ours for.
#[test]
fn trust_does_not_outlast_its_device() {
    let method = Atrous::default();
    let schedule = method.schedules(Backend::Gpu).remove(0);
    let plan = method.plan(&frame(SIZE).shape(), &schedule).unwrap();
    let other = Target::with(|target| target.subgroup = Some((128, 128)));
    for pass in plan.passes() {
        let own = pass.slots(&plan, Target::BASE);
        let made_up = pass.kernel().gpu(&pass.slots(&plan, other)).unwrap();
        assert!(!made_up.is_trusted_on(&own), "{}", pass.name());
    }
}

/// A stencil's planes are those of its slots: one plane of four-vectors has the bytes of four planes, but not their indices.
#[test]
fn wide_elements_are_not_planes() {
    let wide = |plan: &mut Plan, slot: SlotId| {
        let slot = plan.at(slot).clone().element(Element::F32x4);
        plan.slot(slot)
    };
    let mut plan = Plan::new("wide", SIZE);
    let (input, output) = (plan.input(Layer::COLOR, 1), plan.output(Layer::COLOR, 1));
    let (input, output) = (wide(&mut plan, input), wide(&mut plan, output));
    // Valid WGSL for any element: the third plane goes to the first.
    let last = stencil("last", |k| {
        let [a] = k.reads();
        k.write_planes([a.plane(2).here()]);
    });
    plan.pass(last, [input], [output]);
    let pass = &plan.passes()[0];
    let slots = pass.slots(&plan, Target::BASE);
    let dispatch = pass.kernel().gpu(&slots).unwrap();
    assert!(!dispatch.is_trusted_on(&slots));
    let told = plan.check().unwrap_err().to_string();
    assert!(told.contains("last needs 3 planes of 64x48"), "{told}");
}

/// Memory is shared by what is repeated, so another repetition makes another plan, and one that ends by a slot which does not
/// exist makes none.
#[test]
fn repetitions_belong_to_a_plan() {
    let plan = |most: usize, slot: usize| {
        let mut plan = Plan::new("again", SIZE);
        let (input, output) = (plan.input(Layer::COLOR, 1), plan.output(Layer::COLOR, 1));
        let until = Until {
            slot: SlotId(slot),
            at_most: 0.0,
            every: 1,
        };
        plan.repeat(most, Some(until), |plan| {
            plan.pass(Beyond, [input], [output]);
        });
        plan
    };
    assert!(plan(8, 1).same_form(&plan(5, 1)));
    assert!(!plan(1, 1).same_form(&plan(5, 1)));
    assert!(!plan(5, 0).same_form(&plan(5, 1)));
    let told = plan(5, 9).check().unwrap_err().to_string();
    assert!(told.contains("slot 9, which does not exist"), "{told}");
}
