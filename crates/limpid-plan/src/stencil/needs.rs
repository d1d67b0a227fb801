//! What the slots of a stencil must have.

use super::graph::{Graph, Node, Plane, Write};
use crate::{Need, PassSlots};

/// Planes of the slots that are written plane by plane, all with the same expression.
pub(super) fn written_planes(graph: &Graph, pass: &PassSlots<'_>) -> usize {
    let mut each = graph.writes.iter().zip(&pass.writes);
    let first = each.find(|(write, _)| matches!(write, Write::Each(_)));
    first.map_or(0, |(_, slot)| slot.planes)
}

/// All images have the size of the first written one, and the planes that the expressions name.
pub(super) fn needs(graph: &Graph, pass: &PassSlots<'_>) -> Vec<Need> {
    let size = pass.writes[0].size;
    let each = written_planes(graph, pass);
    let up_to = |plane: Plane| match plane {
        Plane::Each(first) => first + each,
        Plane::Fixed(plane) => plane + 1,
    };
    let most = |of: &dyn Fn(&Node) -> Option<Plane>| {
        let planes = graph.nodes.iter().filter_map(of).map(up_to);
        planes.max().unwrap_or(0)
    };
    let read = |k: usize| match graph.single(k) {
        true => Need::values(1),
        false => Need::planes(
            size,
            most(&|node| match node {
                Node::Read { slot, plane, .. } if *slot == k => Some(*plane),
                _ => None,
            }),
        ),
    };
    let written = |k: usize| {
        let own = match &graph.writes[k] {
            Write::Each(_) => each,
            Write::Planes(nodes) => nodes.len(),
        };
        let old = most(&|node| match node {
            Node::Old { slot, plane } if *slot == k => Some(*plane),
            _ => None,
        });
        Need::planes(size, own.max(old))
    };
    let reads = (0..graph.reads).map(read);
    reads.chain((0..graph.writes.len()).map(written)).collect()
}
