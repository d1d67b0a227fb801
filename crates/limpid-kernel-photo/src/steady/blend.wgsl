// Blends a layer of the output frame with those of the frames around.

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
    var sums: array<f32, PLANES>;
    for (var c = 0u; c < PLANES; c++) {
        sums[c] = read0[(place(centre()) * PLANES + c) * pixels + at];
    }
    var weights = 1.0;
    for (var k = 0u; k < RADIUS; k++) {
        let alike = read3[k * pixels + at];
        for (var side = 0u; side < 2u; side++) {
            let first = (PLACES * k + 3u * side) * pixels + at;
            let weight = read2[first + 2u * pixels] * alike;
            let away = select(-i32(k) - 1, i32(k) + 1, side == 1u);
            if !(weight > 0.0) || !there(away) {
                continue;
            }
            let to = vec2<f32>(read2[first], read2[first + pixels]);
            let corner = floor(to);
            let part = to - corner;
            let wx = spline(part.x);
            let wy = spline(part.y);
            let frame = place(centre() + away) * PLANES;
            for (var c = 0u; c < PLANES; c++) {
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
                let plain = lines.x + part.y * (lines.y - lines.x);
                let limit = ((2u * k + side) * PLANES + c) * pixels + at;
                sums[c] += weight * limited(plain, sum, least, most, limit);
            }
            weights += weight;
        }
    }
    for (var c = 0u; c < PLANES; c++) {
        write0[c * pixels + at] = sums[c] / weights;
    }
}
