//! Buffers and textures of slots.

use super::Gpu;
use limpid_core::{Error, Result};
use limpid_plan::{Backing, Element, Slot};

/// The memory of a slot on a GPU.
#[derive(Debug, Clone)]
pub enum Resource {
    /// A storage buffer: the slot's planes one after the other.
    Buffer(wgpu::Buffer),
    /// A view of a whole texture.
    Texture(wgpu::TextureView),
}

impl From<&wgpu::Buffer> for Resource {
    fn from(buffer: &wgpu::Buffer) -> Self {
        Self::Buffer(buffer.clone())
    }
}

impl From<&wgpu::TextureView> for Resource {
    fn from(view: &wgpu::TextureView) -> Self {
        Self::Texture(view.clone())
    }
}

/// A view of the whole texture.
impl From<&wgpu::Texture> for Resource {
    fn from(texture: &wgpu::Texture) -> Self {
        Self::Texture(texture.create_view(&wgpu::TextureViewDescriptor::default()))
    }
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

    /// Checks that this can be the slot's memory: a buffer with room for all planes, or a whole texture of the slot's size and
    /// format.
    pub(super) fn check(&self, slot: &Slot) -> Result<()> {
        let wrong = |what: String| Err(Error::input(format!("memory of '{}': {what}", slot.name)));
        match (self, format(slot)) {
            (Self::Buffer(buffer), None) => {
                let bytes = slot.bytes().max(LEAST_BYTES) as u64;
                if buffer.size() < bytes {
                    return wrong(format!(
                        "a buffer of {} bytes; the plan needs {bytes}",
                        buffer.size()
                    ));
                }
                if !buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
                    return wrong("a buffer without the usage STORAGE".into());
                }
                Ok(())
            }
            (Self::Texture(view), Some(format)) => {
                let texture = view.texture();
                let size = (texture.width() as usize, texture.height() as usize);
                if texture.format() != format {
                    return wrong(format!(
                        "a texture of {:?}; the plan needs one of {format:?}",
                        texture.format()
                    ));
                }
                if size != (slot.size.width, slot.size.height) {
                    return wrong(format!(
                        "a texture of {}x{}; the plan needs {}",
                        size.0, size.1, slot.size
                    ));
                }
                let parts = (texture.mip_level_count(), texture.depth_or_array_layers());
                if texture.dimension() != wgpu::TextureDimension::D2 || parts != (1, 1) {
                    return wrong("a texture with mip levels or array layers".into());
                }
                Ok(())
            }
            (Self::Buffer(_), Some(_)) => wrong("a buffer, but the plan needs a texture".into()),
            (Self::Texture(_), None) => wrong("a texture, but the plan needs a buffer".into()),
        }
    }

    pub(super) fn binding(&self) -> wgpu::BindingResource<'_> {
        match self {
            Self::Buffer(buffer) => buffer.as_entire_binding(),
            Self::Texture(view) => wgpu::BindingResource::TextureView(view),
        }
    }
}

/// Every element type can be bound to a buffer of this size.
const LEAST_BYTES: usize = 16;

/// A buffer for slots.
pub(super) fn buffer(gpu: &Gpu, label: &str, bytes: usize) -> wgpu::Buffer {
    gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: bytes.max(LEAST_BYTES) as u64,
        usage: wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// The format of a slot that is stored in a texture.
pub(super) fn format(slot: &Slot) -> Option<wgpu::TextureFormat> {
    match (slot.backing, slot.element) {
        (Backing::Buffer, _) => None,
        (Backing::Texture8, _) => Some(wgpu::TextureFormat::Rgba8Unorm),
        (Backing::Texture, Element::F32) => Some(wgpu::TextureFormat::R32Float),
        (Backing::Texture, Element::F32x4) => Some(wgpu::TextureFormat::Rgba32Float),
        (Backing::Texture, Element::F16x4) => Some(wgpu::TextureFormat::Rgba16Float),
        (Backing::Texture, Element::U32) => Some(wgpu::TextureFormat::R32Uint),
        (Backing::Texture, Element::U32x4) => Some(wgpu::TextureFormat::Rgba32Uint),
    }
}
