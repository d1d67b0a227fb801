//! Selects a candidate for each pixel, and blends the candidates (Vicini 2015, lines 22 to 32).

use limpid_plan::stencil::{Stencil, stencil};

/// Three maps of 0 and 1 that mark the candidate with the lowest risk. The first one is selected only if its risk is lower
/// than the others', and its slope not higher than the second's, by a relative margin. Reads the filtered risks (3 planes), and risk and slope of the
/// first and of the second candidate (2 planes each).
pub fn select(margin: f32) -> Stencil {
    stencil("select", |k| {
        let [risks, first, second] = k.reads();
        let [r, g, b] = [0, 1, 2].map(|plane| risks.plane(plane).here());
        let (slope, other) = (first.plane(1).here(), second.plane(1).here());
        let least = r.lt(g.min(b) - margin * (r.abs() + g.abs()));
        let first = least & slope.le(other + margin);
        let second = !first & g.lt(b);
        k.write_planes([first, second, !first & !second].map(|map| map.number()));
    })
}

/// `Σ map_k · candidate_k`, for all planes. Reads the three maps, then the three candidates.
pub fn blend() -> Stencil {
    stencil("blend", |k| {
        let [maps, first, second, third] = k.reads();
        let [r, g, b] = [0, 1, 2].map(|plane| maps.plane(plane).here());
        k.write(r * first.here() + g * second.here() + b * third.here());
    })
}
