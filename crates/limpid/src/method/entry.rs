//! The list of methods: what each is for, and what its quality steps are.

use super::Method;
use crate::{Error, Result};

/// The purpose of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Removes noise: `limpid denoise --method NAME`.
    Denoise,
    /// A single filter: `limpid filter NAME`.
    Filter,
    /// Combines several images into one: `limpid reconstruct --method NAME`.
    Reconstruct,
}

/// What someone has who looks for a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputKind {
    /// A path-traced image.
    Render,
    /// The frames of a path-traced sequence.
    RenderedSequence,
    /// A photograph.
    Photograph,
    /// A film, or numbered pictures.
    Film,
    /// A gradient-domain render.
    Gradients,
    /// An image to filter or to transform.
    Image,
}

/// The words for how much time a method may spend, the fastest first.
pub const QUALITY: [&str; 3] = ["fast", "good", "best"];

/// The quality steps of a method: values of one of its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Steps {
    /// The option.
    pub option: &'static str,
    /// Its values at each step of [`QUALITY`].
    pub values: [&'static str; 3],
}

/// A method in the list.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Its purpose.
    pub used: Use,
    /// One line of description.
    pub about: &'static str,
    /// Creates it with its default options.
    pub make: fn() -> Box<dyn Method>,
    /// What it is advised for, and when.
    pub advice: &'static [(InputKind, &'static str)],
    /// Its quality steps, if it has any.
    pub steps: Option<Steps>,
    /// Whether its images are frames of one sequence with motion, because the method has no other use.
    pub over_time: bool,
    /// Whether it estimates its own error.
    pub estimates: bool,
}

impl Entry {
    /// A method without steps, advised for nothing.
    pub const fn new(
        name: &'static str,
        used: Use,
        about: &'static str,
        make: fn() -> Box<dyn Method>,
    ) -> Self {
        Self {
            name,
            used,
            about,
            make,
            advice: &[],
            steps: None,
            over_time: false,
            estimates: false,
        }
    }

    /// The method with advice.
    #[must_use]
    pub const fn advised(mut self, advice: &'static [(InputKind, &'static str)]) -> Self {
        self.advice = advice;
        self
    }

    /// The method with quality steps.
    #[must_use]
    pub const fn steps(mut self, option: &'static str, values: [&'static str; 3]) -> Self {
        self.steps = Some(Steps { option, values });
        self
    }

    /// The method for frames of a sequence only.
    #[must_use]
    pub const fn over_time(mut self) -> Self {
        self.over_time = true;
        self
    }

    /// The method that estimates its error.
    #[must_use]
    pub const fn estimating(mut self) -> Self {
        self.estimates = true;
        self
    }

    /// Its unique name: `atrous`, `filter:gaussian`, `reconstruct:poisson`.
    pub fn path(&self) -> String {
        match self.used {
            Use::Denoise => self.name.to_owned(),
            Use::Filter => format!("filter:{}", self.name),
            Use::Reconstruct => format!("reconstruct:{}", self.name),
        }
    }
}

impl dyn Method + '_ {
    /// Sets options by name. `quality` is one of [`QUALITY`] for every method that has steps; the option behind it wins if it is
    /// given too.
    ///
    /// ```
    /// let mut film = limpid::method::find(limpid::method::Use::Denoise, "film")?;
    /// film.set_all([("quality", "best")])?;
    /// assert_eq!(film.value_of("merge").as_deref(), Some("9"));
    /// # Ok::<(), limpid::Error>(())
    /// ```
    pub fn set_all<'a>(
        &mut self,
        options: impl IntoIterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Result<()> {
        let given = |name: &str| options.clone().into_iter().any(|(n, _)| n == name);
        for (name, value) in options.clone() {
            match self.steps().filter(|_| name == "quality") {
                Some(steps) => {
                    let step = QUALITY.iter().position(|word| *word == value);
                    let known = || Error::option("quality", value, QUALITY.join("|"));
                    let step = step.ok_or_else(known)?;
                    if steps.option == "quality" || !given(steps.option) {
                        self.set(steps.option, steps.values[step])?;
                    }
                }
                None => self.set(name, value)?,
            }
        }
        Ok(())
    }

    /// The quality steps of the method, if its list entry has any.
    pub fn steps(&self) -> Option<Steps> {
        let mut known = super::METHODS.iter();
        known.find(|e| e.name == self.name()).and_then(|e| e.steps)
    }

    /// The value of an option as text.
    pub fn value_of(&self, option: &str) -> Option<String> {
        let found = self.named_options().into_iter().find(|k| k.name == option);
        found.map(|k| k.value)
    }
}
