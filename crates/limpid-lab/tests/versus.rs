//! What holds for the library's methods holds for those to compare with.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

#[path = "../../limpid/tests/support/every.rs"]
mod every;
#[path = "../../limpid/tests/support/shaders.rs"]
mod shaders;
#[path = "../../limpid/tests/support/mod.rs"]
mod support;

use limpid::{Device, Options, Sequence, Watch};
use limpid_lab::versus as known;
use limpid_lab::versus::METHODS;

#[test]
fn every_schedule_gives_the_definition_and_tiles_leave_no_seam() {
    let devices = Device::all_for_tests().unwrap();
    for entry in METHODS {
        every::schedule_gives_the_definition(entry, &devices);
        every::tile_is_without_a_seam(entry, &devices);
    }
}

#[test]
fn every_shader_is_valid() {
    assert!(shaders::validated(METHODS) > 10);
}

/// The text of the one kernel that the library does not have.
#[test]
fn texts_are_as_they_were() {
    let all = shaders::texts(METHODS);
    let (name, text) = all.iter().find(|(name, _)| *name == "lift").unwrap();
    insta::assert_snapshot!(*name, text);
}

#[test]
fn nothing_is_compiled_after_the_first_frame() {
    let size = limpid::Size::new(40, 24);
    for device in Device::own_for_tests().unwrap() {
        let Device::Gpu(gpu) = &device else { continue };
        for entry in METHODS {
            let mut sequence = Sequence::new(&device, &Options::of((entry.make)()));
            let frame = support::frame(size);
            sequence.run(&frame, &Watch::default()).unwrap();
            let built = gpu.pipelines_built();
            let mut brighter = support::frame(size);
            let color = brighter.get_mut(limpid::Layer::COLOR).unwrap();
            color.data_mut().iter_mut().for_each(|v| *v *= 3.0);
            sequence.run(&brighter, &Watch::default()).unwrap();
            assert_eq!(gpu.pipelines_built(), built, "{}", entry.name);
        }
    }
}
