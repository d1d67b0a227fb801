// 1 in the even and -1 in the odd column and row of a quad.
var<private> tx: i32;
var<private> ty: i32;

fn quad_place(x: i32, y: i32) {
    tx = 1 - 2 * (x & 1);
    ty = 1 - 2 * (y & 1);
}
