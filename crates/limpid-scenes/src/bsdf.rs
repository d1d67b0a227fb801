//! Scattering at a point, in the local frame whose `z` is the shading normal on the side of the viewer.
//!
//! Invariants: `wo` points away from the surface with `wo.z > 0`; [`Bsdf::eval`] gives the value *times the cosine*
//! and the density [`Bsdf::sample`] draws it with; where the value is zero so is the density, because a path that carries
//! nothing is not followed.

use crate::basis::cosine_hemisphere;
use glam::{Vec2, Vec3A, Vec3Swizzles};
use std::f32::consts::PI;

/// Reflectance of a clear coat, and of glass of index 1.5, at normal incidence.
const COAT: f32 = 0.04;

/// A material with its textures looked up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bsdf {
    /// Lambert's law.
    Diffuse {
        /// Share of light that is reflected.
        albedo: Vec3A,
    },
    /// A perfect mirror.
    Mirror {
        /// Share of light that is reflected.
        color: Vec3A,
    },
    /// Smooth glass.
    Glass {
        /// Share of light that passes a surface.
        color: Vec3A,
        /// Index of refraction beyond the surface over that on the viewer's side.
        eta: f32,
    },
    /// Metal with a GGX distribution of microfacets.
    Rough {
        /// Reflectance at normal incidence.
        color: Vec3A,
        /// GGX width, 0 … 1.
        alpha: f32,
    },
    /// Lambert's law under a clear coat with a GGX distribution.
    Coated {
        /// Share of light the base reflects.
        albedo: Vec3A,
        /// GGX width, 0 … 1.
        alpha: f32,
    },
}

/// What a shifted path does at a vertex (Kettunen 2015): connect to it, or copy its half vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Rough enough to be connected to from anywhere.
    Rough,
    /// Has a density, but one so narrow that a connection would carry nothing.
    Glossy,
    /// Has no density: mirror and glass.
    Delta,
}

/// A sampled direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampled {
    /// Where the light comes from.
    pub(crate) wi: Vec3A,
    /// Value times cosine; for [`Class::Delta`] times the probability.
    pub(crate) value: Vec3A,
    /// Density by solid angle; for [`Class::Delta`] the probability.
    pub(crate) pdf: f32,
}

impl Bsdf {
    /// Whether there is no density to evaluate.
    pub(crate) fn is_delta(&self) -> bool {
        matches!(self, Self::Mirror { .. } | Self::Glass { .. })
    }

    /// The colour that stands in the albedo layer.
    pub(crate) fn albedo(&self) -> Vec3A {
        match *self {
            Self::Diffuse { albedo } => albedo,
            Self::Mirror { color } | Self::Glass { color, .. } | Self::Rough { color, .. } => color,
            Self::Coated { albedo, .. } => albedo * (1.0 - COAT) + COAT,
        }
    }

    /// Value times cosine, and density, of light from `wi` to `wo`.
    pub(crate) fn eval(&self, wo: Vec3A, wi: Vec3A) -> (Vec3A, f32) {
        if wi.z <= 0.0 || wo.z <= 0.0 {
            return (Vec3A::ZERO, 0.0);
        }
        let (value, pdf) = match *self {
            Self::Diffuse { albedo } => (albedo * (wi.z / PI), wi.z / PI),
            Self::Mirror { .. } | Self::Glass { .. } => (Vec3A::ZERO, 0.0),
            Self::Rough { color, alpha } => {
                let facet = Facet::new(wo, wi, alpha);
                (schlick(color, facet.cos) * facet.value, facet.pdf)
            }
            Self::Coated { albedo, alpha } => {
                let facet = Facet::new(wo, wi, alpha);
                let coat = schlick(Vec3A::splat(COAT), facet.cos) * facet.value;
                let share = coat_share(albedo, wo.z);
                let value = coat + base_under_coat(albedo, wo.z, wi.z) * wi.z;
                (value, share * facet.pdf + (1.0 - share) * wi.z / PI)
            }
        };
        if value.max_element() > 0.0 {
            (value, pdf)
        } else {
            (Vec3A::ZERO, 0.0)
        }
    }

    /// Draws `wi` from two numbers for the direction and one to choose between lobes.
    pub(crate) fn sample(&self, wo: Vec3A, u: Vec2, choice: f32) -> Option<Sampled> {
        let wi = match *self {
            Self::Diffuse { .. } => cosine_hemisphere(u),
            Self::Mirror { color } => {
                return Some(Sampled {
                    wi: mirror(wo),
                    value: color,
                    pdf: 1.0,
                });
            }
            Self::Glass { eta, .. } => {
                return self.delta(wo, choice >= fresnel(wo.z, eta));
            }
            Self::Rough { alpha, .. } => reflect(wo, visible_normal(wo, alpha, u)),
            Self::Coated { albedo, alpha } => {
                if choice < coat_share(albedo, wo.z) {
                    reflect(wo, visible_normal(wo, alpha, u))
                } else {
                    cosine_hemisphere(u)
                }
            }
        };
        let (value, pdf) = self.eval(wo, wi);
        (pdf > 0.0).then_some(Sampled { wi, value, pdf })
    }

