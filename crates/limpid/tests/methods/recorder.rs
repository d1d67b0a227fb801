//! An engine records a plan into its own encoder, with its own textures: recording allocates, compiles and submits nothing.

use crate::support;
use limpid::exec::Runner;
use limpid::exec::cpu::CpuRunner;
use limpid::exec::gpu::{Gpu, GpuRunner, LayerResources, Recorder, Resource};
use limpid::kernel::{Contract, Dispatch, Job, Kernel, PassSlots, Target};
use limpid::method::{Atrous, Backend, Method, Svgf};
use limpid::plan::{Backing, Element, Plan, Role, Slot, Until};
use limpid::{Denoiser, Device, Frame, Image, Kind, Layer, Options, Result, Size, Watch};

// Engines have no alpha.
fn frame(size: Size) -> Frame {
    let (full, mut left) = (support::frame(size), Frame::empty(size).unwrap());
    for (layer, image) in full.layers().filter(|(l, _)| l.kind != Kind::Alpha) {
        left.insert(layer.clone(), image.clone()).unwrap();
    }
    left
}
const SIZE: Size = Size::new(64, 48);

fn texture(gpu: &Gpu) -> wgpu::Texture {
    use wgpu::TextureUsages as Usage;
    gpu.device().create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: extent(),
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba32Float,
        usage: Usage::TEXTURE_BINDING | Usage::STORAGE_BINDING | Usage::COPY_SRC | Usage::COPY_DST,
        view_formats: &[],
    })
}

fn extent() -> wgpu::Extent3d {
    wgpu::Extent3d {
        width: SIZE.width as u32,
        height: SIZE.height as u32,
        depth_or_array_layers: 1,
    }
}

fn upload(gpu: &Gpu, texture: &wgpu::Texture, image: &Image) {
    let mut texels = Vec::new();
    for i in 0..SIZE.pixels() {
        for c in 0..4 {
            let v = if c < image.channels() {
                image.plane(c)[i]
            } else {
                0.0
            };
            texels.extend(v.to_le_bytes());
        }
    }
    let layout = wgpu::TexelCopyBufferLayout {
        offset: 0,
        bytes_per_row: Some(16 * SIZE.width as u32),
        rows_per_image: None,
    };
    gpu.queue()
        .write_texture(texture.as_image_copy(), &texels, layout, extent());
}

fn download(
    gpu: &Gpu,
    texture: &wgpu::Texture,
    encoder: &mut wgpu::CommandEncoder,
) -> wgpu::Buffer {
    let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 16 * SIZE.pixels() as u64,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let to = wgpu::TexelCopyBufferInfo {
        buffer: &buffer,
        layout: wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(16 * SIZE.width as u32),
            rows_per_image: None,
        },
    };
    encoder.copy_texture_to_buffer(texture.as_image_copy(), to, extent());
    buffer
}

fn image(gpu: &Gpu, buffer: &wgpu::Buffer) -> Image {
    buffer
        .slice(..)
        .map_async(wgpu::MapMode::Read, |r| r.unwrap());
    gpu.device()
        .poll(wgpu::PollType::wait_indefinitely())
        .unwrap();
    let bytes = buffer.slice(..).get_mapped_range().unwrap();
    let word = |at: usize| f32::from_le_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap());
    Image::from_fn(SIZE.width, SIZE.height, 3, |x, y, c| {
        word(4 * (y * SIZE.width + x) + c)
    })
}

/// Textures are bound by layer; missing, unknown or unsuitable ones are errors that name them.
#[test]
fn layers_are_bound_by_name() {
    for device in Device::own_for_tests().unwrap() {
        let Device::Gpu(gpu) = &device else { continue };
        let frame = frame(SIZE);
        let method = Svgf::default();
        let schedule = method.schedules(Backend::Gpu).remove(0);
        let plan = method.plan(&frame.shape(), &schedule).unwrap();
        let recorder = Recorder::new(gpu, plan.on_textures(Element::F32x4)).unwrap();
        let result = texture(gpu);
        let inputs: Vec<Layer> = recorder.plan().slots().iter().filter_map(input).collect();
        let all = |leave: Option<&Layer>| {
            let mut ports = LayerResources::default().output(Kind::Color, &result);
            for layer in inputs.iter().filter(|l| Some(*l) != leave) {
                ports = ports.input(layer.clone(), &texture(gpu));
            }
            ports
        };
        recorder.bind(&all(None)).unwrap();
        let told = |ports: LayerResources| recorder.bind(&ports).unwrap_err().to_string();
        let normal = Layer::from(Kind::Normal);
        assert!(told(all(Some(&normal))).contains("layer normal is missing"));
        let unknown = all(None).input(Kind::Light("key".into()), &texture(gpu));
        assert!(told(unknown).contains("light:key"));
        let half = other(
            gpu,
            wgpu::TextureFormat::Rgba16Float,
            wgpu::TextureUsages::all(),
        );
        let wrong = told(all(Some(&normal)).input(Kind::Normal, &half));
        assert!(
            wrong.contains("Rgba16Float") && wrong.contains("Rgba32Float"),
            "{wrong}"
        );
        let bare = other(
            gpu,
            wgpu::TextureFormat::Rgba32Float,
            wgpu::TextureUsages::COPY_DST,
        );
        let wrong = told(all(Some(&normal)).input(Kind::Normal, &bare));
        assert!(
            wrong.contains("normal") && wrong.contains("TEXTURE_BINDING"),
            "{wrong}"
        );
    }
}

