//! Nothing but dependencies, with the features that they have when the whole workspace is built. As a development dependency of every
//! crate it makes `cargo test -p CRATE` build them with the same features, and so reuse them.
//!
//! `cargo test -p xtask` says which features are missing here.
