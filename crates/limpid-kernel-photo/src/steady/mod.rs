//! Results of neighbouring frames, blended along the motion: features of a frame, places and differences, weights, and the blend.
//!
//! The definition is [`limpid_reference::definition::steady`]. Frames are in rings as those of a film, see [`crate::film`].

mod cpu;
mod gpu;

use crate::film::Reel;
use crate::own::own;
use limpid_core::Result;
use limpid_plan::stencil::{Build, Read, Stencil, Value, stencil};
use limpid_plan::{Contract, Dispatch, Job, Kernel, Need, Site};
use limpid_reference::definition::front::{DIM, FAINT, LEAST_DIVISOR};
use limpid_reference::definition::steady::{DARK, DIFFERENT, FEATURES, LEAST, LIGHT_AT, NOISE};

/// Planes of the features that tell surfaces apart. The others are in a second ring, because a GPU binds less than a 4K frame needs.
pub const SURFACE: usize = LIGHT_AT;
/// Planes of the other features: light, noise and motion.
pub const OTHERS: usize = FEATURES - SURFACE;
/// Planes of [`Trace`] for each distance: place and weight before and after.
pub const PLACES: usize = 6;

/// Luminance of colour over albedo.
fn light<'g>(color: Read<'g>, colors: usize, albedo: Option<Read<'g>>) -> Value<'g> {
    let [r, g, b] = [0, 1, 2].map(|c| color.plane(c.min(colors - 1)).here());
    let [r, g, b] = match albedo {
        None => [r, g, b],
        Some(albedo) => {
            let below = [0, 1, 2].map(|c| albedo.plane(c).here().max(0.0).min(1.0));
            let most = below[0].max(below[1]).max(below[2]);
            let some = ((most - FAINT) * (1.0 / (DIM - FAINT))).max(0.0).min(1.0);
            let over = below.map(|a| some * (a.max(LEAST_DIVISOR) - 1.0) + 1.0);
            [r / over[0], g / over[1], b / over[2]]
        }
    };
    r * 0.2126 + g * 0.7152 + b * 0.0722
}

/// The squared deviation of the light of a frame from that of its result, relative to it; and, apart, that light. Reads both colours, and
/// albedo if there is any.
pub fn lights(colors: usize, albedo: bool) -> Stencil {
    stencil("light", |k| {
        let (noisy, clean) = (k.read(), k.read());
        let albedo = albedo.then(|| k.read());
        let light_of = |color| light(color, colors, albedo);
        let clean = light_of(clean);
        let off = (light_of(noisy) - clean) / (clean.max(0.0) + DARK);
        k.write_planes([off.abs().min(NOISE[1]).squared()]);
        k.write_planes([clean]);
    })
}

/// Means over the 3×3 pixels around that are inside.
fn means<'g>(k: &'g Build, layer: Option<Read<'g>>) -> [Value<'g>; 3] {
    [0, 1, 2].map(|c| {
        let (mut sum, mut count) = (k.constant(0.0), k.constant(0.0));
        let Some(layer) = layer else {
            return sum;
        };
        for (dx, dy) in (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy))) {
            sum = sum + k.inside(dx, dy).pick(layer.plane(c).at(dx, dy), 0.0);
            count = count + k.inside(dx, dy).number();
        }
        sum / count
    })
}

/// The features of a frame. Reads the light of [`lights`], the deviation smoothed, motion, and normal and albedo if there are any. Writes
/// those of the surface, and the others.
pub fn features(normal: bool, albedo: bool) -> Stencil {
    stencil("features", |k| {
        let (light, squared, motion) = (k.read(), k.read(), k.read());
        let normal = normal.then(|| k.read());
        let albedo = albedo.then(|| k.read());
        let (normal, albedo) = (means(k, normal), means(k, albedo));
        let noise = squared.plane(0).here().max(0.0).sqrt();
        let rest = [
            light.plane(0).here(),
            noise.max(NOISE[0]),
            motion.plane(0).here(),
            motion.plane(1).here(),
        ];
        k.write_planes(normal.into_iter().chain(albedo));
        k.write_planes(rest);
    })
}

