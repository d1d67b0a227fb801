fn pixel(x: u32, y: u32) {
    let n = p.width * p.height;
    let i = y * p.width + x;
    let albedo = clamp(albedo_at(i, n), vec3(0.0), vec3(1.0));
    let most = max(albedo.x, max(albedo.y, albedo.z));
    let some = clamp((most - 0.02) / 0.08, 0.0, 1.0);
    let divisor = 1.0 + some * (max(albedo, vec3(0.05)) - 1.0);
    let mean = vec3(read2[i], read2[min(1u, LAST) * n + i], read2[LAST * n + i]);
    let seen = log(1.0 + clamp(mean * p.factor / divisor, vec3(0.0), vec3(MOST)));
    write0[i] = seen.x;
    write0[n + i] = seen.y;
    write0[2u * n + i] = seen.z;
    for (var k = 0u; k < 2u; k++) {
        var sum = 1.0;
        for (var frame = 0u; frame < 2u * RADIUS; frame++) {
            sum += taken(frame, k * OF_FEATURES, x, y);
        }
        write0[(3u + k) * n + i] = log2(sum) / 3.0;
    }
    write0[5u * n + i] = log(max(read0[i], LEAST * LEAST)) / 8.0;
}
