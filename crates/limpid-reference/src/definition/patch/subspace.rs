//! The subspace of plausible patches: Vicini 2015, Eq. 5.7, with a truncated singular value decomposition.

use super::{CUT, LEAST_DEVIATION, MOST, PATCH, ROUNDING};

/// An orthonormal basis of the constant patch and of features, without small components; of features as they are in the form
/// of the thesis.
pub fn basis(columns: &[[f64; PATCH]], inside: &[bool; PATCH], thesis: bool) -> Vec<[f64; PATCH]> {
    let count = inside.iter().filter(|i| **i).count() as f64;
    let masked = |v: f64, inside: bool| if inside { v } else { 0.0 };
    let even = inside.map(|i| masked(1.0 / count.sqrt(), i));
    let mut made = if thesis { Vec::new() } else { vec![even] };
    let mut scaled = Vec::new();
    for column in columns {
        if thesis {
            scaled.push(std::array::from_fn(|a| masked(column[a], inside[a])));
            continue;
        }
        let pairs = column.iter().zip(inside);
        let mean = pairs.map(|(v, i)| masked(*v, *i)).sum::<f64>() / count;
        let mut c: [f64; PATCH] = std::array::from_fn(|a| masked(column[a] - mean, inside[a]));
        let squares: f64 = c.iter().map(|v| v * v).sum();
        let long = squares > LEAST_DEVIATION.powi(2) * count;
        let scale = if long { 1.0 / squares.sqrt() } else { 0.0 };
        c = c.map(|v| v * scale);
        scaled.push(c);
    }
    let m = scaled.len();
    let dot = |a: &[f64; PATCH], b: &[f64; PATCH]| a.iter().zip(b).map(|(a, b)| a * b).sum();
    let gram: Vec<Vec<f64>> = scaled
        .iter()
        .map(|a| scaled.iter().map(|b| dot(a, b)).collect())
        .collect();
    let (values, vectors) = eigen(gram);
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    // The smallest is dropped, unless it is the only one.
    let (room, cut) = match thesis {
        true => (MOST, ROUNDING),
        false => (MOST - 1, CUT),
    };
    order.truncate(m.saturating_sub(1).clamp(1, room));
    for k in order {
        let largest = values.iter().copied().fold(0.0, f64::max);
        if values[k] > cut * cut * largest {
            let length = values[k].sqrt();
            made.push(std::array::from_fn(|a| {
                let sum: f64 = (0..m).map(|j| scaled[j][a] * vectors[j][k]).sum();
                sum / length
            }));
        }
    }
    if made.is_empty() {
        made.push(even);
    }
    made
}

/// Eigenvalues and eigenvectors (in columns) of a symmetric matrix, by Jacobi rotations.
fn eigen(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = a.len();
    let mut v: Vec<Vec<f64>> = (0..n)
        .map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect())
        .collect();
    for _ in 0..30 {
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q].abs() < 1e-300 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for row in a.iter_mut().chain(v.iter_mut()) {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (upper, lower) = a.split_at_mut(q);
                for (x, y) in upper[p].iter_mut().zip(&mut lower[0]) {
                    (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                }
            }
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), v)
}
