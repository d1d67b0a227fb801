//! What an engine does with a recorder: textures, bindings, timestamps, one submit for each frame.

use anyhow::Result;
use limpid::exec::gpu::{Bindings, Gpu, LayerResources, Recorder};
use limpid::method::{Method, Schedule, Svgf};
use limpid::plan::{Backing, Element, Role};
use limpid::{Frame, Image, Size};

/// Everything that is made once: the recorder, the engine's textures, the bindings between them, and timestamps.
pub(crate) struct Stage {
    recorder: Recorder,
    textures: Vec<Option<wgpu::Texture>>,
    bindings: Bindings,
    timer: Option<(wgpu::QuerySet, wgpu::Buffer, wgpu::Buffer)>,
}

impl Stage {
    pub(crate) fn new(
        gpu: &Gpu,
        method: &Svgf,
        frame: &Frame,
        schedule: &Schedule,
    ) -> Result<Self> {
        println!("schedule {schedule}");
        let plan = method.plan(&frame.shape(), schedule)?;
        let recorder = Recorder::new(gpu, plan.on_textures(Element::F32x4))?;
        let slots = recorder.plan().slots();
        let textures: Vec<_> = slots
            .iter()
            .map(|s| (s.backing == Backing::Texture).then(|| texture(gpu, s.size)))
            .collect();
        let mut ports = LayerResources::default();
        for (slot, texture) in slots.iter().zip(&textures) {
            ports = match (&slot.role, texture) {
                (Role::Input(layer), Some(texture)) => ports.input(layer.clone(), texture),
                (Role::Output(layer), Some(texture)) => ports.output(layer.clone(), texture),
                _ => ports,
            };
        }
        let bindings = recorder.bind(&ports)?;
        let passes = recorder.plan().passes().len() as u32;
        let timer = gpu.timestamps().then(|| timer(gpu, 2 * passes));
        Ok(Self {
            recorder,
            textures,
            bindings,
            timer,
        })
    }

    /// One frame: the engine's upload and the denoiser's passes. `last` records what the engine does with the result. Gives what
    /// each pass took, in milliseconds, where the device can tell.
    pub(crate) fn frame(
        &self,
        gpu: &Gpu,
        frame: &Frame,
        last: impl FnOnce(&mut wgpu::CommandEncoder),
    ) -> Result<Vec<(&'static str, f64)>> {
        for (slot, texture) in self.recorder.plan().slots().iter().zip(&self.textures) {
            if let (Role::Input(layer), Some(texture)) = (&slot.role, texture) {
                upload(gpu, texture, frame.require(layer.clone())?);
            }
        }
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        match &self.timer {
            None => self.recorder.record(&mut encoder, &self.bindings)?,
            Some((queries, resolved, read)) => {
                self.recorder
                    .record_timed(&mut encoder, &self.bindings, queries)?;
                encoder.resolve_query_set(queries, 0..queries_in(resolved), resolved, 0);
                encoder.copy_buffer_to_buffer(resolved, 0, read, 0, resolved.size());
            }
        }
        last(&mut encoder);
        gpu.queue().submit([encoder.finish()]);
        self.times(gpu)
    }

    fn times(&self, gpu: &Gpu) -> Result<Vec<(&'static str, f64)>> {
        let Some((_, _, read)) = &self.timer else {
            return Ok(Vec::new());
        };
        read.slice(..).map_async(wgpu::MapMode::Read, drop);
        gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        let bytes = read.slice(..).get_mapped_range()?;
        let ticks: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|b| u64::from_le_bytes(b.try_into().unwrap_or_default()))
            .collect();
        drop(bytes);
        read.unmap();
        let unit = f64::from(gpu.queue().get_timestamp_period()) / 1e6;
        let passes = self.recorder.plan().passes().iter();
        let ms = ticks
            .chunks_exact(2)
            .map(|t| t[1].saturating_sub(t[0]) as f64 * unit);
        Ok(passes.map(|p| p.name()).zip(ms).collect())
    }
}

/// What a window needs besides.
#[cfg(feature = "window")]
impl Stage {
    /// The texture of the result, or of the noisy frame.
    pub(crate) fn shown(&self, noisy: bool) -> Option<&wgpu::Texture> {
        let wanted = |role: &Role| match role {
            Role::Input(layer) => noisy && *layer == limpid::Layer::COLOR,
            Role::Output(_) => !noisy,
            _ => false,
        };
        let slots = self.recorder.plan().slots().iter();
        let mut found = slots.zip(&self.textures).filter(|(s, _)| wanted(&s.role));
        found.next().and_then(|(_, texture)| texture.as_ref())
    }

    /// Forgets all frames, as after a cut.
    pub(crate) fn reset(&self, gpu: &Gpu) {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        self.recorder.reset(&mut encoder);
        gpu.queue().submit([encoder.finish()]);
    }
}

/// What a frame took, as one line.
pub(crate) fn line(number: u32, times: &[(&'static str, f64)]) -> String {
    let sum: f64 = times.iter().map(|(_, ms)| ms).sum();
    let each: Vec<String> = times
        .iter()
        .map(|(name, ms)| format!("{name} {ms:.3}"))
        .collect();
    format!("frame {number}: {sum:.3} ms = {}", each.join(" "))
}

fn texture(gpu: &Gpu, size: Size) -> wgpu::Texture {
    use wgpu::TextureUsages as Usage;
    gpu.device().create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: extent(size),
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: wgpu::TextureFormat::Rgba32Float,
        usage: Usage::TEXTURE_BINDING | Usage::STORAGE_BINDING | Usage::COPY_DST,
        view_formats: &[],
    })
}

fn extent(size: Size) -> wgpu::Extent3d {
    wgpu::Extent3d {
        width: size.width as u32,
        height: size.height as u32,
        depth_or_array_layers: 1,
    }
}

fn upload(gpu: &Gpu, texture: &wgpu::Texture, image: &Image) {
    let mut texels = Vec::with_capacity(16 * image.size().pixels());
    for i in 0..image.size().pixels() {
        for c in 0..4 {
            let value = (c < image.channels()).then(|| image.plane(c)[i]);
            texels.extend(value.unwrap_or(0.0).to_le_bytes());
        }
    }
    let layout = wgpu::TexelCopyBufferLayout {
        offset: 0,
        bytes_per_row: Some(16 * image.width() as u32),
        rows_per_image: None,
    };
    gpu.queue().write_texture(
        texture.as_image_copy(),
        &texels,
        layout,
        extent(image.size()),
    );
}

fn queries_in(resolved: &wgpu::Buffer) -> u32 {
    (resolved.size() / 8) as u32
}

fn timer(gpu: &Gpu, count: u32) -> (wgpu::QuerySet, wgpu::Buffer, wgpu::Buffer) {
    use wgpu::BufferUsages as Usage;
    let queries = gpu.device().create_query_set(&wgpu::QuerySetDescriptor {
        label: None,
        ty: wgpu::QueryType::Timestamp,
        count,
    });
    let buffer = |usage| {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 8 * u64::from(count),
            usage,
            mapped_at_creation: false,
        })
    };
    (
        queries,
        buffer(Usage::QUERY_RESOLVE | Usage::COPY_SRC),
        buffer(Usage::COPY_DST | Usage::MAP_READ),
    )
}
