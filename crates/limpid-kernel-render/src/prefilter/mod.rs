//! Removes noise from a feature before it guides a filter: depth of field and motion blur make features noisy too.
//!
//! A mean over the pixels of a 7×7 window whose difference is explained by the feature's own variance
//! (`definition::atrous::prefilter`). Without variance a feature is unchanged.

use limpid_plan::stencil::{Stencil, stencil};
use limpid_reference::definition::atrous::{PREFILTER_LEAST, PREFILTER_RADIUS};

/// The filter, for a feature of this many planes. Reads the feature and its variance; writes the feature.
pub fn prefilter(planes: usize) -> Stencil {
    let radius = PREFILTER_RADIUS as i32;
    let window = (-radius..=radius).flat_map(|dy| (-radius..=radius).map(move |dx| (dx, dy)));
    stencil("prefilter", |k| {
        let [feature, variance] = k.reads();
        let (mut sums, mut weights) = (vec![k.constant(0.0); planes], k.constant(0.0));
        for (dx, dy) in window {
            let (mut far, mut spread) = (k.constant(0.0), k.constant(0.0));
            for plane in 0..planes {
                let (f, v) = (feature.plane(plane), variance.plane(plane));
                far = far + (f.here() - f.at(dx, dy)).squared();
                spread = spread + (v.here() + v.here().min(v.at(dx, dy)));
            }
            let weight = (-((far - spread).max(0.0) / (spread + PREFILTER_LEAST))).exp();
            let weight = k.inside(dx, dy).pick(weight, 0.0);
            for (plane, sum) in sums.iter_mut().enumerate() {
                *sum = *sum + weight * feature.plane(plane).at(dx, dy);
            }
            weights = weights + weight;
        }
        k.write_planes(sums.into_iter().map(|sum| sum / weights));
    })
}
