//! Options and layers, validated and combined.

use super::local::Local;
use super::{Atrous, Border, Storage, Taps};
use crate::method::Value;
use crate::{Error, Frame, Image, Kind, Layer, Part, Result, Shape, luminance};
use limpid_kernel_render::pack::PackedAt;
use limpid_reference::definition::noise;

/// Sides of the squares with one sample each.
pub(super) const SQUARES: [usize; 3] = [1, 2, 4];

/// A layer that is filtered.
#[derive(Debug, Clone)]
pub(in crate::method) struct FilteredLayer {
    pub(in crate::method) layer: Layer,
    pub(in crate::method) packed_at: PackedAt,
}

/// A feature that stops the filter.
#[derive(Debug, Clone)]
pub(in crate::method) struct Guide {
    pub(in crate::method) kind: Kind,
    pub(in crate::method) channels: usize,
    pub(in crate::method) sigma: f32,
    /// Whether σ grows with the step.
    pub(in crate::method) widens: bool,
    /// Whether it is filtered first, by its own variance.
    pub(in crate::method) noisy: bool,
}

/// The validated input of a plan and of the definition.
#[derive(Debug, Clone)]
pub(in crate::method) struct Setup {
    pub(in crate::method) taps: Vec<f32>,
    pub(in crate::method) levels: usize,
    pub(in crate::method) color: Option<f32>,
    /// First level at which colour is used.
    pub(in crate::method) color_from: usize,
    /// In the order normal, depth, albedo, position.
    pub(in crate::method) guides: Vec<Guide>,
    /// Colour first.
    pub(in crate::method) items: Vec<FilteredLayer>,
    pub(in crate::method) colors: usize,
    pub(in crate::method) demodulates: bool,
    pub(in crate::method) guard: bool,
    pub(in crate::method) half: bool,
    /// Weights by local noise, in place of σ.
    pub(in crate::method) local: Option<Local>,
}

/// Planes of the payload on the CPU, and planes of four channels on the GPU.
impl Setup {
    pub(in crate::method) fn planes(&self) -> usize {
        let end = |i: &FilteredLayer| {
            i.packed_at.plane
                + if i.packed_at.variance {
                    1
                } else {
                    i.packed_at.channels
                }
        };
        self.items.iter().map(end).max().unwrap_or(0)
    }

    pub(in crate::method) fn vectors(&self) -> usize {
        self.items
            .iter()
            .map(|i| i.packed_at.vector + 1)
            .max()
            .unwrap_or(0)
    }

    /// The plane of the variance.
    pub(in crate::method) fn squared(&self) -> Option<usize> {
        let variance = self.items.iter().find(|i| i.packed_at.variance);
        variance.map(|i| i.packed_at.plane)
    }

    /// For each guide, its first plane in the features, and its planes. Packed features have fixed positions.
    pub(in crate::method) fn feature_planes(&self) -> Vec<(usize, usize)> {
        let mut next = 0;
        let mut place = |g: &Guide| {
            let first = match (self.packs(), &g.kind) {
                (true, Kind::Normal) => 0,
                (true, Kind::Depth) => 3,
                (true, _) => 4,
                (false, _) => next,
            };
            next = first + g.channels;
            (first, g.channels)
        };
        self.guides.iter().map(&mut place).collect()
    }

    /// One over σ for each plane of the features, at a level.
    pub(in crate::method) fn stops(&self, level: usize) -> Vec<f32> {
        if let Some(local) = &self.local {
            return local.stops(level);
        }
        let step = (1u64 << level) as f32;
        let planes = self.feature_planes();
        let count = planes.iter().map(|(first, n)| first + n).max();
        let mut stops = vec![0.0; count.unwrap_or(0)];
        for (g, (first, n)) in self.guides.iter().zip(planes) {
            let sigma = g.sigma * if g.widens { step } else { 1.0 };
            stops[first..first + n].fill(1.0 / sigma);
        }
        stops
    }

    /// One over σ of colour at a level.
    pub(in crate::method) fn color_stop(&self, level: usize) -> Option<f32> {
        let acts = level >= self.color_from;
        self.color
            .filter(|_| acts)
            .map(|sigma| (1u64 << level) as f32 / sigma)
    }

    /// Whether the features fit 16 bytes.
    pub(in crate::method) fn packs(&self) -> bool {
        match &self.local {
            Some(local) => local.packs(),
            None => self.half && self.guides.iter().all(|g| g.kind != Kind::Position),
        }
    }
}

/// Default σ of colour for an unknown image.
const COLOR: f32 = 1.0;

impl Atrous {
    fn sigmas(&self) -> [(Kind, Option<f32>); 4] {
        [
            (Kind::Normal, self.sigma_normal),
            (Kind::Depth, self.sigma_depth),
            (Kind::Albedo, self.sigma_albedo),
            (Kind::Position, self.sigma_position),
        ]
    }

