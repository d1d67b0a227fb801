//! Options, declared once: as a typed struct for Rust, and as named knobs for the program and other languages.
//!
//! `options!` declares the struct with its documentation and defaults and implements [`Knobs`].

use crate::{Error, Result};

/// An option in text form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knob {
    /// Its name, with hyphens: `sigma-color`.
    pub name: String,
    /// What it does: the documentation of the field.
    pub about: &'static str,
    /// Its current value, as text; empty if it is automatic.
    pub value: String,
    /// The form of a value: `NUMBER`, `true|false`, …
    pub form: &'static str,
}

/// Something with named options.
pub trait Knobs {
    /// The options with their current values.
    fn knobs(&self) -> Vec<Knob>;

    /// Sets an option from text. Unknown names and wrong values are errors.
    fn set(&mut self, name: &str, value: &str) -> Result<()>;
}

/// A type of option values.
pub trait Value: Sized {
    /// The form of a value.
    const FORM: &'static str;

    /// Reads it.
    fn parse(text: &str) -> Option<Self>;

    /// Formats it.
    fn show(&self) -> String;
}

impl Value for f32 {
    const FORM: &'static str = "NUMBER";

    /// A number or a fraction such as `25/255`; never NaN or infinite.
    fn parse(text: &str) -> Option<Self> {
        let value = match text.split_once('/') {
            Some((a, b)) => a.trim().parse::<f32>().ok()? / b.trim().parse::<f32>().ok()?,
            None => text.trim().parse::<f32>().ok()?,
        };
        value.is_finite().then_some(value)
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

macro_rules! plain_value {
    ($kind:ty, $form:literal) => {
        impl Value for $kind {
            const FORM: &'static str = $form;

            fn parse(text: &str) -> Option<Self> {
                text.trim().parse().ok()
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    };
}

plain_value!(usize, "COUNT");
plain_value!(u64, "COUNT");
plain_value!(bool, "true|false");
plain_value!(String, "TEXT");
plain_value!(crate::Size, "WxH");
plain_value!(
    crate::wavelet::Border,
    "mirror|symmetric|reflect|periodic|periodization|zero|constant|smooth|antisymmetric|antireflect"
);
plain_value!(crate::definition::dwt::Arrangement, "subbands|interleaved");

impl<T: Value> Value for Option<T> {
    const FORM: &'static str = T::FORM;

    /// `auto` is `None`.
    fn parse(text: &str) -> Option<Self> {
        if text == "auto" {
            Some(None)
        } else {
            T::parse(text).map(Some)
        }
    }

    fn show(&self) -> String {
        self.as_ref().map(T::show).unwrap_or_default()
    }
}

impl<T: Value> Value for Vec<T> {
    const FORM: &'static str = "LIST";

    /// Values separated by commas.
    fn parse(text: &str) -> Option<Self> {
        text.split(',')
            .filter(|t| !t.is_empty())
            .map(T::parse)
            .collect()
    }

    fn show(&self) -> String {
        self.iter().map(T::show).collect::<Vec<_>>().join(",")
    }
}

/// The error for a value that does not parse.
#[doc(hidden)]
pub fn wrong_value(name: &str, value: &str, form: &str) -> Error {
    Error::option(name, value, form)
}

/// Declares the options of a method: a struct with documented fields and defaults.
///
/// ```
/// use limpid::method::Knobs;
/// limpid::options! {
///     /// A test.
///     pub struct Blur {
///         /// Taps to each side.
///         pub radius: usize = 3,
///         /// Standard deviation; automatic when not given.
///         pub sigma: Option<f32> = None,
///     }
/// }
/// let mut blur = Blur::default();
/// blur.set("sigma", "3/2")?;
/// assert_eq!(blur.sigma, Some(1.5));
/// assert_eq!(blur.knobs()[0].about, "Taps to each side.");
/// # Ok::<(), limpid::Error>(())
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! options {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[doc = $doc:expr])* pub $field:ident: $kind:ty = $default:expr),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])* pub $field: $kind),*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),* }
            }
        }

        impl $crate::method::Knobs for $name {
            fn knobs(&self) -> Vec<$crate::method::Knob> {
                vec![$($crate::method::Knob {
                    name: stringify!($field).replace('_', "-"),
                    about: concat!($($doc),*).trim_ascii(),
                    value: <$kind as $crate::method::Value>::show(&self.$field),
                    form: <$kind as $crate::method::Value>::FORM,
                }),*]
            }

            fn set(&mut self, name: &str, value: &str) -> $crate::Result<()> {
                $(if name.replace('-', "_") == stringify!($field) {
                    let form = <$kind as $crate::method::Value>::FORM;
                    let parsed = <$kind as $crate::method::Value>::parse(value);
                    self.$field = parsed.ok_or_else(|| $crate::method::wrong_value(name, value, form))?;
                    return Ok(());
                })*
                let known = $crate::method::Knobs::knobs(self);
                Err($crate::Error::unknown("option", name, known.iter().map(|k| k.name.as_str())))
            }
        }
    };
}

/// Declares an enum with named variants, as an option's value.
///
/// ```
/// use limpid::method::Value;
/// limpid::choice! {
///     /// A test.
///     pub enum Norm { /// Least squares.
///         L2 = "l2", /// Least absolute values.
///         L1 = "l1" }
/// }
/// assert_eq!(Norm::parse("l1"), Some(Norm::L1));
/// assert_eq!(Norm::FORM, "l2|l1");
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! choice {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $(#[$fm:meta])* $first:ident = $fw:literal $(, $(#[$vm:meta])* $variant:ident = $word:literal)* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $vis enum $name { $(#[$fm])* $first $(, $(#[$vm])* $variant)* }

        impl $crate::method::Value for $name {
            const FORM: &'static str = concat!($fw $(, "|", $word)*);

            fn parse(text: &str) -> Option<Self> {
                match text {
                    $fw => Some(Self::$first),
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(match self {
                    Self::$first => $fw,
                    $(Self::$variant => $word,)*
                })
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                <Self as $crate::method::Value>::parse(text)
                    .ok_or_else(|| $crate::Error::unknown("word", text, [$fw $(, $word)*]))
            }
        }
    };
}
