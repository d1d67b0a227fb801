// For each pair of opposite offsets a workgroup computes weights in workgroup memory: distances, sums along rows, sums along
// columns and exponentials, and for patch-wise weights both sums once more.

const PAIRS: i32 = 2 * R * (R + 1);
const WINDOW: i32 = 2 * R + 1;
// Weights are needed for the tile and OUTER pixels around it, distances for F more.
const WIDE: i32 = TX + 2 * OUTER;
const HIGH: i32 = TY + 2 * OUTER;
const FAR_WIDE: i32 = WIDE + 2 * F;
const FAR_HIGH: i32 = HIGH + 2 * F;
const LANES: i32 = TX * TY;

var<workgroup> one: array<array<f32, FAR_WIDE * FAR_HIGH>, KINDS>;
var<workgroup> two: array<array<f32, WIDE * FAR_HIGH>, KINDS>;

// A pixel, its two partners, and which comparisons (p + o, p - o, both) have partners.
struct Trio { p: i32, plus: i32, minus: i32, ok: vec3<bool> }

fn is_in(q: vec2<i32>) -> bool {
    return all(q >= vec2<i32>(0)) && q.x < i32(p.width) && q.y < i32(p.height);
}

fn trio(at: vec2<i32>, o: vec2<i32>) -> Trio {
    let here = is_in(at);
    let plus = here && is_in(at + o);
    let minus = here && is_in(at - o);
    let center = select(0, at.y * i32(p.width) + at.x, here);
    let step = o.y * i32(p.width) + o.x;
    return Trio(center, center + select(0, step, plus), center - select(0, step, minus), vec3(plus, minus, plus && minus));
}

// Number of pixels from `at - F` to `at + F` whose partners lie in 0 … n.
fn number(at: i32, d: i32, n: i32) -> vec3<f32> {
    let low = vec3(max(-d, 0), max(d, 0), abs(d));
    let high = vec3(n - max(d, 0), n - max(-d, 0), n - abs(d));
    return vec3<f32>(max(min(vec3(at + F + 1), high) - max(vec3(at - F), low), vec3(1)));
}

fn counted(at: vec2<i32>, o: vec2<i32>) -> vec3<f32> {
    return number(at.x, o.x, i32(p.width)) * number(at.y, o.y, i32(p.height));
}

// Eq. 3.7 and 3.9, or 3.10, of one channel: values, variances and spreads of centre, plus and minus.
fn distance3(u: vec3<f32>, v: vec3<f32>, s: vec3<f32>, k2: f32, apart: f32) -> vec3<f32> {
    let off = vec3(u.x - u.y, u.x - u.z, u.x - 0.5 * (u.y + u.z));
    let least = vec2(min(v.x, v.y), min(v.x, v.z));
    let less = v.x + vec3(least, 0.25 * (least.x + least.y));
    let spread = s.x + vec3(s.yz, 0.25 * (s.y + s.z));
    return (off * off - apart * less) / (EPSILON + k2 * spread);
}

// The increase of the distance when the centre is perturbed.
fn change3(u: vec3<f32>, s: vec3<f32>, k2: f32) -> vec3<f32> {
    let off = vec3(u.x - u.y, u.x - u.z, u.x - 0.5 * (u.y + u.z));
    let spread = s.x + vec3(s.yz, 0.25 * (s.y + s.z));
    let step = step_of(u.x);
    return step * (2.0 * off + step) / (EPSILON + k2 * spread);
}

fn step_of(u: f32) -> f32 {
    return STEP * max(abs(u), STEP_FLOOR);
}

fn guide3(t: Trio, c: i32) -> vec3<f32> {
    let base = c * i32(p.pixels);
    return vec3(guide[base + t.p], guide[base + t.plus], guide[base + t.minus]);
}

fn variance3(t: Trio, c: i32) -> vec3<f32> {
    let base = c * i32(p.pixels);
    return vec3(variance1(base + t.p), variance1(base + t.plus), variance1(base + t.minus));
}

fn color_distance(t: Trio, apart: f32) -> vec3<f32> {
    var d = vec3(0.0);
    for (var c = 0; c < CHANNELS; c++) {
        let v = variance3(t, c);
        d += distance3(guide3(t, c), v, v, p.k_color * p.k_color, apart);
    }
    return select(vec3(0.0), d, t.ok);
}

fn color_change(t: Trio) -> vec3<f32> {
    var d = vec3(0.0);
    for (var c = 0; c < CHANNELS; c++) {
        d += change3(guide3(t, c), variance3(t, c), p.k_color * p.k_color);
    }
    return d;
}

fn exp3(x: vec3<f32>) -> vec3<f32> {
    return vec3(fast_exp(x.x), fast_exp(x.y), fast_exp(x.z));
}

// Section 3.2.4.
fn combine(w: vec3<f32>, d: vec3<f32>, ok: bool) -> vec3<f32> {
    if !SYMMETRIC || !ok || d.x >= LIMIT || d.y >= LIMIT {
        return w;
    }
    let a = clamp(w.z / (w.x + w.y) - 1.0, 0.0, 1.0);
    return vec3(a * w.z + (1.0 - a) * w.xy, w.z);
}

