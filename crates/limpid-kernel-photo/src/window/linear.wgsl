// One axis from a linear sampler. Along rows the margin above and below is kept for the columns.
@group(0) @binding(1) var src: texture_2d<f32>;
@group(0) @binding(2) var smooth_sampler: sampler;

var<private> at: vec2<f32>;

fn sampled(offset: f32) -> vec4<f32> {
    let place = select(vec2(at.x + offset, at.y), vec2(at.x, at.y + offset), VERTICAL);
    return textureSampleLevel(src, smooth_sampler, place / vec2<f32>(textureDimensions(src)), 0.0);
}

@fragment
fn main(@builtin(position) place: vec4<f32>) -> @location(0) vec4<f32> {
    at = place.xy;
    let a = sums();
    if VERTICAL {
        return vec4<f32>(a.rgb / a.a, 1.0);
    }
    return a;
}
