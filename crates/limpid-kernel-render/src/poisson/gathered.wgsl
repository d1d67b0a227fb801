// The sum over all lanes of a workgroup, for lane 0.
var<workgroup> parts: array<Sum, LANES>;

fn gathered(part: Sum, lane: u32) -> Sum {
    parts[lane] = part;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            parts[lane] += parts[lane + half];
        }
    }
    return parts[0];
}
