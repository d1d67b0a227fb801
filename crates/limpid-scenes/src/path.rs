//! Path tracing with next-event estimation, weighted against scattering by the power heuristic (Veach 1997).
//!
//! Invariants: the estimate is unbiased up to the limit on bounces; a path takes the same random numbers whether or
//! not it is recorded, so the base image of gradient-domain rendering is the plain image, bit for bit.

use crate::camera::{Ray, View};
use crate::light::Source;
use crate::random::Random;
use crate::scene::{Hit, Scene, Surface};
use crate::vertex::{Step, Vertex};
use glam::{Vec2, Vec3A};

/// Vertices of a path that are always followed; later ones survive with a probability near their throughput.
const SURE: usize = 3;

/// One sample of everything a pixel shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) color: Vec3A,
    pub(crate) features: Features,
}

/// What the first hit looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features {
    pub(crate) albedo: Vec3A,
    pub(crate) normal: Vec3A,
    pub(crate) position: Vec3A,
    pub(crate) depth: f32,
    pub(crate) visibility: f32,
    pub(crate) motion: Vec2,
}

/// What a ray meets at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// Radiance from there.
    pub(crate) radiance: Vec3A,
    /// Density with which choosing a light would have found it; zero where no light is.
    pub(crate) light_pdf: f32,
    pub(crate) surface: Option<Surface>,
}

/// A vertex of a recorded path with what was tried there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) vertex: Vertex,
    /// Throughput over density of the path up to here.
    pub(crate) weight: Vec3A,
    pub(crate) light: Option<Attempt>,
    pub(crate) continuation: Option<Continuation>,
}

/// A try to reach a light from a vertex.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) source: Source,
    pub(crate) direction: Vec3A,
    pub(crate) pdf: f32,
    /// Towards the vertex.
    pub(crate) radiance: Vec3A,
    pub(crate) value: Vec3A,
    /// Density with which scattering would have found it; zero where it cannot be seen.
    pub(crate) bsdf_pdf: f32,
    pub(crate) visible: bool,
}

/// The way on from a vertex that the path took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Continuation {
    pub(crate) step: Step,
    /// Probability that the path went on at all.
    pub(crate) survival: f32,
    pub(crate) end: End,
}

/// Keeps a path, or does not.
pub(crate) trait Recorder {
    const ON: bool;
    fn first(&mut self, end: &End);
    fn node(&mut self, node: Node);
}

impl Recorder for () {
    const ON: bool = false;
    fn first(&mut self, _end: &End) {}
    fn node(&mut self, _node: Node) {}
}

/// A scene with what all paths of a picture share.
pub(crate) struct Tracer<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) now: View,
    pub(crate) before: View,
    /// Maximum number of vertices of a path.
    pub(crate) bounces: usize,
}

