fn pixel(x: u32, y: u32) {
    let n = p.width * p.height;
    let i = y * p.width + x;
    let albedo = clamp(albedo_at(i, n), vec3(0.0), vec3(1.0));
    let most = max(albedo.x, max(albedo.y, albedo.z));
    let some = clamp((most - 0.02) / 0.08, 0.0, 1.0);
    let divisor = 1.0 + some * (max(albedo, vec3(0.05)) - 1.0);
    let mean = vec3(read3[i], read3[min(1u, LAST) * n + i], read3[LAST * n + i]);
    let seen = log(1.0 + clamp(mean * p.factor / divisor, vec3(0.0), vec3(MOST)));
    write0[i] = seen.x;
    write0[n + i] = seen.y;
    write0[2u * n + i] = seen.z;
    var sums = vec2(1.0);
    for (var frame = 0u; frame < 2u * RADIUS; frame++) {
        sums.x += trust_at(frame, i) * weight(frame, 0u, x, y);
        sums.y += found_at(frame, i) * weight(frame, OF_FEATURES, x, y);
    }
    write0[3u * n + i] = log2(sums.x) / 3.0;
    write0[4u * n + i] = log2(sums.y) / 3.0;
    write0[5u * n + i] = log(max(read0[i], LEAST * LEAST)) / 8.0;
}
