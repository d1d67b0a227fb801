//! The CPU bodies: rows of planes.

use super::{Pack, PackFeatures, Packing, Unpack};
use limpid_core::LUMINANCE;
use limpid_plan::{Job, half};
use limpid_reference::definition::atrous::BLACK;

/// Albedo as a divisor.
#[inline(always)]
fn divisor(a: f32) -> f32 {
    if a > BLACK { a } else { 1.0 }
}

pub(super) fn pack(kernel: &Pack, job: &mut Job<'_>) {
    let packed_at = kernel.packed_at;
    for y in job.rows.clone() {
        if kernel.first {
            for row in job.writes[0].rows(y) {
                row.fill(0.0);
            }
        }
        let weights: &[f32] = match (packed_at.variance, packed_at.channels) {
            (true, 3) => &LUMINANCE,
            _ => &[1.0; 3],
        };
        for k in 0..packed_at.channels {
            let from = job.reads[0].row(k, y);
            let plane = packed_at.plane + if packed_at.variance { 0 } else { k };
            let to = job.writes[0].row(plane, y);
            if packed_at.variance && k == 0 {
                to.fill(0.0);
            }
            let albedo = packed_at
                .albedo
                .then(|| job.reads[1].row(k.min(job.reads[1].planes() - 1), y));
            match (albedo, packed_at.variance) {
                (Some(a), false) => {
                    for ((t, f), a) in to.iter_mut().zip(from).zip(a) {
                        *t = f / divisor(*a);
                    }
                }
                (None, false) => to.copy_from_slice(from),
                (Some(a), true) => {
                    for ((t, f), a) in to.iter_mut().zip(from).zip(a) {
                        let scale = weights[k] / divisor(*a);
                        *t += f * scale * scale;
                    }
                }
                (None, true) => {
                    for (t, f) in to.iter_mut().zip(from) {
                        *t += f * weights[k] * weights[k];
                    }
                }
            }
        }
        if kernel.half {
            let planes = if packed_at.variance {
                1
            } else {
                packed_at.channels
            };
            for k in 0..planes {
                half::round(job.writes[0].row(packed_at.plane + k, y));
            }
        }
    }
}

pub(super) fn unpack(kernel: &Unpack, job: &mut Job<'_>) {
    let (packed_at, size) = (kernel.packed_at, job.writes[0].size());
    for y in job.rows.clone() {
        for k in 0..job.writes[0].planes() {
            let to = job.writes[0].row(k, y);
            let plane = packed_at.plane + k;
            match kernel.order {
                Some(order) => {
                    let row = order.place(size.height, y);
                    let from = job.reads[0].row(plane, row);
                    for (x, to) in to.iter_mut().enumerate() {
                        *to = from[order.place(size.width, x)];
                    }
                }
                None => to.copy_from_slice(job.reads[0].row(plane, y)),
            }
            if !packed_at.albedo {
                continue;
            }
            let planes = job.reads[1].planes();
            if kernel.exact {
                for (t, a) in to.iter_mut().zip(job.reads[1].row(k.min(planes - 1), y)) {
                    *t = t.max(0.0) * a;
                }
                continue;
            }
            if packed_at.variance {
                let rows: [&[f32]; 3] =
                    std::array::from_fn(|c| job.reads[1].row(c.min(planes - 1), y));
                for (x, t) in to.iter_mut().enumerate() {
                    let mut a = 0.0;
                    for c in 0..3 {
                        a += LUMINANCE[c] * divisor(rows[c][x]);
                    }
                    *t *= a * a;
                }
            } else {
                for (t, a) in to.iter_mut().zip(job.reads[1].row(k.min(planes - 1), y)) {
                    *t *= divisor(*a);
                }
            }
        }
    }
}

pub(super) fn features(kernel: &PackFeatures, job: &mut Job<'_>) {
    for y in job.rows.clone() {
        for row in job.writes[0].rows(y) {
            row.fill(0.0);
        }
        for (read, (first, planes)) in job.reads.iter().zip(&kernel.layers) {
            for k in 0..*planes {
                let to = job.writes[0].row(first + k, y);
                to.copy_from_slice(read.row(k, y));
                // Depth keeps its precision; the rest is three channels wide.
                if kernel.packing == Packing::Packed && *planes == 3 {
                    half::round(to);
                }
            }
        }
    }
}
