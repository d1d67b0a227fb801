// Temporal accumulation of a frame.

fn pixel(x: u32, y: u32) {
    let q = vec2(x, y);
    let i = y * p.width + x;
    let id = id_at(q);
    let bits = packed(surface_at(q, id));
    let c = light_at(q);
    let l = luminance(c);
    // Features are compared in their stored precision.
    let seen = blended(q, unpacked(bits), id, Seen(vec4(c, 0.0), vec3(l, l * l, 1.0)));
    put(i, seen.c);
    features[i] = bits;
    moments[i] = vec4(seen.m, id);
    put_lights(i);
}
