//! The pipeline cache: each shader is compiled once per device.

use super::device::{Gpu, locked};
use super::resource::format;
use limpid_core::{Error, Result};
use limpid_plan::{Dispatch, PassSlots, Stage};
use std::collections::HashMap;
use std::sync::Arc;

const FULLSCREEN: &str = include_str!("fullscreen.wgsl");

/// How one binding of a shader is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Bind {
    Uniform,
    Read,
    Write,
    Sampled {
        format: wgpu::TextureFormat,
        filter: bool,
    },
    Stored(wgpu::TextureFormat),
    Sampler,
}

/// What distinguishes pipelines.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    source: String,
    constants: Vec<(&'static str, u64)>,
    binds: Vec<(u32, Bind)>,
    targets: Vec<wgpu::TextureFormat>,
    trusted: bool,
}

#[derive(Debug)]
pub(super) enum Kind {
    Compute(wgpu::ComputePipeline),
    Fragment(wgpu::RenderPipeline),
}

/// A compiled shader with its binding layout.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) kind: Kind,
    pub(super) layout: wgpu::BindGroupLayout,
    key: Arc<Key>,
}

impl Pipeline {
    /// The bindings.
    pub(super) fn binds(&self) -> &[(u32, Bind)] {
        &self.key.binds
    }

    /// Whether both come from the same shader. They may have been built twice, if the cache was full in between.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

/// Maximum number of cached pipelines: the longest plan of all methods has about a hundred.
const MOST: usize = 512;

/// The most recently used pipelines of a device, at most [`MOST`].
#[derive(Debug, Default)]
pub(super) struct Pipelines {
    /// Each with the time of its last use, counted in lookups.
    kept: HashMap<Arc<Key>, (u64, Arc<Pipeline>)>,
    uses: u64,
    built: usize,
}

impl Pipelines {
    /// The total number of pipelines built.
    pub(super) fn built(&self) -> usize {
        self.built
    }

    fn get(&mut self, key: &Key) -> Option<Arc<Pipeline>> {
        self.uses += 1;
        let (used, found) = self.kept.get_mut(key)?;
        *used = self.uses;
        Some(found.clone())
    }

    /// Stores a pipeline and evicts the least recently used one if the cache is full. Returns the one to use: another thread may have
    /// stored the same in the meantime.
    fn keep(&mut self, pipeline: Pipeline) -> Arc<Pipeline> {
        self.built += 1;
        if let Some(found) = self.get(&pipeline.key) {
            return found;
        }
        let pipeline = Arc::new(pipeline);
        if self.kept.len() >= MOST {
            let oldest = self.kept.values().map(|(used, _)| *used).min();
            self.kept.retain(|_, (used, _)| Some(*used) != oldest);
        }
        let entry = (self.uses, pipeline.clone());
        self.kept.insert(pipeline.key.clone(), entry);
        pipeline
    }
}

/// The bindings of a dispatch, following the rule documented at [`Dispatch`].
fn bindings(dispatch: &Dispatch, pass: &PassSlots<'_>) -> Vec<(u32, Bind)> {
    let mut binds = Vec::new();
    if !dispatch.params().is_empty() {
        binds.push((0, Bind::Uniform));
    }
    let mut next = 1;
    for slot in &pass.reads {
        let filter = dispatch.sampler();
        binds.push((
            next,
            format(slot).map_or(Bind::Read, |format| Bind::Sampled { format, filter }),
        ));
        next += 1;
    }
    if dispatch.stage() != Stage::Fragment {
        for slot in &pass.writes {
            binds.push((next, format(slot).map_or(Bind::Write, Bind::Stored)));
            next += 1;
        }
    }
    if dispatch.sampler() {
        binds.push((next, Bind::Sampler));
    }
    binds
}

impl Gpu {
    /// The pipeline of a dispatch, from the cache or newly compiled.
    pub(super) fn pipeline(
        &self,
        name: &str,
        dispatch: &Dispatch,
        pass: &PassSlots<'_>,
    ) -> Result<Arc<Pipeline>> {
        let fragment = dispatch.stage() == Stage::Fragment;
        let targets: Vec<_> = if fragment {
            pass.writes.iter().filter_map(|s| format(s)).collect()
        } else {
            Vec::new()
        };
        if fragment && targets.len() != pass.writes.len() {
            return Err(Error::unsupported(format!(
                "{name}: a fragment pass writes textures only"
            )));
        }
        let key = Arc::new(Key {
            source: dispatch.source().to_owned(),
            constants: dispatch
                .constants()
                .iter()
                .map(|(n, v)| (*n, v.to_bits()))
                .collect(),
            binds: bindings(dispatch, pass),
            targets,
            trusted: dispatch.is_trusted_on(pass) && !self.0.checked,
        });
        let stored = |bind: &&(u32, Bind)| matches!(bind.1, Bind::Read | Bind::Write);
        let (count, most) = (
            key.binds.iter().filter(stored).count(),
            pass.target.storage_buffers,
        );
        if count > most as usize {
            return Err(Error::unsupported(format!(
                "{name} binds {count} storage buffers, {} allows {most}; open it with more \
                 `max_storage_buffers_per_shader_stage`, or give textures",
                self.name()
            )));
        }
        if let Some(found) = locked(&self.0.pipelines).get(&key) {
            return Ok(found);
        }
        let (owned, of) = (dispatch.clone(), name.to_owned());
        let built = self.call_driver(&format!("building the shader '{name}'"), move |gpu| {
            gpu.guarded(|| Ok(gpu.build(&of, &owned, key)))
        })?;
        Ok(locked(&self.0.pipelines).keep(built))
    }

