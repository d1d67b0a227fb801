//! Builds WGSL from what Rust knows (constants, bindings, short functions) and from bodies, which are files.

use super::Site;
use crate::plan::Home;
use std::fmt::{Display, Write};

/// The entry point with a thread for each pixel of `p.width` × `p.height`, in workgroups of 32×8: calls `pixel(x, y)`.
pub(crate) const PIXELS: &str = include_str!("pixels.wgsl");

/// The text of a shader, or a part of one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wgsl(String);

impl Wgsl {
    /// `const NAME: KIND = VALUE;`
    pub(crate) fn constant(mut self, name: &str, kind: &str, value: impl Display) -> Self {
        let _ = writeln!(self.0, "const {name}: {kind} = {value};");
        self
    }

    /// An array that is read.
    pub(crate) fn reads(self, binding: usize, name: &str, element: &str) -> Self {
        self.binding(binding, "read", name, element)
    }

    /// An array that is written, and may be read.
    pub(crate) fn writes(self, binding: usize, name: &str, element: &str) -> Self {
        self.binding(binding, "read_write", name, element)
    }

    fn binding(mut self, binding: usize, access: &str, name: &str, element: &str) -> Self {
        let _ = writeln!(
            self.0,
            "@group(0) @binding({binding}) var<storage, {access}> {name}: array<{element}>;"
        );
        self
    }

    /// The slots of a kernel by these names, those that are read first, at the bindings after the parameters. Written slots are
    /// buffers.
    pub(crate) fn slots(mut self, site: &Site<'_>, names: &[impl AsRef<str>]) -> Self {
        let slots = site.reads.iter().chain(&site.writes);
        for (i, (slot, name)) in slots.zip(names).enumerate() {
            let (element, name) = (slot.element.wgsl(), name.as_ref());
            self = match slot.home {
                Home::Buffer if i < site.reads.len() => self.reads(i + 1, name, element),
                Home::Buffer => self.writes(i + 1, name, element),
                Home::Texture | Home::Texture8 => self.reads_texture(i + 1, name),
            };
        }
        self
    }

    /// A texture that is read.
    pub(crate) fn reads_texture(mut self, binding: usize, name: &str) -> Self {
        let _ = writeln!(
            self.0,
            "@group(0) @binding({binding}) var {name}: texture_2d<f32>;"
        );
        self
    }

    /// A texture of this format that is written.
    pub(crate) fn writes_texture(mut self, binding: usize, name: &str, format: &str) -> Self {
        let _ = writeln!(
            self.0,
            "@group(0) @binding({binding}) var {name}: texture_storage_2d<{format}, write>;"
        );
        self
    }

    /// Another name of a type.
    pub(crate) fn alias(mut self, name: &str, kind: &str) -> Self {
        let _ = writeln!(self.0, "alias {name} = {kind};");
        self
    }

    /// A function that gives one expression: `fn HEAD { return RESULT; }`.
    pub(crate) fn function(mut self, head: &str, result: impl Display) -> Self {
        let _ = writeln!(self.0, "fn {head} {{\n    return {result};\n}}");
        self
    }

    /// A function that does one thing: `fn HEAD { DOES; }`.
    pub(crate) fn procedure(mut self, head: &str, does: impl Display) -> Self {
        let _ = writeln!(self.0, "fn {head} {{\n    {does};\n}}");
        self
    }

    /// A function of several statements: `fn HEAD { … }`.
    pub(crate) fn statements(mut self, head: &str, body: Code) -> Self {
        let _ = writeln!(self.0, "fn {head} {{\n{}}}", body.0);
        self
    }

    /// The entry point of a compute shader with this many threads: `group` and `lane` say which workgroup and thread it is.
    pub(crate) fn entry(self, threads: impl Display, body: Code) -> Self {
        let lane = "@builtin(local_invocation_index) lane: u32";
        self.entry_with(threads, lane, body)
    }

