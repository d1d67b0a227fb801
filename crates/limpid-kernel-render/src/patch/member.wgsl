// Which pixels of a patch belong to it.
var<private> member: array<f32, PATCH>;

fn members(x: u32, y: u32) -> f32 {
    var count = 0.0;
    for (var a = 0u; a < PATCH; a++) {
        member[a] = select(0.0, 1.0, weight(x, y, a) > 0.0);
        count += member[a];
    }
    return count;
}
