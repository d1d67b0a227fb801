//! Uniform parameters, written once in Rust.
//!
//! [`params!`] declares a Rust struct and the WGSL struct of the same name and fields, so that nothing has to be kept
//! in sync. Fields are 4-byte scalars, for which Rust's `repr(C)` and WGSL's uniform layout agree.

/// A struct that can write itself as WGSL.
pub trait WgslStruct {
    /// The WGSL declaration.
    const WGSL: &'static str;
}

/// Declares a uniform struct of `u32`, `i32` and `f32` fields for Rust and WGSL.
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$fm:meta])* $field:ident: $kind:tt),* $(,)? }) => {
        $(#[$meta])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq, ::bytemuck::Pod, ::bytemuck::Zeroable)]
        $vis struct $name { $($(#[$fm])* $vis $field: $kind),* }

        impl $crate::kernel::WgslStruct for $name {
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
