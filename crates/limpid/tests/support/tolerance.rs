//! Tolerances of schedules compared with their definition: the largest difference, relative to the largest value.

/// Sums of a few dozen `f32` products in another order, against a definition in `f64`.
pub(crate) const SUMS: f32 = 4e-6;

/// Tolerances of methods that need more, each with its reason.
pub(crate) const NAMED: &[(&str, f32)] = &[
    // Weights are exponentials of sums of squared differences, on a GPU with its own exp2; levels propagate errors.
    ("atrous", 3e-5),
    // Eight filters in sequence, each with sums over 2,809 pixels and weights that depend on the previous result.
    ("ddid", 3e-5),
    // Schemes that fuse steps add large products of either sign: one level of CDF 9/7 by polyconvolution is off by 7e-6 of a
    // constant image, each further level adds as much. Lifting has no such sums. Soft thresholding preserves differences.
    ("filter:dwt", 4e-5),
    ("filter:idwt", 4e-5),
    ("shrink", 1e-4),
    // The root of a difference of squares loses digits where the deviation is small relative to the mean.
    ("filter:variance", 1e-4),
    // Cosines of normals are raised to the power of 128, and with them the last bit of a packed normal.
    ("svgf", 1e-3),
    // The box that clips history is computed from such roots.
    ("taa", 1e-4),
    // The weights of each round depend on the errors of the previous solve.
    ("reconstruct:poisson", 2e-4),
    // So do those of each round here, with weights that are exponentials of quotients of such results, and 16-bit bases.
    ("reconstruct:patch", 2e-3),
    // Variances and slopes are differences of nearly equal numbers, and distances are divided by them.
    ("rdfc", 2e-3),
    // Coefficients are squared, divided and squared again where they are strongly attenuated, after sums in a different order;
    // stabilised values are a hundred times as large as those of the image.
    ("film", 1e-4),
    // Sixteen consecutive convolutions compute guides whose squared differences are exponents, times up to a thousand.
    ("neural", 1e-3),
    // The same convolutions; stabilised values are a hundred times as large as those of the image.
    ("camera", 1e-4),
    // On a GPU the network is in half precision.
    ("ensemble", 4e-3),
    // Normal equations in single precision, solved three times in sequence, each time with weights of the previous result.
    ("nfor", 2e-3),
];

/// Results in half precision: the last digit may be rounded differently at each level.
pub(crate) const HALF: f32 = 2e-3;

/// Hardware samples linearly with 8 bits between two texels, so each pair of taps may be off by 1/512. Mesa's software driver
/// is exact.
pub(crate) const SAMPLER: f32 = 2e-3;

/// The tolerance of a method; `case` has its settings and its schedule.
pub(crate) fn of(method: &str, case: &str) -> f32 {
    if case.contains(" linear ") && !case.contains("llvmpipe") {
        return SAMPLER;
    }
    let half = ["storage: F16", " half ", " matrix "];
    if half.iter().any(|name| case.contains(name)) {
        // Guides in half precision, and in sequences quotients of two results.
        return if method == "neural" { 2.0 * HALF } else { HALF };
    }
    NAMED
        .iter()
        .find(|(name, _)| *name == method)
        .map_or(SUMS, |(_, t)| *t)
}

/// The share of values that may be arbitrary, because the method chooses between nearly equal numbers.
pub(crate) fn jumps(method: &str) -> f32 {
    match method {
        // The candidate with the lowest error is chosen by nfor, and the choice is smoothed over its neighbours.
        "ensemble" => 0.005,
        _ => 0.0,
    }
}
