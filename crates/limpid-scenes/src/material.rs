//! Materials and textures.

use crate::bsdf::{Bsdf, Class};
use glam::{Vec2, Vec3A};
use limpid::Image;
use std::sync::Arc;

/// The narrowest GGX lobe that is accurate in `f32`; below it, use [`Material::Mirror`].
const NARROWEST: f32 = 0.01;

/// A colour over a surface, linear sRGB, 0 … 1.
#[derive(Clone, Debug)]
pub enum Texture {
    /// One colour everywhere.
    Solid(Vec3A),
    /// A function of the texture coordinates.
    Pattern(fn(Vec2) -> Vec3A),
    /// An image with three channels, repeated, `v` upwards, bilinear.
    Image(Arc<Image>),
}

impl Texture {
    /// The colour at texture coordinates.
    pub(crate) fn at(&self, uv: Vec2) -> Vec3A {
        match self {
            Self::Solid(color) => *color,
            Self::Pattern(color) => color(uv),
            Self::Image(image) => bilinear(image, uv),
        }
        .clamp(Vec3A::ZERO, Vec3A::ONE)
    }
}

impl From<[f32; 3]> for Texture {
    fn from(color: [f32; 3]) -> Self {
        Self::Solid(color.into())
    }
}

impl From<fn(Vec2) -> Vec3A> for Texture {
    fn from(color: fn(Vec2) -> Vec3A) -> Self {
        Self::Pattern(color)
    }
}

fn bilinear(image: &Image, uv: Vec2) -> Vec3A {
    let (w, h) = (image.width(), image.height());
    if w == 0 || h == 0 || image.channels() < 3 || !uv.is_finite() {
        return Vec3A::ZERO;
    }
    let x = uv.x.rem_euclid(1.0) * w as f32 - 0.5;
    let y = (1.0 - uv.y.rem_euclid(1.0)) * h as f32 - 0.5;
    let (fx, fy) = (x - x.floor(), y - y.floor());
    let wrap = |v: f32, n: usize| (v.floor() as i64).rem_euclid(n as i64) as usize;
    let (x0, x1) = (wrap(x, w), wrap(x + 1.0, w));
    let (y0, y1) = (wrap(y, h), wrap(y + 1.0, h));
    let texel = |x, y| Vec3A::new(image.get(x, y, 0), image.get(x, y, 1), image.get(x, y, 2));
    texel(x0, y0)
        .lerp(texel(x1, y0), fx)
        .lerp(texel(x0, y1).lerp(texel(x1, y1), fx), fy)
}

/// How a surface scatters light. All materials except glass look the same from both sides.
#[derive(Clone, Debug)]
pub enum Material {
    /// Lambert's law.
    Diffuse(Texture),
    /// A perfect mirror with this reflectance.
    Mirror(Vec3A),
    /// Smooth glass: transmission colour, and index of refraction inside.
    Glass {
        /// Share of light that is transmitted at a surface.
        color: Vec3A,
        /// Index of refraction on the side the geometric normal points away from.
        ior: f32,
    },
    /// Metal with GGX microfacets.
    Rough {
        /// Reflectance at normal incidence.
        color: Texture,
        /// GGX width, 0 … 1.
        alpha: f32,
    },
    /// Lambert's law under a clear coat: varnish, plastic, polished stone.
    Coated {
        /// Share of light the base reflects.
        color: Texture,
        /// GGX width of the coat, 0 … 1.
        alpha: f32,
    },
}

impl Material {
    /// Diffuse, of one colour or a pattern.
    pub fn diffuse(color: impl Into<Texture>) -> Self {
        Self::Diffuse(color.into())
    }

    /// What a shifted path does at it; see [`Bsdf::class`].
    pub(crate) fn class(&self, limit: f32) -> Class {
        match self {
            Self::Diffuse(_) => Class::Rough,
            Self::Mirror(_) | Self::Glass { .. } => Class::Delta,
            Self::Rough { alpha, .. } | Self::Coated { alpha, .. } if *alpha < limit => {
                Class::Glossy
            }
            Self::Rough { .. } | Self::Coated { .. } => Class::Rough,
        }
    }

    /// The scattering at texture coordinates, seen from the front or the back.
    pub(crate) fn at(&self, uv: Vec2, front: bool) -> Bsdf {
        match self {
            Self::Diffuse(color) => Bsdf::Diffuse {
                albedo: color.at(uv),
            },
            Self::Mirror(color) => Bsdf::Mirror { color: *color },
            Self::Glass { color, ior } => Bsdf::Glass {
                color: *color,
                eta: if front { *ior } else { 1.0 / *ior },
            },
            Self::Rough { color, alpha } => Bsdf::Rough {
                color: color.at(uv),
                alpha: alpha.clamp(NARROWEST, 1.0),
            },
            Self::Coated { color, alpha } => Bsdf::Coated {
                albedo: color.at(uv),
                alpha: alpha.clamp(NARROWEST, 1.0),
            },
        }
    }
}
