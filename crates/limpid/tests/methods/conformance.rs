//! Every schedule of every method on every device produces the image of the definition.
//!
//! The test covers all methods, their example settings, devices (each SIMD level, a GPU with runtime checks on), schedules, and
//! sizes: one pixel, lines, odd, prime, smaller than the filter, larger than a tile. A failing case writes both images and
//! their difference.

#[path = "../support/every.rs"]
mod every;

use crate::support::tolerance;
use limpid::Device;
use limpid::method::{Entry, METHODS, entry};

/// One test per method, so that they run in parallel and can be run alone.
macro_rules! conformance {
    ($($name:ident = $method:literal),* $(,)?) => {
        const COVERED: &[&str] = &[$($method),*];
        $(mod $name {
            #[test]
            fn every_schedule_gives_the_definition_and_tiles_leave_no_seam() {
                let entry = super::entry($method).unwrap();
                // The same devices for both: they keep their shaders, which take longer to compile than to run.
                let devices = super::Device::all_for_tests().unwrap();
                super::every::schedule_gives_the_definition(entry, &devices);
                super::every::tile_is_without_a_seam(entry, &devices);
            }
        })*
    };
}

each_method!(conformance);

#[test]
fn every_method_is_covered() {
    for path in METHODS.iter().map(Entry::path) {
        assert!(
            COVERED.contains(&path.as_str()),
            "{path} has no line in each_method!"
        );
    }
    for (name, _) in tolerance::NAMED {
        assert!(
            METHODS.iter().any(|e| e.path() == *name),
            "tolerance of unknown {name}"
        );
    }
}
