fn pixel(x: u32, y: u32, i: u32) {
    var near: array<f32, PATCH>;
    var squares: array<f32, PATCH>;
    for (var a = 0u; a < PATCH; a++) {
        near[a] = p.k0 * weight(x, y, a);
    }
    if REWEIGHTS {
        for (var c = 0u; c < CHANNELS; c++) {
            var low = vec4(0.0);
            var high = vec4(0.0);
            for (var a = 0u; a < PATCH; a++) {
                if near[a] > 0.0 {
                    let v = estimate(c, i, a);
                    let b = basis(a, i);
                    low += v * b[0];
                    high += v * b[1];
                }
            }
            for (var a = 0u; a < PATCH; a++) {
                if near[a] > 0.0 {
                    let b = basis(a, i);
                    let e = near[a] * (dot(low, b[0]) + dot(high, b[1]) - estimate(c, i, a));
                    squares[a] += e * e;
                }
            }
        }
    }
    var cross: array<f32, CROSS_PLANES>;
    for (var a = 0u; a < PATCH; a++) {
        var omega = near[a] * near[a];
        if REWEIGHTS {
            omega /= sqrt(squares[a]) + p.k1;
        }
        write0[a * p.pixels + i] = omega;
        let pair = basis(a, i);
        var b = array<f32, MOST>(pair[0].x, pair[0].y, pair[0].z, pair[0].w, pair[1].x, pair[1].y, pair[1].z, pair[1].w);
        var at = 0u;
        for (var k = 0u; k < MOST; k++) {
            for (var l = k; l < MOST; l++) {
                cross[at] += omega * b[k] * b[l];
                at++;
            }
        }
    }
    for (var k = 0u; k < CROSS_PLANES; k++) {
        write1[k * p.pixels + i] = cross[k];
    }
}

// A channel of the estimate at a pixel of the patch around `i`.
fn estimate(c: u32, i: u32, a: u32) -> f32 {
    let d = offset(a);
    return read2[c * p.pixels + u32(i32(i) + d.y * i32(p.width) + d.x)];
}
