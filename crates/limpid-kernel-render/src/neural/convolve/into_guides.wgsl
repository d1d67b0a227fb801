// Planes in groups of four, for the left and the right pixel of a row of a block: guides, then the data of each level.

fn softplus(v: f32) -> f32 {
    return max(v, 0.0) + log(1.0 + exp(-abs(v)));
}

// Precisions of guides and brightness, distrust in a tap, and a precision for the divisor, its factor, or the share of other results.
fn ranged(v: vec4<f32>, level: u32) -> vec4<f32> {
    var last = softplus(v.w + 3.0);
    if level >= DIVISOR_LEVELS {
        last = exp(3.0 * tanh(v.w / 3.0));
    }
    if level >= DIVISOR_LEVELS + 3u {
        last = 1.0 / (1.0 + exp(-v.w));
    }
    return vec4(softplus(v.x), softplus(v.y - 2.0), 12.0 / (1.0 + exp(3.0 - v.z)), last);
}

// In half precision the eight guides of a set are contiguous.
fn guide_place(group: u32, plane: u32, i: u32) -> u32 {
    if HALF {
        return 2u * (group / 2u * plane + i) + group % 2u;
    }
    return group * plane + i;
}

fn put(group: u32, at: vec2<u32>, v: vec4<f32>) {
    if at.x >= p.to_width || at.y >= p.to_height {
        return;
    }
    let plane = p.to_width * p.to_height;
    let i = at.y * p.to_width + at.x;
    if group < GUIDES_SIZE {
        dst[guide_place(group, plane, i)] = stored(v);
        return;
    }
    if group < GUIDES_SIZE + LEVELS {
        let level = group - GUIDES_SIZE;
        others[level * plane + i] = stored(ranged(v, level));
    }
}

fn finish(block: u32, at: vec2<u32>, a: vec4<f32>, b: vec4<f32>) {
    let pixel = 2u * at + vec2(0u, block % 2u);
    put(block / 2u, pixel, a);
    put(block / 2u, pixel + vec2(1u, 0u), b);
}
