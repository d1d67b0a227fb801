// Fetches a layer of the output frame and of the frames around.

fn spline(f: f32) -> vec4<f32> {
    let g = 1.0 - f;
    return vec4<f32>(-0.5 * f * g * g, 1.0 + f * f * (1.5 * f - 2.5), 1.0 + g * g * (1.5 * g - 2.5), -0.5 * g * f * f);
}

fn near(v: f32, n: u32) -> u32 {
    return min(u32(clamp(v, 0.0, f32(n - 1u))), n - 1u);
}

fn pixel(x: u32, y: u32) {
    let pixels = p.width * p.height;
    let at = y * p.width + x;
    var value = vec4<f32>(0.0);
    let own = place(centre()) * CHANNELS * pixels + at;
    for (var c = 0u; c < CHANNELS; c++) {
        value[c] = read0[own + c * pixels] * p.factor;
    }
    write0[at] = stored(value);
    for (var k = 0u; k < 2u * RADIUS; k++) {
        value = vec4<f32>(0.0);
        let away = select(-i32(k / 2u) - 1, i32(k / 2u) + 1, k % 2u == 1u);
        let first = 3u * k * pixels + at;
        if read2[first + 2u * pixels] > 0.0 && there(away) {
            let to = vec2<f32>(read2[first], read2[first + pixels]);
            let corner = floor(to);
            let part = to - corner;
            let wx = spline(part.x);
            let wy = spline(part.y);
            let frame = place(centre() + away) * CHANNELS;
            var plain = vec4<f32>(0.0);
            var sharp = vec4<f32>(0.0);
            var own = vec4<f32>(1.0);
            for (var c = 0u; c < CHANNELS; c++) {
                var sum = 0.0;
                var least = 3.4e38;
                var most = -3.4e38;
                var lines = vec2<f32>(0.0);
                for (var j = 0u; j < 4u; j++) {
                    let row = (frame + c) * pixels + near(corner.y + f32(j) - 1.0, p.height) * p.width;
                    var line = vec4<f32>(0.0);
                    for (var i = 0u; i < 4u; i++) {
                        line[i] = read0[row + near(corner.x + f32(i) - 1.0, p.width)];
                    }
                    sum += wy[j] * dot(wx, line);
                    if j == 1u || j == 2u {
                        least = min(least, min(line.y, line.z));
                        most = max(most, max(line.y, line.z));
                        lines[j - 1u] = line.y + part.x * (line.z - line.y);
                    }
                }
                plain[c] = lines.x + part.y * (lines.y - lines.x);
                sharp[c] = sum;
                let way = sum - plain[c];
                if way != 0.0 {
                    own[c] = clamp((min(max(sum, least), most) - plain[c]) / way, 0.0, 1.0);
                }
            }
            let share = limit(own, (k + 1u) * pixels + at);
            value = (plain + share * (sharp - plain)) * p.factor;
        }
        write0[(k + 1u) * pixels + at] = stored(value);
    }
}
