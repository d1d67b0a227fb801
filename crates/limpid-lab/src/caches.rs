//! Chooses the best of several candidates at each pixel, using a few pixels with references (Vicini 2015, section 5.3.3).
//!
//! A *cache* is a pixel with a reference. [`places`] returns where caches help most; a renderer takes more samples there;
//! [`Choice::new`] compares the candidates with the references, interpolates their squared errors over a Delaunay
//! triangulation and takes the candidate with the lowest error at each pixel.
//!
//! ```
//! use limpid::Image;
//! use limpid_lab::caches::{Choice, places};
//! let candidates = [Image::from_fn(16, 16, 3, |_, _, _| 0.5), Image::from_fn(16, 16, 3, |x, _, _| x as f32 / 15.0)];
//! let variance = Image::new(16, 16, 3);
//! let caches = places(&candidates, &variance, 20, 1);
//! let references: Vec<[f32; 3]> = caches.iter().map(|p| [p.0 as f32 / 15.0; 3]).collect();
//! let choice = Choice::new(&candidates, &caches, &references)?;
//! assert_eq!(choice.color, candidates[1]);
//! # Ok::<(), limpid::Error>(())
//! ```

use limpid::{Error, Image, Result, Size};
use spade::{DelaunayTriangulation, FloatTriangulation, HasPosition, Point2, Triangulation};

/// `σ_r` of Eq. 5.17.
pub const SIGMA: f64 = 0.15;

/// Share of the caches that are on a jittered grid.
pub const EVEN: f64 = 0.5;

/// Where references help most: half of the places follow Eq. 5.16, where candidates differ and the render is not too noisy; the
/// other half is on a jittered grid. No place occurs twice, so there may be fewer than `count`.
///
/// `variance` is the variance of the render's mean; another seed gives other places.
pub fn places(
    candidates: &[Image],
    variance: &Image,
    count: usize,
    seed: u64,
) -> Vec<(usize, usize)> {
    let size = variance.size();
    let mut random = Random(seed ^ 0x5851_f42d_4c95_7f2d);
    let mut chosen = vec![false; size.pixels()];
    let even = ((count as f64 * EVEN).round() as usize).min(size.pixels());
    let aspect = size.width as f64 / size.height as f64;
    let columns = ((even as f64 * aspect).sqrt().round() as usize).clamp(1, size.width);
    let rows = even.div_ceil(columns).clamp(1, size.height);
    if even > 0 {
        for row in 0..rows {
            for column in 0..columns {
                let at = |k: usize, of: usize, side: usize, shift: f64| {
                    (((k as f64 + shift) * side as f64 / of as f64) as usize).min(side - 1)
                };
                let x = at(column, columns, size.width, random.next());
                let y = at(row, rows, size.height, random.next());
                chosen[y * size.width + x] = true;
            }
        }
    }
    let density: Vec<f64> = (0..size.pixels())
        .map(|i| density(candidates, variance, (i % size.width, i / size.width)))
        .collect();
    let total: f64 = density.iter().sum();
    // One random number in each of as many equal parts of the total: fewer clusters than as many free ones.
    let rest = count.saturating_sub(even);
    let (mut sum, mut at) = (0.0, 0);
    for k in 0..rest {
        let wanted = (k as f64 + random.next()) / rest as f64 * total;
        while at + 1 < density.len() && sum + density[at] < wanted {
            sum += density[at];
            at += 1;
        }
        if total > 0.0 {
            chosen[at] = true;
        }
    }
    let all = chosen.iter().enumerate().filter(|(_, c)| **c);
    all.map(|(i, _)| (i % size.width, i / size.width)).collect()
}

/// `f_F · f_V` of Eq. 5.16: the variance over all candidates, and how little noise there is.
fn density(candidates: &[Image], variance: &Image, (x, y): (usize, usize)) -> f64 {
    let over = |c: usize| {
        let values = candidates.iter().map(|i| f64::from(i.get(x, y, c)));
        let mean = values.clone().sum::<f64>() / candidates.len().max(1) as f64;
        values.map(|v| (v - mean).powi(2)).sum::<f64>() / candidates.len().max(1) as f64
    };
    let channels = candidates.first().map_or(0, Image::channels);
    let differ: f64 = (0..channels).map(over).sum();
    let noise = (0..variance.channels()).map(|c| f64::from(variance.get(x, y, c)));
    let noise = noise.sum::<f64>() / variance.channels().max(1) as f64;
    differ * (-noise / (2.0 * SIGMA)).exp()
}

/// The candidate that is used at each pixel.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The best candidate at each pixel.
    pub color: Image,
    /// Squared error of each candidate, interpolated.
    pub errors: Vec<Image>,
    /// Number of the best candidate.
    pub selection: Image,
}

