//! The noise of green pixels, of which a mosaic has most, and the closest ones.
//!
//! Noise differs from pixel to pixel, while texture fades towards the finest details that a sensor sees. So the finest ones are looked
//! at: in Bayer's pattern those that change from one green pixel to the next at its corner; in X-Trans the differences inside squares of
//! four green pixels. The quietest tenth of the blocks of each brightness counts.

use super::noise::fitted;
use crate::Image;
use limpid_io::dng::Pattern;
use rayon::prelude::*;

/// The side of blocks; the least number of blocks of one brightness; and the share of blocks that count.
const BLOCK: usize = 16;
const BLOCKS: usize = 24;
const EVEN: f32 = 0.1;

/// How often each green pixel is compared with the mean of those at its corners.
const TIMES: usize = 4;

/// What this does to the variance of noise: the sum of the squares of its weights.
const POWER: f64 = 20.652_893_066_406_25;

/// How much weaker noise seems in the quietest tenth of blocks than it is, for both kinds of differences (measured on white noise).
const QUIET: f64 = 0.62;
const QUIET_SQUARES: f64 = 0.77;

/// The side of blocks of X-Trans, and of its pattern.
const XTRANS_BLOCK: usize = 24;
const XTRANS: usize = 6;

/// The weight of variances above the line: they are texture. At first all are, then those that chance does not explain.
const ABOVE: f64 = 0.02;
const CHANCE: f64 = 1.15;
const ROUNDS: usize = 8;

/// A block: its mean, and the variance of its finest differences.
type Block = [f64; 2];

/// The variance of noise, `a·v + b`; `None` if the pattern is another one or the picture is small.
pub(super) fn measured(image: &Image, pattern: &Pattern) -> Option<[f32; 2]> {
    let (width, height) = (image.width(), image.height());
    let squares = squares(pattern);
    let (block, margin, quiet) = match (pattern.is_bayer(), squares.is_empty()) {
        (true, _) => (BLOCK, TIMES, QUIET),
        (_, false) => (XTRANS_BLOCK, 0, QUIET_SQUARES),
        _ => return None,
    };
    if width < block + 2 * margin || height < block + 2 * margin {
        return None;
    }
    let (across, down) = ((width - 2 * margin) / block, (height - 2 * margin) / block);
    let one = |at: usize| {
        let place = (margin + at % across * block, margin + at / across * block);
        match margin {
            0 => of_squares(image, place, &squares),
            _ => of_corners(image, pattern, place),
        }
    };
    let found: Vec<Block> = (0..across * down).into_par_iter().filter_map(one).collect();
    line(found, quiet)
}

/// The block of Bayer's pattern at a place.
fn of_corners(image: &Image, pattern: &Pattern, (left, top): (usize, usize)) -> Option<Block> {
    const SIDE: usize = BLOCK + 2 * TIMES;
    let (x0, y0) = (left - TIMES, top - TIMES);
    let mut now = [[0.0f32; SIDE]; SIDE];
    for (j, row) in now.iter_mut().enumerate() {
        row.copy_from_slice(&image.row(0, y0 + j)[x0..x0 + SIDE]);
    }
    let (mut sum, mut count, mut clipped) = (0.0f64, 0.0f64, 0);
    let green = |i: usize, j: usize| pattern.color(x0 + i, y0 + j) == 1;
    let inside = TIMES..TIMES + BLOCK;
    for j in inside.clone() {
        for i in inside.clone().filter(|i| green(*i, j)) {
            sum += f64::from(now[j][i]);
            count += 1.0;
            clipped += u32::from(now[j][i] >= 0.99);
        }
    }
    if clipped >= 3 {
        return None;
    }
    for n in 1..=TIMES {
        let last = now;
        for j in n..SIDE - n {
            for i in n..SIDE - n {
                let corners = last[j - 1][i - 1]
                    + last[j - 1][i + 1]
                    + last[j + 1][i - 1]
                    + last[j + 1][i + 1];
                now[j][i] = last[j][i] - 0.25 * corners;
            }
        }
    }
    // The green pixels of even and of odd rows may differ: their means are not noise.
    let mut variance = 0.0;
    for odd in 0..2 {
        let (mut sum, mut squares, mut count) = (0.0f64, 0.0f64, 0.0f64);
        for j in inside.clone().filter(|j| j % 2 == odd) {
            for i in inside.clone().filter(|i| green(*i, j)) {
                let v = f64::from(now[j][i]);
                (sum, squares, count) = (sum + v, squares + v * v, count + 1.0);
            }
        }
        variance += 0.5 * (squares - sum * sum / count) / (count - 1.0);
    }
    Some([sum / count, variance / POWER])
}

