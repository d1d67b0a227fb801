// Diagonalises `gram`, and stores its eigenvectors in the columns of `vectors`.
var<private> gram: array<f32, M * M>;
var<private> vectors: array<f32, M * M>;

fn diagonalise() {
    for (var i = 0u; i < M; i++) {
        for (var j = 0u; j < M; j++) {
            vectors[i * M + j] = select(0.0, 1.0, i == j);
        }
    }
    for (var sweep = 0u; sweep < SWEEPS; sweep++) {
        for (var a = 0u; a < M; a++) {
            for (var b = a + 1u; b < M; b++) {
                let ab = gram[a * M + b];
                if abs(ab) < SMALL {
                    continue;
                }
                let theta = (gram[b * M + b] - gram[a * M + a]) / (2.0 * ab);
                // Far from 45 degrees the square of theta would overflow; there t is half of one over it.
                let root = select(sqrt(theta * theta + 1.0), abs(theta), abs(theta) > 1e15);
                let t = select(-1.0, 1.0, theta >= 0.0) / (abs(theta) + root);
                let c = 1.0 / sqrt(t * t + 1.0);
                let s = t * c;
                for (var k = 0u; k < M; k++) {
                    let x = gram[k * M + a];
                    let y = gram[k * M + b];
                    gram[k * M + a] = c * x - s * y;
                    gram[k * M + b] = s * x + c * y;
                    let u = vectors[k * M + a];
                    let w = vectors[k * M + b];
                    vectors[k * M + a] = c * u - s * w;
                    vectors[k * M + b] = s * u + c * w;
                }
                for (var k = 0u; k < M; k++) {
                    let x = gram[a * M + k];
                    let y = gram[b * M + k];
                    gram[a * M + k] = c * x - s * y;
                    gram[b * M + k] = s * x + c * y;
                }
            }
        }
    }
}
