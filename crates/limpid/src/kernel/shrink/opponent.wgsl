@group(0) @binding(1) var<storage, read> src: array<f32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let at = vec2<u32>(group.x * 16u + thread % 16u, group.y * 16u + thread / 16u);
    if at.x >= p.width || at.y >= p.height {
        return;
    }
    let plane = p.width * p.height;
    let index = at.y * p.width + at.x;
    let v = vec3<f32>(src[index], src[plane + index], src[2u * plane + index]);
    dst[index] = dot(R0, v);
    dst[plane + index] = dot(R1, v);
    dst[2u * plane + index] = dot(R2, v);
}