fn input(slot: &Slot) -> Option<Layer> {
    match &slot.role {
        Role::Input(layer) => Some(layer.clone()),
        _ => None,
    }
}

fn other(gpu: &Gpu, format: wgpu::TextureFormat, usage: wgpu::TextureUsages) -> wgpu::Texture {
    use wgpu::TextureUsages as Usage;
    let usable = Usage::TEXTURE_BINDING | Usage::STORAGE_BINDING | Usage::COPY_DST;
    gpu.device().create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: extent(),
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: usage & usable,
        view_formats: &[],
    })
}

/// The number of the next submission, and of the device's memory blocks.
fn counts(gpu: &Gpu) -> (String, Option<usize>, usize) {
    let report = gpu.device().generate_allocator_report();
    (
        format!("{:?}", gpu.queue().submit([])),
        report.map(|r| r.allocations.len()),
        gpu.pipelines_built(),
    )
}

#[test]
fn recording_takes_nothing_and_gives_the_denoisers_picture() {
    let svgf = Svgf::with(|m| m.levels = 2);
    // Everything that svgf reads, it reads from textures.
    records(&svgf, 0);
    let atrous = Atrous::with(|m| m.levels = 2);
    // Packing reads planes, unpacking reads the texture of albedo.
    records(&atrous, usize::MAX);
}

/// `copies`: maximum number of layers that may need a separate pass.
fn records(method: &dyn Method, copies: usize) {
    let frames = [frame(SIZE), frame(SIZE)];
    for device in Device::own_for_tests().unwrap() {
        let Device::Gpu(gpu) = &device else { continue };
        let schedule = method.schedules(Backend::Gpu).remove(0);
        let plan = method.plan(&frames[0].shape(), &schedule).unwrap();
        let plan = plan.on_textures(Element::F32x4);
        let names: Vec<_> = plan.passes().iter().map(|p| p.name()).collect();
        let taken_out = names.iter().filter(|n| **n == "from-texture").count();
        assert!(taken_out <= copies, "{names:?}");
        let recorder = Recorder::new(gpu, plan).unwrap();
        let outside: Vec<Option<wgpu::Texture>> = recorder
            .plan()
            .slots()
            .iter()
            .map(|s| (s.backing == Backing::Texture).then(|| texture(gpu)))
            .collect();
        let view = |texture: &wgpu::Texture| texture.create_view(&Default::default());
        let bindings = recorder
            .bind_slots(|id| outside[id.0].as_ref().map(|t| Resource::Texture(view(t))))
            .unwrap();
        let mut denoiser =
            Denoiser::new(&device, &frames[0].shape(), &Options::of(method.boxed())).unwrap();
        for frame in &frames {
            let mut result = None;
            for (slot, texture) in recorder.plan().slots().iter().zip(&outside) {
                match (&slot.role, texture) {
                    (Role::Input(layer), Some(texture)) => {
                        upload(gpu, texture, frame.get(layer.clone()).unwrap());
                    }
                    (Role::Output(layer), Some(texture)) if *layer == Layer::COLOR => {
                        result = Some(texture);
                    }
                    _ => {}
                }
            }
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            // Uploads keep their memory until they are done.
            gpu.queue().submit([]);
            gpu.device()
                .poll(wgpu::PollType::wait_indefinitely())
                .unwrap();
            let before = counts(gpu);
            recorder.record(&mut encoder, &bindings).unwrap();
            let after = counts(gpu);
            assert_eq!((before.1, before.2), (after.1, after.2), "{}", gpu.name());
            assert_eq!(
                number(&before.0) + 1,
                number(&after.0),
                "a submit while recording"
            );
            let buffer = download(gpu, result.unwrap(), &mut encoder);
            gpu.queue().submit([encoder.finish()]);
            let want = denoiser.run(frame).unwrap();
            let want = Frame::new(want.color().unwrap().clone()).unwrap();
            let mut got = Frame::empty(SIZE).unwrap();
            got.insert(Layer::COLOR, image(gpu, &buffer)).unwrap();
            support::compare("recorder", method.name(), &want, &got);
        }
    }
}

