fn pixel(x: u32, y: u32) {
    let n = p.width * p.height;
    let i = y * p.width + x;
    let albedo = clamp(albedo_at(i, n), vec3(0.0), vec3(1.0));
    let most = max(albedo.x, max(albedo.y, albedo.z));
    let some = clamp((most - 0.02) / 0.08, 0.0, 1.0);
    let divisor = 1.0 + some * (max(albedo, vec3(0.05)) - 1.0);
    let value = color_at(i, n) * p.exposure / divisor;
    let seen = clamp(value, vec3(0.0), vec3(6e4));
    let normal = clamp(normal_at(i, n), vec3(-1.0), vec3(1.0));
    let depth = depth_at(i);
    var near = 0.0;
    if depth > 0.0 && depth < 1e6 {
        near = depth / (p.depth + 1e-6);
    }
    inputs[i] = stored(vec4(log(1.0 + seen), albedo.x));
    inputs[n + i] = stored(vec4(albedo.yz, normal.xy));
    inputs[2u * n + i] = stored(vec4(normal.z, near / (1.0 + near), more_at(i, n)));
    put_rest(i, n);
    divisors[i] = vec4(divisor, 1.0);
    let light = max(dot(value, vec3(0.2126, 0.7152, 0.0722)), 0.0);
    values[i] = vec4(value, log(light + 0.05));
}
