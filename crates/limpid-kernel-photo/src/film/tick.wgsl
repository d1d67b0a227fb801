@compute @workgroup_size(1)
fn main() {
    write0[0] = write0[0] + 1.0;
    write0[1] = write0[1] + p.number;
}