/// How alike light is at each distance. Reads differences with their weights, and the same over two windows.
pub fn alike(radius: usize) -> Stencil {
    stencil("alike", |k| {
        let scales = [k.read(), k.read(), k.read()];
        let at = |away: usize| {
            let mut sum = k.constant(0.0);
            for (image, unit) in scales.iter().zip(DIFFERENT) {
                let weight = image.plane(2 * away + 1).here() + LEAST;
                let mean = image.plane(2 * away).here() / weight;
                sum = sum + (mean * (1.0 / unit)).squared();
            }
            (sum * -1.0).exp()
        };
        k.write_planes((0..radius).map(at));
    })
}

/// Follows the motion from each pixel of the output frame to the frames around. Reads the ring of surfaces, the clock and the ring of
/// the other features. Writes, for
/// each distance, place and weight before and after; and the difference of the light in units of the noise times the weight, and the
/// weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The ring of frames.
    pub reel: Reel,
}

impl Kernel for Trace {
    fn name(&self) -> &'static str {
        "trace"
    }

    fn contract(&self) -> Contract {
        Contract::gather(3, 2, None)
    }

    fn needs(&self, site: &Site<'_>) -> Vec<Need> {
        let size = site.writes[0].size;
        vec![
            Need::planes(size, self.reel.places() * SURFACE),
            Need::values(2),
            Need::planes(size, self.reel.places() * OTHERS),
            Need::planes(size, PLACES * self.reel.radius),
            Need::planes(size, 2 * self.reel.radius),
        ]
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::trace(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(own(self, site, gpu::trace(self, site)))
    }

    fn work(&self) -> f32 {
        5.0
    }
}

/// How splines between pixels are kept in the range of the nearest pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// By the layer itself.
    Own,
    /// The same, and the limits of all frames are written.
    Told,
    /// As told by the colour, which the layer is a part of: parts add up.
    Given,
}

/// Blends a layer of the output frame with those of the frames around. Reads its ring, the clock, the places of [`Trace`], the weights
/// of [`alike`], and limits if they are given. Writes the blend, and limits if they are told.
#[derive(Debug, Clone, PartialEq)]
pub struct Blend {
    /// The ring of frames.
    pub reel: Reel,
    /// How splines are limited.
    pub limits: Limits,
}

impl Blend {
    /// Planes of the limits of a layer: for each distance, before and after, those of its planes.
    pub fn planes(reel: Reel, planes: usize) -> usize {
        2 * reel.radius * planes
    }
}

impl Kernel for Blend {
    fn name(&self) -> &'static str {
        match self.limits {
            Limits::Own => "blend frames",
            Limits::Told => "blend frames and tell limits",
            Limits::Given => "blend frames of a part",
        }
    }

    fn contract(&self) -> Contract {
        match self.limits {
            Limits::Own => Contract::gather(4, 1, None),
            Limits::Told => Contract::gather(4, 2, None),
            Limits::Given => Contract::gather(5, 1, None),
        }
    }

    fn needs(&self, site: &Site<'_>) -> Vec<Need> {
        let (size, planes) = (site.writes[0].size, site.writes[0].planes);
        let limits = Need::planes(size, Self::planes(self.reel, planes));
        let reads = [
            Need::planes(size, self.reel.places() * planes),
            Need::values(2),
            Need::planes(size, PLACES * self.reel.radius),
            Need::planes(size, self.reel.radius),
        ];
        let written = Need::planes(size, planes);
        let mut all = reads.to_vec();
        match self.limits {
            Limits::Own => all.push(written),
            Limits::Told => all.extend([written, limits]),
            Limits::Given => all.extend([limits, written]),
        }
        all
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::blend(self, job);
    }

    fn gpu(&self, site: &Site<'_>) -> Result<Dispatch> {
        Ok(own(self, site, gpu::blend(self, site)))
    }

    fn work(&self) -> f32 {
        5.0
    }
}