    /// Whether no σ is given.
    pub(super) fn automatic(&self) -> bool {
        self.sigma_color.is_none() && self.sigmas().iter().all(|(_, s)| s.is_none())
    }

    /// The kernel along one axis, with a sum of 1.
    pub(in crate::method) fn taps(&self) -> Result<Vec<f32>> {
        let kernel = self.kernel.unwrap_or(match self.is_local() {
            true => Taps::Three,
            false => Taps::B3,
        });
        let radius = self.radius.unwrap_or(match kernel {
            Taps::Three => 1,
            Taps::B3 | Taps::Box => 2,
        });
        if radius > 16 {
            return Err(Error::option("radius", radius, "at most 16"));
        }
        let count = 2 * radius + 1;
        Ok(match kernel {
            Taps::Box => vec![1.0 / count as f32; count],
            Taps::B3 | Taps::Three => {
                let mut row = vec![0.0f64; count];
                row[0] = 1.0;
                for _ in 0..2 * radius {
                    for i in (1..count).rev() {
                        row[i] += row[i - 1];
                    }
                }
                let sum: f64 = row.iter().sum();
                row.into_iter().map(|v| (v / sum) as f32).collect()
            }
        })
    }

    /// Side of the squares with one sample each.
    pub(super) fn grid(&self) -> usize {
        self.subsample.unwrap_or(1)
    }

    /// Validates the options against the layers.
    pub(in crate::method) fn setup(&self, shape: &Shape) -> Result<Setup> {
        if !(1..=10).contains(&self.levels) {
            return Err(Error::option("levels", self.levels, "1 … 10"));
        }
        if !SQUARES.contains(&self.grid()) {
            return Err(Error::option("subsample", self.grid(), "1, 2 or 4"));
        }
        for (name, value) in [("exposure", self.exposure), ("extent", self.extent)] {
            if let Some(v) = value.filter(|v| !(v.is_finite() && *v > 0.0)) {
                return Err(Error::option(name, v, "a number above 0"));
            }
        }
        if self.gains.len() > self.levels {
            let expected = format!("at most {}, one for each level", self.levels);
            return Err(Error::option("gains", self.gains.show(), expected));
        }
        if self.border != Border::Zero && (self.energy || !self.gains.is_empty()) {
            let expected = "zero, the only value that energy and gains support";
            return Err(Error::option("border", self.border, expected));
        }
        if self.energy && self.grid() > 1 {
            let expected = "off, because it needs a sample in every pixel";
            return Err(Error::option("energy", "on", expected));
        }
        let all = self
            .sigmas()
            .into_iter()
            .chain([(Kind::Color, self.sigma_color)]);
        for (kind, sigma) in all {
            if let Some(sigma) = sigma.filter(|s| *s <= 0.0) {
                let name = format!("sigma-{}", Layer::from(kind));
                return Err(Error::option(&name, sigma, "a number above 0"));
            }
        }
        let colors = shape.require(&Layer::COLOR)?;
        let demodulates = self.divides() && shape.has(Kind::Albedo);
        Ok(Setup {
            taps: self.taps()?,
            levels: self.levels,
            color: if self.automatic() {
                Some(COLOR)
            } else {
                // Differences over such a sigma are zero.
                self.sigma_color.filter(|s| (s * s).is_finite())
            },
            color_from: self.grid().ilog2() as usize,
            guides: self.guides(shape)?,
            items: self.items(shape, colors, demodulates)?,
            colors,
            demodulates,
            guard: self.guards(),
            half: self.storage == Storage::F16,
            local: None,
        })
    }

    fn guides(&self, shape: &Shape) -> Result<Vec<Guide>> {
        let mut guides = Vec::new();
        for (kind, sigma) in self.sigmas() {
            let given = match sigma {
                Some(sigma) => {
                    if !shape.has(kind.clone()) {
                        let layer = Layer::from(kind);
                        let why = format!("its sigma is {sigma}");
                        return Err(Error::missing(layer, why));
                    }
                    sigma
                }
                None if self.automatic() && shape.has(kind.clone()) => match kind {
                    Kind::Normal => NORMAL,
                    Kind::Albedo => ALBEDO,
                    // Without analysing the frame its scale is unknown.
                    _ => continue,
                },
                None => continue,
            };
            guides.push(Guide {
                channels: kind.channels()[0],
                widens: matches!(kind, Kind::Normal | Kind::Depth),
                noisy: !self.no_prefilter
                    && shape.channels(&Layer::new(kind.clone(), Part::Variance))
                        == Some(kind.channels()[0]),
                sigma: given,
                kind,
            });
        }
        Ok(guides)
    }

