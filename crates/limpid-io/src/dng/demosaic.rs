//! Demosaicing: three colours for each pixel of a mosaic.

use super::Pattern;
use limpid_core::{Image, Result, memory};
use rayon::prelude::*;

/// Pixels around the picture, so that no step meets a border; whole patterns.
const ROOM: usize = 12;

/// A plane with room around it.
struct Plane {
    width: usize,
    values: Vec<f32>,
}

impl Plane {
    /// Computes the pixels that are this far from the borders.
    fn new(
        (width, height): (usize, usize),
        margin: usize,
        value: impl Fn(usize, usize, usize) -> f32 + Sync,
    ) -> Result<Self> {
        let mut values = memory::zeroed::<f32>(width * height)?;
        let rows = values.par_chunks_exact_mut(width).enumerate();
        let inside = rows.skip(margin).take(height - 2 * margin);
        inside.for_each(|(y, row)| {
            for (x, to) in row.iter_mut().enumerate().take(width - margin).skip(margin) {
                *to = value(x, y, y * width + x);
            }
        });
        Ok(Self { width, values })
    }

    /// Changes some pixels.
    fn change(&mut self, margin: usize, value: impl Fn(usize, usize, usize) -> Option<f32> + Sync) {
        let width = self.width;
        let height = self.values.len() / width;
        let rows = self.values.par_chunks_exact_mut(width).enumerate();
        let inside = rows.skip(margin).take(height - 2 * margin);
        inside.for_each(|(y, row)| {
            for (x, to) in row.iter_mut().enumerate().take(width - margin).skip(margin) {
                if let Some(value) = value(x, y, y * width + x) {
                    *to = value;
                }
            }
        });
    }
}

/// A place mirrored at the borders, where the pattern of two pixels continues.
fn mirrored(at: usize, n: usize) -> usize {
    let at = at as i64 - ROOM as i64;
    let last = n as i64 - 1;
    let mut at = at;
    while !(0..=last).contains(&at) {
        at = if at < 0 { -at } else { 2 * last - at };
    }
    at as usize
}

/// Bayer's pattern: green along the direction in which colour differences vary less, the others by their differences to it, and
/// a second round (Menon, Andriani and Calvagno, *Demosaicing with directional filtering and a posteriori decision*, 2007).
pub(super) fn bayer(mosaic: &Image, pattern: &Pattern) -> Result<Image> {
    let (width, height) = (mosaic.width(), mosaic.height());
    let size = (width + 2 * ROOM, height + 2 * ROOM);
    let line = size.0;
    let color = |x: usize, y: usize| pattern.color(x, y);
    let known = Plane::new(size, 0, |x, y, _| {
        mosaic.row(0, mirrored(y, height))[mirrored(x, width)]
    })?;
    let m = &known.values;
    let along = |step: usize| {
        Plane::new(size, 2, move |x, y, i| match color(x, y) {
            1 => m[i],
            _ => {
                0.5 * (m[i - step] + m[i + step])
                    + 0.25 * (2.0 * m[i] - m[i - 2 * step] - m[i + 2 * step])
            }
        })
    };
    let greens = [along(1)?, along(line)?];
    // Differences between colour differences, two pixels apart.
    let uneven = |k: usize| {
        let green = &greens[k].values;
        let step = [1, line][k];
        Plane::new(size, 4, move |x, y, i| match color(x, y) {
            1 => 0.0,
            _ => ((m[i] - green[i]) - (m[i + 2 * step] - green[i + 2 * step])).abs(),
        })
    };
    let uneven = [uneven(0)?, uneven(1)?];
    let sum = |k: usize, i: usize| {
        let (d, step, other) = (&uneven[k].values, [1, line][k], [line, 1][k]);
        let pair = |i: usize| d[i - 2 * step] + d[i];
        pair(i - 2 * other)
            + pair(i + 2 * other)
            + d[i - other - step]
            + d[i + other - step]
            + 3.0 * pair(i)
    };
    // 1 where the picture is smoother across, 0 where it is down.
    let across = Plane::new(size, 6, |x, y, i| match color(x, y) {
        1 => 0.0,
        _ => f32::from(u8::from(sum(1, i) >= sum(0, i))),
    })?;
    let across = &across.values;
    drop(uneven);
    let step = |i: usize| if across[i] > 0.0 { 1 } else { line };
    let mut green = Plane::new(size, 6, |_, _, i| {
        greens[usize::from(across[i] == 0.0)].values[i]
    })?;
    drop(greens);
    // Red and blue at green pixels, from the differences to green on both sides.
    let at_green = |which: usize, x: usize, y: usize, i: usize, green: &[f32]| {
        let step = if color(x + 1, y) == which { 1 } else { line };
        green[i] + 0.5 * (m[i - step] - green[i - step] + m[i + step] - green[i + step])
    };
    let mut others = Vec::new();
    for which in [0, 2] {
        let green = &green.values;
        others.push(Plane::new(size, 7, |x, y, i| match color(x, y) {
            1 => at_green(which, x, y, i, green),
            c if c == which => m[i],
            _ => 0.0,
        })?);
    }
    let [mut red, mut blue] = <[Plane; 2]>::try_from(others).unwrap_or_else(|_| [empty(), empty()]);
    // Red at blue pixels and blue at red ones, from the differences on both sides.
    let crossed = |own: &Plane, other: &Plane, i: usize| {
        let s = step(i);
        let (own, other) = (&own.values, &other.values);
        m[i] + 0.5 * (own[i - s] - other[i - s] + own[i + s] - other[i + s])
    };
    let red_at_blue = Plane::new(size, 8, |x, y, i| match color(x, y) {
        2 => crossed(&red, &blue, i),
        _ => red.values[i],
    })?;
    blue = Plane::new(size, 8, |x, y, i| match color(x, y) {
        0 => crossed(&blue, &red, i),
        _ => blue.values[i],
    })?;
    red = red_at_blue;
    // The second round: smoother differences.
    let smooth = |a: &[f32], b: &[f32], i: usize| {
        let s = step(i);
        (a[i - s] - b[i - s] + a[i] - b[i] + a[i + s] - b[i + s]) / 3.0
    };
    green = Plane::new(size, 9, |x, y, i| match color(x, y) {
        0 => m[i] - smooth(&red.values, &green.values, i),
        2 => m[i] - smooth(&blue.values, &green.values, i),
        _ => m[i],
    })?;
    for (which, plane) in [(0, &mut red), (2, &mut blue)] {
        let green = &green.values;
        plane.change(10, |x, y, i| {
            (color(x, y) == 1).then(|| at_green(which, x, y, i, green))
        });
    }
    let red_at_blue = Plane::new(size, 11, |x, y, i| match color(x, y) {
        2 => m[i] + smooth(&red.values, &blue.values, i),
        _ => red.values[i],
    })?;
    blue.values = Plane::new(size, 11, |x, y, i| match color(x, y) {
        0 => m[i] + smooth(&blue.values, &red.values, i),
        _ => blue.values[i],
    })?
    .values;
    let mut out = Image::try_new(width, height, 3)?;
    for (c, plane) in [red_at_blue, green, blue].iter().enumerate() {
        let rows = out.plane_mut(c).par_chunks_exact_mut(width).enumerate();
        rows.for_each(|(y, row)| {
            let from = (y + ROOM) * line + ROOM;
            row.copy_from_slice(&plane.values[from..from + width]);
        });
    }
    Ok(out)
}

