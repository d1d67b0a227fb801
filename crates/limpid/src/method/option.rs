//! Options, declared once: as a typed struct for Rust, and by name for the program and other languages.
//!
//! `options!` declares the struct with its documentation and defaults and implements [`NamedOptions`].

use crate::{Error, Result};

/// An option in text form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its name, with hyphens: `sigma-color`.
    pub name: String,
    /// Its description: the documentation of the field.
    pub about: &'static str,
    /// Its current value, as text; empty if it is automatic.
    pub value: String,
    /// The form of a value: `NUMBER`, `true|false`, …
    pub form: &'static str,
}

/// Something with named options.
pub trait NamedOptions {
    /// The options with their current values.
    fn named_options(&self) -> Vec<OptionInfo>;

    /// Sets an option from text. Unknown names and wrong values are errors.
    fn set(&mut self, name: &str, value: &str) -> Result<()>;
}

/// A type of option values.
pub trait Value: Sized {
    /// The form of a value.
    const FORM: &'static str;

    /// Parses a value.
    fn parse(text: &str) -> std::result::Result<Self, Refused>;

    /// Formats the value.
    fn show(&self) -> String;
}

/// Why a text is not a valid value of an option: the wrong form if `None`, otherwise the reason.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refused(pub Option<String>);

impl Refused {
    /// The text has the right form, but cannot be used for this reason.
    pub fn because(reason: impl ToString) -> Self {
        Self(Some(reason.to_string()))
    }

    /// The error for an option of this name and form.
    #[doc(hidden)]
    pub fn error(self, name: &str, value: &str, form: &str) -> Error {
        match self.0 {
            Some(reason) => Error::option(name, value, format!("{form}; {reason}")),
            None => Error::option(name, value, form),
        }
    }
}

impl Value for f32 {
    const FORM: &'static str = "NUMBER";

