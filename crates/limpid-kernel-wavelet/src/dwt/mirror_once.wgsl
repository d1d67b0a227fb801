// The index of sample i in a line of n samples mirrored at its first and last sample, for i at most n beyond its ends.
fn mirror(i: i32, n: u32) -> i32 {
    let last = i32(n) - 1;
    let at = abs(i);
    return min(min(at, abs(2 * last - at)), last);
}
