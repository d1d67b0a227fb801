//! Filters over a square window: Gaussian, tents, mean and deviation, bilateral (Zubatov and Shcherbakov).
//!
//! [`Window`] computes a pixel from its whole window; [`WindowAxis`] filters one axis, for filters of rank one. A [`Filter`]
//! defines the weights, a [`Walk`] the implementation. Invariants: taps outside the image have no weight, and every walk
//! produces the same image.
//!
//! Walks on textures read texels `(r, g, b, 1)` with a margin of zeros around the image ([`margin`]), so that one weighted sum
//! of texels yields the numerator and, in its last component, the sum of the weights inside.

mod cpu;
mod emit;
mod quad;
mod quad_paper;
mod shader;

#[cfg(test)]
mod tests;

use crate::own::own;
use limpid_core::{Error, Result, Size};
use limpid_plan::{Backing, Contract, Dispatch, Element, Job, Kernel, Need, PassSlots};

/// A filter with its weights `g(i, j)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Filter {
    /// `exp(-(i² + j²) / 2σ²)`, Eq. 3.
    Gaussian {
        /// Standard deviation in pixels.
        sigma: f32,
    },
    /// `max(k - b|i|, 0) · max(k - b|j|, 0)`, Eq. 5.
    Tent {
        /// `k`: above 0.
        peak: f32,
        /// `b`: at least 0.
        slope: f32,
    },
    /// `k - b(|i| + |j|)`, Eq. 6: rank two.
    Tent2 {
        /// `k`: at least `2rb`, so that no weight is negative.
        peak: f32,
        /// `b`: at least 0.
        slope: f32,
    },
    /// Mean and standard deviation, Eq. 7 and 8: two results.
    Variance,
    /// `exp(-(i² + j²) / 2σ_d² - |I(q) - I(p)|² / 2σ_r²)`, Eq. 4.
    Bilateral {
        /// `σ_d`, in pixels.
        space: f32,
        /// `σ_r`, in units of the image.
        range: f32,
    },
}

impl Filter {
    /// One factor of the weight, for filters of rank one: `g(i, j) = side(i) · side(j)`.
    pub fn side(self, i: i64) -> Option<f64> {
        match self {
            Self::Gaussian { sigma } => {
                Some((-0.5 * (i * i) as f64 / f64::from(sigma).powi(2)).exp())
            }
            Self::Tent { peak, slope } => {
                Some((f64::from(peak) - f64::from(slope) * i.abs() as f64).max(0.0))
            }
            Self::Tent2 { .. } | Self::Variance | Self::Bilateral { .. } => None,
        }
    }

    /// Number of results.
    pub const fn results(self) -> usize {
        match self {
            Self::Variance => 2,
            _ => 1,
        }
    }

    /// The factors of one axis, `-radius … radius`; ones if the filter has none.
    fn taps(self, radius: usize) -> Vec<f32> {
        let r = radius as i64;
        (-r..=r)
            .map(|i| self.side(i).unwrap_or(1.0) as f32)
            .collect()
    }
}

/// How the fragments of a quad share their sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exchange {
    /// Row by row, as in the paper for filters of rank one and two: `r + 2` or `2r + 3` exchanges. Texels are read mirrored in
    /// the quad, so that weights are the same in all four fragments.
    Rows,
    /// The same with texels read in the same order by all fragments, as the paper does it (sections 3.1 and 3.2): weights for
    /// a neighbour depend on the place in the quad. For radii up to [`SMALL`].
    Uniform,
    /// All texels, one by one, before anything is summed: the naive way of section 3, `3r² + 2r` exchanges. For radii up to
    /// [`SMALL`].
    Texels,
    /// The sums for the three neighbours at once: three exchanges for any radius.
    Sums,
}

/// Largest radius of the exchanges that exist for comparison; their windows are unrolled.
pub const SMALL: usize = emit::UNROLLED as usize;

/// How a window is processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Walk {
    /// One axis after the other in one pass over memory, if the filter is separable; on a GPU from a tile in workgroup memory.
    Separable,
    /// All `(2r+1)²` taps of each pixel, from buffers.
    Direct,
    /// GPU: all taps, from a tile in workgroup memory.
    Tile,
    /// GPU: a fragment shader that reads `(2r+1)²` texels.
    Fragment,
    /// GPU: a fragment shader that reads `(r+1)²` texels and shares sums in its quad by derivatives.
    Quad {
        /// The shared values.
        exchange: Exchange,
        /// Whether to use coarse derivatives, which do not belong to the neighbour: gives wrong images, for comparison.
        coarse: bool,
    },
    /// GPU: the same in a compute shader, from buffers, with quad operations of subgroups.
    QuadCompute,
}

impl Walk {
    /// Whether it reads and draws textures.
    pub const fn textures(self) -> bool {
        matches!(self, Self::Fragment | Self::Quad { .. })
    }
}

/// Size of an image with its margin in a texture: `radius` on the left and top, one more on the right and bottom for the helper
/// invocations of a quad that extends beyond an odd edge.
pub const fn margin(size: Size, radius: usize) -> Size {
    Size::new(size.width + 2 * radius + 1, size.height + 2 * radius + 1)
}

/// A filter over the whole window.
///
/// From buffers: reads one planar slot, writes one for each result. On textures: reads texels with a [`margin`], writes
/// one texture for each result.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The filter.
    pub filter: Filter,
    /// Taps to each side.
    pub radius: usize,
    /// How the window is processed.
    pub walk: Walk,
}

