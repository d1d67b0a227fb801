//! Lets macOS look for Python's functions when the module is loaded, as it is done elsewhere by default.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "macos") {
        for argument in ["-undefined", "dynamic_lookup"] {
            println!("cargo:rustc-cdylib-link-arg={argument}");
        }
    }
}
