//! The CPU body: each operation is a loop over a strip of a row, in buffers that stay in the first-level cache.

use super::graph::{Binary, Graph, Node, Plane, Unary, Write};
use crate::fast_exp::{fast_exp, fast_ln};
use crate::{Job, View, ViewMut};
use fearless_simd::Simd;
use limpid_core::Size;
use limpid_core::simd::dispatch;

/// Words of all buffers together: 24 KiB stay in the first-level cache.
const WORDS: usize = 6 << 10;

/// Smallest and largest number of pixels of a strip: operations need enough pixels to amortise their call.
const PIXELS: [usize; 2] = [128, 2048];

/// A prepared graph: the order of operations, and the buffers of their results.
#[derive(Debug)]
pub(super) struct Program {
    graph: Graph,
    /// The buffer of each node; `None` if it is read from a row or written to one.
    place: Vec<Option<usize>>,
    /// The output plane that a node is computed into, if it has no other use.
    target: Vec<Option<(usize, Plane)>>,
    /// Nodes in order: those that are the same for all planes, and those that are not.
    once: Vec<usize>,
    each: Vec<usize>,
    /// Number of buffers.
    buffers: usize,
    /// Pixels of a strip.
    pixels: usize,
}

/// A segment of an output row, for a plane if a node depends on it.
#[derive(Clone, Copy)]
struct Strip {
    x: usize,
    y: usize,
    count: usize,
    plane: usize,
    /// Size of the whole image.
    size: Size,
}

impl Strip {
    fn plane(&self, plane: Plane) -> usize {
        match plane {
            Plane::Each(first) => self.plane + first,
            Plane::Fixed(plane) => plane,
        }
    }

    /// The segment of an output row.
    fn of<'a>(&self, write: &'a mut ViewMut<'_>, plane: Plane) -> &'a mut [f32] {
        &mut write.row(self.plane(plane), self.y)[self.x..self.x + self.count]
    }

    /// The segment of a row that a read covers; empty if it extends beyond the row.
    #[inline(always)]
    fn row<'a>(&self, view: &View<'a>, plane: Plane, [dx, dy]: [i32; 2]) -> &'a [f32] {
        let last = view.size().height as i32 - 1;
        let y = (self.y as i32 + dy).clamp(0, last) as usize;
        let row = view.row(self.plane(plane), y);
        let start = self.x as i32 + dx;
        usize::try_from(start)
            .ok()
            .and_then(|start| row.get(start..start + self.count))
            .unwrap_or_default()
    }
}

impl Program {
    pub(super) fn new(graph: &Graph) -> Self {
        let by_plane = graph.by_plane();
        let count = graph.nodes.len();
        let of_kind = |kind: bool| {
            let nodes = (0..count).filter(|i| by_plane[*i] == kind);
            nodes.filter(|i| !graph.nodes[*i].is_number()).collect()
        };
        let (once, each): (Vec<usize>, Vec<usize>) = (of_kind(false), of_kind(true));
        let target = targets(graph);
        let (place, buffers) = places(graph, &by_plane, &target);
        Self {
            graph: graph.clone(),
            place,
            target,
            once,
            each,
            buffers,
            pixels: (WORDS / buffers.max(1) / 16 * 16).clamp(PIXELS[0], PIXELS[1]),
        }
    }

    /// Words of scratch memory.
    pub(super) fn scratch(&self) -> usize {
        self.buffers * self.pixels
    }

    pub(super) fn run(&self, job: &mut Job<'_>) {
        let level = job.level;
        dispatch!(level, simd => self.band(simd, job));
    }

    #[inline(always)]
    fn band<S: Simd>(&self, simd: S, job: &mut Job<'_>) {
        let buffers = &mut job.scratch[..self.buffers * self.pixels];
        for (node, place) in self.graph.nodes.iter().zip(&self.place) {
            let value = match node {
                Node::Constant(bits) => f32::from_bits(*bits),
                Node::Param(k) => self.graph.params[*k],
                Node::First { slot } => job.reads[*slot].row(0, 0)[0],
                _ => continue,
            };
            if let Some(at) = place {
                buffers[at * self.pixels..][..self.pixels].fill(value);
            }
        }
        let (reads, writes) = (&job.reads[..], &mut job.writes[..]);
        let (size, planes) = (writes[0].size(), self.planes(writes));
        // Without anything in common, planes are made one after the other: fewer rows are read at a time.
        let each = |write: &Write| matches!(write, Write::Each(_));
        let common = !self.once.is_empty() || !self.graph.writes.iter().all(each);
        let apart = if common { 1 } else { planes };
        for outer in 0..apart {
            for y in job.rows.clone() {
                for x in (0..size.width).step_by(self.pixels) {
                    let mut strip = Strip {
                        x,
                        y,
                        count: self.pixels.min(size.width - x),
                        plane: outer,
                        size,
                    };
                    if common {
                        self.section(simd, &self.once, strip, (reads, writes), buffers);
                        self.copy(strip, false, reads, writes, buffers);
                    }
                    for plane in if common { 0..planes } else { outer..outer + 1 } {
                        strip.plane = plane;
                        self.section(simd, &self.each, strip, (reads, writes), buffers);
                        self.copy(strip, true, reads, writes, buffers);
                    }
                }
            }
        }
    }

