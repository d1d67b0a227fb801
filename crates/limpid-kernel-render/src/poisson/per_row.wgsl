// One workgroup per row: `each` is done for every pixel and gives what it adds to the sum of the row, which `last` gets.
@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let y = group.x + group.y * ROWS;
    var part: Sum;
    if y < p.height {
        for (var x = lane; x < p.width; x += LANES) {
            part += each(x, y);
        }
    }
    let sum = gathered(part, lane);
    if lane == 0u && y < p.height {
        last(y, sum);
    }
}
