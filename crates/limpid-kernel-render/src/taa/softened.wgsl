// The frame alone, blended with its neighbours; bright ones count less.

fn alone(here: vec2<i32>, size: vec2<i32>) -> vec3<f32> {
    var sum = vec4<f32>(0.0);
    for (var y = max(here.y - 1, 0); y <= min(here.y + 1, size.y - 1); y++) {
        for (var x = max(here.x - 1, 0); x <= min(here.x + 1, size.x - 1); x++) {
            let c = color_at(y * size.x + x);
            let share = select(1.0, p.soften, x != here.x) * select(1.0, p.soften, y != here.y);
            sum += share / scale(luma(c)) * vec4<f32>(c, 1.0);
        }
    }
    return sum.xyz / sum.w;
}
