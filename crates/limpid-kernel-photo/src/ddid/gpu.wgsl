// One step of the dual-domain filter. THREADS threads share the window of one pixel.

@group(0) @binding(0) var<uniform> p: Params;

var<workgroup> w: array<f32, WORDS * WINDOWS>;

const PLANE: u32 = H * PITCH;
const SIN: u32 = H * QUADS;
// Groups of four pixels that a thread folds.
const SHARE: u32 = (H * H + THREADS - 1u) / THREADS;

fn mirror(at: i32, n: i32) -> i32 {
    if at >= 0 && at < n {
        return at;
    }
    let folded = ((at % (2 * n)) + 2 * n) % (2 * n);
    return min(folded, 2 * n - 1 - folded);
}

// cos(min(π/2, √t))^POWER.
fn cosine(value: f32) -> f32 {
    let t = min(value, COSINE_END);
    var c = COSINE[6];
    c = c * t + COSINE[5];
    c = c * t + COSINE[4];
    c = c * t + COSINE[3];
    c = c * t + COSINE[2];
    c = c * t + COSINE[1];
    c = max(c * t + COSINE[0], 0.0);
    var power = c;
    for (var n = 1u; n < POWER; n++) {
        power *= c;
    }
    return power;
}

fn near(difference: f32) -> f32 {
    if POWER == 0u {
        return fast_exp(-difference * p.range);
    }
    return cosine(difference * p.range);
}

// The share of a coefficient that is noise.
fn noise(re: f32, im: f32, scale: f32) -> f32 {
    let magnitude = re * re + im * im;
    if POWER == 0u {
        return 1.0 - select(fast_exp(-scale / magnitude), 0.0, 87.0 * magnitude <= scale);
    }
    return cosine(magnitude / scale);
}

// The indices of the four pixels (±x, ±y) from the centre: (+,+), (-,+), (+,-), (-,-).
fn places(at: vec2<i32>, x: i32, y: i32) -> vec4<u32> {
    let n = vec2<i32>(i32(p.width), i32(p.height));
    let right = mirror(at.x + x, n.x);
    let left = mirror(at.x - x, n.x);
    let below = mirror(at.y + y, n.y) * n.x;
    let above = mirror(at.y - y, n.y) * n.x;
    return vec4<u32>(vec4<i32>(right + below, left + below, right + above, left + above));
}

fn of_guide(at: vec4<u32>, first: u32) -> vec4<f32> {
    return vec4<f32>(guide[first + at.x], guide[first + at.y], guide[first + at.z], guide[first + at.w]);
}

fn of_noisy(at: vec4<u32>, first: u32) -> vec4<f32> {
    return vec4<f32>(noisy[first + at.x], noisy[first + at.y], noisy[first + at.z], noisy[first + at.w]);
}

// Transforms planes 0 … COUNT of the window at `base`: lines along x, then along y. Bit i of `along_x` and `along_y` selects
// sines for plane i.
fn spectrum(base: u32, lane: u32, first: u32, count: u32, along_x: u32, along_y: u32) {
    workgroupBarrier();
    for (var i = lane; i < count * H; i += THREADS) {
        let plane = first + i / H;
        line(base + plane * PLANE + (i % H) * PITCH, 1u, ((along_x >> plane) & 1u) * SIN);
    }
    workgroupBarrier();
    for (var i = lane; i < count * H; i += THREADS) {
        let plane = first + i / H;
        line(base + plane * PLANE + i % H, PITCH, ((along_y >> plane) & 1u) * SIN);
    }
    workgroupBarrier();
}

