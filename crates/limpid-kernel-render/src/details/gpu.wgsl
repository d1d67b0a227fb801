@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.y * p.across + id.x;
    if i >= p.count {
        return;
    }
    var before = vec4(0.0);
    if p.keep > 0.0 {
        before = sum[i];
    }
    let c = load(coarse[i]);
    sum[i] = before + p.gain * (load(fine[i]) - c) + p.coarse * c;
}
