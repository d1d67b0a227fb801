//! One level of the edge-avoiding à-trous filter.
//!
//! A weighted mean over taps that lie `2^level` pixels apart. The filtered data (the payload) and the data that stops the
//! filter (the features) are separate slots. On the CPU both are planar. On the GPU the payload is planes of four channels: the
//! first holds the colour, and in its fourth channel one more value; the features are planes of four channels, or packed
//! ([`super::pack::Packing`]).
//!
//! [`Walk::Dilated`] reads taps at their original positions. [`Walk::Permuted`] reads pixels in the order [`Phases`], where
//! taps are adjacent, and writes them, and the features, in the order of the next level (Dolp 2024).

mod cpu;
mod emit;
mod fused;
mod guided;
mod moves;
mod shape;
mod tile;

pub use fused::Fused;
pub use guided::{FEATURES, Guided};
pub use guided::{SURFACE, Slopes, Surfaces, light_weights};
pub use shape::Shape;

use crate::own::own;
use limpid_core::{Result, Size};
use limpid_plan::Phases;
use limpid_plan::{Contract, Dispatch, Element, Job, Kernel, Need, PassSlots, Scope};

/// How strongly differences stop the filter: `w = exp(-Σ (s Δ)²)` with these `s`, one over σ.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stops {
    /// For all channels of colour; `None` if colour is not compared.
    pub color: Option<f32>,
    /// For each plane of the features.
    pub features: Vec<f32>,
    /// Compares brightness relative to the noise of the pixel instead of colour.
    pub local: Option<Local>,
}

/// How strongly brightness differences stop the filter, given the variance of the pixel: `w = exp(-Δ² / (square · v + least))`.
/// The variance is the plane that is filtered with squared weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Local {
    /// Squared differences up to this many variances count as equal.
    pub square: f32,
    /// Squared differences that always count as equal.
    pub least: f32,
    /// The feature plane that holds the brightness; `None` for the mean of the colours.
    pub plane: Option<usize>,
    /// Whether the variance is the mean of the pixel's and the tap's, so that weights are symmetric.
    pub symmetric: bool,
}

/// The output of a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// The weighted mean.
    #[default]
    Mean,
    /// One balancing step: computes factors with which the weights around every pixel sum to 1.
    Balance {
        /// Whether the previous factors are 1; otherwise they are the last slot that is read.
        first: bool,
    },
    /// The weighted mean with each tap's weight times its factor; factors are the last slot that is read.
    Balanced,
}

impl Mode {
    /// Whether factors are read.
    fn factors(self) -> bool {
        matches!(self, Self::Balanced | Self::Balance { first: false })
    }

    /// Whether factors are computed.
    fn balances(self) -> bool {
        matches!(self, Self::Balance { .. })
    }
}

/// Where taps are read on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// In global memory.
    Global,
    /// In a tile in workgroup memory: of this shape if it fits the device, otherwise of the best shape that does.
    Tile(Option<Shape>),
}

/// The positions of taps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Walk {
    /// In rows, `2^level` pixels apart.
    Dilated,
    /// Adjacent in the order `from`; written in the order `to`, or in rows.
    Permuted {
        /// The input order; its level is that of the filter.
        from: Phases,
        /// The output order: the next one, or the same; rows if `None`.
        to: Option<Phases>,
        /// On a GPU: where taps are read.
        taps: Source,
    },
}

impl Walk {
    /// The order in which results are written, if it is not rows.
    pub fn order(self) -> Option<Phases> {
        match self {
            Self::Permuted { to, .. } => to,
            Self::Dilated => None,
        }
    }

    /// Whether results stay at the positions where they are read.
    fn stays(self) -> bool {
        match self {
            Self::Permuted { from, to, .. } => to == Some(from),
            Self::Dilated => true,
        }
    }

    /// Whether pixels are written in the order of the next level, and features with them.
    pub fn goes_on(self) -> bool {
        self.order().is_some() && !self.stays()
    }
}

/// One level of the filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Atrous {
    /// Taps are `2^level` pixels apart.
    pub level: u32,
    /// The kernel along one axis, an odd number of taps.
    pub taps: Vec<f32>,
    /// The edge-stopping parameters.
    pub stops: Stops,
    /// Variance-guided weights instead of the stops.
    pub guided: Option<Guided>,
    /// Planes of the payload on the CPU.
    pub planes: usize,
    /// Planes of colour in the payload, at its start.
    pub colors: usize,
    /// A plane after the colour that is filtered with squared weights: a variance. On the GPU the fourth channel.
    pub squared: Option<usize>,
    /// Only pixels at multiples of this hold samples.
    pub grid: usize,
    /// The output of the level.
    pub mode: Mode,
    /// Whether results are rounded to half precision, as they are when stored on a GPU.
    pub half: bool,
    /// The positions of taps.
    pub walk: Walk,
}

