// A scalar computed from the sums of the rows.
@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    var part = 0.0;
    for (var y = lane; y < p.height; y += LANES) {
        part += read0[y];
    }
    let sum = gathered(part, lane);
    if lane == 0u {
        let under = under(sum);
        write0[0] = select(0.0, over(sum) / under, under > 0.0);
        keep(sum);
    }
}
