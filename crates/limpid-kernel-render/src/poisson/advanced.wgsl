// x += a p and r -= a A p. Returns r.
fn advanced(at: u32) -> f32 {
    write0[at] += read0[0] * read1[at];
    let r = write1[at] - read0[0] * read2[at];
    write1[at] = r;
    return r;
}

