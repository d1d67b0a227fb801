fn pixel(x: u32, y: u32) {
    let n = p.width * p.height;
    let i = y * p.width + x;
    let first = FACTOR_LEVEL * n + i;
    let factor = vec3(last_at(first), last_at(first + n), last_at(first + 2u * n));
    divisors[i] = vec4(from_divisors[i].xyz * factor, 1.0);
    let value = from_values[i].xyz / factor;
    let light = max(dot(value, vec3(0.2126, 0.7152, 0.0722)), 0.0);
    values[i] = vec4(value, log(light + 0.05));
}
