// One thread looks for the motion of one cell to one frame.

var<private> centre_at: i32;
var<private> other_at: i32;
var<private> cell: vec2<i32>;
var<private> corner: vec2<i32>;
var<private> best: vec2<i32>;
var<private> cost: f32;

fn other(q: vec2<i32>) -> f32 {
    let c = clamp(q, vec2(0), vec2(i32(p.wide), i32(p.high)) - 1);
    return read0[other_at + c.y * i32(p.wide) + c.x];
}

// Takes a motion, in halves of pixels, if it is better; numbers are such that no order of adding rounds.
fn take(v: vec2<i32>, more: f32) {
    let start = corner + (v >> vec2(1u));
    let half = v & vec2(1);
    var sum = more;
    for (var j = 0; j < WINDOW; j += EVERY) {
        if sum >= cost {
            return;
        }
        let row = clamp(corner.y + j, 0, i32(p.high) - 1) * i32(p.wide);
        for (var i = 0; i < WINDOW; i++) {
            let here = read0[centre_at + row + clamp(corner.x + i, 0, i32(p.wide) - 1)];
            let q = start + vec2(i, j);
            var found = other(q);
            if half.x == 1 {
                found = 0.5 * (found + other(q + vec2(1, 0)));
            }
            if half.y == 1 {
                var lower = other(q + vec2(0, 1));
                if half.x == 1 {
                    lower = 0.5 * (lower + other(q + vec2(1, 1)));
                }
                found = 0.5 * (found + lower);
            }
            sum += f32(EVERY) * abs(here - found);
        }
    }
    if sum < cost {
        best = v;
        cost = sum;
    }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    cell = vec2(i32(group.x * 8u + lane % 8u), i32(group.y * 8u + lane / 8u));
    if cell.x >= i32(p.width) || cell.y >= i32(p.height) {
        return;
    }
    let n = group.z;
    let pixels = i32(p.wide * p.high);
    centre_at = i32(place(centre())) * pixels;
    other_at = i32(place(centre() + away(n))) * pixels;
    corner = cell * CELL - (WINDOW - CELL) / 2;
    best = vec2(0);
    cost = 3.4e38;
    if there(away(n)) {
        search(n);
    }
    let cells = p.width * p.height;
    let at = u32(cell.y) * p.width + u32(cell.x);
    write0[2u * n * cells + at] = f32(best.x);
    write0[(2u * n + 1u) * cells + at] = f32(best.y);
}
