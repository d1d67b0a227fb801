// A workgroup computes 32 columns and GROUPS times eight rows of BLOCKS times eight outputs; a thread computes eight vertically
// adjacent pixels of eight of them. Four inputs at a time are loaded into workgroup memory, with their weights.

const RADIUS: u32 = SIDE / 2u;
const SPAN_X: u32 = 32u + 2u * RADIUS;
const SPAN_Y: u32 = 8u * GROUPS + 2u * RADIUS;
const TAPS: u32 = SIDE * SIDE;
const THREADS: u32 = 32u * GROUPS * BLOCKS;

var<workgroup> tile: array<vec4<f32>, SPAN_X * SPAN_Y>;
var<workgroup> kernels: array<vec4<f32>, 8u * TAPS * BLOCKS>;

fn weight(i: u32) -> vec4<f32> {
    return vec4(unpack2x16float(weights[i].x), unpack2x16float(weights[i].y));
}

fn bring(chunk: u32, group: vec3<u32>, lane: u32) {
    let origin = vec2<i32>(vec2(group.x * 32u, group.y * 8u * GROUPS)) - i32(RADIUS);
    let size = vec2<i32>(vec2(p.width, p.height));
    for (var i = lane; i < SPAN_X * SPAN_Y; i += THREADS) {
        let at = origin + vec2<i32>(vec2(i % SPAN_X, i / SPAN_X));
        var v = vec4(0.0);
        if all(at >= vec2(0)) && all(at < size) {
            v = source(chunk, at);
        }
        tile[i] = v;
    }
    // A vector of the table holds four inputs of one output; here four outputs of one input are contiguous.
    for (var i = lane; i < 8u * TAPS * BLOCKS; i += THREADS) {
        let part = i / (8u * TAPS);
        let owner = group.z * BLOCKS + part;
        let output = i % 8u;
        let tap = i / 8u % TAPS;
        let v = weight(matrix(owner / 2u, chunk / 4u, tap) + 4u * (8u * (owner % 2u) + output) + chunk % 4u);
        let first = part * 8u * TAPS + 2u * tap + output / 4u;
        for (var k = 0u; k < 4u; k++) {
            kernels[first + 2u * TAPS * k][output % 4u] = v[k];
        }
    }
}
