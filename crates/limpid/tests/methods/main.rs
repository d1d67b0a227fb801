//! Properties that users of the methods rely on. A single program for all: shared parts are compiled once, and tests run in
//! parallel.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../support/mod.rs"]
mod support;
#[path = "../support/walk.rs"]
mod walk;

/// Passes all methods to a macro that creates a test for each: a name for the test, and that of the method.
macro_rules! each_method {
    ($tests:ident) => {
        $tests! {
            atrous = "atrous",
            camera = "camera",
            ddid = "ddid",
            dwt = "filter:dwt",
            eaw = "eaw",
            film = "film",
            bilateral = "filter:bilateral",
            gaussian = "filter:gaussian",
            idwt = "filter:idwt",
            svgf = "svgf",
            shrink = "shrink",
            taa = "taa",
            tent = "filter:tent",
            tent2 = "filter:tent2",
            variance = "filter:variance",
            ensemble = "ensemble",
            neural = "neural",
            nfor = "nfor",
            nlm = "nlm",
            patch = "reconstruct:patch",
            poisson = "reconstruct:poisson",
            rdfc = "rdfc",
        }
    };
}

use limpid::conformance as known;

mod alpha;
mod around;
mod atrous;
mod camera;
mod conformance;
mod ddid;
mod dwt;
mod eaw;
mod film;
mod neural;
mod nfor;
mod noise;
mod patch;
mod plan_forms;
mod poisson;
mod property;
mod rdfc;
#[cfg(feature = "gpu")]
mod recorder;
mod sequence;
mod svgf;
mod taa;
mod window;