impl Tracer<'_> {
    /// Follows a camera ray.
    pub(crate) fn trace<R: Recorder>(
        &self,
        ray: &Ray,
        random: &mut Random,
        record: &mut R,
    ) -> Sample {
        let hit = self.scene.intersect(ray);
        let end = self.end(ray.origin, ray.direction, hit.as_ref());
        record.first(&end);
        let mut color = end.radiance;
        let mut features = self.features(ray, hit.as_ref(), &end);
        let mut next = end.surface;
        let mut wo = -ray.direction;
        let mut weight = Vec3A::ONE;
        for bounce in 0..self.bounces {
            let Some(surface) = next else { break };
            let vertex = Vertex::new(self.scene, surface, wo);
            if bounce == 0 {
                features.albedo = vertex.bsdf.albedo();
                features.normal = vertex.basis.world(Vec3A::Z);
            }
            let light = self.try_light::<R>(&vertex, random, bounce == 0);
            if let Some(l) = light {
                if bounce == 0 && l.visible {
                    features.visibility = 1.0;
                }
                if l.visible && l.pdf > 0.0 {
                    color += weight * l.value * l.radiance * (power(l.pdf, l.bsdf_pdf) / l.pdf);
                }
            }
            let (u, choice, survive) = (random.two(), random.one(), random.one());
            let mut continuation = None;
            if let Some(step) = vertex.sample(u, choice) {
                let after = weight * step.value / step.pdf;
                let survival = if bounce < SURE {
                    1.0
                } else {
                    after.max_element().clamp(0.05, 0.95)
                };
                if survive < survival {
                    let ray = vertex.leave(step.direction);
                    let hit = self.scene.intersect(&ray);
                    let end = self.end(surface.position, step.direction, hit.as_ref());
                    let chosen = if vertex.bsdf.is_delta() {
                        1.0
                    } else {
                        power(step.pdf, end.light_pdf)
                    };
                    let weight_on = after / survival;
                    color += weight_on * end.radiance * chosen;
                    continuation = Some((
                        Continuation {
                            step,
                            survival,
                            end,
                        },
                        weight_on,
                    ));
                }
            }
            if R::ON {
                record.node(Node {
                    vertex,
                    weight,
                    light: light.filter(|_| !vertex.bsdf.is_delta()),
                    continuation: continuation.map(|(w, _)| w),
                });
            }
            let Some((w, weight_on)) = continuation else {
                break;
            };
            weight = weight_on;
            wo = -w.step.direction;
            next = w.end.surface;
        }
        debug_assert!(color.is_finite(), "a path gave {color}");
        if !color.is_finite() {
            color = Vec3A::ZERO;
        }
        Sample { color, features }
    }

    /// Looks at the first hit only.
    pub(crate) fn look(&self, ray: &Ray, random: &mut Random) -> Features {
        let hit = self.scene.intersect(ray);
        let end = self.end(ray.origin, ray.direction, hit.as_ref());
        let mut features = self.features(ray, hit.as_ref(), &end);
        if let Some(surface) = end.surface {
            let vertex = Vertex::new(self.scene, surface, -ray.direction);
            features.albedo = vertex.bsdf.albedo();
            features.normal = vertex.basis.world(Vec3A::Z);
            if let Some(l) = self.try_light::<()>(&vertex, random, true)
                && l.visible
            {
                features.visibility = 1.0;
            }
        }
        features
    }

    /// What a ray from `origin` met.
    pub(crate) fn end(&self, origin: Vec3A, direction: Vec3A, hit: Option<&Hit>) -> End {
        let Some(hit) = hit else {
            return End {
                radiance: self.scene.lights.sky(direction),
                light_pdf: self.scene.lights.sky_pdf(direction),
                surface: None,
            };
        };
        let surface = self.scene.surface(hit);
        let emission = self.scene.emission(&surface);
        End {
            radiance: emitted(emission, &surface, direction),
            light_pdf: self.scene.lights.point_pdf(emission, &surface, origin),
            surface: Some(surface),
        }
    }

    /// Chooses a light and tests its visibility. `look` requests the test even if the light would not contribute.
    fn try_light<R: Recorder>(
        &self,
        vertex: &Vertex,
        random: &mut Random,
        look: bool,
    ) -> Option<Attempt> {
        let (choice, u) = (random.one(), random.two());
        if vertex.bsdf.is_delta() && !look {
            return None;
        }
        let source = self.scene.lights.sample(self.scene, choice, u)?;
        Some(self.attempt(vertex, source, look, R::ON))
    }

    /// The light of a source at a vertex. Visibility is tested where light would come, where `look` asks for it, and, if
    /// `exact`, wherever scattering could have found the source.
    pub(crate) fn attempt(
        &self,
        vertex: &Vertex,
        source: Source,
        look: bool,
        exact: bool,
    ) -> Attempt {
        let (ray, reach, radiance, pdf) = match source {
            Source::Sky(direction) => (
                vertex.leave(direction),
                f32::INFINITY,
                self.scene.lights.sky(direction),
                self.scene.lights.sky_pdf(direction),
            ),
            Source::Point(light) => {
                let (ray, reach) = vertex.towards(light.position);
                let emission = self.scene.emission(&light);
                let from = vertex.surface.position;
                (
                    ray,
                    reach,
                    emitted(emission, &light, light.position - from),
                    self.scene.lights.point_pdf(emission, &light, from),
                )
            }
        };
        let direction = match source {
            Source::Sky(direction) => direction,
            Source::Point(light) => (light.position - vertex.surface.position).normalize_or_zero(),
        };
        let (value, bsdf_pdf) = vertex.eval(direction);
        let lit = radiance.max_element() > 0.0;
        let test = ((lit || exact) && bsdf_pdf > 0.0)
            || (look && lit && direction.dot(vertex.normal) > 0.0);
        let visible = test && self.scene.free(&ray, reach);
        Attempt {
            source,
            direction,
            pdf,
            radiance,
            value,
            bsdf_pdf: if visible { bsdf_pdf } else { 0.0 },
            visible,
        }
    }

    fn features(&self, ray: &Ray, hit: Option<&Hit>, end: &End) -> Features {
        let mut features = Features {
            albedo: Vec3A::ONE,
            normal: Vec3A::ZERO,
            position: Vec3A::ZERO,
            depth: 0.0,
            visibility: 0.0,
            motion: Vec2::ZERO,
        };
        let (now, before) = match (&end.surface, hit) {
            (Some(surface), Some(hit)) => {
                features.position = surface.position;
                features.depth = hit.distance;
                let earlier = self.scene.previous_position(surface);
                (
                    self.now.project(surface.position),
                    self.before.project(earlier),
                )
            }
            _ => {
                features.visibility = 1.0;
                (
                    self.now.project_direction(ray.direction),
                    self.before.project_direction(ray.direction),
                )
            }
        };
        if let (Some(now), Some(before)) = (now, before) {
            features.motion = before - now;
        }
        features
    }
}

/// Radiance a light sends against a direction that points at it: from its front only.
pub(crate) fn emitted(emission: Vec3A, light: &Surface, direction: Vec3A) -> Vec3A {
    if direction.dot(light.normal) < 0.0 {
        emission
    } else {
        Vec3A::ZERO
    }
}

fn power(chosen: f32, other: f32) -> f32 {
    let ratio = other / chosen;
    1.0 / (1.0 + ratio * ratio)
}
