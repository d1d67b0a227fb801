//! All shaders without a GPU: those of every method, setting and schedule are valid, and those of the default settings are kept
//! as text, so that a change shows in review. `INSTA_UPDATE=always cargo test --test shaders` takes new texts.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "support/shaders.rs"]
mod all;
#[expect(dead_code, reason = "only frames are needed here")]
mod support;

use limpid::method::METHODS;

#[test]
fn every_shader_is_valid() {
    let count = all::validated(METHODS);
    assert!(count > 200, "{count}");
}

/// One file per kernel name.
#[test]
fn texts_are_as_they_were() {
    for (name, text) in all::texts(METHODS) {
        insta::assert_snapshot!(name, text);
    }
}
