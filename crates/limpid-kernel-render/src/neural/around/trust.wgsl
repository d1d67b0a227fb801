fn light(c: vec3<f32>) -> f32 {
    return clamp(dot(c, vec3(0.2126, 0.7152, 0.0722)), 0.0, MOST) + DARK;
}

fn pixel(x: u32, y: u32) {
    let n = p.width * p.height;
    let i = y * p.width + x;
    let own = BRIGHTER * light(result_at(i));
    for (var frame = 0u; frame < FRAMES; frame++) {
        var trust = 0.0;
        if read0[(3u * frame + 2u) * n + i] > 0.0 {
            trust = min(own / light(result_at((frame + 1u) * n + i)), 1.0);
        }
        write0[frame * n + i] = trust * trust;
    }
}
