@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let i = (group.y * COLUMNS + group.x) * 256u + thread;
    if i >= p.count {
        return;
    }
    let limit = threshold();
    let real = src[i];
    if COMPLEX {
        let imaginary = src[p.count + i];
        let size = length(vec2<f32>(real, imaginary));
        let share = max(left(size, limit), 0.0);
        let below = size < limit;
        let zero = size == 0.0;
        dst[i] = select(select(real * share, real, zero), p.substitute, below);
        dst[p.count + i] = select(select(imaginary * share, imaginary, zero), 0.0, below);
    } else {
        let size = abs(real);
        let share = max(left(size, limit), 0.0);
        dst[i] = select(select(real * share, real, size == 0.0), p.substitute, size < limit);
    }
}
