//! One file per subcommand.

pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod denoise;
pub(crate) mod dwt;
pub(crate) mod filter;
pub(crate) mod info;
pub(crate) mod methods;
pub(crate) mod plan;
pub(crate) mod reconstruct;
pub(crate) mod render;
pub(crate) mod shell;
pub(crate) mod view;