impl Window {
    /// The text and grid of the walk.
    fn shader(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        if self.walk.textures() {
            return Ok(shader::fragment(self.filter, self.radius, self.walk));
        }
        if self.walk == Walk::Separable && self.filter.side(0).is_some() {
            return shader::separable(self.filter, self.radius, pass);
        }
        if pass.reads[0].planes > 3 {
            return Err(Error::unsupported(format!(
                "{}: {} planes; at most 3 share one texel with their weight",
                self.name(),
                pass.reads[0].planes
            )));
        }
        match self.walk {
            Walk::Tile => shader::tile(self.filter, self.radius, pass),
            Walk::QuadCompute => Ok(shader::quad(self.filter, self.radius, pass)),
            _ => Ok(shader::direct(self.filter, self.radius, pass)),
        }
    }

    /// Whether the CPU has a vectorised body for this walk; the bilateral filter has one, though it is not separable.
    fn vectors(&self) -> bool {
        self.walk == Walk::Separable || matches!(self.filter, Filter::Bilateral { .. })
    }
}

impl Kernel for Window {
    fn name(&self) -> &'static str {
        match self.walk {
            Walk::Separable => "window",
            Walk::Direct => "window-direct",
            Walk::Tile => "window-tile",
            Walk::Fragment => "window-fragment",
            Walk::Quad { .. } => "window-quad",
            Walk::QuadCompute => "window-quad-compute",
        }
    }

    fn contract(&self) -> Contract {
        let results = self.filter.results();
        if self.walk.textures() {
            Contract::gather(1, results, Some(self.radius))
        } else {
            Contract::rows(1, results, self.radius)
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let slot = pass.reads[0];
        if !self.walk.textures() {
            return pass.each(|_| Need::planes(slot.size, slot.planes));
        }
        let size = pass.writes[0].size;
        let mut needs = vec![Need::planes(size, 1); 1 + pass.writes.len()];
        needs[0] = Need::planes(margin(size, self.radius), 1);
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        if self.vectors() {
            cpu::separable(job, self.filter, self.radius);
        } else {
            cpu::direct(job, self.filter, self.radius);
        }
    }

    fn gpu_only(&self) -> bool {
        self.walk.textures()
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, self.shader(pass)?))
    }

    fn scratch(&self, size: Size) -> usize {
        if self.vectors() {
            cpu::scratch(self.filter, self.radius, size)
        } else {
            0
        }
    }
}

/// One plane filtered by a filter of rank one, packed with three other planes into vectors of four. For GPUs: avoids writing
/// and reading the filtered plane.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowPack {
    /// The filter, of rank one.
    pub filter: Filter,
    /// Taps to each side.
    pub radius: usize,
}

impl Kernel for WindowPack {
    fn name(&self) -> &'static str {
        "window-pack"
    }

    fn contract(&self) -> Contract {
        Contract::rows(2, 1, self.radius)
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let size = pass.reads[0].size;
        let packed = Need::planes(size, 1).of(Element::F32x4);
        vec![Need::planes(size, 1), Need::planes(size, 3), packed]
    }

    fn gpu_only(&self) -> bool {
        true
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(
            self,
            pass,
            shader::separable(self.filter, self.radius, pass)?,
        ))
    }
}

/// How one axis is processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Along {
    /// All taps of each pixel, from buffers.
    Plain,
    /// GPU: from workgroup memory, 128 pixels of a row at a time.
    Tile,
    /// GPU: a fragment shader that reads two taps at once from a linear sampler (Rákos 2010): `r + 1` reads.
    Linear,
}

/// One axis of a filter of rank one.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowAxis {
    /// The filter, of rank one.
    pub filter: Filter,
    /// Taps to each side.
    pub radius: usize,
    /// Whether to filter along columns instead of rows.
    pub vertical: bool,
    /// The implementation.
    pub along: Along,
}

/// Largest radius whose columns fit the 16 KiB of workgroup memory that every device has.
pub const TILE_COLUMNS: usize = 48;

/// Largest radius for which a 16×16 tile of texels, and a 32×32 tile of one plane with the sums of its rows, fits the same
/// limit.
pub const TILE_SQUARE: usize = 8;

impl Kernel for WindowAxis {
    fn name(&self) -> &'static str {
        match self.along {
            Along::Plain => "axis",
            Along::Tile => "axis-tile",
            Along::Linear => "axis-linear",
        }
    }

    fn contract(&self) -> Contract {
        if self.along == Along::Linear {
            return Contract::gather(1, 1, Some(self.radius));
        }
        let halo = if self.vertical { self.radius } else { 0 };
        Contract {
            reach: Some(self.radius),
            ..Contract::rows(1, 1, halo)
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let slot = pass.reads[0];
        match self.along {
            // A sampler stays inside its texture.
            Along::Linear => pass.each(Need::like),
            Along::Plain | Along::Tile => pass.each(|_| Need::planes(slot.size, slot.planes)),
        }
    }

    fn cpu(&self, job: &mut Job<'_>) {
        let taps = self.filter.taps(self.radius);
        cpu::axis(job, &taps, self.vertical);
    }

    fn gpu_only(&self) -> bool {
        self.along == Along::Linear
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        let dispatch = match self.along {
            Along::Plain => shader::axis(self, pass),
            Along::Tile => shader::axis_tile(self, pass)?,
            Along::Linear => {
                // A device without linear sampling of 32-bit floats may have it for narrower ones.
                if pass.reads[0].backing == Backing::Texture && !pass.target.filter_f32 {
                    return Err(Error::unsupported(
                        "this device cannot sample 32-bit floats linearly; use another schedule",
                    ));
                }
                shader::linear(self)
            }
        };
        Ok(own(self, pass, dispatch))
    }

    fn scratch(&self, size: Size) -> usize {
        cpu::axis_scratch(self.radius, size)
    }
}