    /// The layers to filter, and their positions.
    fn items(&self, shape: &Shape, colors: usize, albedo: bool) -> Result<Vec<FilteredLayer>> {
        let mut items = vec![FilteredLayer {
            layer: Layer::COLOR,
            packed_at: PackedAt {
                channels: colors,
                plane: 0,
                vector: 0,
                lane: 0,
                albedo,
                variance: false,
            },
        }];
        let (mut plane, mut vector) = (colors, 1);
        let variance = Layer::new(Kind::Color, Part::Variance);
        if self.variance {
            let channels = shape.require(&variance)?;
            items.push(FilteredLayer {
                layer: variance,
                packed_at: PackedAt {
                    channels,
                    plane,
                    vector: 0,
                    lane: 3,
                    albedo,
                    variance: true,
                },
            });
            plane += 1;
        }
        if shape.has(Kind::Alpha) {
            let own = self.variance;
            items.push(FilteredLayer {
                layer: Kind::Alpha.into(),
                packed_at: PackedAt {
                    channels: 1,
                    plane,
                    vector: if own { vector } else { 0 },
                    lane: if own { 0 } else { 3 },
                    albedo: false,
                    variance: false,
                },
            });
            plane += 1;
            vector += usize::from(own);
        }
        for (layer, channels) in self.lights(shape)? {
            items.push(FilteredLayer {
                layer,
                packed_at: PackedAt {
                    channels,
                    plane,
                    vector,
                    lane: 0,
                    albedo,
                    variance: false,
                },
            });
            plane += channels;
            vector += 1;
        }
        Ok(items)
    }

    fn lights(&self, shape: &Shape) -> Result<Vec<(Layer, usize)>> {
        let all: Vec<(Layer, usize)> = shape
            .layers
            .iter()
            .filter(|(l, _)| l.part == Part::Mean && matches!(l.kind, Kind::Light(_)))
            .map(|(l, c)| (l.clone(), *c))
            .collect();
        let names: Vec<String> = all.iter().map(|(l, _)| l.to_string()).collect();
        let plain = |n: &str| n.strip_prefix("light:").unwrap_or(n).to_owned();
        for wanted in &self.aov {
            if !names.iter().any(|n| plain(n) == plain(wanted)) {
                return Err(Error::unknown(
                    "light layer",
                    wanted,
                    names.iter().map(String::as_str),
                ));
            }
        }
        let named = |l: &Layer| {
            let name = plain(&l.to_string());
            self.aov.is_empty() || self.aov.iter().any(|n| plain(n) == name)
        };
        Ok(all.into_iter().filter(|(l, _)| named(l)).collect())
    }

    /// Chooses all σ if none is given.
    pub(in crate::method) fn estimate(&mut self, frame: &Frame) -> Result<()> {
        if !self.automatic() {
            return Ok(());
        }
        if self.is_local() {
            let measured = crate::method::nfor::Facts::of(frame)?;
            self.exposure = self.exposure.or(Some(measured.exposure));
            self.extent = self.extent.or(frame.get(Kind::Position).map(extent));
            return Ok(());
        }
        self.estimate_sigmas(frame)
    }

    /// One σ for the whole frame, of colour and of each feature.
    pub(super) fn estimate_sigmas(&mut self, frame: &Frame) -> Result<()> {
        let color = frame.color()?;
        let albedo = frame.get(Kind::Albedo).filter(|_| self.divides());
        let light = match albedo {
            Some(albedo) => limpid_reference::definition::atrous::modulate(color, albedo, true),
            None => color.clone(),
        };
        self.sigma_color = Some((NOISE * noise::spread(&luminances(&light))).max(1e-4));
        self.sigma_normal = frame.get(Kind::Normal).map(|_| NORMAL);
        self.sigma_albedo = frame.get(Kind::Albedo).map(|_| ALBEDO);
        let position = frame.get(Kind::Position);
        self.sigma_position = position.map(|position| (POSITION * extent(position)).max(1e-6));
        Ok(())
    }
}

/// The largest extent of positions along an axis; 1 for a single point.
fn extent(position: &Image) -> f32 {
    let mut extent = 0.0f32;
    for plane in position.planes() {
        let finite = || plane.iter().copied().filter(|v| v.is_finite());
        let low = finite().fold(f32::INFINITY, f32::min);
        let high = finite().fold(f32::NEG_INFINITY, f32::max);
        extent = extent.max(high - low);
    }
    if extent > 0.0 { extent } else { 1.0 }
}

/// The luminance of an image.
fn luminances(image: &Image) -> Image {
    let last = image.channels() - 1;
    Image::from_fn(image.width(), image.height(), 1, |x, y, _| {
        luminance([0, 1, 2].map(|k: usize| image.get(x, y, k.min(last))))
    })
}

/// σ of colour, in standard deviations of the noise: close to the lowest error on cornell, columns and glossy at 1, 4 and 16
/// samples.
const NOISE: f32 = 10.0;
/// σ of the normal.
const NORMAL: f32 = 0.3;
/// σ of albedo.
const ALBEDO: f32 = 0.2;
/// σ of position, times the extent of the scene.
const POSITION: f32 = 0.1;
