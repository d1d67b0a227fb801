//! There is nothing to build: dependencies of build scripts count only where there is one.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
