//! Uniform parameters, declared once for Rust and WGSL.
//!
//! [`params!`] declares a Rust struct and the WGSL struct of the same name and fields, so that they always match. Fields are
//! 4-byte scalars, for which Rust's `repr(C)` and WGSL's uniform layout agree.

/// A struct with a WGSL declaration.
pub trait WgslStruct {
    /// Its name.
    const NAME: &'static str;

    /// Its fields in WGSL, one per line.
    const FIELDS: &'static str;

    /// The WGSL declaration, with the uniform `p`.
    const WGSL: &'static str;

    /// The WGSL declaration with an array of `count` numbers after the fields, which `param(i)` reads.
    fn wgsl_with(count: usize) -> String {
        format!(
            "struct {name} {{\n{}    numbers: array<vec4<f32>, {}>,\n}}\n\
             @group(0) @binding(0) var<uniform> p: {name};\n\
             fn param(i: u32) -> f32 {{ return p.numbers[i / 4u][i % 4u]; }}\n",
            Self::FIELDS,
            count.div_ceil(4).max(1),
            name = Self::NAME,
        )
    }

    /// The bytes for [`WgslStruct::wgsl_with`].
    fn bytes_with(&self, numbers: &[f32]) -> Vec<u8>
    where
        Self: bytemuck::Pod,
    {
        let mut bytes = bytemuck::bytes_of(self).to_vec();
        bytes.resize(bytes.len().next_multiple_of(16), 0);
        let size = bytes.len() + 16 * numbers.len().div_ceil(4).max(1);
        bytes.extend_from_slice(bytemuck::cast_slice(numbers));
        bytes.resize(size, 0);
        bytes
    }
}

/// Declares a uniform struct of `u32`, `i32` and `f32` fields for Rust and WGSL.
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$fm:meta])* $field:ident: $kind:tt),* $(,)? }) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq, ::bytemuck::Pod, ::bytemuck::Zeroable)]
        $vis struct $name { $($(#[$fm])* $vis $field: $kind),* }

        impl $crate::WgslStruct for $name {
            const NAME: &'static str = stringify!($name);
            const FIELDS: &'static str =
                concat!($("    ", stringify!($field), ": ", stringify!($kind), ",\n",)*);
            const WGSL: &'static str = concat!(
                "struct ", stringify!($name), " {\n",
                $("    ", stringify!($field), ": ", stringify!($kind), ",\n",)*
                "}\n@group(0) @binding(0) var<uniform> p: ", stringify!($name), ";\n"
            );
        }
    };
}

#[cfg(test)]
mod tests {
    use super::WgslStruct;

    params! {
        /// A test.
        struct Params { width: u32, shift: i32, sigma: f32 }
    }

    #[test]
    fn numbers_stand_where_wgsl_reads_them() {
        let module = naga::front::wgsl::parse_str(&Params::wgsl_with(5)).unwrap();
        let found = module.types.iter().find_map(|(_, t)| match &t.inner {
            naga::TypeInner::Struct { members, span } => Some((members.clone(), *span)),
            _ => None,
        });
        let (members, span) = found.unwrap();
        let params = Params {
            width: 1,
            shift: 2,
            sigma: 3.0,
        };
        let bytes = params.bytes_with(&[4.0, 5.0, 6.0, 7.0, 8.0]);
        let at = members[3].offset as usize;
        let floats: Vec<f32> = bytes[at..at + 20]
            .chunks_exact(4)
            .map(bytemuck::pod_read_unaligned)
            .collect();
        assert_eq!(floats, [4.0, 5.0, 6.0, 7.0, 8.0]);
        assert_eq!(span as usize, bytes.len());
        assert_eq!(params.bytes_with(&[]).len(), 16 + 16);
    }

    #[test]
    fn rust_and_wgsl_have_the_same_offsets() {
        let module = naga::front::wgsl::parse_str(Params::WGSL).unwrap();
        let (_, found) = module
            .types
            .iter()
            .find(|(_, t)| t.name.as_deref() == Some("Params"))
            .unwrap();
        let naga::TypeInner::Struct { members, span } = &found.inner else {
            panic!("not a struct")
        };
        let offsets: Vec<u32> = members.iter().map(|m| m.offset).collect();
        let rust = [
            std::mem::offset_of!(Params, width),
            std::mem::offset_of!(Params, shift),
            std::mem::offset_of!(Params, sigma),
        ];
        assert_eq!(offsets, rust.map(|o| o as u32));
        assert_eq!(*span as usize, size_of::<Params>());
    }
}
