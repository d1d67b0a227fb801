//! The papers in scalar code, one file per method: short, obvious, slow. Every plan is compared with these.

pub mod around;
pub mod atrous;
pub mod camera;
pub mod ddid;
pub mod dwt;
pub mod eaw;
pub mod film;
pub mod front;
pub mod network;
pub mod neural;
pub mod nfor;
pub mod nlm;
pub mod noise;
pub mod patch;
pub mod poisson;
pub mod rdfc;
pub mod shrink;
pub mod stabilise;

pub mod svgf;
pub mod taa;
pub mod wiener;
pub mod window;
