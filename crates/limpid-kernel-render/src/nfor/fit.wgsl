// Patch distances for G taps at a time.

const WIDE: i32 = TX + 2 * F;
const HIGH: i32 = TY + 2 * F;
const LANES: i32 = TX * TY * K;

// Distances of single pixels, and their sums along rows.
var<workgroup> single: array<array<f32, WIDE * HIGH>, G>;
var<workgroup> sums: array<array<f32, TX * HIGH>, G>;

fn is_in(q: vec2<i32>) -> bool {
    return all(q >= vec2<i32>(0)) && q.x < p.width && q.y < p.height;
}

// The first tap of a row.
fn first_tap(dy: i32) -> i32 {
    return -R + (((R - 2 * dy) % STRIDE) + STRIDE) % STRIDE;
}

// Number of pixels from `at - F` to `at + F` that lie in 0 … n with their partners.
fn number(at: i32, d: i32, n: i32) -> i32 {
    return max(min(at + F + 1, n - max(d, 0)) - max(at - F, max(-d, 0)), 1);
}

// Number of values in the sum of a patch.
fn counted(at: vec2<i32>, o: vec2<i32>) -> f32 {
    return f32(number(at.x, o.x, p.width) * number(at.y, o.y, p.height) * CHANNELS);
}

fn distances(lane: i32, origin: vec2<i32>, first: i32, dy: i32) {
    for (var i = lane; i < WIDE * HIGH; i += LANES) {
        let at = origin + vec2(i % WIDE, i / WIDE) - F;
        let inside = is_in(at);
        let here = select(0, at.y * p.width + at.x, inside);
        for (var g = 0; g < G; g++) {
            let q = at + vec2(first + g * STRIDE, dy);
            var d = 0.0;
            if inside && is_in(q) {
                let there = q.y * p.width + q.x;
                for (var c = 0; c < CHANNELS; c++) {
                    let base = c * p.pixels;
                    let va = variance[base + here] + p.floor;
                    let vb = variance[base + there] + p.floor;
                    let off = guide[base + here] - guide[base + there];
                    d += (off * off - (va + min(va, vb))) / (TINY + (va + vb));
                }
            }
            single[g][i] = d;
        }
    }
    workgroupBarrier();
    for (var i = lane; i < TX * HIGH; i += LANES) {
        let begin = i / TX * WIDE + i % TX;
        for (var g = 0; g < G; g++) {
            var sum = single[g][begin];
            for (var j = 1; j <= 2 * F; j++) {
                sum += single[g][begin + j];
            }
            sums[g][i] = sum;
        }
    }
    workgroupBarrier();
}

// The sum over a patch.
fn down(local: vec2<i32>, g: i32) -> f32 {
    var sum = 0.0;
    for (var j = 0; j <= 2 * F; j++) {
        sum += sums[g][(local.y + j) * TX + local.x];
    }
    return sum;
}

@compute @workgroup_size(TX * TY * K)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let lane = i32(index);
    let k = lane / (TX * TY);
    let local = vec2(lane % TX, lane / TX % TY);
    let origin = vec2(i32(group.x) * TX, i32(group.y) * TY);
    let at = origin + local;
    let inside = is_in(at);
    let here = select(0, at.y * p.width + at.x, inside);
    let own_class = classes[here];
    let over = select(p.over_a, p.over_b, k == 1);
    let mine = own(here);
    var sums: Sums;
    for (var dy = -R; dy <= R; dy++) {
        for (var first = first_tap(dy); first <= R; first += G * STRIDE) {
            distances(lane, origin, first, dy);
            for (var g = 0; g < G; g++) {
                let d = vec2(first + g * STRIDE, dy);
                let q = at + d;
                if d.x > R || !inside || !is_in(q) {
                    continue;
                }
                let there = q.y * p.width + q.x;
                let other = p.parity >= 0 && (((q.x >> p.cell) + (q.y >> p.cell)) & 1) != p.parity;
                if classes[there] != own_class || other {
                    continue;
                }
                let far = max(down(local, g), 0.0) / counted(at, d) * over;
                let w = fast_exp(-(far + apart(mine, there)));
                if w >= LEAST {
                    add(&sums, mine, there, d, w);
                }
            }
        }
    }
    if !inside {
        return;
    }
    let base = k * DATA * p.pixels + here;
    if sums.s0_0 > 0.0 {
        solve(sums, base);
        return;
    }
    for (var plane = 0; plane < DATA; plane++) {
        dst[base + plane * p.pixels] = data[plane * p.pixels + here];
    }
}
