// A workgroup computes 16×16 pixels: block after block, one thread for each pixel or frequency of a block.

const TILE = 16u;

var<workgroup> cosines: array<f32, 64>;
var<workgroup> first: array<vec3<f32>, 64>;
var<workgroup> second: array<vec3<f32>, 64>;
var<workgroup> parts: array<vec3<f32>, 64>;
// For each pixel the shrunk values, the merged values and the weights; the fourth components are the remaining variances.
var<workgroup> sums: array<vec4<f32>, 256>;
var<workgroup> wholes: array<vec4<f32>, 256>;
var<workgroup> weights: array<vec4<f32>, 256>;

fn pixel(frame: u32, q: vec2<i32>) -> vec3<f32> {
    let c = clamp(q, vec2(0), vec2(i32(p.wide), i32(p.high)) - 1);
    let pixels = p.wide * p.high;
    let at = frame * PLANES * pixels + u32(c.y) * p.wide + u32(c.x);
    var value = vec3(0.0);
    for (var plane = 0u; plane < PLANES; plane++) {
        value[plane] = read0[at + plane * pixels];
    }
    return value;
}

// Interpolates cubically along x if the position is between pixels.
fn along(frame: u32, q: vec2<i32>, half: bool) -> vec3<f32> {
    if !half {
        return pixel(frame, q);
    }
    return 0.5625 * (pixel(frame, q) + pixel(frame, q + vec2(1, 0)))
        - 0.0625 * (pixel(frame, q - vec2(1, 0)) + pixel(frame, q + vec2(2, 0)));
}

fn fetched(frame: u32, place: vec2<i32>, v: vec2<i32>) -> vec3<f32> {
    let q = place + (v >> vec2(1u));
    let half = (v & vec2(1)) == vec2(1);
    if !half.y {
        return along(frame, q, half.x);
    }
    return 0.5625 * (along(frame, q, half.x) + along(frame, q + vec2(0, 1), half.x))
        - 0.0625 * (along(frame, q - vec2(0, 1), half.x) + along(frame, q + vec2(0, 2), half.x));
}

// The transform of the block whose pixels the threads hold, or its inverse: each thread gets one value.
fn transformed(value: vec3<f32>, lane: u32, back: bool) -> vec3<f32> {
    let row = lane / 8u;
    let column = lane % 8u;
    first[lane] = value;
    workgroupBarrier();
    var sum = vec3(0.0);
    for (var i = 0u; i < 8u; i++) {
        sum += cosines[select(8u * column + i, 8u * i + column, back)] * first[8u * row + i];
    }
    second[lane] = sum;
    workgroupBarrier();
    sum = vec3(0.0);
    for (var j = 0u; j < 8u; j++) {
        sum += cosines[select(8u * row + j, 8u * j + row, back)] * second[8u * j + column];
    }
    return sum;
}

// The sum over all threads.
fn total(value: vec3<f32>, lane: u32) -> vec3<f32> {
    parts[lane] = value;
    workgroupBarrier();
    if lane < 8u {
        var sum = vec3(0.0);
        for (var i = 0u; i < 8u; i++) {
            sum += parts[lane + 8u * i];
        }
        parts[lane] = sum;
    }
    workgroupBarrier();
    var sum = vec3(0.0);
    for (var i = 0u; i < 8u; i++) {
        sum += parts[i];
    }
    workgroupBarrier();
    return sum;
}

