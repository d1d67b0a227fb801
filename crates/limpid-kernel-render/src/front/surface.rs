//! Features on a common scale, classes of pixels, and the divisor of colour.

use super::point::three;
use limpid_plan::stencil::{Build, Mask, Read, Stencil, Value, stencil};
use limpid_reference::definition::front::{
    APART, BLACK, DARK, DIM, Depth, EMITTER, EMITTING, FAINT, FAR, LEAST_DIVISOR, MISS, SURFACE,
};

/// The available features, and their scales.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Surface {
    /// Whether there is albedo.
    pub albedo: bool,
    /// Whether there are normals.
    pub normal: bool,
    /// The range of the logarithm of depth, if there is depth.
    pub depth: Option<Depth>,
    /// The factor of position, if present.
    pub position: Option<f32>,
    /// Whether albedo and normals are among the written features. Otherwise kernels that need them read the layers, and the
    /// features begin with depth and class in one value, as in `definition::front::packed`.
    pub copies: bool,
    /// Whether colour is divided by albedo.
    pub divide: bool,
    /// The factor from colours to an image of ordinary brightness.
    pub exposure: f32,
}

impl Surface {
    /// Planes of the features.
    pub fn planes(&self) -> usize {
        let depth = self.depth.is_some() || !self.copies;
        self.sharp() + usize::from(depth) + 3 * usize::from(self.position.is_some())
    }

    /// Number of planes of albedo and normal.
    pub fn sharp(&self) -> usize {
        let layers = usize::from(self.albedo) + usize::from(self.normal);
        3 * layers * usize::from(self.copies)
    }

    /// See `definition::front::surface`. Reads: albedo, normal, depth, position, if present; the colour if none is, or if
    /// `lit`. Writes: classes, the divisor with `channels` planes, the features if there are any; then, if `lit`, the colour
    /// over the divisor and the mean of its channels.
    pub fn kernel(&self, channels: usize, lit: bool) -> Stencil {
        stencil("surface", |k| {
            let read = |there: bool| there.then(|| k.read());
            let (albedo, normal) = (read(self.albedo), read(self.normal));
            let (depth, position) = (read(self.depth.is_some()), read(self.position.is_some()));
            let any = [albedo, normal, depth, position]
                .iter()
                .any(Option::is_some);
            let picture = (lit || !any).then(|| k.read());
            let seen = ClassMasks::new(albedo, normal, depth);
            k.write_planes([seen.class(k)]);
            let color = albedo.map(|a| three(a).map(|v| v.max(0.0).min(1.0)));
            let over = k.constant(1.0) / k.param(self.exposure);
            let divisors: Vec<_> = (0..channels)
                .map(|c| match color.filter(|_| self.divide) {
                    Some([r, g, b]) => {
                        let own = match channels {
                            1 => (r + g + b) / 3.0,
                            _ => [r, g, b][c],
                        };
                        seen.divisor(own + DARK) * over
                    }
                    None => over,
                })
                .collect();
            k.write_planes(divisors.clone());
            let mut features: Vec<_> = Vec::new();
            if self.copies {
                features.extend(color.into_iter().flatten());
                let normals = normal.into_iter().flat_map(three);
                features.extend(normals.map(|v| v.max(-1.0).min(1.0)));
            }
            let far = depth.zip(self.depth).map(|(depth, range)| {
                let [low, middle, high] = [range.low, range.middle, range.high].map(|v| k.param(v));
                let far = depth.plane(0).here().max(1e-30).ln().max(low).min(high) - middle;
                seen.nothing.map_or(far, |nothing| nothing.pick(0.0, far))
            });
            match self.copies {
                true => features.extend(far),
                false => {
                    let apart = seen.class(k) * APART;
                    features.push(far.map_or(apart, |far| far + apart));
                }
            }
            if let (Some(position), Some(scale)) = (position, self.position) {
                let scale = k.param(scale);
                features.extend(three(position).map(|v| v * scale));
            }
            if !features.is_empty() {
                k.write_planes(features);
            }
            if let Some(picture) = picture.filter(|_| lit) {
                let planes = divisors.into_iter().enumerate();
                let light: Vec<_> = planes.map(|(c, by)| picture.plane(c).here() / by).collect();
                k.write_planes(light.clone());
                let sum = light.into_iter().reduce(|a, b| a + b);
                k.write_planes(sum.map(|sum| sum * (1.0 / channels as f32)));
            }
        })
    }
}

/// The values that determine the class.
struct ClassMasks<'g> {
    emits: Option<Mask<'g>>,
    nothing: Option<Mask<'g>>,
}

impl<'g> ClassMasks<'g> {
    fn new(albedo: Option<Read<'g>>, normal: Option<Read<'g>>, depth: Option<Read<'g>>) -> Self {
        let nothing = match (depth, normal) {
            (Some(depth), _) => {
                let depth = depth.plane(0).here();
                Some(depth.le(0.0) | depth.ge(FAR))
            }
            (None, Some(normal)) => {
                let [x, y, z] = three(normal).map(|v| v.abs().lt(1e-2));
                Some(x & y & z)
            }
            (None, None) => None,
        };
        Self {
            emits: albedo.map(emits),
            nothing,
        }
    }

    fn class(&self, k: &'g Build) -> Value<'g> {
        let class = k.constant(SURFACE);
        let class = self.emits.map_or(class, |emits| emits.pick(EMITTER, class));
        self.nothing
            .map_or(class, |nothing| nothing.pick(MISS, class))
    }

    /// `usual`, or 1 where there is no surface.
    fn divisor(&self, usual: Value<'g>) -> Value<'g> {
        let masks = [self.emits, self.nothing].into_iter().flatten();
        match masks.reduce(|a, b| a | b) {
            Some(special) => special.pick(1.0, usual),
            None => usual,
        }
    }
}

/// Whether an albedo is that of an emitter.
fn emits(albedo: Read<'_>) -> Mask<'_> {
    let [r, g, b] = three(albedo);
    let most = r.max(g).max(b.max(0.0));
    most.lt(BLACK) | most.gt(EMITTING)
}

/// The class of a pixel. Reads: albedo, normal, depth, if present; the colour if none is.
pub fn class(albedo: bool, normal: bool, depth: bool) -> Stencil {
    stencil("class", |k| {
        let read = |there: bool| there.then(|| k.read());
        let seen = ClassMasks::new(read(albedo), read(normal), read(depth));
        if !(albedo || normal || depth) {
            let _ = k.read();
        }
        k.write_planes([seen.class(k)]);
    })
}

/// The divisor of colour ([`limpid_reference::definition::front::divisor`]), and depth, negated for emitters, if requested. Reads albedo,
/// and depth if it is requested.
pub fn divisor(divisor: bool, depth: bool) -> Stencil {
    stencil("divisor", |k| {
        let albedo = k.read();
        if divisor {
            let color = three(albedo).map(|a| a.max(0.0).min(1.0));
            let most = color[0].max(color[1]).max(color[2]);
            let some = ((most - FAINT) * (1.0 / (DIM - FAINT))).max(0.0).min(1.0);
            k.write_planes(color.map(|a| some * (a.max(LEAST_DIVISOR) - 1.0) + 1.0));
        }
        if depth {
            let depth = k.read().plane(0).here();
            k.write_planes([depth.abs() * emits(albedo).pick(-1.0, 1.0)]);
        }
    })
}
