//! WebP in builds without the feature `webp`: files are recognised, and refused.

use super::codec::{Codec, Holds};
use super::raster::Transfer;
use limpid_core::Error;
use std::path::Path;

/// WebP in the table of formats.
pub(super) const CODEC: Codec = Codec {
    name: "WebP",
    extensions: &["webp"],
    begins: |bytes| bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP"),
    transfer: Transfer::Encoded,
    holds: Holds::Alpha,
    read: |_, path, _| Err(refused(path)),
    inspect: None,
    write: |page| Err(refused(page.path)),
};

fn refused(path: &Path) -> Error {
    let path = path.display();
    Error::unsupported(format!("{path}: this build of Limpid has no WebP"))
}
