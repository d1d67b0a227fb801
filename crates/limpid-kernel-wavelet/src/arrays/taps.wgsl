// A word of the table; no index leads out of it.
fn word(at: u32) -> u32 {
    return table[min(at, p.words - 1u)];
}

fn weight(at: u32, map: u32) -> f32 {
    return bitcast<f32>(word(at + 1u + map));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let i = (group.y * COLUMNS + group.x) * 256u + thread;
    if i >= p.count {
        return;
    }
    let lines = i / p.inner;
    let o = lines % p.after;
    // The first sample of the line.
    let line = lines / p.after * p.before * p.inner + i % p.inner;
    let last = p.before - 1u;
    var sum = vec2<f32>(0.0);
    if o >= p.first && o < p.end {
        let first = i32(p.stride * (o / p.phases));
        var at = o % p.phases * p.terms * (1u + MAPS);
        for (var t = 0u; t < p.terms; t++) {
            let k = min(u32(max(first + bitcast<i32>(word(at)), 0)), last);
            sum = term(sum, at, line + k * p.inner);
            at += 1u + MAPS;
        }
    } else {
        let end = select(o - (p.end - p.first), o, o < p.first);
        var at = (p.phases * p.terms + end * p.end_terms) * (1u + MAPS);
        for (var t = 0u; t < p.end_terms; t++) {
            sum = term(sum, at, line + min(word(at), last) * p.inner);
            at += 1u + MAPS;
        }
    }
    put(i, sum);
}