/// Default limits suffice for an engine's textures; planes need more bindings, which is an error.
#[test]
fn default_limits_are_enough_for_textures() {
    let mut desc = wgpu::InstanceDescriptor::new_without_display_handle();
    desc.backends = wgpu::Backends::PRIMARY;
    let instance = wgpu::Instance::new(desc);
    let method = Svgf::default();
    let schedule = method.schedules(Backend::Gpu).remove(0);
    let shape = frame(SIZE).shape();
    let large = shape.resized(Size::new(3840, 2160));
    let large = method.plan(&large, &schedule).unwrap();
    for slot in large.on_textures(Element::F32x4).slots() {
        let fits = slot.bytes() as u64 <= Target::BASE.binding_bytes;
        assert!(fits || slot.backing != Backing::Buffer, "{}", slot.name);
    }
    let plan = method.plan(&shape, &schedule).unwrap();
    for adapter in pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY)) {
        let opened = pollster::block_on(adapter.request_device(&Default::default()));
        let (device, queue) = opened.unwrap();
        let gpu = Gpu::from_wgpu(&adapter, device, queue);
        Recorder::new(&gpu, plan.clone().on_textures(Element::F32x4)).unwrap();
        let told = Recorder::new(&gpu, plan.clone()).unwrap_err().to_string();
        let expected = "svgf-temporal binds 12 storage buffers";
        assert!(told.contains(expected), "{told}");
    }
}

/// The number in the text of a submission's index.
fn number(text: &str) -> u64 {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// The first slot, or the sum of two; written to one slot or to two.
#[derive(Debug)]
struct Sum(Contract);

impl Kernel for Sum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn contract(&self) -> Contract {
        self.0
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for y in job.rows.clone() {
            for x in 0..job.reads[0].size().width {
                let sum = job.reads.iter().map(|read| read.row(0, y)[x]).sum();
                for to in &mut job.writes {
                    to.row(0, y)[x] = sum;
                }
            }
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let parts: Vec<String> = (0..self.0.reads).map(|k| format!("read{k}[i]")).collect();
        let stores: String = (0..self.0.writes)
            .map(|k| format!("        write{k}[i] = sum;\n"))
            .collect();
        let source = format!(
            "{}struct Params {{ count: u32 }}
@group(0) @binding(0) var<uniform> p: Params;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    let i = id.x;
    if i < p.count {{
        let sum = {};
{stores}    }}
}}
",
            pass.wgsl(),
            parts.join(" + ")
        );
        let count = pass.writes[0].size.pixels() as u32;
        Ok(Dispatch::compute(
            source,
            &count,
            [count.div_ceil(64), 1, 1],
        ))
    }
}

/// A running sum in two swapped slots. `pieces`: the following passes are repeated, with a check each time, so that a frame is
/// submitted in pieces.
fn running_sum(size: Size, pieces: bool) -> Plan {
    let mut plan = Plan::new("running sum", size);
    let input = plan.input(Layer::COLOR, 1);
    let (now, last) = (plan.history("sum", 1), plan.history("last sum", 1));
    let output = plan.output(Layer::COLOR, 1);
    plan.swap(now, last);
    plan.pass(Sum(Contract::rows(2, 1, 0)), [input, last], [now]);
    let copy = |plan: &mut Plan| plan.pass(Sum(Contract::rows(1, 1, 0)), [now], [output]);
    let until = Some(Until {
        slot: now,
        at_most: -1.0,
        every: 1,
    });
    match pieces {
        false => copy(&mut plan),
        true => plan.repeat(3, until, copy),
    }
    plan
}

