// A workgroup has TEAM subgroups. Each computes ROWS rows of sixteen pixels, for BLOCKS times sixteen outputs. Sixteen inputs
// at a time are loaded into workgroup memory, contiguous for each pixel: then the pixels of a row at one tap form a matrix. So
// are their weights, once for all subgroups.

const RADIUS: u32 = SIDE / 2u;
const SPAN_X: u32 = 16u + 2u * RADIUS;
const SPAN_Y: u32 = ROWS * TEAM + 2u * RADIUS;
const TAPS: u32 = SIDE * SIDE;
const THREADS: u32 = LANES * TEAM;

alias Pixels = coop_mat16x16<f16, A>;
alias Weights = coop_mat16x16<f16, B>;
alias Sums = coop_mat16x16<f32, C>;

var<workgroup> tile: array<vec4<f16>, SPAN_X * SPAN_Y * PITCH>;
var<workgroup> kernels: array<vec4<f16>, BLOCKS * TAPS * 64u>;
var<workgroup> made: array<vec4<f32>, TEAM * MADE * 16u * MADE_PITCH>;

// Four inputs of a pixel of the tile. There is no branch, so that a thread can wait for all its loads at once.
fn input(chunk: u32, group: vec3<u32>, i: u32) -> Value {
    let pixel = i % (SPAN_X * SPAN_Y);
    let vector = 4u * chunk + i / (SPAN_X * SPAN_Y);
    let corner = vec2(group.x * 16u, group.y * ROWS * TEAM);
    let at = vec2<i32>(corner + vec2(pixel % SPAN_X, pixel / SPAN_X)) - i32(RADIUS);
    let size = vec2<i32>(vec2(p.width, p.height));
    let inside = all(at >= vec2(0)) && all(at < size) && vector < VECTORS;
    let v = source(min(vector, VECTORS - 1u), clamp(at, vec2(0), size - 1));
    return select(Value(), v, inside);
}

fn tile_place(i: u32) -> u32 {
    return i % (SPAN_X * SPAN_Y) * PITCH + i / (SPAN_X * SPAN_Y);
}

// Four weights of the chunk.
fn weight(chunk: u32, group: vec3<u32>, i: u32) -> vec4<f16> {
    let block = min(i / (TAPS * 64u), BLOCKS - 1u);
    return weights[matrix(group.z * BLOCKS + block, chunk, 0u) + i % (TAPS * 64u)];
}

// Converts the sums of a row in workgroup memory, MADE matrices from the given one, to outputs: a lane handles eight of a pixel.
fn leave(group: vec3<u32>, team: u32, lane: u32, first: u32, row: u32) {
    for (var i = lane; i < 32u * MADE; i += LANES) {
        let x = i % 16u;
        let eight = i / 16u;
        let at = vec2(group.x * 16u + x, (group.y * TEAM + team) * ROWS + row);
        if at.x < p.width && at.y < p.height {
            let block = 2u * (group.z * BLOCKS + first) + eight;
            let from_made = ((team * MADE + eight / 2u) * 16u + x) * MADE_PITCH + 2u * (eight % 2u);
            finish(
                block,
                at,
                made[from_made] + vec4<f32>(weights[2u * block]),
                made[from_made + 1u] + vec4<f32>(weights[2u * block + 1u]),
            );
        }
    }
}
