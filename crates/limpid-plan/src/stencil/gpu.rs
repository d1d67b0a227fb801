//! The GPU body: the expression as WGSL, one thread per pixel.

use super::graph::{Binary, Graph, Node, Plane, Unary, Write};
use super::needs;
use crate::own::own;
use crate::wgsl::{Code, PIXELS, Wgsl};
use crate::{Backing, Dispatch, PassSlots, WgslStruct, params, tiles};

params! {
    /// Size of the image; the kernel's parameters follow.
    struct Params { width: u32, height: u32, pixels: u32, planes: u32 }
}

pub(super) fn dispatch(graph: &Graph, pass: &PassSlots<'_>) -> Dispatch {
    let size = pass.writes[0].size;
    let params = Params {
        width: size.width as u32,
        height: size.height as u32,
        pixels: size.pixels() as u32,
        planes: needs::written_planes(graph, pass) as u32,
    };
    let head = match graph.params.len() {
        0 => Params::WGSL.to_owned(),
        count => Params::wgsl_with(count),
    };
    let source = Wgsl::default()
        .body(&head)
        .body(&pass.wgsl())
        .statements("pixel(x: u32, y: u32)", Text::new(graph, pass).pixel())
        .body(PIXELS);
    let mut dispatch = Dispatch::compute(source.text(), &params, tiles(size, 32, 8));
    if !graph.params.is_empty() {
        dispatch = dispatch.with_params(params.bytes_with(&graph.params));
    }
    own(pass, dispatch, needs::needs(graph, pass))
}

/// Generates the text of a graph.
struct Text<'a> {
    graph: &'a Graph,
    pass: &'a PassSlots<'a>,
    by_plane: Vec<bool>,
    /// Nodes that become variables, because they are used more than once.
    named: Vec<bool>,
}

impl<'a> Text<'a> {
    fn new(graph: &'a Graph, pass: &'a PassSlots<'a>) -> Self {
        let by_plane = graph.by_plane();
        let mut uses = vec![0; graph.nodes.len()];
        for (i, node) in graph.nodes.iter().enumerate() {
            // Values that are the same for all planes are computed before the loop over planes.
            let weight = |o: usize| if by_plane[i] && !by_plane[o] { 2 } else { 1 };
            node.operands().for_each(|o| uses[o] += weight(o));
        }
        for write in &graph.writes {
            match write {
                Write::Each(node) => uses[*node] += 1,
                Write::Planes(nodes) => nodes.iter().for_each(|n| uses[*n] += 1),
            }
        }
        let plain = |node: &Node| matches!(node, Node::Constant(_) | Node::Param(_));
        let named = graph.nodes.iter().zip(uses);
        Self {
            named: named.map(|(node, n)| n > 1 && !plain(node)).collect(),
            graph,
            pass,
            by_plane,
        }
    }

    /// What happens to a pixel.
    fn pixel(&self) -> Code {
        let mut code = Code::default();
        code.say("let i = y * p.width + x");
        self.offsets(&mut code);
        self.names(&mut code, false);
        let mut each = Vec::new();
        for (k, write) in self.graph.writes.iter().enumerate() {
            match write {
                Write::Each(node) => each.push((k, *node)),
                Write::Planes(nodes) => {
                    for (plane, node) in nodes.iter().enumerate() {
                        let at = place(Plane::Fixed(plane), "i");
                        code.say(format_args!("write{k}[{at}] = {}", self.value(*node)));
                    }
                }
            }
        }
        if !each.is_empty() {
            code.block("for (var c = 0u; c < p.planes; c++)", |code| {
                self.names(code, true);
                for (k, node) in each {
                    let at = place(Plane::Each(0), "i");
                    code.say(format_args!("write{k}[{at}] = {}", self.value(node)));
                }
            });
        }
        code
    }

    /// Columns and rows beside the pixel, no further than the border.
    fn offsets(&self, code: &mut Code) {
        for (axis, side) in [("x", "width"), ("y", "height")] {
            let mut all: Vec<i32> = self.graph.nodes.iter().map(|n| shift(n, axis)).collect();
            all.sort_unstable();
            all.dedup();
            for d in all.into_iter().filter(|d| *d != 0) {
                let (name, by) = (moved(axis, d), d.unsigned_abs());
                code.say(match d < 0 {
                    true => format!("let {name} = max({axis}, {by}u) - {by}u"),
                    false => format!("let {name} = min({axis} + {by}u, p.{side} - 1u)"),
                });
            }
        }
    }

