//! Unit tests of small parts. The library itself is not built as a test: that would compile all kernels once more.

#[expect(dead_code, unreachable_pub, reason = "only what has tests is used")]
#[path = "../src/patch/planes.rs"]
mod planes;
#[expect(dead_code, unreachable_pub, reason = "only what has tests is used")]
#[path = "../src/atrous/shape.rs"]
mod shape;
