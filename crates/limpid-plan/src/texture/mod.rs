//! Converts between planar buffers and textures, which fragment passes read and draw to.
//!
//! A texel is `(r, g, b, 1)`; an image of one plane is `(v, 0, 0, 1)`. A margin of zeros may surround the image, so that texels
//! outside have no weight in sums.

use crate::own::own;
use crate::wgsl::{PIXELS, Wgsl};
use crate::{
    Backing, Contract, Dispatch, Element, Kernel, Need, PassSlots, WgslStruct, params, tiles,
};
use limpid_core::{Error, Result};

/// Packs a planar image of up to three planes into texels; the image starts at `(margin, margin)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToTexture {
    /// Width of the margin on the left and top; the slot's size determines that on the right and bottom.
    pub margin: usize,
}

/// Extracts the planes from texels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FromTexture;

params! {
    /// Parameters of both shaders.
    struct Params { width: u32, height: u32, margin: u32 }
}

/// At most three planes fit beside the weight.
fn few_planes(planes: usize) -> Result<()> {
    if planes > 3 {
        return Err(Error::unsupported(format!(
            "{planes} planes do not fit a texel beside its weight"
        )));
    }
    Ok(())
}

impl Kernel for ToTexture {
    fn name(&self) -> &'static str {
        "to-texture"
    }

    fn contract(&self) -> Contract {
        Contract::gather(1, 1, Some(0))
    }

    /// The shader writes the whole texture and reads inside the image alone.
    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (src, dst) = (pass.reads[0], pass.writes[0]);
        vec![Need::planes(src.size, src.planes), Need::like(dst)]
    }

    fn gpu_only(&self) -> bool {
        true
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let (src, dst) = (pass.reads[0], pass.writes[0]);
        few_planes(src.planes)?;
        let format = match (dst.backing, dst.element) {
            (Backing::Texture8, _) => "rgba8unorm",
            (_, Element::F16x4) => "rgba16float",
            _ => "rgba32float",
        };
        let value = |plane: usize| match plane {
            p if p < src.planes => format!("src[at + {p}u * n]"),
            _ => "0.0".to_owned(),
        };
        let texel = format!("vec4<f32>({}, {}, {}, 1.0)", value(0), value(1), value(2));
        let source = Wgsl::default()
            .body(Params::WGSL)
            .reads(1, "src", "f32")
            .writes_texture(2, "dst", format)
            .function("texel(at: u32, n: u32) -> vec4<f32>", texel)
            .body(include_str!("to_texture.wgsl"))
            .text();
        let params = Params {
            width: src.size.width as u32,
            height: src.size.height as u32,
            margin: self.margin as u32,
        };
        let dispatch = Dispatch::compute(source, &params, tiles(dst.size, 32, 8));
        Ok(own(pass, dispatch, self.needs(pass)))
    }
}

impl Kernel for FromTexture {
    fn name(&self) -> &'static str {
        "from-texture"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let dst = pass.writes[0];
        [Need::planes(dst.size, dst.planes); 2].to_vec()
    }

    fn gpu_only(&self) -> bool {
        true
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let dst = pass.writes[0];
        few_planes(dst.planes)?;
        let source = Wgsl::default()
            .body(Params::WGSL)
            .constant("PLANES", "u32", dst.planes)
            .reads_texture(1, "src")
            .writes(2, "dst", "f32")
            .body(include_str!("from_texture.wgsl"))
            .body(PIXELS)
            .text();
        let params = Params {
            width: dst.size.width as u32,
            height: dst.size.height as u32,
            margin: 0,
        };
        let dispatch = Dispatch::compute(source, &params, tiles(dst.size, 32, 8));
        Ok(own(pass, dispatch, self.needs(pass)))
    }
}