    /// The reflected or the transmitted direction of a [`Class::Delta`] surface, if there is one.
    pub(crate) fn delta(&self, wo: Vec3A, through: bool) -> Option<Sampled> {
        match *self {
            Self::Mirror { color } if !through => Some(Sampled {
                wi: mirror(wo),
                value: color,
                pdf: 1.0,
            }),
            Self::Glass { color, eta } => {
                let reflected = fresnel(wo.z, eta);
                let (wi, tint, pdf) = if through {
                    (refract(wo, eta)?, color, 1.0 - reflected)
                } else {
                    (mirror(wo), Vec3A::ONE, reflected)
                };
                // The factor eta² of radiance is left out: a path that enters glass leaves it again before it meets a
                // light, so the factors cancel.
                (pdf > 0.0).then_some(Sampled {
                    wi,
                    value: tint * pdf,
                    pdf,
                })
            }
            _ => None,
        }
    }
}

fn mirror(w: Vec3A) -> Vec3A {
    Vec3A::new(-w.x, -w.y, w.z)
}

/// `w` reflected about the unit half vector `h`.
pub(crate) fn reflect(w: Vec3A, h: Vec3A) -> Vec3A {
    h * (2.0 * w.dot(h)) - w
}

fn refract(w: Vec3A, eta: f32) -> Option<Vec3A> {
    let sin2 = (1.0 - w.z * w.z).max(0.0) / (eta * eta);
    (sin2 < 1.0).then(|| Vec3A::new(-w.x / eta, -w.y / eta, -(1.0 - sin2).sqrt()))
}

/// Unpolarised reflectance of a dielectric; `eta` is the index beyond over the index before.
fn fresnel(cos: f32, eta: f32) -> f32 {
    let sin2 = (1.0 - cos * cos).max(0.0) / (eta * eta);
    if sin2 >= 1.0 {
        return 1.0;
    }
    let through = (1.0 - sin2).sqrt();
    let parallel = (eta * cos - through) / (eta * cos + through);
    let across = (cos - eta * through) / (cos + eta * through);
    0.5 * (parallel * parallel + across * across)
}

fn schlick(f0: Vec3A, cos: f32) -> Vec3A {
    let m = (1.0 - cos).clamp(0.0, 1.0);
    let m5 = m * m * m * m * m;
    f0 + (Vec3A::ONE - f0) * m5
}

fn schlick_coat(cos: f32) -> f32 {
    schlick(Vec3A::splat(COAT), cos).x
}

/// What passes the coat twice; symmetric in its directions.
fn base_under_coat(albedo: Vec3A, wo: f32, wi: f32) -> Vec3A {
    albedo * ((1.0 - schlick_coat(wo)) * (1.0 - schlick_coat(wi)) / PI)
}

/// How often the coat is sampled rather than its base.
fn coat_share(albedo: Vec3A, cos: f32) -> f32 {
    let coat = schlick_coat(cos);
    let base = (1.0 - coat) * albedo.max_element();
    (coat / (coat + base)).clamp(0.1, 0.9)
}

/// The geometry of GGX reflection (Walter 2007, Heitz 2018) for one pair of directions.
struct Facet {
    /// Between a direction and the half vector.
    cos: f32,
    /// Value times cosine without Fresnel's term.
    value: f32,
    pdf: f32,
}

impl Facet {
    fn new(wo: Vec3A, wi: Vec3A, alpha: f32) -> Self {
        let h = (wo + wi).normalize();
        let a2 = alpha * alpha;
        let lambda = |c: f32| 0.5 * ((1.0 + a2 * (1.0 - c * c).max(0.0) / (c * c)).sqrt() - 1.0);
        // 1 + h.z² (a² - 1), written so that it keeps its digits when h.z is close to one.
        let t = h.xy().length_squared() + a2 * h.z * h.z;
        let density = a2 / (PI * t * t);
        let (lo, li) = (lambda(wo.z), lambda(wi.z));
        let base = density / (4.0 * wo.z);
        Self {
            cos: wo.dot(h),
            value: base / (1.0 + lo + li),
            pdf: base / (1.0 + lo),
        }
    }
}

/// A microfacet normal as `wo` sees them (Heitz 2018).
fn visible_normal(wo: Vec3A, alpha: f32, u: Vec2) -> Vec3A {
    let v = Vec3A::new(alpha * wo.x, alpha * wo.y, wo.z).normalize();
    let across = v.xy().length_squared();
    let t1 = if across > 0.0 {
        Vec3A::new(-v.y, v.x, 0.0) / across.sqrt()
    } else {
        Vec3A::X
    };
    let t2 = v.cross(t1);
    let radius = u.x.sqrt();
    let (sin, cos) = (2.0 * PI * u.y).sin_cos();
    let (p1, straight) = (radius * cos, radius * sin);
    let s = 0.5 * (1.0 + v.z);
    let p2 = (1.0 - s) * (1.0 - p1 * p1).max(0.0).sqrt() + s * straight;
    let n = t1 * p1 + t2 * p2 + v * (1.0 - p1 * p1 - p2 * p2).max(0.0).sqrt();
    Vec3A::new(alpha * n.x, alpha * n.y, n.z.max(1e-6)).normalize()
}

#[cfg(test)]
#[path = "bsdf_tests.rs"]
mod tests;
