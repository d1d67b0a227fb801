// Eight threads search for the motion of one cell to one frame, each with different candidates.

var<private> centre_at: i32;
var<private> other_at: i32;
var<private> cell: vec2<i32>;
var<private> corner: vec2<i32>;
// The index of the thread within its cell, and the first thread of the cell.
var<private> lane: u32;
var<private> first: u32;
// State shared by all threads of a cell.
var<private> best: vec2<i32>;
var<private> cost: f32;
// The best candidate of this thread, and its position in the order of candidates.
var<private> own: vec2<i32>;
var<private> own_cost: f32;
var<private> own_order: u32;

var<workgroup> costs: array<f32, 64>;
var<workgroup> orders: array<u32, 64>;
var<workgroup> motions: array<vec2<i32>, 64>;

fn other(q: vec2<i32>) -> f32 {
    let c = clamp(q, vec2(0), vec2(i32(p.wide), i32(p.high)) - 1);
    return read0[other_at + c.y * i32(p.wide) + c.x];
}

// Evaluates a motion, in half pixels; values are integers small enough that sums are exact in any order.
fn look(v: vec2<i32>, more: f32, order: u32) {
    let start = corner + (v >> vec2(1u));
    let half = v & vec2(1);
    var sum = more;
    for (var j = 0; j < WINDOW; j += SKIP) {
        if sum >= own_cost {
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
            sum += f32(SKIP) * abs(here - found);
        }
    }
    if sum < own_cost {
        own = v;
        own_cost = sum;
        own_order = order;
    }
}

// Called before candidates are compared with the best.
fn begin() {
    own_cost = cost;
    own_order = 0xffffffffu;
}

// Called after them: selects the best of all threads of the cell, the first if equal. All threads of the group must call it.
fn settle() {
    let at = first + lane;
    costs[at] = own_cost;
    orders[at] = own_order;
    motions[at] = own;
    workgroupBarrier();
    var order = 0xffffffffu;
    for (var i = first; i < first + LANES; i++) {
        let better = costs[i] < cost || (costs[i] == cost && orders[i] < order);
        if orders[i] != 0xffffffffu && better {
            cost = costs[i];
            order = orders[i];
            best = motions[i];
        }
    }
    workgroupBarrier();
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    lane = index % LANES;
    first = index - lane;
    cell = vec2(i32(group.x * 8u + index / LANES), i32(group.y));
    let n = group.z;
    let pixels = i32(p.wide * p.high);
    centre_at = i32(place(centre())) * pixels;
    other_at = i32(place(centre() + away(n))) * pixels;
    corner = cell * CELL - (WINDOW - CELL) / 2;
    best = vec2(0);
    cost = 3.4e38;
    search(n, cell.x < i32(p.width) && there(away(n)));
    if lane == 0u && cell.x < i32(p.width) {
        let cells = p.width * p.height;
        let at = u32(cell.y) * p.width + u32(cell.x);
        write0[2u * n * cells + at] = f32(best.x);
        write0[(2u * n + 1u) * cells + at] = f32(best.y);
    }
}