/// The places in a pattern of 6×6 of squares of four green pixels.
fn squares(pattern: &Pattern) -> Vec<(usize, usize)> {
    if pattern.size() != (XTRANS, XTRANS) {
        return Vec::new();
    }
    let all = (0..XTRANS * XTRANS).map(|i| (i % XTRANS, i / XTRANS));
    let green = |(x, y): &(usize, usize)| {
        [(0, 0), (1, 0), (0, 1), (1, 1)]
            .iter()
            .all(|(i, j)| pattern.color(x + i, y + j) == 1)
    };
    all.filter(green).collect()
}

/// The block of X-Trans at a place.
fn of_squares(
    image: &Image,
    (left, top): (usize, usize),
    squares: &[(usize, usize)],
) -> Option<Block> {
    let (mut mean, mut count, mut clipped, mut variance) = (0.0f64, 0.0f64, 0, 0.0f64);
    for (x, y) in squares {
        let (mut sum, mut power, mut seen) = (0.0f64, 0.0f64, 0.0f64);
        for j in (top + y..top + XTRANS_BLOCK).step_by(XTRANS) {
            for i in (left + x..left + XTRANS_BLOCK).step_by(XTRANS) {
                if i + 1 >= image.width() || j + 1 >= image.height() {
                    continue;
                }
                let rows = [image.row(0, j), image.row(0, j + 1)];
                let [a, b, c, d] = [rows[0][i], rows[0][i + 1], rows[1][i], rows[1][i + 1]];
                let v = f64::from(0.5 * (a - b - c + d));
                (sum, power, seen) = (sum + v, power + v * v, seen + 1.0);
                mean += f64::from(0.25 * (a + b + c + d));
                count += 1.0;
                clipped += u32::from(a.max(b).max(c.max(d)) >= 0.99);
            }
        }
        if seen < 2.0 {
            return None;
        }
        variance += (power - sum * sum / seen) / (seen - 1.0) / squares.len() as f64;
    }
    (clipped < 3).then_some([mean / count, variance])
}

/// The line through the quietest blocks of each brightness.
fn line(mut found: Vec<Block>, quiet: f64) -> Option<[f32; 2]> {
    if found.len() < BLOCKS {
        return None;
    }
    found.sort_unstable_by(|a, b| a[0].total_cmp(&b[0]));
    let each = BLOCKS.max(found.len() / 16);
    let mut points: Vec<[f64; 3]> = Vec::new();
    for blocks in found.chunks_mut(each).filter(|b| b.len() >= each / 2) {
        let value = blocks.iter().map(|b| b[0]).sum::<f64>() / blocks.len() as f64;
        blocks.sort_unstable_by(|a, b| a[1].total_cmp(&b[1]));
        let variance = blocks[(EVEN * (blocks.len() - 1) as f32) as usize][1] / quiet;
        points.push([value, variance.max(1e-12), variance.max(1e-12).powi(-2)]);
    }
    let mut line = fitted(&points);
    for round in 0..ROUNDS {
        let most = if round < ROUNDS / 2 { 1.0 } else { CHANCE };
        for [value, variance, weight] in &mut points {
            let expected = (f64::from(line[0]) * *value + f64::from(line[1])).max(1e-12);
            let texture = *variance > most * expected;
            *weight = if texture { ABOVE } else { 1.0 } / (expected * expected);
        }
        line = fitted(&points);
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// White noise of a known variance, in both patterns.
    #[test]
    fn white_noise_is_measured() {
        let xtrans = "GBGGRGRGRBGBGBGGRGGRGGBGBGBRGRGRGGBG";
        let xtrans = xtrans.bytes().map(|b| match b {
            b'R' => 0,
            b'G' => 1,
            _ => 2,
        });
        let patterns = [
            Pattern::new(2, 2, vec![0, 1, 1, 2]).unwrap(),
            Pattern::new(6, 6, xtrans.collect()).unwrap(),
        ];
        let mut state = 7u32;
        let mut uniform = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        };
        for pattern in patterns {
            let image = Image::from_fn(720, 720, 1, |_, _, _| {
                0.3 + 0.01 * ((0..12).map(|_| uniform()).sum::<f32>() - 6.0)
            });
            let [a, b] = measured(&image, &pattern).unwrap();
            let deviation = (a * 0.3 + b).sqrt() / 0.01;
            assert!(
                (deviation - 1.0).abs() < 0.05,
                "{deviation} for {:?}",
                pattern.size()
            );
        }
    }

    /// Squares of four green pixels lie where the tiles of X-Trans meet.
    #[test]
    fn bayer_has_no_squares() {
        assert!(squares(&Pattern::new(2, 2, vec![0, 1, 1, 2]).unwrap()).is_empty());
    }
}
