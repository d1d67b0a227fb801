// A workgroup squares the details of its tile and a halo, sums them along the columns, then along the rows.

const SPAN: vec2<u32> = TILE + 2u * vec2(u32(R));
const THREADS: u32 = TILE.x * 8u;

var<workgroup> squares_x: array<f32, SPAN.x * SPAN.y>;
var<workgroup> squares_y: array<f32, SPAN.x * SPAN.y>;
var<workgroup> squares_z: array<f32, SPAN.x * SPAN.y>;

fn put(i: u32, v: vec3<f32>) {
    squares_x[i] = v.x;
    squares_y[i] = v.y;
    squares_z[i] = v.z;
}

fn square_at(i: u32) -> vec3<f32> {
    return vec3(squares_x[i], squares_y[i], squares_z[i]);
}

fn in_rows(part: SubImage, at: vec2<u32>) -> u32 {
    let pixel = part.first + (at << vec2(p.level));
    return pixel.y * p.width + pixel.x;
}

// The position of pixel `at` of a sub-image in this level, in the next one, and in the output.
fn fine_at(part: SubImage, at: vec2<u32>) -> u32 {
    if ROWS {
        return in_rows(part, at);
    }
    return index_of(part, at);
}

fn coarse_at(part: SubImage, halves: Places, at: vec2<u32>) -> u32 {
    if ROWS {
        return in_rows(part, at);
    }
    return place_in_halves(halves, at);
}

fn made_at(part: SubImage, halves: Places, at: vec2<u32>) -> u32 {
    if RESTORE {
        return in_rows(part, at);
    }
    return place_in_halves(halves, at);
}

fn shrunk(d: vec3<f32>, square: vec3<f32>) -> vec3<f32> {
    let noise = vec3(p.noise0, p.noise1, p.noise2);
    let signal = square - noise;
    let threshold = noise / sqrt(max(signal, vec3(1e-20)));
    let left = max(abs(d) - threshold, vec3(0.0)) * sign(d);
    return select(vec3(0.0), left, signal > vec3(0.0));
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let part = part_of(group);
    let halves = halves_of(part);
    let origin = part.tile * TILE;
    if any(origin >= part.len) {
        return;
    }
    for (var i = lane; i < SPAN.x * SPAN.y; i += THREADS) {
        // Coordinates left of and above the sub-image wrap around to huge numbers.
        let at = origin + vec2(i % SPAN.x, i / SPAN.x) - u32(R);
        var d = vec3(0.0);
        if all(at < part.len) {
            d = fine[fine_at(part, at)].xyz - coarse[coarse_at(part, halves, at)].xyz;
        }
        put(i, d * d);
    }
    workgroupBarrier();
    // Four rows of a column share most of their window.
    let column = lane % SPAN.x;
    let quarter = lane / SPAN.x;
    let top = 4u * quarter * SPAN.x + column;
    var s0 = vec3(0.0);
    var s1 = vec3(0.0);
    var s2 = vec3(0.0);
    var s3 = vec3(0.0);
    if quarter < TILE.y / 4u {
        var shared_rows = vec3(0.0);
        for (var j = 3u; j <= 2u * u32(R); j++) {
            shared_rows += square_at(top + j * SPAN.x);
        }
        let below = top + (2u * u32(R) + 1u) * SPAN.x;
        let row1 = square_at(top + SPAN.x);
        let row2 = square_at(top + 2u * SPAN.x);
        let after0 = square_at(below);
        let after1 = square_at(below + SPAN.x);
        s1 = shared_rows + row1 + row2 + after0;
        s2 = shared_rows + row2 + after0 + after1;
        s3 = shared_rows + after0 + after1 + square_at(below + 2u * SPAN.x);
        s0 = shared_rows + row1 + row2 + square_at(top);
    }
    workgroupBarrier();
    if quarter < TILE.y / 4u {
        put(top, s0);
        put(top + SPAN.x, s1);
        put(top + 2u * SPAN.x, s2);
        put(top + 3u * SPAN.x, s3);
    }
    workgroupBarrier();
    for (var row = lane / TILE.x; row < TILE.y; row += THREADS / TILE.x) {
        let at = origin + vec2(lane % TILE.x, row);
        if any(at >= part.len) {
            continue;
        }
        var square = vec3(0.0);
        for (var i = 0u; i <= 2u * u32(R); i++) {
            square += square_at(row * SPAN.x + lane % TILE.x + i);
        }
        let low = max(vec2<i32>(at) - R, vec2(0));
        let high = min(vec2<i32>(at) + R, vec2<i32>(part.len) - 1);
        square /= f32((high.x - low.x + 1) * (high.y - low.y + 1));
        let here = fine_at(part, at);
        let c = coarse[coarse_at(part, halves, at)];
        let kept = shrunk(fine[here].xyz - c.xyz, square);
        made[made_at(part, halves, at)] = base(here, c) + vec4(p.gain * kept, 0.0);
    }
}
