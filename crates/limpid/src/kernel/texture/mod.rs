//! Between planar buffers and textures of texels: what fragment passes read and draw to.
//!
//! A texel is `(r, g, b, 1)`; an image of one plane is `(v, 0, 0, 1)`. Around the image may be a margin of zeros, so that
//! sums over texels weigh nothing outside.

use super::{Contract, Dispatch, Job, Kernel, Site, WgslStruct, tiles};
use crate::params;
use crate::plan::{Element, Home};
use crate::{Error, Result};

/// Packs a planar image of up to three planes into texels; the image starts at `(margin, margin)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToTexture {
    /// Zeros to the left and above; the slot's size says how many to the right and below.
    pub margin: usize,
}

/// Takes the planes out of texels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FromTexture;

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

const HEAD: &str = "@compute @workgroup_size(256)\n\
    fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n    \
    let x = i32(group.x * 32u + lane % 32u);\n    let y = i32(group.y * 8u + lane / 32u);\n";

impl Kernel for ToTexture {
    fn name(&self) -> &'static str {
        "to-texture"
    }

    fn contract(&self) -> Contract {
        Contract::gather(1, 1, Some(0))
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let src = &job.reads[0];
        let (size, m) = (src.size(), self.margin);
        for y in job.rows.clone() {
            let row = job.writes[0].row_as::<[f32; 4]>(0, y);
            row.fill([0.0; 4]);
            if y < m || y - m >= size.height {
                continue;
            }
            for (x, texel) in row[m..m + size.width].iter_mut().enumerate() {
                for plane in 0..src.planes().min(3) {
                    texel[plane] = src.row(plane, y - m)[x];
                }
                texel[3] = 1.0;
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let (src, dst) = (site.reads[0], site.writes[0]);
        few_planes(src.planes)?;
        let format = match (dst.home, dst.element) {
            (Home::Texture8, _) => "rgba8unorm",
            (_, Element::F16x4) => "rgba16float",
            _ => "rgba32float",
        };
        let value = |plane: usize| match plane {
            p if p < src.planes => format!("src[at + {p} * n]"),
            _ => "0.0".to_owned(),
        };
        let source = format!(
            "{}@group(0) @binding(1) var<storage, read> src: array<f32>;\n\
             @group(0) @binding(2) var dst: texture_storage_2d<{format}, write>;\n{HEAD}    \
             let size = vec2<i32>(textureDimensions(dst));\n    if x >= size.x || y >= size.y {{ return; }}\n    \
             let sx = x - i32(p.margin);\n    let sy = y - i32(p.margin);\n    var texel = vec4<f32>(0.0);\n    \
             if sx >= 0 && sy >= 0 && sx < i32(p.width) && sy < i32(p.height) {{\n        \
             let n = i32(p.width * p.height);\n        let at = sy * i32(p.width) + sx;\n        \
             texel = vec4<f32>({}, {}, {}, 1.0);\n    }}\n    \
             textureStore(dst, vec2<i32>(x, y), texel);\n}}\n",
            Params::WGSL,
            value(0),
            value(1),
            value(2)
        );
        let params = Params {
            width: src.size.width as u32,
            height: src.size.height as u32,
            margin: self.margin as u32,
        };
        Ok(Dispatch::own(source, &params, tiles(dst.size, 32, 8)))
    }
}

impl Kernel for FromTexture {
    fn name(&self) -> &'static str {
        "from-texture"
    }

    fn contract(&self) -> Contract {
        Contract::rows(1, 1, 0)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        for y in job.rows.clone() {
            let texels = job.reads[0].row_as::<[f32; 4]>(0, y);
            for (plane, row) in job.writes[0].rows(y).enumerate().take(3) {
                for (v, texel) in row.iter_mut().zip(texels) {
                    *v = texel[plane];
                }
            }
        }
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        let dst = site.writes[0];
        few_planes(dst.planes)?;
        let stores: String = (0..dst.planes)
            .map(|plane| format!("    dst[at + {plane} * n] = texel[{plane}];\n"))
            .collect();
        let source = format!(
            "{}@group(0) @binding(1) var src: texture_2d<f32>;\n\
             @group(0) @binding(2) var<storage, read_write> dst: array<f32>;\n{HEAD}    \
             if x >= i32(p.width) || y >= i32(p.height) {{ return; }}\n    \
             let n = i32(p.width * p.height);\n    let at = y * i32(p.width) + x;\n    \
             let texel = textureLoad(src, vec2<i32>(x, y), 0);\n{stores}}}\n",
            Params::WGSL
        );
        let params = Params {
            width: dst.size.width as u32,
            height: dst.size.height as u32,
            margin: 0,
        };
        Ok(Dispatch::own(source, &params, tiles(dst.size, 32, 8)))
    }
}
