//! The JPEG reader on any bytes: a picture or an error, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use limpid::io::{Format, ReadOptions, read_bytes};
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let mut options = ReadOptions::default();
    options.need_color = false;
    options.limit = 256 << 20;
    let _ = read_bytes(bytes, Format::Jpeg, Path::new("fuzz"), &options);
});
