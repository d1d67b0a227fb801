//! The last step in sequences with motion.

use crate::Layer;
use crate::method::Backend;
use crate::method::svgf::{Setup, Slots, planes, resolve};
use limpid_plan::{Plan, SlotId};

/// The slots that history needs.
pub(super) fn slots(plan: Plan, setup: &Setup, on: Backend) -> Slots {
    Slots {
        plan,
        on,
        colors: setup.settings.colors,
        half: false,
        lights: (planes(&setup.lights), setup.lights.len()),
    }
}

/// Blends the colour, the first of the filtered layers, with the previous result; light layers are scaled like it.
pub(super) fn resolved(
    mut slots: Slots,
    setup: &Setup,
    motion: (Option<SlotId>, Option<SlotId>),
    made: &[(Layer, usize, SlotId)],
) -> Plan {
    let mut made = made.iter();
    if let Some((layer, channels, clean)) = made.next() {
        let output = slots.plan.output(layer.clone(), *channels);
        resolve(&mut slots, setup, [*clean, output], motion);
        for (layer, channels, light) in made {
            slots.follow(layer, *channels, *light, [*clean, output]);
        }
    }
    slots.plan
}