    /// The same with other built-in values beside the workgroup.
    pub(crate) fn entry_with(mut self, threads: impl Display, values: &str, body: Code) -> Self {
        let _ = writeln!(self.0, "@compute @workgroup_size({threads})");
        let head = format!("main(@builtin(workgroup_id) group: vec3<u32>, {values})");
        self.statements(&head, body)
    }

    /// A struct of fields with their types.
    pub(crate) fn structure<N: Display, K: Display>(
        mut self,
        name: &str,
        fields: impl IntoIterator<Item = (N, K)>,
    ) -> Self {
        let _ = writeln!(self.0, "struct {name} {{");
        for (field, kind) in fields {
            let _ = writeln!(self.0, "    {field}: {kind},");
        }
        self.0.push_str("}\n");
        self
    }

    /// A variable of a workgroup or of a thread: `var<SPACE> NAME: KIND;`.
    pub(crate) fn variable(mut self, space: &str, name: &str, kind: impl Display) -> Self {
        let _ = writeln!(self.0, "var<{space}> {name}: {kind};");
        self
    }

    /// A body, or whatever was written elsewhere.
    pub(crate) fn body(mut self, text: &str) -> Self {
        self.0.push_str(text);
        self
    }

    /// The whole text.
    pub(crate) fn text(self) -> String {
        self.0
    }
}

/// Statements that depend on what Rust knows, indented as they nest.
#[derive(Debug, Clone, Default)]
pub(crate) struct Code(String);

impl Code {
    /// Lines, without the semicolon of the last one.
    pub(crate) fn say(&mut self, statement: impl Display) -> &mut Self {
        self.lines(&format!("{statement};"))
    }

    /// Lines as they are.
    pub(crate) fn lines(&mut self, text: &str) -> &mut Self {
        for line in text.lines() {
            let _ = writeln!(self.0, "    {line}");
        }
        self
    }

    /// `HEAD { … }`, such as a loop or a condition; without a head, statements with names of their own.
    pub(crate) fn block(
        &mut self,
        head: impl Display,
        inside: impl FnOnce(&mut Self),
    ) -> &mut Self {
        let mut block = Self::default();
        inside(&mut block);
        self.lines(format!("{head} {{").trim_start());
        self.lines(&block.0).lines("}")
    }
}

/// A number that WGSL reads back to the same bits.
pub(crate) fn float(value: f32) -> String {
    format!("{value:?}")
}

/// Numbers in an array.
pub(crate) fn array(values: &[f32]) -> String {
    let texts: Vec<String> = values.iter().copied().map(float).collect();
    format!("array<f32, {}>({})", values.len(), texts.join(", "))
}

/// Four numbers.
pub(crate) fn vec4([a, b, c, d]: [f32; 4]) -> String {
    format!("vec4<f32>({a:?}, {b:?}, {c:?}, {d:?})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_valid_wgsl() {
        let text = Wgsl::default()
            .constant("SCALES", "vec4<f32>", vec4([1.0, -0.5, 0.25, 3e-9]))
            .reads(1, "src", "f32")
            .writes(2, "dst", "vec2<f32>")
            .reads_texture(3, "picture")
            .writes_texture(4, "drawn", "rgba32float")
            .function("double(v: f32) -> f32", "2.0 * v")
            .procedure("put(i: u32, v: f32)", "dst[i] = vec2<f32>(double(v))")
            .statements("some(i: u32, v: f32)", {
                let mut code = Code::default();
                code.block("if v > 0.0", |code| {
                    code.say("put(i, v)");
                });
                code.block("", |code| {
                    code.say("let u = v").say("put(i, u)");
                });
                code
            })
            .structure("Pixel", [("c", "f32"), ("w", "vec2<f32>")])
            .variable("workgroup", "tile", "array<Pixel, 8>")
            .body("fn both(i: u32) {\n    put(i, SCALES.x * src[i]);\n}\n")
            .text();
        naga::front::wgsl::parse_str(&text).unwrap();
    }
}
