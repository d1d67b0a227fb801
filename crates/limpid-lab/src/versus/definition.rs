//! Decimated wavelets whose details are thrown away: what figure 10 of Dammertz 2010 compares with.
//!
//! Forward, at each level: details are predicted from their neighbours, then update what stays (Fattal 2009: neighbours
//! count by how alike they are; without features all count alike). CDF(2,2) goes along x, then y; red-black wavelets
//! (Uytterhoeven 1998) take the black pixels of a chessboard, then the corners that remain. Backward, with all details
//! zero, only the prediction is left: pixels are filled in level by level from those that stayed.

use limpid::Image;

/// Which wavelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wavelet {
    /// Cohen, Daubechies, Feauveau with two vanishing moments each, along x, then y.
    Cdf22,
    /// Red and black pixels of a chessboard.
    RedBlack,
}

/// A half of a level: the parities on the grid that become details, those that stay, and where neighbours lie.
pub(super) type Half = ([[usize; 2]; 2], [[usize; 2]; 2], &'static [[i64; 2]]);

impl Wavelet {
    /// The halves of a level.
    pub(super) fn halves(self) -> [Half; 2] {
        const X: &[[i64; 2]] = &[[-1, 0], [1, 0]];
        const Y: &[[i64; 2]] = &[[0, -1], [0, 1]];
        const CROSS: &[[i64; 2]] = &[[-1, 0], [1, 0], [0, -1], [0, 1]];
        const CORNERS: &[[i64; 2]] = &[[-1, -1], [1, -1], [-1, 1], [1, 1]];
        match self {
            Self::Cdf22 => [
                ([[1, 0], [1, 1]], [[0, 0], [0, 1]], X),
                ([[0, 1], [0, 1]], [[0, 0], [0, 0]], Y),
            ],
            Self::RedBlack => [
                ([[1, 0], [0, 1]], [[0, 0], [1, 1]], CROSS),
                ([[1, 1], [1, 1]], [[0, 0], [0, 0]], CORNERS),
            ],
        }
    }
}

/// What even the farthest neighbour weighs, so that there always is a mean.
pub(super) const LEAST: f64 = 1e-12;

/// How alike two pixels of an image are, at a level.
pub(super) type Weight<'a> = dyn Fn(usize, &Image, [usize; 2], [usize; 2]) -> f64 + 'a;

/// Keeps the coarsest of `levels` levels. `weight(level, image, p, q)` is the similarity of two pixels; `None` weights all equally.
pub(super) fn lifted(
    image: &Image,
    wavelet: Wavelet,
    levels: usize,
    weight: Option<&Weight<'_>>,
) -> Image {
    let mut work = image.clone();
    let mut guides = Vec::new();
    for level in 0..levels {
        for (details, stays, near) in wavelet.halves() {
            let guide = work.clone();
            let w = |p, q| weight.map_or(1.0, |w| w(level, &guide, p, q) + LEAST);
            step(&mut work, 1 << level, &details, near, &w, |own, mean| {
                own - mean
            });
            step(&mut work, 1 << level, &stays, near, &w, |own, mean| {
                own + 0.5 * mean
            });
            guides.push(guide);
        }
    }
    for level in (0..levels).rev() {
        for (details, _, near) in wavelet.halves().into_iter().rev() {
            let Some(guide) = guides.pop() else { break };
            let w = |p, q| weight.map_or(1.0, |w| w(level, &guide, p, q) + LEAST);
            step(&mut work, 1 << level, &details, near, &w, |_, mean| mean);
        }
    }
    work
}

/// Makes the pixels of some parities from the weighted mean of their neighbours.
fn step(
    work: &mut Image,
    step: usize,
    parities: &[[usize; 2]],
    near: &[[i64; 2]],
    weight: &dyn Fn([usize; 2], [usize; 2]) -> f64,
    made: impl Fn(f64, f64) -> f64,
) {
    let before = work.clone();
    let (width, height) = (before.width(), before.height());
    for y in (0..height).step_by(step) {
        for x in (0..width).step_by(step) {
            if !parities.contains(&[x / step % 2, y / step % 2]) {
                continue;
            }
            let inside = |[i, j]: &[i64; 2]| {
                let (qx, qy) = (x as i64 + i * step as i64, y as i64 + j * step as i64);
                let inside = qx >= 0 && qy >= 0 && qx < width as i64 && qy < height as i64;
                inside.then_some([qx as usize, qy as usize])
            };
            let taps: Vec<([usize; 2], f64)> = near
                .iter()
                .filter_map(inside)
                .map(|q| (q, weight([x, y], q)))
                .collect();
            if taps.is_empty() {
                continue;
            }
            let sum: f64 = taps.iter().map(|t| t.1).sum();
            for k in 0..before.channels() {
                let value = |(q, w): &([usize; 2], f64)| w * f64::from(before.get(q[0], q[1], k));
                let mean = taps.iter().map(value).sum::<f64>() / sum;
                work.set(x, y, k, made(f64::from(before.get(x, y, k)), mean) as f32);
            }
        }
    }
}