    fn build(&self, name: &str, dispatch: &Dispatch, key: Arc<Key>) -> Pipeline {
        let device = self.device();
        let fragment = dispatch.stage() == Stage::Fragment;
        let visibility = if fragment {
            wgpu::ShaderStages::FRAGMENT
        } else {
            wgpu::ShaderStages::COMPUTE
        };
        let entries: Vec<_> = key
            .binds
            .iter()
            .map(|(binding, bind)| wgpu::BindGroupLayoutEntry {
                binding: *binding,
                visibility,
                ty: bind.ty(),
                count: None,
            })
            .collect();
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(name),
            entries: &entries,
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(name),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let module = self.module(name, &dispatch.text(), key.trusted);
        let options = wgpu::PipelineCompilationOptions {
            constants: dispatch.constants(),
            zero_initialize_workgroup_memory: false,
        };
        let kind = if fragment {
            let vertex = self.module("fullscreen", FULLSCREEN, false);
            let targets: Vec<_> = key.targets.iter().map(|f| Some((*f).into())).collect();
            Kind::Fragment(
                device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                    label: Some(name),
                    layout: Some(&pipeline_layout),
                    vertex: wgpu::VertexState {
                        module: &vertex,
                        entry_point: Some("main"),
                        compilation_options: Default::default(),
                        buffers: &[],
                    },
                    primitive: Default::default(),
                    depth_stencil: None,
                    multisample: Default::default(),
                    fragment: Some(wgpu::FragmentState {
                        module: &module,
                        entry_point: Some("main"),
                        compilation_options: options,
                        targets: &targets,
                    }),
                    multiview_mask: None,
                    cache: None,
                }),
            )
        } else {
            Kind::Compute(
                device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some(name),
                    layout: Some(&pipeline_layout),
                    module: &module,
                    entry_point: Some("main"),
                    compilation_options: options,
                    cache: None,
                }),
            )
        };
        Pipeline { kind, layout, key }
    }

    fn module(&self, name: &str, text: &str, trusted: bool) -> wgpu::ShaderModule {
        let desc = wgpu::ShaderModuleDescriptor {
            label: Some(name),
            source: wgpu::ShaderSource::Wgsl(text.into()),
        };
        if !trusted {
            return self.device().create_shader_module(desc);
        }
        // SAFETY: `key.trusted` says that the slots meet the needs for which the code that trusted the dispatch guarantees that the
        // shader stays inside its bindings and terminates (`Dispatch::trusted`). The memory of a recorder has the form of its
        // slots (`memory`, `Resource::check`). Wgpu still validates the source.
        unsafe {
            self.device()
                .create_shader_module_trusted(desc, wgpu::ShaderRuntimeChecks::unchecked())
        }
    }
}

impl Bind {
    fn ty(self) -> wgpu::BindingType {
        let buffer = |ty| wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: None,
        };
        match self {
            Self::Uniform => buffer(wgpu::BufferBindingType::Uniform),
            Self::Read => buffer(wgpu::BufferBindingType::Storage { read_only: true }),
            Self::Write => buffer(wgpu::BufferBindingType::Storage { read_only: false }),
            Self::Sampled { format, filter } => wgpu::BindingType::Texture {
                sample_type: match format {
                    wgpu::TextureFormat::R32Uint | wgpu::TextureFormat::Rgba32Uint => {
                        wgpu::TextureSampleType::Uint
                    }
                    _ => wgpu::TextureSampleType::Float { filterable: filter },
                },
                view_dimension: wgpu::TextureViewDimension::D2,
                multisampled: false,
            },
            Self::Stored(format) => wgpu::BindingType::StorageTexture {
                access: wgpu::StorageTextureAccess::WriteOnly,
                format,
                view_dimension: wgpu::TextureViewDimension::D2,
            },
            Self::Sampler => wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering),
        }
    }
}
