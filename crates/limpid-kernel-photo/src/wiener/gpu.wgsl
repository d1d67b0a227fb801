// A workgroup computes 32×32 pixels: block after block, one thread for each pixel or frequency of a block. Blocks at the border
// of a tile are also computed for the next tile: in smaller tiles these would dominate.

const SIDE = 16u;

var<workgroup> cosines: array<f32, 256>;
var<workgroup> first: array<vec3<f32>, 256>;
var<workgroup> second: array<vec3<f32>, 256>;

// The transform of the block whose pixels the threads hold, or its inverse: each thread gets one value.
fn transformed(value: vec3<f32>, lane: u32, back: bool) -> vec3<f32> {
    let row = lane / SIDE;
    let column = lane % SIDE;
    first[lane] = value;
    workgroupBarrier();
    var sum = vec3(0.0);
    for (var i = 0u; i < SIDE; i++) {
        sum += cosines[select(SIDE * column + i, SIDE * i + column, back)] * first[SIDE * row + i];
    }
    second[lane] = sum;
    workgroupBarrier();
    sum = vec3(0.0);
    for (var j = 0u; j < SIDE; j++) {
        sum += cosines[select(SIDE * row + j, SIDE * j + row, back)] * second[SIDE * j + column];
    }
    return sum;
}

// The mean over all threads.
fn mean(value: vec3<f32>, lane: u32) -> vec3<f32> {
    first[lane] = value;
    workgroupBarrier();
    if lane < SIDE {
        var sum = vec3(0.0);
        for (var i = 0u; i < SIDE; i++) {
            sum += first[lane + SIDE * i];
        }
        second[lane] = sum;
    }
    workgroupBarrier();
    var sum = vec3(0.0);
    for (var i = 0u; i < SIDE; i++) {
        sum += second[i];
    }
    workgroupBarrier();
    return sum / 256.0;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let powers = vec3(param(272u + lane), param(528u + lane), param(784u + lane));
    cosines[lane] = param(lane);
    workgroupBarrier();
    let tile = TILE * vec2<i32>(group.xy);
    let size = vec2(i32(p.width), i32(p.height));
    let mine = vec2(i32(lane % SIDE), i32(lane / SIDE));
    let step = i32(p.step);
    let before = i32(SIDE) - step;
    // Blocks of a row that contain pixels of the tile.
    let blocks = (TILE + before) / step;
    // Sums of the four pixels of this thread.
    var sums: array<vec3<f32>, 4>;
    var weights: array<vec3<f32>, 4>;
    for (var b = 0; b < blocks * blocks; b++) {
        let block = vec2(b % blocks, b / blocks);
        // All blocks, or every second in a checkerboard pattern; a tile starts with an existing block.
        if p.every == 2u && (block.x + block.y) % 2 == 1 {
            continue;
        }
        let start = tile - before + step * block;
        // Blocks that start beyond the image do not exist; the same for all threads.
        if start.x >= size.x || start.y >= size.y {
            continue;
        }
        let q = vec2<u32>(clamp(start + mine, vec2(0), size - 1));
        let at = q.y * p.width + q.x;
        let own = transformed(noisy(at), lane, false);
        let expected = transformed(estimate(at), lane, false);
        var noise = powers;
        if VARIES {
            noise *= mean(variance(at), lane);
        }
        let factor = expected * expected / (expected * expected + noise);
        let left = mean(factor * factor * noise, lane);
        let made = transformed(factor * own, lane, true);
        // Each thread accumulates its pixels of the tile.
        first[lane] = made;
        workgroupBarrier();
        for (var i = 0; i < 4; i++) {
            let to = tile + mine + i32(SIDE) * vec2(i % 2, i / 2) - start;
            if all(to >= vec2(0)) && all(to < vec2(i32(SIDE))) {
                let counts = param(256u + u32(to.x)) * param(256u + u32(to.y)) / (left + 1e-4);
                sums[i] += counts * first[u32(to.y) * SIDE + u32(to.x)];
                weights[i] += counts;
            }
        }
        workgroupBarrier();
    }
    for (var i = 0; i < 4; i++) {
        let q = tile + mine + i32(SIDE) * vec2(i % 2, i / 2);
        if all(q < size) {
            let at = u32(q.y) * p.width + u32(q.x);
            let made = sums[i] / weights[i];
            for (var c = 0u; c < PLANES; c++) {
                write0[at + c * p.width * p.height] = made[c];
            }
        }
    }
}
