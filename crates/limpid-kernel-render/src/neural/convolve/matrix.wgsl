// A workgroup has TEAM subgroups. Each computes ROWS rows of sixteen pixels, for BLOCKS times sixteen outputs. Sixteen inputs
// at a time are loaded into workgroup memory, contiguous for each pixel: then the pixels of a row at one tap form a matrix, and
// so do the weights.

const RADIUS: u32 = SIDE / 2u;
const SPAN_X: u32 = 16u + 2u * RADIUS;
const SPAN_Y: u32 = ROWS * TEAM + 2u * RADIUS;
const TAPS: u32 = SIDE * SIDE;
const THREADS: u32 = LANES * TEAM;
// The inputs of a pixel plus padding that spreads pixels over the banks of the memory, in vectors; the same for outputs.
const PITCH: u32 = 6u;
const MADE_PITCH: u32 = 5u;

alias Pixels = coop_mat16x16<f16, A>;
alias Weights = coop_mat16x16<f16, B>;
alias Sums = coop_mat16x16<f32, C>;

var<workgroup> tile: array<vec4<f16>, SPAN_X * SPAN_Y * PITCH>;
var<workgroup> made: array<vec4<f32>, TEAM * BLOCKS * 16u * MADE_PITCH>;

fn bring(chunk: u32, group: vec3<u32>, lane: u32) {
    let origin = vec2<i32>(vec2(group.x * 16u, group.y * ROWS * TEAM)) - i32(RADIUS);
    let size = vec2<i32>(vec2(p.width, p.height));
    for (var i = lane; i < 4u * SPAN_X * SPAN_Y; i += THREADS) {
        let pixel = i % (SPAN_X * SPAN_Y);
        let vector = i / (SPAN_X * SPAN_Y);
        let at = origin + vec2<i32>(vec2(pixel % SPAN_X, pixel / SPAN_X));
        var v = Value();
        if all(at >= vec2(0)) && all(at < size) && 4u * chunk + vector < VECTORS {
            v = source(4u * chunk + vector, at);
        }
        tile[pixel * PITCH + vector] = v;
    }
}

// Converts the sums of a row in workgroup memory to outputs: a lane handles eight of a pixel.
fn leave(group: vec3<u32>, team: u32, lane: u32, row: u32) {
    for (var i = lane; i < 32u * BLOCKS; i += LANES) {
        let x = i % 16u;
        let eight = i / 16u;
        let at = vec2(group.x * 16u + x, (group.y * TEAM + team) * ROWS + row);
        if at.x < p.width && at.y < p.height {
            let block = 2u * group.z * BLOCKS + eight;
            let from_made = ((team * BLOCKS + eight / 2u) * 16u + x) * MADE_PITCH + 2u * (eight % 2u);
            finish(
                block,
                at,
                made[from_made] + vec4<f32>(weights[2u * block]),
                made[from_made + 1u] + vec4<f32>(weights[2u * block + 1u]),
            );
        }
    }
}