fn empty() -> Plane {
    Plane {
        width: 1,
        values: Vec::new(),
    }
}

/// The pixels of a colour around each place of a pattern, and their weights.
struct Taps {
    reach: i64,
    /// Row by row, for each place of the pattern.
    places: Vec<Vec<(i64, i64, f32)>>,
}

impl Taps {
    fn new(pattern: &Pattern, which: usize, reach: i64, wide: f32) -> Self {
        let (wide_pattern, high_pattern) = pattern.size();
        let around = |at: usize| {
            let (x, y) = (at % wide_pattern, at / wide_pattern);
            let offsets = (-reach..=reach).flat_map(|j| (-reach..=reach).map(move |i| (i, j)));
            let own = offsets.filter(|(i, j)| {
                let wrap =
                    |v: usize, d: i64, n: usize| (v as i64 + d).rem_euclid(n as i64) as usize;
                pattern.color(wrap(x, *i, wide_pattern), wrap(y, *j, high_pattern)) == which
            });
            own.map(|(i, j)| {
                let square = (i * i + j * j) as f32;
                (i, j, (-0.5 * square / (wide * wide)).exp())
            })
            .collect()
        };
        Self {
            reach,
            places: (0..wide_pattern * high_pattern).map(around).collect(),
        }
    }

    /// The weighted mean of a plane around a pixel.
    fn mean(
        &self,
        plane: &[f32],
        (width, height): (usize, usize),
        place: (usize, usize),
        at: usize,
    ) -> f32 {
        let (x, y) = (place.0 as i64, place.1 as i64);
        let (wide, high) = (width as i64, height as i64);
        let inside =
            x >= self.reach && y >= self.reach && x + self.reach < wide && y + self.reach < high;
        let (mut sum, mut weights) = (0.0, 0.0);
        for (i, j, weight) in &self.places[at] {
            let (x, y) = (x + i, y + j);
            if inside || ((0..wide).contains(&x) && (0..high).contains(&y)) {
                sum += weight * plane[(y * wide + x) as usize];
                weights += weight;
            }
        }
        if weights > 0.0 { sum / weights } else { 0.0 }
    }
}

