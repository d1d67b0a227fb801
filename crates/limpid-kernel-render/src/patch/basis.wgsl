var<private> columns: array<f32, M * PATCH>;
var<private> turned: array<f32, MOST * M>;

fn pixel(x: u32, y: u32, i: u32) {
    let count = members(x, y);
    let even = 1.0 / sqrt(count);
    for (var j = 0u; j < M; j++) {
        let base = j * p.pixels;
        let here = select(read1[base + i], 0.0, THESIS);
        var sum = 0.0;
        for (var a = 0u; a < PATCH; a++) {
            var v = 0.0;
            if member[a] > 0.0 {
                let d = offset(a);
                v = read1[base + u32(i32(i) + d.y * i32(p.width) + d.x)] - here;
            }
            columns[j * PATCH + a] = v;
            sum += v;
        }
        let mean = select(sum / count, 0.0, THESIS);
        var squares = 0.0;
        for (var a = 0u; a < PATCH; a++) {
            let v = (columns[j * PATCH + a] - mean) * member[a];
            columns[j * PATCH + a] = v;
            squares += v * v;
        }
        var scale = select(0.0, 1.0, THESIS);
        if !THESIS && squares > LEAST_SQUARE * count {
            scale = 1.0 / sqrt(squares);
        }
        for (var a = 0u; a < PATCH; a++) {
            columns[j * PATCH + a] *= scale;
        }
    }
    for (var j = 0u; j < M; j++) {
        for (var k = 0u; k < M; k++) {
            var sum = 0.0;
            for (var a = 0u; a < PATCH; a++) {
                sum += columns[j * PATCH + a] * columns[k * PATCH + a];
            }
            gram[j * M + k] = sum;
        }
    }
    diagonalise();
    var largest = 0.0;
    for (var k = 0u; k < M; k++) {
        largest = max(largest, gram[k * M + k]);
    }
    for (var k = 0u; k < MOST * M; k++) {
        turned[k] = 0.0;
    }
    for (var k = 0u; k < M; k++) {
        let value = gram[k * M + k];
        var rank = 0u;
        for (var l = 0u; l < M; l++) {
            let other = gram[l * M + l];
            if other > value || (other == value && l < k) {
                rank++;
            }
        }
        if rank < KEPT && value > CUT_SQUARE * largest {
            for (var j = 0u; j < M; j++) {
                turned[(rank + FIRST) * M + j] = vectors[j * M + k] / sqrt(value);
            }
        }
    }
    for (var a = 0u; a < PATCH; a++) {
        var b: array<f32, MOST>;
        // Without any feature there is the constant patch.
        b[0] = select(0.0, even * member[a], !THESIS || largest <= 0.0);
        for (var k = FIRST; k < MOST; k++) {
            var sum = b[k];
            for (var j = 0u; j < M; j++) {
                sum += columns[j * PATCH + a] * turned[k * M + j];
            }
            b[k] = sum;
        }
        for (var k = 0u; k < MOST / 2u; k++) {
            write0[(4u * a + k) * p.pixels + i] = pack2x16snorm(vec2(b[2u * k], b[2u * k + 1u]));
        }
    }
}
