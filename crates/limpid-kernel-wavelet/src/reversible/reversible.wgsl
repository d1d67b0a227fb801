// A line: its start, the stride of its values, and their number.
struct Line { start: u32, step: u32, n: u32 }

// A sample, mirrored beyond the ends of the line.
fn at(l: Line, i: i32) -> f32 {
    let v = src[l.start + u32(mirror(i, l.n)) * l.step];
    if WHOLE {
        return floor(v * p.whole + 0.5);
    }
    return v;
}

// The difference of an odd sample from the prediction by its neighbours.
fn difference(l: Line, place: i32) -> f32 {
    let i = mirror(place, l.n);
    return at(l, i) - floor((at(l, i - 1) + at(l, i + 1)) * 0.5);
}

fn coefficient(l: Line, i: i32) -> f32 {
    let low = i32(l.n + 1u) / 2;
    if l.n == 1u {
        return at(l, 0);
    }
    if i < low {
        return at(l, 2 * i) + floor((difference(l, 2 * i - 1) + difference(l, 2 * i + 1) + 2.0) * 0.25);
    }
    return difference(l, 2 * (i - low) + 1);
}

// The coefficient at a position of the mirrored line of samples.
fn stored(l: Line, place: i32) -> f32 {
    let i = u32(mirror(place, l.n));
    let at = i / 2u + select(0u, (l.n + 1u) / 2u, i % 2u == 1u);
    return floor(src[l.start + at * l.step] + 0.5);
}

fn even(l: Line, place: i32) -> f32 {
    let i = mirror(place, l.n);
    return stored(l, i) - floor((stored(l, i - 1) + stored(l, i + 1) + 2.0) * 0.25);
}

fn restored(l: Line, i: i32) -> f32 {
    if l.n == 1u {
        return stored(l, 0);
    }
    if i % 2 == 0 {
        return even(l, i);
    }
    return stored(l, i) + floor((even(l, i - 1) + even(l, i + 1)) * 0.5);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let x = group.x * 32u + thread % 32u;
    let y = group.y * 8u + thread / 32u;
    if x >= p.width || y >= p.height {
        return;
    }
    let plane = group.z * p.src_height * p.src_width;
    var line = Line(plane + y * p.src_width, 1u, p.width);
    if DOWN {
        line = Line(plane + x, p.src_width, p.height);
    }
    let i = i32(select(x, y, DOWN));
    var v = 0.0;
    if BACK {
        v = restored(line, i);
        if WHOLE {
            v = v / p.whole;
        }
    } else {
        v = coefficient(line, i);
    }
    dst[(group.z * p.dst_height + y) * p.dst_width + x] = v;
}
