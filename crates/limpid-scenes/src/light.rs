//! Choosing points of lights and directions of the sky.

use crate::basis;
use crate::scene::{Scene, Surface};
use crate::sky::{Sky, SkySampler};
use glam::{Vec2, Vec3A};

/// The lights of a scene: triangles that emit, chosen by power, and the sky.
#[derive(Clone, Debug)]
pub(crate) struct Lights {
    /// Triangles with cumulative power.
    faces: Vec<(u32, f32)>,
    power: f32,
    sky: Option<SkySampler>,
    /// Probability of choosing the sky.
    sky_share: f32,
}

/// The target of a light sample.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// A point of a light.
    Point(Surface),
    /// A direction of the sky.
    Sky(Vec3A),
}

impl Lights {
    /// From the numbers and powers of the triangles that emit.
    pub(crate) fn new(emitters: impl Iterator<Item = (u32, f32)>, sky: Option<Sky>) -> Self {
        let mut power = 0.0_f32;
        let faces: Vec<(u32, f32)> = emitters
            .map(|(face, p)| {
                power += p;
                (face, power)
            })
            .collect();
        let sky_share = match (&sky, faces.is_empty()) {
            (None, _) => 0.0,
            (Some(_), true) => 1.0,
            (Some(_), false) => 0.5,
        };
        Self {
            faces,
            power,
            sky: sky.map(SkySampler::new),
            sky_share,
        }
    }

    /// Radiance of the sky from a direction.
    pub(crate) fn sky(&self, direction: Vec3A) -> Vec3A {
        match &self.sky {
            Some(s) => s.sky().radiance(direction),
            None => Vec3A::ZERO,
        }
    }

    /// Chooses a source; `None` in a scene without lights.
    pub(crate) fn sample(&self, scene: &Scene, choice: f32, u: Vec2) -> Option<Source> {
        if choice < self.sky_share {
            let sky = self.sky.as_ref()?;
            return Some(Source::Sky(sky.sample(choice / self.sky_share, u)));
        }
        let choice = (choice - self.sky_share) / (1.0 - self.sky_share) * self.power;
        let i = self.faces.partition_point(|(_, c)| *c <= choice);
        let (face, _) = self.faces.get(i).or(self.faces.last())?;
        Some(Source::Point(scene.point(*face, basis::triangle(u))))
    }

    /// Density by solid angle, as seen from a point, of choosing this point of a light. Zero for what does not emit.
    pub(crate) fn point_pdf(&self, emission: Vec3A, light: &Surface, from: Vec3A) -> f32 {
        let power = emission.max_element();
        if power <= 0.0 {
            return 0.0;
        }
        let d = light.position - from;
        let squared = d.length_squared();
        let cos = (d.dot(light.normal) / squared.sqrt()).abs();
        (1.0 - self.sky_share) * power / self.power * squared / cos.max(1e-7)
    }

    /// Density by solid angle of choosing this direction of the sky.
    pub(crate) fn sky_pdf(&self, direction: Vec3A) -> f32 {
        match &self.sky {
            Some(s) => self.sky_share * s.pdf(direction),
            None => 0.0,
        }
    }
}
