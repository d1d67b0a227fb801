//! The store of pipelines: each shader is built once per device.

use super::device::{Gpu, locked};
use super::resource::format;
use crate::kernel::{Dispatch, Site, Stage};
use crate::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

const SHARED: &str = include_str!("../../kernel/shared.wgsl");
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

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    source: String,
    entry: &'static str,
    constants: Vec<(&'static str, u64)>,
    binds: Vec<(u32, Bind)>,
    targets: Vec<wgpu::TextureFormat>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Compute(wgpu::ComputePipeline),
    Fragment(wgpu::RenderPipeline),
}

/// A built shader with the layout of its bindings.
#[derive(Debug)]
pub(super) struct Pipeline {
    pub(super) kind: Kind,
    pub(super) layout: wgpu::BindGroupLayout,
    pub(super) binds: Vec<(u32, Bind)>,
}

/// All pipelines of a device.
#[derive(Debug, Default)]
pub(super) struct Pipelines(HashMap<Key, Arc<Pipeline>>);

impl Pipelines {
    pub(super) fn built(&self) -> usize {
        self.0.len()
    }
}

/// The bindings of a dispatch, by the rule stated at [`Dispatch`].
fn bindings(dispatch: &Dispatch, site: &Site<'_>) -> Vec<(u32, Bind)> {
    let mut binds = Vec::new();
    if !dispatch.params.is_empty() {
        binds.push((0, Bind::Uniform));
    }
    let mut next = 1;
    for slot in &site.reads {
        let filter = dispatch.sampler;
        binds.push((
            next,
            format(slot).map_or(Bind::Read, |format| Bind::Sampled { format, filter }),
        ));
        next += 1;
    }
    if dispatch.stage != Stage::Fragment {
        for slot in &site.writes {
            binds.push((next, format(slot).map_or(Bind::Write, Bind::Stored)));
            next += 1;
        }
    }
    if dispatch.sampler {
        binds.push((next, Bind::Sampler));
    }
    binds
}

impl Gpu {
    /// The pipeline of a dispatch, from the store or newly built.
    pub(super) fn pipeline(
        &self,
        name: &str,
        dispatch: &Dispatch,
        site: &Site<'_>,
    ) -> Result<Arc<Pipeline>> {
        let fragment = dispatch.stage == Stage::Fragment;
        let targets: Vec<_> = if fragment {
            site.writes.iter().filter_map(|s| format(s)).collect()
        } else {
            Vec::new()
        };
        if fragment && targets.len() != site.writes.len() {
            return Err(Error::unsupported(format!(
                "{name}: a fragment pass writes textures only"
            )));
        }
        let key = Key {
            source: dispatch.source.clone(),
            entry: dispatch.entry,
            constants: dispatch
                .constants
                .iter()
                .map(|(n, v)| (*n, v.to_bits()))
                .collect(),
            binds: bindings(dispatch, site),
            targets,
        };
        let stored = |bind: &&(u32, Bind)| matches!(bind.1, Bind::Read | Bind::Write);
        let (count, most) = (
            key.binds.iter().filter(stored).count(),
            site.target.storage_buffers,
        );
        if count > most as usize {
            return Err(Error::unsupported(format!(
                "{name} binds {count} storage buffers, {} allows {most}; open it with more \
                 `max_storage_buffers_per_shader_stage`, or give textures",
                self.name()
            )));
        }
        if let Some(found) = locked(&self.0.pipelines).0.get(&key) {
            return Ok(found.clone());
        }
        let built = Arc::new(self.guarded(|| Ok(self.build(name, dispatch, &key)))?);
        locked(&self.0.pipelines).0.insert(key, built.clone());
        Ok(built)
    }

    fn build(&self, name: &str, dispatch: &Dispatch, key: &Key) -> Pipeline {
        let device = self.device();
        let fragment = dispatch.stage == Stage::Fragment;
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
        // `enable` directives must come first in WGSL; they stand in the kernel's text only.
        let (head, body) = split_enables(&dispatch.source);
        let module = self.module(name, &format!("{head}{SHARED}{body}"));
        let options = wgpu::PipelineCompilationOptions {
            constants: &dispatch.constants,
            zero_initialize_workgroup_memory: false,
        };
        let kind = if fragment {
            let vertex = self.module("fullscreen", FULLSCREEN);
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
                        entry_point: Some(dispatch.entry),
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
                    entry_point: Some(dispatch.entry),
                    compilation_options: options,
                    cache: None,
                }),
            )
        };
        Pipeline {
            kind,
            layout,
            binds: key.binds.clone(),
        }
    }

    fn module(&self, name: &str, text: &str) -> wgpu::ShaderModule {
        let desc = wgpu::ShaderModuleDescriptor {
            label: Some(name),
            source: wgpu::ShaderSource::Wgsl(text.into()),
        };
        if self.0.checked {
            return self.device().create_shader_module(desc);
        }
        // SAFETY: without runtime checks a shader must not index out of bounds or loop forever. The shaders are
        // Limpid's own, no user text reaches them, and the conformance test runs all of them with the checks on.
        unsafe {
            self.device()
                .create_shader_module_trusted(desc, wgpu::ShaderRuntimeChecks::unchecked())
        }
    }
}

fn split_enables(source: &str) -> (String, String) {
    let (head, body): (Vec<&str>, Vec<&str>) = source
        .lines()
        .partition(|l| l.starts_with("enable ") || l.starts_with("requires "));
    let join = |lines: Vec<&str>| lines.into_iter().flat_map(|l| [l, "\n"]).collect();
    (join(head), join(body))
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
