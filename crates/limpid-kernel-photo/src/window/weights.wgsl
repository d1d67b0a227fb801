// The sum of the factors inside, for a pixel at `at` of `n`.
fn weights(at: i32, n: i32) -> f32 {
    if at >= R && at + R < n {
        return ALL_SIDES;
    }
    var sum = 0.0;
    for (var i = max(-R, -at); i <= min(R, n - 1 - at); i++) {
        sum += side(i);
    }
    return sum;
}