    /// How many planes are made one by one.
    fn planes(&self, writes: &[ViewMut<'_>]) -> usize {
        let mut each = self.graph.writes.iter().zip(writes);
        let first = each.find(|(write, _)| matches!(write, Write::Each(_)));
        first.map_or(0, |(_, view)| view.planes())
    }

    /// Computes nodes in order.
    #[inline(always)]
    fn section<S: Simd>(
        &self,
        simd: S,
        nodes: &[usize],
        strip: Strip,
        (reads, writes): (&[View<'_>], &mut [ViewMut<'_>]),
        buffers: &mut [f32],
    ) {
        for &i in nodes {
            if let Some((write, plane)) = self.target[i] {
                let to = strip.of(&mut writes[write], plane);
                self.compute(simd, (i, to), strip, reads, (buffers, &[]));
                continue;
            }
            let Some(at) = self.place[i] else { continue };
            // A result is never one of its own operands.
            let (low, rest) = buffers.split_at_mut(at * self.pixels);
            let (to, high) = rest.split_at_mut(self.pixels);
            let to = &mut to[..strip.count];
            match self.graph.nodes[i] {
                Node::Old { slot, plane } => {
                    to.copy_from_slice(strip.of(&mut writes[slot], plane));
                }
                _ => self.compute(simd, (i, to), strip, reads, (low, high)),
            }
        }
    }

    /// Computes one node.
    #[inline(always)]
    fn compute<S: Simd>(
        &self,
        simd: S,
        (node, to): (usize, &mut [f32]),
        strip: Strip,
        reads: &[View<'_>],
        others: (&[f32], &[f32]),
    ) {
        let value = |i: usize| self.value(i, strip, reads, others);
        match self.graph.nodes[node] {
            Node::Unary(op, a) => one(simd, op, value(a), to),
            Node::Binary(op, a, b) => two(simd, op, [value(a), value(b)], to),
            Node::Pick(c, a, b) => pick(simd, [value(c), value(a), value(b)], to),
            Node::Inside { dx, dy } => {
                let inside = |at: usize, by: i32, end: usize| {
                    usize::try_from(at as i32 + by).is_ok_and(|at| at < end)
                };
                let row = inside(strip.y, dy, strip.size.height);
                for (i, to) in to.iter_mut().enumerate() {
                    let holds = row && inside(strip.x + i, dx, strip.size.width);
                    *to = f32::from(u8::from(holds));
                }
            }
            Node::Odd { side } => {
                for (i, to) in to.iter_mut().enumerate() {
                    let odd = ((strip.x + i) / side + strip.y / side) % 2 == 1;
                    *to = f32::from(u8::from(odd));
                }
            }
            Node::Read {
                slot,
                plane,
                dx,
                dy,
            } => {
                let view = &reads[slot];
                // Rows that contain the whole segment are read in place.
                if !strip.row(view, plane, [dx, dy]).is_empty() {
                    return;
                }
                let start = Strip {
                    x: 0,
                    count: view.size().width,
                    ..strip
                };
                let row = start.row(view, plane, [0, dy]);
                let last = row.len() as i32 - 1;
                for (i, to) in to.iter_mut().enumerate() {
                    let x = (strip.x + i) as i32 + dx;
                    *to = row[x.clamp(0, last) as usize];
                }
            }
            Node::Constant(_) | Node::Param(_) | Node::First { .. } | Node::Old { .. } => {}
        }
    }

    /// The value of a node in this segment.
    #[inline(always)]
    fn value<'a>(
        &self,
        node: usize,
        strip: Strip,
        reads: &[View<'a>],
        (low, high): (&'a [f32], &'a [f32]),
    ) -> &'a [f32] {
        if let Node::Read {
            slot,
            plane,
            dx,
            dy,
        } = self.graph.nodes[node]
        {
            let row = strip.row(&reads[slot], plane, [dx, dy]);
            if !row.is_empty() {
                return row;
            }
        }
        // A node without a buffer is never an operand.
        let at = self.place[node].unwrap_or(0) * self.pixels;
        let buffer = match low.get(at..) {
            Some(buffer) if !buffer.is_empty() => buffer,
            _ => &high[at - low.len() - self.pixels..],
        };
        &buffer[..strip.count]
    }

    /// Writes results that were not computed in place.
    #[inline(always)]
    fn copy(
        &self,
        strip: Strip,
        each: bool,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        buffers: &[f32],
    ) {
        for (write, view) in self.graph.writes.iter().zip(writes) {
            let mut put = |node: usize, plane: Plane| {
                if self.target[node].is_none() {
                    let value = self.value(node, strip, reads, (buffers, &[]));
                    strip.of(view, plane).copy_from_slice(value);
                }
            };
            match write {
                Write::Each(node) if each => put(*node, Plane::Each(0)),
                Write::Planes(nodes) if !each => {
                    for (plane, node) in nodes.iter().enumerate() {
                        put(*node, Plane::Fixed(plane));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Nodes that are computed directly into the output: results of operations that are used once.
fn targets(graph: &Graph) -> Vec<Option<(usize, Plane)>> {
    let mut uses = vec![0; graph.nodes.len()];
    let operands = graph.nodes.iter().flat_map(Node::operands);
    operands.for_each(|i| uses[i] += 1);
    let by_plane = graph.by_plane();
    let mut found = Vec::new();
    for (slot, write) in graph.writes.iter().enumerate() {
        match write {
            Write::Each(node) => {
                uses[*node] += 1;
                if by_plane[*node] {
                    found.push((*node, (slot, Plane::Each(0))));
                }
            }
            Write::Planes(nodes) => {
                for (plane, node) in nodes.iter().enumerate() {
                    uses[*node] += 1;
                    found.push((*node, (slot, Plane::Fixed(plane))));
                }
            }
        }
    }
    let mut target = vec![None; graph.nodes.len()];
    for (node, to) in found {
        let made = matches!(
            graph.nodes[node],
            Node::Unary(..) | Node::Binary(..) | Node::Pick(..)
        );
        if made && uses[node] == 1 {
            target[node] = Some(to);
        }
    }
    target
}

/// A buffer for each node that needs one, and their number. Nodes with disjoint lifetimes share one.
fn places(
    graph: &Graph,
    by_plane: &[bool],
    target: &[Option<(usize, Plane)>],
) -> (Vec<Option<usize>>, usize) {
    let nodes = &graph.nodes;
    // The last use of each node; nodes that are needed for every plane, or written in the end, stay.
    let mut last = vec![0; nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        for o in node.operands() {
            let stays = by_plane[i] != by_plane[o];
            last[o] = if stays { usize::MAX } else { last[o].max(i) };
        }
    }
    for write in &graph.writes {
        match write {
            Write::Each(node) => last[*node] = usize::MAX,
            Write::Planes(list) => list.iter().for_each(|n| last[*n] = usize::MAX),
        }
    }
    let order = (0..nodes.len()).filter(|i| !by_plane[*i]);
    let order = order.chain((0..nodes.len()).filter(|i| by_plane[*i]));
    let (mut place, mut free, mut buffers) = (vec![None; nodes.len()], Vec::new(), 0);
    for i in order {
        let fixed = nodes[i].is_number();
        let direct = matches!(nodes[i], Node::Read { dx: 0, .. }) || target[i].is_some();
        if !direct {
            let reused = if fixed { None } else { free.pop() };
            place[i] = Some(reused.unwrap_or_else(|| {
                buffers += 1;
                buffers - 1
            }));
        }
        for o in nodes[i].operands() {
            if last[o] == i && !nodes[o].is_number() {
                // An operand may occur twice.
                free.extend(place[o].filter(|at| !free.contains(at)));
            }
        }
    }
    (place, buffers)
}

#[inline(always)]
fn one<S: Simd>(_: S, op: Unary, a: &[f32], to: &mut [f32]) {
    let a = &a[..to.len()];
    macro_rules! each {
        ($f:expr) => {
            for i in 0..to.len() {
                to[i] = $f(a[i]);
            }
        };
    }
    match op {
        Unary::Neg => each!(|a: f32| -a),
        Unary::Abs => each!(f32::abs),
        Unary::Sqrt => each!(f32::sqrt),
        Unary::Exp => each!(fast_exp),
        Unary::Ln => each!(fast_ln),
        Unary::Not => each!(|a: f32| 1.0 - a),
    }
}

#[inline(always)]
fn two<S: Simd>(_: S, op: Binary, [a, b]: [&[f32]; 2], to: &mut [f32]) {
    let (a, b) = (&a[..to.len()], &b[..to.len()]);
    macro_rules! each {
        ($f:expr) => {
            for i in 0..to.len() {
                to[i] = $f(a[i], b[i]);
            }
        };
    }
    let number = |holds: bool| if holds { 1.0 } else { 0.0 };
    match op {
        Binary::Add => each!(|a, b| a + b),
        Binary::Sub => each!(|a, b| a - b),
        Binary::Mul => each!(|a, b| a * b),
        Binary::Div => each!(|a, b| a / b),
        Binary::Min => each!(f32::min),
        Binary::Max => each!(f32::max),
        Binary::Less => each!(|a, b| number(a < b)),
        Binary::AtMost => each!(|a, b| number(a <= b)),
        Binary::And => each!(|a: f32, b: f32| a * b),
        Binary::Or => each!(f32::max),
    }
}

#[inline(always)]
fn pick<S: Simd>(_: S, [c, a, b]: [&[f32]; 3], to: &mut [f32]) {
    let (c, a, b) = (&c[..to.len()], &a[..to.len()], &b[..to.len()]);
    for i in 0..to.len() {
        to[i] = if c[i] != 0.0 { a[i] } else { b[i] };
    }
}
