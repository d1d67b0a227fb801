@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = i32(group.x * 32u + lane % 32u);
    let y = i32(group.y * 8u + lane / 32u);
    let size = vec2<i32>(vec2(p.width, p.height));
    if x >= size.x || y >= size.y {
        return;
    }
    let low = max(vec2(x, y) - R, vec2(0));
    let high = min(vec2(x, y) + R, size - 1);
    let here = u32(y * size.x + x);
    let own = light(here);
    var sum = 0.0;
    for (var j = low.y; j <= high.y; j++) {
        for (var i = low.x; i <= high.x; i++) {
            sum += select(light(u32(j * size.x + i)), 0.0, i == x && j == y);
        }
    }
    let count = f32(max((high.x - low.x + 1) * (high.y - low.y + 1) - 1, 1));
    let mean = sum / count;
    var squares = 0.0;
    for (var j = low.y; j <= high.y; j++) {
        for (var i = low.x; i <= high.x; i++) {
            let d = light(u32(j * size.x + i)) - mean;
            squares += select(d * d, 0.0, i == x && j == y);
        }
    }
    let limit = mean + DEVIATIONS * sqrt(squares / count);
    scale_all(here, select(1.0, limit / own, own > limit && limit > 0.0));
}
