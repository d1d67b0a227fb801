//! Stores weights for archives: the low bytes of all half floats, which look like noise, and then the high ones, which compress well. `method/bundled.rs` puts them together.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=weights");
    for name in ["guides", "best", "camera", "camera-best"] {
        if let Err(why) = store(name) {
            println!("cargo::error=weights/{name}.safetensors: {why}");
        }
    }
}

fn store(name: &str) -> Result<(), String> {
    let from = Path::new("weights").join(format!("{name}.safetensors"));
    let bytes = fs::read(from).map_err(|e| e.to_string())?;
    let every_other = |first: usize| bytes.iter().skip(first).step_by(2);
    let apart: Vec<u8> = every_other(0).chain(every_other(1)).copied().collect();
    let folder = env::var_os("OUT_DIR").ok_or("no OUT_DIR")?;
    fs::write(Path::new(&folder).join(format!("{name}.apart")), apart).map_err(|e| e.to_string())
}
