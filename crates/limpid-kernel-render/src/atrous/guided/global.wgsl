// Sets the stop of a pixel from the variance of the taps next to it in global memory.
fn guide(part: SubImage, at: vec2<u32>, a: ptr<function, Pixel>) {
    var sum = 0.0;
    var weights = 0.0;
    for (var j = -1; j <= 1; j++) {
        for (var i = -1; i <= 1; i++) {
            let q = vec2<i32>(at) + vec2(i, j) * spacing();
            if all(q >= vec2(0)) && all(q < vec2<i32>(part.len)) {
                let g = 0.25 / f32((1 + abs(i)) * (1 + abs(j)));
                sum += g * load(index_of(part, vec2<u32>(q))).w;
                weights += g;
            }
        }
    }
    (*a).stop = stop_of(sum / weights);
    centred(a);
}
