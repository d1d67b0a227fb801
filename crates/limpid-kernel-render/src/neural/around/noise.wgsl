fn light(c: vec3<f32>) -> f32 {
    return max(dot(c, vec3(0.2126, 0.7152, 0.0722)) * p.factor, 0.0);
}

fn pixel(x: u32, y: u32) {
    let n = p.width * p.height;
    let i = y * p.width + x;
    let noisy = light(vec3(read0[i], read0[min(1u, LAST) * n + i], read0[LAST * n + i]));
    let clean = light(vec3(read1[i], read1[min(1u, LAST) * n + i], read1[LAST * n + i]));
    let off = min(abs(noisy - clean) / (clean + DARK), MOST);
    write0[i] = off * off;
}
