//! Buffers and textures of slots.

use super::Gpu;
use crate::plan::{Element, Home, Slot};

/// The memory of a slot on a GPU.
#[derive(Debug, Clone)]
pub enum Resource {
    /// A storage buffer: the slot's planes one after the other.
    Buffer(wgpu::Buffer),
    /// A view of a whole texture.
    Texture(wgpu::TextureView),
}

impl Resource {
    /// New zeroed memory for a slot.
    pub(super) fn new(gpu: &Gpu, slot: &Slot) -> Self {
        match format(slot) {
            None => Self::Buffer(buffer(gpu, &slot.name, slot.bytes())),
            Some(format) => {
                let texture = gpu.device().create_texture(&wgpu::TextureDescriptor {
                    label: Some(&slot.name),
                    size: wgpu::Extent3d {
                        width: slot.size.width as u32,
                        height: slot.size.height as u32,
                        depth_or_array_layers: 1,
                    },
                    mip_level_count: 1,
                    sample_count: 1,
                    dimension: wgpu::TextureDimension::D2,
                    format,
                    usage: wgpu::TextureUsages::TEXTURE_BINDING
                        | wgpu::TextureUsages::RENDER_ATTACHMENT
                        | wgpu::TextureUsages::STORAGE_BINDING,
                    view_formats: &[],
                });
                Self::Texture(texture.create_view(&Default::default()))
            }
        }
    }

    pub(super) fn binding(&self) -> wgpu::BindingResource<'_> {
        match self {
            Self::Buffer(buffer) => buffer.as_entire_binding(),
            Self::Texture(view) => wgpu::BindingResource::TextureView(view),
        }
    }
}

/// A buffer for slots, of at least 16 bytes so that every element type can be bound.
pub(super) fn buffer(gpu: &Gpu, label: &str, bytes: usize) -> wgpu::Buffer {
    gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: (bytes as u64).max(16),
        usage: wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// The format of a slot that lives in a texture.
pub(super) fn format(slot: &Slot) -> Option<wgpu::TextureFormat> {
    match (slot.home, slot.element) {
        (Home::Buffer, _) => None,
        (Home::Texture8, _) => Some(wgpu::TextureFormat::Rgba8Unorm),
        (Home::Texture, Element::F32) => Some(wgpu::TextureFormat::R32Float),
        (Home::Texture, Element::F32x4) => Some(wgpu::TextureFormat::Rgba32Float),
        (Home::Texture, Element::F16x4) => Some(wgpu::TextureFormat::Rgba16Float),
        (Home::Texture, Element::U32) => Some(wgpu::TextureFormat::R32Uint),
        (Home::Texture, Element::U32x4) => Some(wgpu::TextureFormat::Rgba32Uint),
    }
}
