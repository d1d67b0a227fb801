//! From the colours of a camera to sRGB.

use super::tree::{Directory, Tree, tag};

type Matrix = [[f64; 3]; 3];

/// Linear sRGB to XYZ, both with the white of D65.
const SRGB: Matrix = [
    [0.412_456_4, 0.357_576_1, 0.180_437_5],
    [0.212_672_9, 0.715_152_2, 0.072_175_0],
    [0.019_333_9, 0.119_192_0, 0.950_304_1],
];

/// Daylight, 6500 K, as a value of `CalibrationIlluminant`.
const D65: usize = 21;

/// What turns the values of a sensor into linear sRGB.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Color {
    /// Factors of red, green and blue, at least 1: what is white in the picture becomes grey, and what is clipped in one colour is
    /// clipped in all.
    pub(super) balance: [f32; 3],
    /// Balanced values to linear sRGB.
    pub(super) matrix: [[f32; 3]; 3],
}

impl Color {
    /// The matrix for daylight is used, like other plain developers do, and the white balance of the camera.
    pub(super) fn read(tree: &Tree<'_>, directory: &Directory) -> Self {
        let matrix = |tag: u16| -> Option<Matrix> {
            let all = tree.numbers(directory, tag);
            let whole = all.len() == 9 && all.iter().all(|v| v.is_finite());
            whole.then(|| std::array::from_fn(|i| std::array::from_fn(|j| all[3 * i + j])))
        };
        let light = |i: usize| tree.count(directory, tag::ILLUMINANTS[i]);
        let which = match matrix(tag::MATRICES[1]) {
            Some(_) if light(0) != Some(D65) => 1,
            _ => 0,
        };
        let unit: Matrix =
            std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
        let camera = matrix(tag::MATRICES[which]);
        let calibration = matrix(tag::CALIBRATIONS[which]).unwrap_or(unit);
        let analog = tree.numbers(directory, tag::BALANCE);
        let scale: Matrix =
            std::array::from_fn(|i| unit[i].map(|v| v * analog.get(i).copied().unwrap_or(1.0)));
        // XYZ to the camera; without a matrix the camera is taken for sRGB.
        let camera = camera.map_or_else(
            || inverse(&SRGB).unwrap_or(unit),
            |m| product(&scale, &product(&calibration, &m)),
        );
        let mut found = product(&camera, &SRGB);
        // White is where all colours are 1.
        let mut whites = [1.0; 3];
        for (row, white) in found.iter_mut().zip(&mut whites) {
            let sum: f64 = row.iter().sum();
            *white = sum;
            row.iter_mut().for_each(|v| *v /= sum);
        }
        let back = inverse(&found)
            .filter(|m| m.iter().flatten().all(|v| v.is_finite()))
            .unwrap_or(unit);
        let neutral = tree.numbers(directory, tag::NEUTRAL);
        let shot = tree.numbers(directory, tag::WHITE_POINT);
        let neutral: [f64; 3] = match (&neutral[..], &shot[..]) {
            ([r, g, b], _) => [*r, *g, *b],
            (_, [x, y]) if *y > 0.0 => {
                let white = [x / y, 1.0, (1.0 - x - y) / y];
                camera.map(|row| row.iter().zip(white).map(|(m, v)| m * v).sum())
            }
            // Daylight.
            _ => whites,
        };
        let sane = neutral
            .iter()
            .all(|v| v.is_finite() && *v > 1e-3 && *v < 1e3);
        let neutral = if sane { neutral } else { [1.0; 3] };
        let most = neutral.iter().fold(0.0f64, |m, v| m.max(*v));
        Self {
            balance: neutral.map(|v| (most / v) as f32),
            matrix: back.map(|row| row.map(|v| v as f32)),
        }
    }
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
}

/// The inverse by minors.
pub(super) fn inverse(m: &Matrix) -> Option<Matrix> {
    let minor = |i: usize, j: usize| {
        let (a, b) = ((i + 1) % 3, (i + 2) % 3);
        let (c, d) = ((j + 1) % 3, (j + 2) % 3);
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    let determinant: f64 = (0..3).map(|j| m[0][j] * minor(0, j)).sum();
    let made: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| minor(j, i) / determinant));
    (determinant.abs() > 1e-12).then_some(made)
}

/// XYZ to linear sRGB: the matrix of a camera that is sRGB.
pub(super) fn plain() -> [f64; 9] {
    let made = inverse(&SRGB).unwrap_or(SRGB);
    std::array::from_fn(|i| made[i / 3][i % 3])
}
