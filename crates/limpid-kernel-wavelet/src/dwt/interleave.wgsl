// The position among sub-bands of coefficient i of an interleaved line of n samples, in a band of the given level.
fn place(i: u32, n: u32, level: u32) -> u32 {
    var low = n;
    for (var l = 0u; l < level; l++) {
        low = (low + 1u) / 2u;
    }
    let at = i >> level;
    if level == p.levels {
        return at;
    }
    return at / 2u + select(0u, (low + 1u) / 2u, at % 2u == 1u);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let x = group.x * 32u + thread % 32u;
    let y = group.y * 8u + thread / 32u;
    if x >= p.width || y >= p.height {
        return;
    }
    let level = min(countTrailingZeros(x | y), p.levels);
    let row = group.z * p.height;
    let spread = (row + y) * p.width + x;
    let packed = (row + place(y, p.height, level)) * p.width + place(x, p.width, level);
    if BACK {
        dst[packed] = src[spread];
    } else {
        dst[spread] = src[packed];
    }
}
