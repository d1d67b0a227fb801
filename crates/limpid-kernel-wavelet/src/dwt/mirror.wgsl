// The index of sample i in a line of n samples mirrored at its first and last sample.
fn mirror(i: i32, n: u32) -> i32 {
    let period = 2 * (i32(n) - 1);
    if period == 0 {
        return 0;
    }
    let at = abs(i) % period;
    return min(at, period - at);
}
