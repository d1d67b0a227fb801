//! Light from infinitely far away.

use crate::basis::Basis;
use glam::{Vec2, Vec3A};
use std::f32::consts::PI;

/// A gradient over the sphere with an optional sun. `y` is up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sky {
    /// Radiance overhead.
    pub zenith: Vec3A,
    /// Radiance at the horizon.
    pub horizon: Vec3A,
    /// Radiance from below.
    pub ground: Vec3A,
    /// A disk of constant radiance.
    pub sun: Option<Sun>,
}

/// A disk of constant radiance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sun {
    /// Towards its centre.
    pub direction: Vec3A,
    /// Cosine of its angular radius.
    pub cos_radius: f32,
    /// Radiance.
    pub radiance: Vec3A,
}

impl Sun {
    /// A sun from its direction, angular radius in degrees and radiance.
    pub fn new(direction: [f32; 3], radius: f32, radiance: [f32; 3]) -> Self {
        Self {
            direction: Vec3A::from(direction).normalize_or(Vec3A::Y),
            cos_radius: radius.clamp(0.1, 90.0).to_radians().cos(),
            radiance: radiance.into(),
        }
    }

    fn solid_angle(&self) -> f32 {
        2.0 * PI * (1.0 - self.cos_radius)
    }
}

impl Sky {
    /// The same radiance from everywhere.
    pub fn uniform(radiance: [f32; 3]) -> Self {
        let radiance = radiance.into();
        Self {
            zenith: radiance,
            horizon: radiance,
            ground: radiance,
            sun: None,
        }
    }

    /// Radiance from a direction.
    pub fn radiance(&self, d: Vec3A) -> Vec3A {
        let base = if d.y < 0.0 {
            self.horizon.lerp(self.ground, (-d.y * 8.0).min(1.0))
        } else {
            self.horizon.lerp(self.zenith, d.y.min(1.0).sqrt())
        };
        match &self.sun {
            Some(sun) if d.dot(sun.direction) >= sun.cos_radius => base + sun.radiance,
            _ => base,
        }
    }
}

/// Bands of equal solid angle, by height.
const BANDS: usize = 64;

/// A sky prepared for sampling: bands by height, and the sun separately.
#[derive(Debug, Clone)]
pub(crate) struct SkySampler {
    sky: Sky,
    /// Cumulative share of the bands, from below to above.
    cumulative: Vec<f32>,
    sun_share: f32,
}

impl SkySampler {
    /// Prepares a sky.
    pub(crate) fn new(sky: Sky) -> Self {
        let plain = Sky { sun: None, ..sky };
        let mut cumulative = Vec::with_capacity(BANDS);
        let mut total = 0.0;
        for band in 0..BANDS {
            let y = (band as f32 + 0.5) / BANDS as f32 * 2.0 - 1.0;
            // Never zero, so that every direction with light has a density.
            let light = plain.radiance(Vec3A::new((1.0 - y * y).sqrt(), y, 0.0));
            total += light.max_element().max(1e-6);
            cumulative.push(total);
        }
        let base = total / BANDS as f32 * 4.0 * PI;
        let sun = sky
            .sun
            .map_or(0.0, |s| s.radiance.max_element() * s.solid_angle());
        for c in &mut cumulative {
            *c /= total;
        }
        Self {
            sky,
            cumulative,
            sun_share: sun / (sun + base),
        }
    }

    /// The sky.
    pub(crate) fn sky(&self) -> &Sky {
        &self.sky
    }

    /// A random direction, more likely where the sky is bright.
    pub(crate) fn sample(&self, choice: f32, u: Vec2) -> Vec3A {
        if let Some(sun) = self.sky.sun.filter(|_| choice < self.sun_share) {
            let z = 1.0 - u.x * (1.0 - sun.cos_radius);
            return Basis::around(sun.direction).world(around_z(z, u.y));
        }
        let choice = (choice - self.sun_share) / (1.0 - self.sun_share);
        let band = self
            .cumulative
            .partition_point(|c| *c <= choice)
            .min(BANDS - 1);
        let y = (band as f32 + u.x) / BANDS as f32 * 2.0 - 1.0;
        let d = around_z(y, u.y);
        Vec3A::new(d.x, d.z, d.y)
    }

    /// Density by solid angle of [`Self::sample`].
    pub(crate) fn pdf(&self, d: Vec3A) -> f32 {
        let band = (((d.y + 1.0) * 0.5 * BANDS as f32) as usize).min(BANDS - 1);
        let below = if band == 0 {
            0.0
        } else {
            self.cumulative[band - 1]
        };
        let share = self.cumulative[band] - below;
        let base = (1.0 - self.sun_share) * share * BANDS as f32 / (4.0 * PI);
        match &self.sky.sun {
            Some(sun) if d.dot(sun.direction) >= sun.cos_radius => {
                base + self.sun_share / sun.solid_angle()
            }
            _ => base,
        }
    }
}

/// The unit vector with this height and this share of a turn.
fn around_z(z: f32, turn: f32) -> Vec3A {
    let r = (1.0 - z * z).max(0.0).sqrt();
    let (sin, cos) = (2.0 * PI * turn).sin_cos();
    Vec3A::new(r * cos, r * sin, z)
}