impl Choice {
    /// Compares candidates with references at their places.
    pub fn new(
        candidates: &[Image],
        places: &[(usize, usize)],
        references: &[[f32; 3]],
    ) -> Result<Self> {
        let Some(first) = candidates.first() else {
            return Err(Error::input("there is no candidate to choose from"));
        };
        if places.is_empty() || places.len() != references.len() {
            return Err(Error::input(format!(
                "{} references were given for {} places; at least one of each is needed",
                references.len(),
                places.len()
            )));
        }
        let (width, height) = (first.width(), first.height());
        let mut errors = Vec::new();
        for image in candidates {
            let squares: Vec<f32> = places
                .iter()
                .zip(references)
                .map(|((x, y), r)| {
                    let off = |c: usize| (image.get(*x, *y, c) - r[c.min(2)]).powi(2);
                    (0..image.channels()).map(off).sum()
                })
                .collect();
            errors.push(interpolate(places, &squares, first.size())?);
        }
        let best = |x: usize, y: usize| {
            let each = errors.iter().map(|e| e.get(x, y, 0)).enumerate();
            let least = each.min_by(|a, b| a.1.total_cmp(&b.1));
            least.map_or(0, |(k, _)| k)
        };
        let selection = Image::from_fn(width, height, 1, |x, y, _| best(x, y) as f32);
        let color = Image::from_fn(width, height, first.channels(), |x, y, c| {
            candidates[best(x, y)].get(x, y, c)
        });
        Ok(Self {
            color,
            errors,
            selection,
        })
    }
}

/// A value at a place.
struct KnownValue {
    at: Point2<f64>,
    value: f32,
}

impl HasPosition for KnownValue {
    type Scalar = f64;

    fn position(&self) -> Point2<f64> {
        self.at
    }
}

/// Values between places: linear over the triangles of a Delaunay triangulation, that of the nearest place outside of them.
pub fn interpolate(places: &[(usize, usize)], values: &[f32], size: Size) -> Result<Image> {
    let known = places.iter().zip(values).map(|((x, y), value)| KnownValue {
        at: Point2::new(*x as f64, *y as f64),
        value: *value,
    });
    let mesh = DelaunayTriangulation::<KnownValue>::bulk_load(known.collect())
        .map_err(|e| Error::input(format!("places cannot be triangulated: {e}")))?;
    let between = mesh.barycentric();
    Ok(Image::from_fn(size.width, size.height, 1, |x, y, _| {
        let at = Point2::new(x as f64, y as f64);
        let inside = between.interpolate(|v| f64::from(v.data().value), at);
        match inside {
            Some(v) => v as f32,
            None => mesh.nearest_neighbor(at).map_or(0.0, |v| v.data().value),
        }
    }))
}

/// A small random number generator for 0 … 1.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_is_interpolated_exactly() {
        let places: Vec<_> = (0..40).map(|i| ((i * 7) % 19, (i * 5) % 13)).collect();
        let mut places = places;
        places.extend([(0, 0), (18, 0), (0, 12), (18, 12)]);
        let plane = |x: usize, y: usize| 0.5 + 0.25 * x as f32 - 0.125 * y as f32;
        let values: Vec<f32> = places.iter().map(|(x, y)| plane(*x, *y)).collect();
        let image = interpolate(&places, &values, Size::new(19, 13)).unwrap();
        for y in 0..13 {
            for x in 0..19 {
                assert!((image.get(x, y, 0) - plane(x, y)).abs() < 1e-5);
            }
        }
    }

    #[test]
    fn one_place_and_a_line_of_them_are_enough() {
        let one = interpolate(&[(3, 2)], &[7.0], Size::new(5, 4)).unwrap();
        assert!(one.data().iter().all(|v| *v == 7.0));
        let line =
            interpolate(&[(0, 0), (2, 0), (4, 0)], &[1.0, 2.0, 3.0], Size::new(5, 3)).unwrap();
        assert_eq!(line.get(4, 2, 0), 3.0);
    }

    #[test]
    fn places_are_where_candidates_differ_and_everywhere_a_little() {
        let flat = Image::new(64, 48, 3);
        let differs = |x: usize, y: usize| x >= 48 && y >= 36;
        let other = Image::from_fn(64, 48, 3, |x, y, _| f32::from(u8::from(differs(x, y))));
        let all = places(&[flat.clone(), other], &flat, 200, 1);
        assert!(all.len() > 150 && all.len() <= 210, "{}", all.len());
        let there = all.iter().filter(|p| differs(p.0, p.1)).count();
        assert!(there > 60, "{there} of {}", all.len());
        // Each quarter of the image has some.
        for (left, top) in [(0, 0), (32, 0), (0, 24), (32, 24)] {
            let inside = |p: &&(usize, usize)| {
                (left..left + 32).contains(&p.0) && (top..top + 24).contains(&p.1)
            };
            assert!(all.iter().filter(inside).count() > 15);
        }
    }

    #[test]
    fn noise_keeps_places_away() {
        let candidates = [
            Image::new(32, 32, 1),
            Image::from_fn(32, 32, 1, |_, _, _| 1.0),
        ];
        let noisy = Image::from_fn(32, 32, 1, |x, _, _| if x < 16 { 10.0 } else { 0.0 });
        let all = places(&candidates, &noisy, 100, 3);
        let left = all.iter().filter(|p| p.0 < 16).count();
        assert!(left < all.len() / 2 - 10, "{left} of {}", all.len());
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let image = Image::new(4, 4, 3);
        assert!(Choice::new(&[], &[(0, 0)], &[[0.0; 3]]).is_err());
        assert!(Choice::new(std::slice::from_ref(&image), &[], &[]).is_err());
        assert!(Choice::new(&[image], &[(0, 0)], &[]).is_err());
    }
}
