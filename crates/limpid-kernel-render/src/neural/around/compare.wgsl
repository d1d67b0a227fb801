fn light(c: vec3<f32>) -> f32 {
    return max(dot(c, vec3(0.2126, 0.7152, 0.0722)), 0.0);
}

fn logarithm(c: vec3<f32>) -> vec3<f32> {
    return log(DARK + clamp(c, vec3(0.0), vec3(MOST)));
}

fn squared(a: vec3<f32>, b: vec3<f32>, least: f32) -> f32 {
    let d = clamp(a, vec3(least), vec3(1.0)) - clamp(b, vec3(least), vec3(1.0));
    return dot(d, d);
}

fn pixel(x: u32, y: u32) {
    let n = p.width * p.height;
    let i = y * p.width + x;
    let color = color_at(i);
    let result = result_at(i);
    let logs = logarithm(result);
    var off = array<vec3<f32>, 2>(vec3(0.0), vec3(0.0));
    var rest = array<vec3<f32>, 2>(vec3(0.0, DIFFERENT, DIFFERENT), vec3(0.0, DIFFERENT, DIFFERENT));
    for (var side = 0u; side < 2u; side++) {
        let frame = FIRST + side;
        if read1[(3u * frame + 2u) * n + i] > 0.0 {
            let at = (frame + 1u) * n + i;
            let there = result_at(at);
            off[side] = logarithm(there) - logs;
            let both = light(there) + light(result) + 2.0 * DARK;
            rest[side] = vec3(
                clamp((light(color_at(at)) - light(color)) / both, -APART, APART),
                squared(normal_at(at), normal_at(i), -1.0),
                squared(albedo_at(at), albedo_at(i), 0.0),
            );
        }
    }
    let bright = log(DARK + clamp(dot(result, vec3(0.2126, 0.7152, 0.0722)), 0.0, MOST));
    let noise = log(max(read0[i], LEAST * LEAST)) / 8.0;
    write0[i] = stored(vec4(bright, noise, SHARE, off[0].x));
    write0[n + i] = stored(vec4(off[0].yz, rest[0].xy));
    write0[2u * n + i] = stored(vec4(rest[0].z, off[1]));
    write0[3u * n + i] = stored(vec4(rest[1], 0.0));
}
