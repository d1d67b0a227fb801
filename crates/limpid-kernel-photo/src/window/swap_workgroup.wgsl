// Without subgroups, values are exchanged through workgroup memory.
var<workgroup> mail: array<vec4<f32>, 256>;

fn post(v: vec4<f32>, to: u32) -> vec4<f32> {
    workgroupBarrier();
    mail[own] = v;
    workgroupBarrier();
    return mail[to];
}

fn swap_x(v: vec4<f32>) -> vec4<f32> {
    return post(v, own ^ 1u);
}

fn swap_y(v: vec4<f32>) -> vec4<f32> {
    return post(v, own ^ 2u);
}
