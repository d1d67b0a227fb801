//! Unit tests of small parts. The library itself is not built as a test: that would compile all kernels once more.

#[expect(dead_code, unreachable_pub, reason = "only what has tests is used")]
#[path = "../src/ddid/anscombe.rs"]
mod anscombe;
#[expect(dead_code, reason = "only what has tests is used")]
#[path = "../src/block.rs"]
mod block;
#[path = "../src/own.rs"]
mod own;
#[expect(dead_code, reason = "only what has tests is used")]
#[path = "../src/ddid/table.rs"]
mod table;
#[expect(dead_code, unreachable_pub, reason = "only what has tests is used")]
#[path = "../src/window/mod.rs"]
mod window;