fn edge(i: u32) -> f32 {
    return EDGE[min(i, 7u - i)];
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let powers = max(vec3(param(64u + lane), param(128u + lane), param(192u + lane)), vec3(1e-6));
    let counts = vec3(param(256u), param(257u), param(258u));
    let over = vec3(param(259u), param(260u), param(261u));
    cosines[lane] = param(lane);
    for (var q = lane; q < 256u; q += 64u) {
        sums[q] = vec4(0.0);
        wholes[q] = vec4(0.0);
        weights[q] = vec4(0.0);
    }
    workgroupBarrier();
    let tile = vec2(i32(group.x * TILE), i32(group.y * TILE));
    let size = vec2(i32(p.width), i32(p.height));
    let mine = vec2(i32(lane % 8u), i32(lane / 8u));
    let middle_frame = place(centre());
    let across = u32(p.number);
    let cells = across * u32((size.y + i32(CELL) - 1) / i32(CELL));
    let blocks = TILE / STEP + 1u;
    // Every second block, in a checkerboard pattern: rows have an odd number of blocks.
    for (var b = 0u; b < blocks * blocks; b += 2u) {
        let start = tile + i32(STEP) * (vec2(i32(b % blocks), i32(b / blocks)) - 1);
        // Blocks that start beyond the image do not exist; the same for all threads.
        if start.x >= size.x || start.y >= size.y {
            continue;
        }
        let at_cell = vec2<u32>(clamp(start + 4, vec2(0), size - 1)) / CELL;
        let cell = at_cell.y * across + at_cell.x;
        let own = transformed(fetched(middle_frame, start + mine, vec2(0)), lane, false);
        var sum = own;
        var weight = vec3(1.0);
        var squares = vec3(1.0);
        // The frames before it, and as many after it as results are delayed; then, where nothing moves, those beyond.
        let known = RADIUS + min(p.ahead, RADIUS);
        let before = p.places / 2u - RADIUS;
        let beyond = before + p.ahead - min(p.ahead, RADIUS);
        var still = true;
        for (var n = 0u; n < known + beyond; n++) {
            var apart_by = 0;
            var v = vec2(0);
            if n < known {
                apart_by = away(n);
                v = vec2(i32(read2[2u * n * cells + cell]), i32(read2[(2u * n + 1u) * cells + cell]));
                still = still && all(v == vec2(0));
            } else {
                if !still {
                    break;
                }
                let far = i32(n - known);
                apart_by = select(far - i32(before) + i32(RADIUS) + 1, far - i32(p.places / 2u), far < i32(before));
            }
            let found = transformed(fetched(place(centre() + apart_by), start + mine, v), lane, false);
            let apart = (found - own) * (found - own) / powers;
            // The difference of the block, and that of its longest waves.
            let whole_block = select(dot(counts, apart), 0.0, lane == 0u);
            let long = select(0.0, dot(SHARES, apart), lane / 8u + lane % 8u <= COARSE);
            let seen = total(vec3(whole_block, long, 0.0), lane);
            let differs = seen.x;
            let near = clamp((BLOCK_MATCH.y - differs) / (BLOCK_MATCH.y - BLOCK_MATCH.x), 0.0, 1.0);
            let coarse = clamp((COARSE_MATCH.y - seen.y) / (COARSE_MATCH.y - COARSE_MATCH.x), 0.0, 1.0);
            let again = clamp((differs - DUPLICATE.x) / (DUPLICATE.y - DUPLICATE.x), 0.0, 1.0);
            let fit = select(0.0, near * again * coarse, there(apart_by));
            let beyonds = max(apart - 2.0, vec3(0.0)) / FREQUENCY_SCALE;
            let w = fit / (1.0 + beyonds * beyonds);
            sum += w * found;
            weight += w;
            squares += w * w;
        }
        let value = sum / weight;
        let variance = powers * squares / (weight * weight);
        let share = LAMBDA * LAMBDA * variance / (value * value + 1e-12);
        let factor = select(max(1.0 - share * share, vec3(0.0)), vec3(1.0), lane == 0u);
        let noise = factor * factor * variance;
        let left = total(noise, lane);
        let counted = edge(lane % 8u) * edge(lane / 8u) / (left / 64.0 + 1e-4);
        let remains = total(variance, lane) / 64.0 * over;
        let made = transformed(factor * value, lane, true);
        let whole = transformed(value, lane, true);
        let to = start + mine - tile;
        if all(to >= vec2(0)) && all(to < vec2(i32(TILE))) {
            let at = u32(to.y) * TILE + u32(to.x);
            sums[at] += vec4(counted * made, counted.x * remains.x);
            wholes[at] += vec4(counted * whole, counted.y * remains.y);
            weights[at] += vec4(counted, counted.z * remains.z);
        }
        workgroupBarrier();
    }
    for (var q = lane; q < 256u; q += 64u) {
        let x = group.x * TILE + q % TILE;
        let y = group.y * TILE + q / TILE;
        if x < p.width && y < p.height {
            let at = y * p.width + x;
            let made = sums[q].xyz / weights[q].xyz;
            let whole = wholes[q].xyz / weights[q].xyz;
            let varies = vec3(sums[q].w, wholes[q].w, weights[q].w) / weights[q].xyz;
            let pixels = p.width * p.height;
            for (var c = 0u; c < PLANES; c++) {
                write0[at + c * pixels] = made[c];
                write0[at + (PLANES + c) * pixels] = whole[c];
                write0[at + (2u * PLANES + c) * pixels] = varies[c];
            }
        }
    }
}