    /// The variables that depend on the plane, or those that do not.
    fn names(&self, code: &mut Code, by_plane: bool) {
        for i in 0..self.graph.nodes.len() {
            if self.named[i] && self.by_plane[i] == by_plane {
                code.say(format_args!("let v{i} = {}", self.made(i)));
            }
        }
    }

    /// A node as an operand.
    fn value(&self, i: usize) -> String {
        if self.named[i] {
            format!("v{i}")
        } else {
            self.made(i)
        }
    }

    /// A node as an expression.
    fn made(&self, i: usize) -> String {
        let value = |i: usize| self.value(i);
        match self.graph.nodes[i] {
            Node::Constant(bits) => match f32::from_bits(bits) {
                v if v < 0.0 => format!("({v:?}f)"),
                v => format!("{v:?}f"),
            },
            Node::Param(k) => format!("param({k}u)"),
            Node::Read {
                slot,
                plane,
                dx,
                dy,
            } => {
                let (x, y) = (moved("x", dx), moved("y", dy));
                if self.pass.reads[slot].backing != Backing::Buffer {
                    let lane = match plane {
                        Plane::Each(0) => "c".into(),
                        Plane::Each(first) => format!("c + {first}u"),
                        Plane::Fixed(plane) => format!("{plane}u"),
                    };
                    return format!("textureLoad(read{slot}, vec2({x}, {y}), 0)[{lane}]");
                }
                let at = match (dx, dy) {
                    (0, 0) => "i".to_owned(),
                    _ => format!("{y} * p.width + {x}"),
                };
                format!("read{slot}[{}]", place(plane, &at))
            }
            Node::First { slot } => format!("read{slot}[0]"),
            Node::Old { slot, plane } => format!("write{slot}[{}]", place(plane, "i")),
            Node::Inside { dx, dy } => {
                let along = |axis: &str, side: &str, d: i32| match d {
                    0 => "true".to_owned(),
                    d if d < 0 => format!("{axis} >= {}u", -d),
                    d => format!("{axis} + {d}u < p.{side}"),
                };
                let (x, y) = (along("x", "width", dx), along("y", "height", dy));
                format!("({x} && {y})")
            }
            Node::Odd { side } => format!("((x / {side}u + y / {side}u) % 2u == 1u)"),
            Node::Unary(op, a) => {
                let a = value(a);
                match op {
                    Unary::Neg => format!("(-{a})"),
                    Unary::Abs => format!("abs({a})"),
                    Unary::Sqrt => format!("sqrt({a})"),
                    Unary::Exp => format!("fast_exp({a})"),
                    Unary::Ln => format!("log({a})"),
                    Unary::Not => format!("!{a}"),
                }
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (value(a), value(b));
                let between = match op {
                    Binary::Min => return format!("min({a}, {b})"),
                    Binary::Max => return format!("max({a}, {b})"),
                    Binary::Add => "+",
                    Binary::Sub => "-",
                    Binary::Mul => "*",
                    Binary::Div => "/",
                    Binary::Less => "<",
                    Binary::AtMost => "<=",
                    Binary::And => "&&",
                    Binary::Or => "||",
                };
                format!("({a} {between} {b})")
            }
            Node::Pick(c, a, b) => format!("select({}, {}, {})", value(b), value(a), value(c)),
        }
    }
}

/// The offset of a node along an axis.
fn shift(node: &Node, axis: &str) -> i32 {
    match node {
        Node::Read { dx, .. } if axis == "x" => *dx,
        Node::Read { dy, .. } if axis == "y" => *dy,
        _ => 0,
    }
}

/// The name of a column or row at an offset: `x`, `x_less_1`, `y_plus_2`.
fn moved(axis: &str, d: i32) -> String {
    match d {
        0 => axis.to_owned(),
        d if d < 0 => format!("{axis}_less_{}", -d),
        d => format!("{axis}_plus_{d}"),
    }
}

/// The index of a pixel in a plane.
fn place(plane: Plane, at: &str) -> String {
    match plane {
        Plane::Each(0) => format!("c * p.pixels + {at}"),
        Plane::Each(first) => format!("(c + {first}u) * p.pixels + {at}"),
        Plane::Fixed(0) => at.to_owned(),
        Plane::Fixed(plane) => format!("{plane}u * p.pixels + {at}"),
    }
}
