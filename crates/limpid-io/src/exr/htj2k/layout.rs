//! How the samples of a component are cut: resolutions, sub-bands, precincts and code-blocks (ITU-T T.800, annex B).

use super::stream::Stream;

/// A code-block in its sub-band.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// The blocks of one sub-band in a packet, row by row.
#[derive(Debug)]
pub(super) struct Part {
    /// The number of the sub-band, from the coarsest.
    pub(super) band: usize,
    pub(super) across: usize,
    pub(super) down: usize,
    pub(super) blocks: Vec<Block>,
}

/// A packet: a precinct of one resolution of one component.
#[derive(Debug)]
pub(super) struct Packet {
    pub(super) component: usize,
    resolution: usize,
    /// Its corner in the image.
    corner: (usize, usize),
    pub(super) parts: Vec<Part>,
}

/// The size of a component.
pub(super) fn size(stream: &Stream, component: usize) -> (usize, usize) {
    let step = stream.components[component].step;
    (
        stream.width.div_ceil(step.0),
        stream.height.div_ceil(step.1),
    )
}

/// `ceil(length / 2^halvings)`.
fn halved(length: usize, halvings: usize) -> usize {
    match halvings {
        0..32 => length.div_ceil(1 << halvings),
        _ => usize::from(length > 0),
    }
}

/// The sizes of the sub-bands of a component, from the coarsest.
pub(super) fn bands(stream: &Stream, component: usize) -> Vec<(usize, usize)> {
    let (width, height) = size(stream, component);
    let at = |r: usize| {
        let halvings = stream.levels - r;
        (halved(width, halvings), halved(height, halvings))
    };
    let mut bands = vec![at(0)];
    for r in 1..=stream.levels {
        let (low, whole) = (at(r - 1), at(r));
        let high = (whole.0 - low.0, whole.1 - low.1);
        bands.extend([(high.0, low.1), (low.0, high.1), high]);
    }
    bands
}

/// All packets, in the order of the stream.
pub(super) fn packets(stream: &Stream) -> Vec<Packet> {
    let mut all = Vec::new();
    for component in 0..stream.components.len() {
        let bands = bands(stream, component);
        for resolution in 0..=stream.levels {
            precincts(stream, component, resolution, &bands, &mut all);
        }
    }
    all.sort_by_key(|p| {
        let ((x, y), c, r) = (p.corner, p.component, p.resolution);
        match stream.order {
            // One layer: by resolution, then component.
            0 | 1 => [r, c, y, x, 0],
            2 => [r, y, x, c, 0],
            3 => [y, x, c, r, 0],
            _ => [c, y, x, r, 0],
        }
    });
    all
}

/// The packets of one resolution.
fn precincts(
    stream: &Stream,
    component: usize,
    resolution: usize,
    bands: &[(usize, usize)],
    all: &mut Vec<Packet>,
) {
    let step = stream.components[component].step;
    let (width, height) = size(stream, component);
    let halvings = stream.levels - resolution;
    let (width, height) = (halved(width, halvings), halved(height, halvings));
    let precinct = stream.precincts[resolution];
    // Sub-bands have half the size of their resolution, except the coarsest.
    let half = u32::from(resolution > 0);
    let (across, down) = (1 << (precinct.0 - half), 1 << (precinct.1 - half));
    let block = (
        1 << stream.block.0.min(precinct.0 - half),
        1 << stream.block.1.min(precinct.1 - half),
    );
    let numbers = match resolution {
        0 => 0..1,
        r => 3 * r - 2..3 * r + 1,
    };
    let scaled = |i: usize, size: u32, step: usize| {
        (i << size)
            .saturating_mul(step)
            .saturating_mul(1 << halvings.min(40))
    };
    for y in 0..height.div_ceil(1 << precinct.1) {
        for x in 0..width.div_ceil(1 << precinct.0) {
            let parts = numbers.clone().map(|band| {
                let (width, height) = bands[band];
                let columns = (x * across).min(width)..((x + 1) * across).min(width);
                let rows = (y * down).min(height)..((y + 1) * down).min(height);
                let mut blocks = Vec::new();
                if !columns.is_empty() {
                    for y in rows.clone().step_by(block.1) {
                        blocks.extend(columns.clone().step_by(block.0).map(|x| Block {
                            x,
                            y,
                            width: block.0.min(columns.end - x),
                            height: block.1.min(rows.end - y),
                        }));
                    }
                }
                Part {
                    band,
                    across: columns.len().div_ceil(block.0),
                    down: rows.len().div_ceil(block.1),
                    blocks,
                }
            });
            all.push(Packet {
                component,
                resolution,
                corner: (scaled(x, precinct.0, step.0), scaled(y, precinct.1, step.1)),
                parts: parts.collect(),
            });
        }
    }
}
