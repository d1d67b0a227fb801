//! Steps of temporal anti-aliasing: colours to luma and differences, and the resolve.

mod cpu;
mod gpu;

use crate::own::own;
use limpid_core::{Error, Result, Size};
use limpid_plan::stencil::{Stencil, stencil};
use limpid_plan::{Contract, Dispatch, Element, Job, Kernel, Need, PassSlots, Slot};
use limpid_reference::definition::taa::{EDGE, EDGE_SHARE, FAR};

/// Converts red, green, blue to YCoCg, and leaves images of other planes unchanged; then divides by `1 + highlights · luma`.
pub fn to_ycocg(planes: usize, highlights: f32) -> Stencil {
    stencil("ycocg", |k| {
        let (color, share) = (k.read(), k.param(highlights));
        if planes != 3 {
            let v = color.here();
            return k.write(v / (v.max(0.0) * share + 1.0));
        }
        let [r, g, b] = [0, 1, 2].map(|c| color.plane(c).here());
        let luma = r * 0.25 + g * 0.5 + b * 0.25;
        let all = [luma, r * 0.5 - b * 0.5, g * 0.5 - r * 0.25 - b * 0.25];
        let scale = luma.max(0.0) * share + 1.0;
        k.write_planes(all.map(|v| v / scale));
    })
}

/// Blends a frame with the previous result, reprojected and clipped to the colour range of the frame.
///
/// Reads colour, history (the last result before restoring, and a plane of ones where it is valid), then mean and deviation
/// unless it computes them itself, then motion if present, and depth if it selects the motion. Writes colour, and history for
/// the next frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolve {
    /// Half the size of the box, in standard deviations.
    pub gamma: f32,
    /// Share of the new frame.
    pub blend: f32,
    /// The least box of a chroma channel, as a share of that of luma.
    pub chroma: f32,
    /// Whether history that had to be clipped counts less.
    pub discount: bool,
    /// How strongly bright colours are compressed while they are blended.
    pub highlights: f32,
    /// Weight of the neighbours relative to the pixel where there is no history.
    pub soften: f32,
    /// The radius of the window, if it computes mean and deviation itself.
    pub window: Option<usize>,
    /// Whether history is sampled with splines.
    pub cubic: bool,
    /// Whether motion is given.
    pub motion: bool,
    /// Whether to use the motion of the nearest of the 3×3 pixels around, by depth; on GPUs.
    pub nearest: bool,
    /// Whether there is a history; otherwise it reads and writes colour only.
    pub history: bool,
}

impl Kernel for Resolve {
    fn name(&self) -> &'static str {
        "resolve"
    }

    fn contract(&self) -> Contract {
        if !self.history {
            return Contract::rows(1, 1, 1);
        }
        let statistics = if self.window.is_some() { 0 } else { 2 };
        let reads = 2 + statistics + usize::from(self.motion) + usize::from(self.nearest);
        Contract::gather(reads, 2, None)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let (size, planes) = (pass.writes[0].size, pass.writes[0].planes);
        let color = Need::planes(size, planes);
        if !self.history {
            return vec![color; 2];
        }
        // A plane of ones, or the fourth channel, says where history is valid.
        let kept = |slot: &Slot| match slot.element {
            Element::F32x4 => Need::planes(size, 1).of(Element::F32x4),
            _ => Need::planes(size, planes + 1),
        };
        let mut needs = vec![color, kept(pass.reads[1])];
        if self.window.is_none() {
            needs.extend([color; 2]);
        }
        needs.extend(self.motion.then_some(Need::planes(size, 2)));
        needs.extend(self.nearest.then_some(Need::planes(size, 1)));
        needs.extend([color, kept(pass.writes[1])]);
        needs
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::scratch(size.width)
    }

    fn cpu(&self, job: &mut Job<'_>) {
        cpu::resolve(self, job);
    }

    fn gpu_only(&self) -> bool {
        self.nearest
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        if pass.writes[0].planes > 3 {
            return Err(Error::unsupported("colour has at most 3 channels"));
        }
        Ok(own(self, pass, gpu::resolve(self, pass)))
    }

    /// Motion and depth.
    fn reads_texture(&self, read: usize) -> bool {
        let last = usize::from(self.motion) + usize::from(self.nearest);
        self.history && read + last >= self.contract().reads
    }
}

/// The motion of the nearest of the 3×3 pixels around each (`definition::taa::nearest_motion`) and, for this many planes,
/// colour that is smoothed at edges (`definition::taa::soften_edges`), if requested. Reads depth, motion and colour.
pub fn edges(motion: bool, colors: Option<usize>) -> Stencil {
    stencil("edges", |k| {
        let depth = k.read();
        let z = |dx, dy| depth.plane(0).at(dx, dy);
        let far = |dx, dy| {
            let d = z(dx, dy).abs();
            d.gt(0.0).pick(d, FAR)
        };
        let around = || (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (dx, dy)));
        if motion {
            let motion = k.read();
            let (mut least, mut found) = (far(0, 0), motion.here());
            for (dx, dy) in around() {
                let d = far(dx, dy);
                found = d.lt(least).pick(motion.at(dx, dy), found);
                least = least.min(d);
            }
            k.write(found);
        }
        let Some(colors) = colors else { return };
        let color = k.read();
        let luma = |dx, dy| {
            let [r, g, b] = [0, 1, 2].map(|c| color.plane(c.min(colors - 1)).at(dx, dy));
            match colors {
                3 => (r * 0.25 + g * 0.5 + b * 0.25).max(0.0),
                _ => r.max(0.0),
            }
        };
        let mut surface = z(0, 0);
        for (dx, dy) in around() {
            surface = surface.min(z(dx, dy));
        }
        let mut bend = k.constant(0.0);
        for (dx, dy) in [(1, 0), (0, 1), (1, 1), (1, -1)] {
            bend = bend.max((z(dx, dy) + z(-dx, -dy) - z(0, 0) * 2.0).abs());
        }
        let edge = bend.gt(z(0, 0) * EDGE) & surface.gt(0.0);
        let own = luma(0, 0) + 1e-6;
        let mut weights = k.constant(0.0);
        let mut sums = vec![k.constant(0.0); colors];
        for (dx, dy) in around() {
            let share = EDGE_SHARE.powi(dx.abs() + dy.abs());
            let weight = k.constant(share) / (own + luma(dx, dy));
            weights = weights + weight;
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum = *sum + weight * color.plane(c).at(dx, dy);
            }
        }
        let planes = sums.into_iter().enumerate();
        let softened = planes.map(|(c, sum)| edge.pick(sum / weights, color.plane(c).here()));
        k.write_planes(softened.collect::<Vec<_>>());
    })
}