    /// A number or a fraction such as `25/255`; never NaN or infinite.
    fn parse(text: &str) -> std::result::Result<Self, Refused> {
        let number = |text: &str| text.trim().parse::<f32>().map_err(|_| Refused::default());
        let value = match text.split_once('/') {
            Some((a, b)) => number(a)? / number(b)?,
            None => number(text)?,
        };
        match value.is_finite() {
            true => Ok(value),
            false => Err(Refused::because("it is not finite")),
        }
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

macro_rules! plain_value {
    ($kind:ty, $form:literal) => {
        impl Value for $kind {
            const FORM: &'static str = $form;

            fn parse(text: &str) -> std::result::Result<Self, Refused> {
                text.trim().parse().map_err(|_| Refused::default())
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
    limpid_wavelet::Boundary,
    "mirror|symmetric|reflect|periodic|periodization|zero|constant|smooth|antisymmetric|antireflect"
);
plain_value!(
    limpid_reference::definition::dwt::Arrangement,
    "subbands|interleaved"
);
plain_value!(
    limpid_reference::definition::atrous::Border,
    "zero|mirror|mirror-local"
);

impl<T: Value> Value for Option<T> {
    const FORM: &'static str = T::FORM;

    /// `auto` is `None`.
    fn parse(text: &str) -> std::result::Result<Self, Refused> {
        match text {
            "auto" => Ok(None),
            text => T::parse(text).map(Some),
        }
    }

    fn show(&self) -> String {
        self.as_ref().map(T::show).unwrap_or_default()
    }
}

impl<T: Value> Value for Vec<T> {
    const FORM: &'static str = "LIST";

    /// Values separated by commas.
    fn parse(text: &str) -> std::result::Result<Self, Refused> {
        text.split(',')
            .filter(|t| !t.is_empty())
            .map(T::parse)
            .collect()
    }

    fn show(&self) -> String {
        self.iter().map(T::show).collect::<Vec<_>>().join(",")
    }
}

/// Declares the options of a method: a struct with documented fields and defaults.
///
/// ```
/// use limpid::method::NamedOptions;
/// limpid::options! {
///     /// A test.
///     pub struct Blur {
///         /// Taps to each side.
///         pub radius: usize = 3,
///         /// Standard deviation; automatic by default.
///         pub sigma: Option<f32> = None,
///     }
/// }
/// let mut blur = Blur::with(|b| b.radius = 5);
/// blur.set("sigma", "3/2")?;
/// assert_eq!((blur.radius, blur.sigma), (5, Some(1.5)));
/// assert_eq!(blur.named_options()[0].about, "Taps to each side.");
/// # Ok::<(), limpid::Error>(())
/// ```
///
/// Within this crate, `use noise("image");` among the fields declares the options for noise that is measured in an image, in
/// addition to `sigma`, and implements `photo::NoiseOptions`; `use facts(Type);` adds a field for what a method knows of its frames
/// besides the options.
#[doc(hidden)]
#[macro_export]
macro_rules! options {
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        $crate::options! { @fields [$(#[$meta])* $name] [] $($fields)* }
    };
    (@fields [$($head:tt)*] $done:tt use facts($facts:ty); $($rest:tt)*) => {
        $crate::options! { @fields [$($head)*; $facts] $done $($rest)* }
    };
    (@fields $head:tt [$($done:tt)*] use noise($place:literal); $($rest:tt)*) => {
        $crate::noise_options! { $head }
        $crate::options! {
            @fields $head [
                $($done)*
                #[doc = concat!(
                    "The kind of noise if no sigma is given: measured in the ",
                    $place,
                    ", from a profile, or from another image."
                )]
                pub noise: $crate::method::photo::Noise = $crate::method::photo::Noise::Auto,
                /// How much luminance noise to remove: 1 removes all that was measured.
                pub luminance: f32 = 1.0,
                /// How much colour noise to remove: 1 removes all that was measured.
                pub chroma: f32 = 1.0,
            ]
            $($rest)*
        }
    };
    (
        @fields $head:tt [$($done:tt)*]
        $(#[doc = $doc:expr])* pub $field:ident: $kind:ty = $default:expr $(, $($rest:tt)*)?
    ) => {
        $crate::options! {
            @fields $head
            [$($done)* $(#[doc = $doc])* pub $field: $kind = $default,]
            $($($rest)*)?
        }
    };
    (
        @fields [$(#[$meta:meta])* $name:ident $(; $facts:ty)?]
        [$($(#[doc = $doc:expr])* pub $field:ident: $kind:ty = $default:expr,)*]
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $doc])* pub $field: $kind,)*
            $(
                /// What is known of the frames, besides the options.
                pub(crate) facts: $facts,
            )?
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    $(facts: <$facts as Default>::default(),)?
                }
            }
        }

        impl $name {
            /// The defaults with some changes.
            pub fn with(change: impl FnOnce(&mut Self)) -> Self {
                let mut made = Self::default();
                change(&mut made);
                made
            }
        }

        impl $crate::method::NamedOptions for $name {
            fn named_options(&self) -> Vec<$crate::method::OptionInfo> {
                vec![$($crate::method::OptionInfo {
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
                    self.$field = parsed.map_err(|refused| refused.error(name, value, form))?;
                    return Ok(());
                })*
                let known = $crate::method::NamedOptions::named_options(self);
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
/// assert_eq!(Norm::parse("l1"), Ok(Norm::L1));
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
        #[non_exhaustive]
        $vis enum $name { $(#[$fm])* $first $(, $(#[$vm])* $variant)* }

        impl $crate::method::Value for $name {
            const FORM: &'static str = concat!($fw $(, "|", $word)*);

            fn parse(text: &str) -> ::std::result::Result<Self, $crate::method::Refused> {
                match text {
                    $fw => Ok(Self::$first),
                    $($word => Ok(Self::$variant),)*
                    _ => Err($crate::method::Refused::default()),
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
                    .map_err(|_| $crate::Error::unknown("word", text, [$fw $(, $word)*]))
            }
        }
    };
}
