// Prepended to every shader.

// e^x for x <= 0; 0 below -87, as `fast_exp` in Rust. GPUs have exp2 in hardware.
fn fast_exp(x: f32) -> f32 {
    return select(0.0, exp2(x * 1.4426950408889634), x > -87.0);
}