#[test]
fn swapped_history_is_the_same_everywhere() {
    let size = Size::new(16, 16);
    let inputs: Vec<Image> = (1..6)
        .map(|t| Image::from_fn(16, 16, 1, |x, y, _| (t * 100 + 16 * y + x) as f32))
        .collect();
    // A reset precedes the fourth frame: at an odd swap.
    let mut sums: Vec<Image> = Vec::new();
    for (t, input) in inputs.iter().enumerate() {
        let before = sums.last().filter(|_| t != 3);
        let old = |x, y| before.map_or(0.0, |b| b.get(x, y, 0));
        sums.push(Image::from_fn(16, 16, 1, |x, y, _| {
            input.get(x, y, 0) + old(x, y)
        }));
    }
    let watch = Watch::default();
    for (device, pieces) in Device::own_for_tests()
        .unwrap()
        .iter()
        .flat_map(|d| [(d, false), (d, true)])
    {
        let plan = running_sum(size, pieces);
        let mut out = Frame::new(Image::new(16, 16, 1)).unwrap();
        let mut cpu = match device {
            Device::Cpu(cpu) => Some(CpuRunner::new(cpu, plan.clone()).unwrap()),
            Device::Gpu(_) => None,
        };
        let mut gpu = match device {
            Device::Cpu(_) => None,
            Device::Gpu(gpu) => Some((
                GpuRunner::new(gpu, plan.clone()).unwrap(),
                Recorded::new(gpu, plan),
            )),
        };
        for (t, (input, sum)) in inputs.iter().zip(&sums).enumerate() {
            let frame = Frame::new(input.clone()).unwrap();
            if let Some(runner) = &mut cpu {
                if t == 3 {
                    runner.reset();
                }
                runner.run(&frame, &mut out, &watch).unwrap();
                assert_eq!(out.color().unwrap(), sum, "{} {t}", device.name());
            }
            if let Some((runner, recorded)) = &mut gpu {
                if t == 3 {
                    runner.reset();
                }
                runner.run(&frame, &mut out, &watch).unwrap();
                assert_eq!(out.color().unwrap(), sum, "{} {t}", device.name());
                // Timed and plain recording continue the same sequence.
                let timed = !pieces && t % 2 == 1;
                let got = recorded.frame(input, t == 3, timed);
                assert_eq!(&got, sum.data(), "recorded on {} {t}", device.name());
            }
        }
    }
}

/// A recorder with buffers for inputs and outputs.
struct Recorded {
    gpu: Gpu,
    recorder: Recorder,
    bindings: limpid::exec::gpu::Bindings,
    ends: [wgpu::Buffer; 2],
}

impl Recorded {
    fn new(gpu: &Gpu, plan: Plan) -> Self {
        let recorder = Recorder::new(gpu, plan).unwrap();
        let ends = [(); 2].map(|()| {
            gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: 4 * 256,
                usage: wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::COPY_DST
                    | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            })
        });
        let end = |slot: &Slot| match slot.role {
            Role::Input(_) => ends[0].clone(),
            _ => ends[1].clone(),
        };
        let bindings = recorder
            .bind_slots(|id| Some(Resource::Buffer(end(recorder.plan().at(id)))))
            .unwrap();
        Self {
            gpu: gpu.clone(),
            recorder,
            bindings,
            ends,
        }
    }

    fn frame(&self, input: &Image, reset: bool, timed: bool) -> Vec<f32> {
        let device = self.gpu.device();
        let data: Vec<u8> = input.data().iter().flat_map(|v| v.to_le_bytes()).collect();
        self.gpu.queue().write_buffer(&self.ends[0], 0, &data);
        let mut encoder = device.create_command_encoder(&Default::default());
        if reset {
            self.recorder.reset(&mut encoder);
        }
        if timed && self.gpu.timestamps() {
            let queries = device.create_query_set(&wgpu::QuerySetDescriptor {
                label: None,
                ty: wgpu::QueryType::Timestamp,
                count: 4,
            });
            self.recorder
                .record_timed(&mut encoder, &self.bindings, &queries)
                .unwrap();
        } else {
            self.recorder.record(&mut encoder, &self.bindings).unwrap();
        }
        let read = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4 * 256,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        encoder.copy_buffer_to_buffer(&self.ends[1], 0, &read, 0, 4 * 256);
        self.gpu.queue().submit([encoder.finish()]);
        read.slice(..)
            .map_async(wgpu::MapMode::Read, |r| r.unwrap());
        device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let bytes = read.slice(..).get_mapped_range().unwrap();
        let word = |b: &[u8]| f32::from_le_bytes(b.try_into().unwrap());
        bytes.chunks_exact(4).map(word).collect()
    }
}
