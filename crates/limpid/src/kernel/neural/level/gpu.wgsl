// Each thread makes one pixel.

const LOG2_E: f32 = 1.442695;

fn spline(i: i32) -> f32 {
    return select(select(0.0625, 0.25, abs(i) == 1), 0.375, i == 0);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = i32(group.x * 32u + lane % 32u);
    let y = i32(group.y * 8u + lane / 32u);
    let size = vec2<i32>(vec2(p.width, p.height));
    if x >= size.x || y >= size.y {
        return;
    }
    let n = p.width * p.height;
    let here = u32(y) * p.width + u32(x);
    let own = guides_at(here);
    let stop = others[p.stop * n + here] * LOG2_E;
    var sharpness = 0.0;
    if GUIDED {
        sharpness = others[p.sharpness * n + here] * LOG2_E;
    }
    let bright = src[here].w;
    var total = 1e-12;
    var sums: array<vec4<f32>, VECTORS>;
    for (var j = -2; j <= 2; j++) {
        let row = y + j * i32(p.step);
        if row < 0 || row >= size.y {
            continue;
        }
        for (var i = -2; i <= 2; i++) {
            let column = x + i * i32(p.step);
            if column < 0 || column >= size.x {
                continue;
            }
            let there = u32(row) * p.width + u32(column);
            let other = guides_at(there);
            let d = own.low - other.low;
            let e = own.high - other.high;
            let tap = src[there];
            var exponent = -stop * (dot(d, d) + dot(e, e));
            if GUIDED {
                let off = bright - tap.w;
                exponent -= sharpness * off * off + others[p.distrust * n + there] * LOG2_E;
            }
            let w = spline(i) * spline(j) * exp2(exponent);
            total += w;
            sums[0] += w * tap;
            for (var v = 1u; v < VECTORS; v++) {
                sums[v] += w * src[v * n + there];
            }
        }
    }
    let share = 1.0 / total;
    var color = sums[0] * share;
    if GUIDED {
        color.w = log(max(dot(color.xyz, vec3(0.2126, 0.7152, 0.0722)), 0.0) + 0.05);
    }
    dst[here] = color;
    for (var v = 1u; v < VECTORS; v++) {
        dst[v * n + here] = sums[v] * share;
    }
}