@compute @workgroup_size(THREADS * WINDOWS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let lane = index % THREADS;
    let window = index / THREADS;
    let base = window * WORDS;
    let pixels = p.width * p.height;
    // Windows beyond the right border repeat the last pixel's work, so that all threads reach the barriers.
    let column = min(group.x * WINDOWS + window, p.width - 1u);
    let at = vec2<i32>(i32(column), i32(group.y));
    let here = group.y * p.width + column;

    var k: array<vec4<f32>, SHARE>;
    var sums = array<vec4<f32>, 2>();
    for (var s = 0u; s < SHARE; s++) {
        let i = lane + s * THREADS;
        k[s] = vec4<f32>();
        if i < H * H {
            let x = i % H;
            let y = i / H;
            let q = places(at, i32(x), i32(y));
            var off: array<vec4<f32>, PLANES>;
            var difference = vec4<f32>();
            for (var c = 0u; c < PLANES; c++) {
                off[c] = of_guide(q, c * pixels) - guide[c * pixels + here];
                difference += off[c] * off[c];
            }
            // On the axes two of the four pixels, or all of them, coincide.
            let sides = vec4<f32>(1.0, select(0.0, 1.0, x > 0u), select(0.0, 1.0, y > 0u), select(0.0, 1.0, x > 0u && y > 0u));
            let space = p.space[x / 4u][x % 4u] * p.space[y / 4u][y % 4u];
            let weight = sides * space * vec4<f32>(near(difference.x), near(difference.y), near(difference.z), near(difference.w));
            k[s] = weight;
            sums[0].w += dot(weight, vec4<f32>(1.0));
            sums[1].w += dot(weight, weight);
            for (var c = 0u; c < PLANES; c++) {
                sums[0][c] += dot(off[c], weight);
                sums[1][c] += dot(of_noisy(q, c * pixels) - noisy[c * pixels + here], weight);
            }
        }
    }
    for (var i = 0u; i < 4u; i++) {
        w[base + i * THREADS + lane] = sums[0][i];
        w[base + (4u + i) * THREADS + lane] = sums[1][i];
    }
    for (var n = THREADS / 2u; n > 0u; n /= 2u) {
        workgroupBarrier();
        if lane < n {
            for (var i = 0u; i < 8u; i++) {
                w[base + i * THREADS + lane] += w[base + i * THREADS + lane + n];
            }
        }
    }
    workgroupBarrier();
    for (var i = 0u; i < 4u; i++) {
        sums[0][i] = w[base + i * THREADS];
        sums[1][i] = w[base + (4u + i) * THREADS];
    }
    workgroupBarrier();
    let trust = p.trust / sums[0].w;
    let scale = sums[1].w * p.shrink;

    for (var c = 0u; c < PLANES; c++) {
        let first = c * pixels;
        let guide_base = guide[first + here] + sums[0][c] * trust;
        let noisy_base = noisy[first + here] + sums[1][c] * trust;
        // The guide: cos·cos, cos·sin, sin·cos, sin·sin along x and y.
        for (var s = 0u; s < SHARE; s++) {
            let i = lane + s * THREADS;
            if i < H * H {
                let d = (of_guide(places(at, i32(i % H), i32(i / H)), first) - guide_base) * k[s];
                let to = base + i / H * PITCH + i % H;
                w[to] = d.x + d.y + d.z + d.w;
                w[to + PLANE] = d.x + d.y - d.z - d.w;
                w[to + 2u * PLANE] = d.x - d.y + d.z - d.w;
                w[to + 3u * PLANE] = d.x - d.y - d.z + d.w;
            }
        }
        spectrum(base, lane, 0u, 4u, 12u, 10u);
        // Weights of the frequencies (fx, fy) and (fx, -fy) use the first two planes, the noisy image the others.
        for (var s = 0u; s < SHARE; s++) {
            let i = lane + s * THREADS;
            if i < H * H {
                let to = base + i / H * PITCH + i % H;
                let cc = w[to];
                let cs = w[to + PLANE];
                let sc = w[to + 2u * PLANE];
                let ss = w[to + 3u * PLANE];
                // The number of frequencies that the two represent: opposite ones have the same weight.
                let count = select(1.0, 2.0, i % H > 0u) * select(0.5, 1.0, i / H > 0u);
                let here_scale = scale * power(c * H * H + i);
                w[to] = count * noise(cc - ss, sc + cs, here_scale);
                w[to + PLANE] = count * noise(cc + ss, sc - cs, here_scale);
                let d = (of_noisy(places(at, i32(i % H), i32(i / H)), first) - noisy_base) * k[s];
                w[to + 2u * PLANE] = d.x + d.y + d.z + d.w;
                w[to + 3u * PLANE] = d.x - d.y - d.z + d.w;
            }
        }
        spectrum(base, lane, 2u, 2u, 8u, 8u);
        var total = 0.0;
        for (var s = 0u; s < SHARE; s++) {
            let i = lane + s * THREADS;
            if i < H * H {
                let to = base + i / H * PITCH + i % H;
                let cc = w[to + 2u * PLANE];
                let ss = w[to + 3u * PLANE];
                total += w[to] * (cc - ss) + w[to + PLANE] * (cc + ss);
            }
        }
        workgroupBarrier();
        w[base + lane] = total;
        for (var n = THREADS / 2u; n > 0u; n /= 2u) {
            workgroupBarrier();
            if lane < n {
                w[base + lane] += w[base + lane + n];
            }
        }
        workgroupBarrier();
        if lane == 0u && group.x * WINDOWS + window < p.width {
            dst[first + here] = noisy[first + here] - w[base] * p.share;
        }
        workgroupBarrier();
    }
}
