//! All shaders without a GPU: those of every method, setting and schedule are valid and are kept as text, so that a
//! change shows in review. `INSTA_UPDATE=always cargo test --test shaders` takes new texts.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "support/shaders.rs"]
mod all;
#[expect(dead_code, reason = "only frames are needed here")]
mod support;

use limpid::conformance as known;
use limpid::method::METHODS;

/// Every shader is valid, and runs without runtime checks on the slots of its plan.
#[test]
fn every_shader_is_valid() {
    let count = all::validated(METHODS);
    assert!(count > 200, "{count}");
}

/// One file per kernel name, and none without a kernel.
#[test]
fn texts_are_as_they_were() {
    let texts = all::texts(METHODS);
    for (name, text) in &texts {
        insta::assert_snapshot!(*name, text);
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        let kernel = file
            .strip_prefix("shaders__")
            .and_then(|f| f.strip_suffix(".snap"));
        let known = kernel.is_none_or(|kernel| texts.iter().any(|(name, _)| *name == kernel));
        assert!(
            known,
            "{file}: no kernel has this name any more; delete the file"
        );
    }
}