impl Atrous {
    /// Whether features are read.
    fn has_features(&self) -> bool {
        self.guided.is_some() || !self.stops.features.is_empty()
    }

    /// Planes of features.
    fn features(&self) -> usize {
        match self.guided {
            Some(_) => FEATURES,
            None => self.stops.features.len(),
        }
    }

    /// Whether the numbers of the kernel fit each other: orders are those of the level, and shifts fit 32 bits.
    fn is_sound(&self) -> bool {
        let ordered = match self.walk {
            Walk::Permuted { from, .. } => from.level == self.level,
            Walk::Dilated => true,
        };
        ordered && self.level < 16 && self.grid > 0
    }

    /// Taps to each side.
    pub fn radius(&self) -> usize {
        self.taps.len() / 2
    }

    /// Distance between taps in pixels of the slot.
    fn spacing(&self) -> usize {
        match self.walk {
            Walk::Dilated => 1 << self.level,
            Walk::Permuted { .. } => 1,
        }
    }

    fn colors_that_weigh(&self) -> usize {
        match self.stops {
            Stops { local: Some(_), .. } | Stops { color: None, .. } => 0,
            _ => self.colors,
        }
    }

    /// `-s²` of all guide planes, times `log2 e`.
    fn scales(&self) -> Vec<f32> {
        let colors = std::iter::repeat_n(self.stops.color.unwrap_or(0.0), self.colors_that_weigh());
        // Brightness is compared separately.
        let apart = self.stops.local.and_then(|l| l.plane);
        let features = self.stops.features.iter().enumerate();
        let features = features.map(|(i, s)| if apart == Some(i) { 0.0 } else { *s });
        colors
            .chain(features)
            .map(|s| -s * s * std::f32::consts::LOG2_E)
            .collect()
    }

    /// The input row for an output row.
    fn source_row(&self, height: usize, y: usize) -> usize {
        match self.walk {
            Walk::Dilated => y,
            Walk::Permuted { from, to, .. } => {
                from.place(height, to.map_or(y, |t| t.pixel(height, y)))
            }
        }
    }

    /// The rows of taps for a row: the index of the tap, from 0, and the row.
    fn tap_rows(&self, height: usize, y: usize) -> Vec<(usize, usize)> {
        let span = match self.walk {
            Walk::Dilated => 0..height,
            Walk::Permuted { from, .. } => from.span(height, y),
        };
        let row = |tap: usize| {
            let q = (y + tap * self.spacing()).checked_sub(self.radius() * self.spacing())?;
            span.contains(&q).then_some((tap, q))
        };
        (0..self.taps.len()).filter_map(row).collect()
    }
}

impl Kernel for Atrous {
    fn name(&self) -> &'static str {
        match self.mode {
            Mode::Balance { .. } => "atrous-balance",
            _ => "atrous",
        }
    }

    fn contract(&self) -> Contract {
        let features = usize::from(self.has_features());
        let factors = usize::from(self.mode.factors());
        let moved = if self.walk.goes_on() { features } else { 0 };
        let reach = self.radius() << self.level;
        Contract {
            reads: 1 + features + factors,
            writes: 1 + moved,
            scope: match self.walk {
                Walk::Dilated => Scope::Rows { halo: reach },
                Walk::Permuted { .. } => Scope::Gather,
            },
            reach: Some(reach),
            updates: false,
        }
    }

    fn needs(&self, pass: &PassSlots<'_>) -> Vec<Need> {
        let payload = pass.reads[0];
        // Planes, which the CPU filters.
        if payload.element == Element::F32 {
            return Vec::new();
        }
        let (size, own) = (payload.size, Need::like(payload));
        let features = self.has_features().then(|| match pass.reads[1].element {
            Element::U32x4 => Need::planes(size, 1).of(Element::U32x4),
            _ => Need::planes(size, self.features().div_ceil(4)).of(Element::F32x4),
        });
        let mut needs = vec![own];
        needs.extend(features);
        needs.extend(self.mode.factors().then_some(Need::planes(size, 1)));
        needs.push(match self.mode.balances() {
            true => Need::planes(size, 1),
            false => own,
        });
        needs.extend(features.filter(|_| pass.writes.len() > 1));
        needs
    }

    fn cpu(&self, job: &mut Job<'_>) {
        match &self.guided {
            Some(guided) => guided::run(self, guided, job),
            None => cpu::run(self, job),
        }
    }

    fn gpu(&self, pass: &PassSlots<'_>) -> Result<Dispatch> {
        Ok(own(self, pass, emit::dispatch(self, pass)?))
    }

    fn scratch(&self, size: Size) -> usize {
        match self.guided {
            Some(_) => guided::scratch(self, size.width),
            None => cpu::scratch(self, size.width),
        }
    }
}
