// A workgroup makes 32 columns and ROWS rows of BLOCKS times eight outputs; a thread four pixels in a row of eight of them. Four
// inputs at a time are brought into workgroup memory, with their weights.

const RADIUS: u32 = SIDE / 2u;
const SPAN_X: u32 = 32u + 2u * RADIUS;
const SPAN_Y: u32 = ROWS + 2u * RADIUS;
const TAPS: u32 = SIDE * SIDE;
const THREADS: u32 = 8u * ROWS * BLOCKS;

var<workgroup> tile: array<vec4<f32>, SPAN_X * SPAN_Y>;
var<workgroup> kernels: array<vec4<f32>, 8u * TAPS * BLOCKS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let part = lane / (8u * ROWS);
    let x = lane % 8u * 4u;
    let y = lane / 8u % ROWS;
    let origin = vec2<i32>(vec2(group.x * 32u, group.y * ROWS)) - i32(RADIUS);
    let size = vec2<i32>(vec2(p.width, p.height));
    let block = group.z * BLOCKS + part;
    let inside = min(block, OUTPUTS / 8u - 1u);
    var a0 = weights[2u * inside];
    var b0 = weights[2u * inside + 1u];
    var a1 = a0;
    var b1 = b0;
    var a2 = a0;
    var b2 = b0;
    var a3 = a0;
    var b3 = b0;
    for (var chunk = 0u; chunk < CHUNKS; chunk++) {
        for (var i = lane; i < SPAN_X * SPAN_Y; i += THREADS) {
            let at = origin + vec2<i32>(vec2(i % SPAN_X, i / SPAN_X));
            var v = vec4(0.0);
            if all(at >= vec2(0)) && all(at < size) {
                v = source(chunk, at);
            }
            tile[i] = v;
        }
        for (var i = lane; i < 8u * TAPS * BLOCKS; i += THREADS) {
            let owner = min(group.z * BLOCKS + i / (8u * TAPS), OUTPUTS / 8u - 1u);
            kernels[i] = weights[OUTPUTS / 4u + (owner * CHUNKS + chunk) * 8u * TAPS + i % (8u * TAPS)];
        }
        workgroupBarrier();
        for (var row = 0u; row < SIDE; row++) {
            let from = (y + row) * SPAN_X + x;
            let v0 = tile[from];
            let v1 = tile[from + 1u];
            let v2 = tile[from + 2u];
            let v3 = tile[from + 3u];
            let v4 = tile[min(from + 4u, SPAN_X * SPAN_Y - 1u)];
            let v5 = tile[min(from + 5u, SPAN_X * SPAN_Y - 1u)];
            for (var k = 0u; k < 4u; k++) {
                let at = part * 8u * TAPS + 2u * (k * TAPS + row * SIDE);
                let wa = kernels[at];
                let wb = kernels[at + 1u];
                a0 += v0[k] * wa;
                b0 += v0[k] * wb;
                a1 += v1[k] * wa;
                b1 += v1[k] * wb;
                a2 += v2[k] * wa;
                b2 += v2[k] * wb;
                a3 += v3[k] * wa;
                b3 += v3[k] * wb;
                if SIDE == 3u {
                    let wc = kernels[at + 2u];
                    let wd = kernels[at + 3u];
                    a0 += v1[k] * wc;
                    b0 += v1[k] * wd;
                    a1 += v2[k] * wc;
                    b1 += v2[k] * wd;
                    a2 += v3[k] * wc;
                    b2 += v3[k] * wd;
                    a3 += v4[k] * wc;
                    b3 += v4[k] * wd;
                    let we = kernels[at + 4u];
                    let wf = kernels[at + 5u];
                    a0 += v2[k] * we;
                    b0 += v2[k] * wf;
                    a1 += v3[k] * we;
                    b1 += v3[k] * wf;
                    a2 += v4[k] * we;
                    b2 += v4[k] * wf;
                    a3 += v5[k] * we;
                    b3 += v5[k] * wf;
                }
            }
        }
        workgroupBarrier();
    }
    let at = vec2(group.x * 32u + x, group.y * ROWS + y);
    if block < OUTPUTS / 8u && at.y < p.height {
        if at.x < p.width {
            finish(block, at, a0, b0);
        }
        if at.x + 1u < p.width {
            finish(block, at + vec2(1u, 0u), a1, b1);
        }
        if at.x + 2u < p.width {
            finish(block, at + vec2(2u, 0u), a2, b2);
        }
        if at.x + 3u < p.width {
            finish(block, at + vec2(3u, 0u), a3, b3);
        }
    }
}