@compute @workgroup_size(TX * TY)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let lane = i32(index);
    let origin = vec2(i32(group.x) * TX, i32(group.y) * TY);
    let local = vec2(lane % TX, lane / TX);
    let at = origin + local;
    let inside = is_in(at);
    let center = select(0, at.y * i32(p.width) + at.x, inside);
    let pixels = i32(p.pixels);

    var weights = 1.0;
    var sums: array<f32, PAYLOAD>;
    for (var c = 0; c < PAYLOAD; c++) {
        sums[c] = payload(c * pixels + center);
    }
    var moved_weights = 1.0;
    var moved_sums: array<f32, CHANNELS>;
    var squares: array<f32, CHANNELS>;
    for (var c = 0; c < CHANNELS; c++) {
        let u = guide[c * pixels + center];
        moved_sums[c] = u + step_of(u);
        squares[c] = variance1(c * pixels + center);
    }

    for (var pair = 1; pair <= PAIRS; pair++) {
        let place = PAIRS + pair;
        let o = vec2(place % WINDOW - R, place / WINDOW - R);
        let t = trio(at, o);
        var w = vec3(1.0);
        var d = vec3(0.0);
        var moved = vec3(1.0);
        if COLOR {
            for (var i = lane; i < FAR_WIDE * FAR_HIGH; i += LANES) {
                let q = origin + vec2(i % FAR_WIDE, i / FAR_WIDE) - (OUTER + F);
                let far = color_distance(trio(q, o), apart(pair));
                for (var k = 0; k < KINDS; k++) {
                    one[k][i] = far[k];
                }
            }
            workgroupBarrier();
            along(lane, FAR_WIDE, vec2(WIDE, FAR_HIGH));
            workgroupBarrier();
            for (var k = 0; k < KINDS; k++) {
                d[k] = down((local.y + OUTER) * WIDE + local.x + OUTER, k);
            }
            let count = counted(at, o);
            d /= count * f32(CHANNELS);
            if PATCHWISE {
                for (var i = lane; i < WIDE * HIGH; i += LANES) {
                    let q = origin + vec2(i % WIDE, i / WIDE) - OUTER;
                    var far = vec3(0.0);
                    for (var k = 0; k < KINDS; k++) {
                        far[k] = down(i, k);
                    }
                    far /= counted(q, o) * f32(CHANNELS);
                    let weight = select(vec3(0.0), exp3(-max(far, vec3(0.0))), trio(q, o).ok);
                    for (var k = 0; k < KINDS; k++) {
                        one[k][i] = weight[k];
                    }
                }
                workgroupBarrier();
                along(lane, WIDE, vec2(TX, HIGH));
                workgroupBarrier();
                for (var k = 0; k < KINDS; k++) {
                    var sum = 0.0;
                    for (var j = 0; j <= 2 * F; j++) {
                        sum += two[k][(local.y + j) * TX + local.x];
                    }
                    w[k] = sum;
                }
                w /= count;
            } else {
                w = exp3(-max(d, vec3(0.0)));
            }
            if RISK {
                let change = color_change(t) / (count * f32(CHANNELS));
                let exponent = max(d, vec3(0.0)) - max(d + change, vec3(0.0));
                moved = min(w * exp3(min(exponent, vec3(40.0))), vec3(1.0));
                moved = combine(moved, d, t.ok.z);
            }
            w = combine(w, d, t.ok.z);
        }
        let feature_weights = features(t);
        w = select(vec3(0.0), min(w, vec3(feature_weights, 1.0)), t.ok);
        moved = select(vec3(0.0), min(moved, vec3(feature_weights, 1.0)), t.ok);
        weights += w.x + w.y;
        for (var c = 0; c < PAYLOAD; c++) {
            sums[c] += w.x * payload(c * pixels + t.plus) + w.y * payload(c * pixels + t.minus);
        }
        if RISK {
            moved_weights += moved.x + moved.y;
            for (var c = 0; c < CHANNELS; c++) {
                moved_sums[c] += moved.x * guide[c * pixels + t.plus] + moved.y * guide[c * pixels + t.minus];
            }
        }
        if RESIDUAL {
            for (var c = 0; c < CHANNELS; c++) {
                let left = w.x * w.x * variance1(c * pixels + t.plus) + w.y * w.y * variance1(c * pixels + t.minus);
                squares[c] += left;
            }
        }
    }
    if !inside {
        return;
    }
    for (var c = 0; c < PAYLOAD; c++) {
        dst[c * pixels + center] = sums[c] / weights;
    }
    if RISK {
        var risk = 0.0;
        var slope = 0.0;
        for (var c = 0; c < CHANNELS; c++) {
            let u = guide[c * pixels + center];
            let v = variance1(c * pixels + center);
            let f = sums[c] / weights;
            let s = (moved_sums[c] / moved_weights - f) / step_of(u);
            risk += (f - u) * (f - u) - v + 2.0 * v * s;
            slope += s / f32(CHANNELS);
        }
        write_risk(center, risk, slope);
    }
    if RESIDUAL {
        for (var c = 0; c < CHANNELS; c++) {
            write_residual(c * pixels + center, squares[c] / (weights * weights));
        }
    }
}

// Sums along the rows of patches, for rows of width `wide`: `sums` is the number of sums per row and of rows.
fn along(lane: i32, wide: i32, sums: vec2<i32>) {
    for (var i = lane; i < sums.x * sums.y; i += LANES) {
        let first = i / sums.x * wide + i % sums.x;
        for (var k = 0; k < KINDS; k++) {
            var sum = one[k][first];
            for (var j = 1; j <= 2 * F; j++) {
                sum += one[k][first + j];
            }
            two[k][i] = sum;
        }
    }
}

// The sum over the rows of a patch, of sums along rows.
fn down(first: i32, k: i32) -> f32 {
    var sum = 0.0;
    for (var j = 0; j <= 2 * F; j++) {
        sum += two[k][first + j * WIDE];
    }
    return sum;
}