/// Any pattern: green from the greens around a pixel, the others by their differences to it; nearer pixels count more.
pub(super) fn interpolated(mosaic: &Image, pattern: &Pattern) -> Result<Image> {
    let (width, height) = (mosaic.width(), mosaic.height());
    let size = (width, height);
    let period = pattern.size();
    let at = |x: usize, y: usize| y % period.1 * period.0 + x % period.0;
    let mut out = Image::try_new(width, height, 3)?;
    let known = mosaic.plane(0);
    let taps = Taps::new(pattern, 1, 2, 0.7);
    let rows = out.plane_mut(1).par_chunks_exact_mut(width).enumerate();
    rows.for_each(|(y, row)| {
        for (x, to) in row.iter_mut().enumerate() {
            *to = match pattern.color(x, y) {
                1 => known[y * width + x],
                _ => taps.mean(known, size, (x, y), at(x, y)),
            };
        }
    });
    let mut differences = memory::zeroed::<f32>(width * height)?;
    let green = memory::copied(out.plane(1));
    let pairs = differences.par_iter_mut().zip(known.par_iter().zip(&green));
    pairs.for_each(|(to, (v, green))| *to = v - green);
    for which in [0, 2] {
        let taps = Taps::new(pattern, which, 4, 1.2);
        let rows = out.plane_mut(which).par_chunks_exact_mut(width).enumerate();
        rows.for_each(|(y, row)| {
            for (x, to) in row.iter_mut().enumerate() {
                let i = y * width + x;
                *to = match pattern.color(x, y) == which {
                    true => known[i],
                    false => green[i] + taps.mean(&differences, size, (x, y), at(x, y)),
                };
            }
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATTERNS: [[u8; 4]; 4] = [[0, 1, 1, 2], [2, 1, 1, 0], [1, 0, 2, 1], [1, 2, 0, 1]];

    fn of(
        pattern: &Pattern,
        width: usize,
        height: usize,
        f: impl Fn(usize, usize, usize) -> f32,
    ) -> (Image, Image) {
        let mosaic = Image::from_fn(width, height, 1, |x, y, _| f(x, y, pattern.color(x, y)));
        (mosaic, Image::from_fn(width, height, 3, f))
    }

    fn error(a: &Image, b: &Image) -> f32 {
        let pairs = a.data().iter().zip(b.data());
        pairs.fold(0.0f32, |m, (a, b)| m.max((a - b).abs()))
    }

    #[test]
    fn flat_colours_and_grey_ramps_are_exact() {
        for colors in PATTERNS {
            let pattern = Pattern::new(2, 2, colors.to_vec()).unwrap();
            let flat = |_: usize, _: usize, c: usize| [0.2, 0.5, 0.9][c];
            for (width, height) in [(4, 4), (5, 7), (31, 18)] {
                let (mosaic, full) = of(&pattern, width, height, flat);
                assert!(error(&bayer(&mosaic, &pattern).unwrap(), &full) < 1e-6);
                assert!(error(&interpolated(&mosaic, &pattern).unwrap(), &full) < 1e-6);
            }
            let (mosaic, full) = of(&pattern, 40, 40, |x, y, _| {
                0.01 * x as f32 + 0.005 * y as f32
            });
            let made = bayer(&mosaic, &pattern).unwrap();
            let inside = |i: &Image| i.crop(8, 8, limpid_core::Size::new(24, 24));
            assert!(error(&inside(&made), &inside(&full)) < 1e-5);
        }
    }

    /// An edge along an axis stays sharp and grey.
    #[test]
    fn edges_have_no_colour() {
        let pattern = Pattern::new(2, 2, vec![0, 1, 1, 2]).unwrap();
        for down in [false, true] {
            let edge = |x: usize, y: usize, _: usize| {
                if (if down { x } else { y }) < 20 {
                    0.1
                } else {
                    0.8
                }
            };
            let (mosaic, full) = of(&pattern, 40, 40, edge);
            let made = bayer(&mosaic, &pattern).unwrap();
            assert!(error(&made, &full) < 0.02, "{}", error(&made, &full));
        }
    }

    #[test]
    fn x_trans_is_interpolated() {
        let rows = ["GBGGRG", "RGRBGB", "GBGGRG", "GRGGBG", "BGBRGR", "GRGGBG"];
        let color = |b: u8| match b {
            b'R' => 0,
            b'G' => 1,
            _ => 2,
        };
        let colors = rows.iter().flat_map(|r| r.bytes()).map(color).collect();
        let pattern = Pattern::new(6, 6, colors).unwrap();
        assert!(!pattern.is_bayer());
        let (mosaic, full) = of(&pattern, 30, 24, |x, _, c| {
            0.3 + 0.1 * c as f32 + 0.004 * x as f32
        });
        let made = interpolated(&mosaic, &pattern).unwrap();
        assert!(error(&made, &full) < 0.02, "{}", error(&made, &full));
    }
}
