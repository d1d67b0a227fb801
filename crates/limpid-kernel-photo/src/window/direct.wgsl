// All taps from buffers; pixels away from the border need no tests.
fn pixel(px: u32, py: u32) {
    let x = i32(px);
    let y = i32(py);
    if x >= R && y >= R && x + R < i32(p.width) && y + R < i32(p.height) {
        store(x, y, finished(sums_inside(x, y)));
    } else {
        store(x, y, finished(sums(x, y)));
    }
}
