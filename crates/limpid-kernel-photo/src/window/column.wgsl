// Several vertically adjacent pixels per invocation.
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let x = i32(group.x * 32u + lane % 32u);
    let y = i32(group.y * 8u + lane / 32u) * ROWS;
    if x >= i32(p.width) || y >= i32(p.height) {
        return;
    }
    if x >= R && y >= R && x + R < i32(p.width) && y + ROWS - 1 + R < i32(p.height) {
        column_inside(x, y);
    } else {
        column(x, y);
    }
}

fn put(x: i32, y: i32, sums: Sums) {
    if y < i32(p.height) {
        store(x, y, finished(sums));
    }
}
