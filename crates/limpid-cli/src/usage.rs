//! Command lines that cannot be parsed, told in one sentence that says what to do.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use std::num::{ParseFloatError, ParseIntError};

/// The sentence; none for help and version, which are no errors. `subcommand` is that of the command line, if it has one.
pub(crate) fn sentence(error: &Error, subcommand: Option<&Command>) -> Option<String> {
    let help = match subcommand {
        Some(subcommand) => format!("`limpid {} --help`", subcommand.get_name()),
        None => "`limpid --help`".to_owned(),
    };
    let of = |kind| all(error.get(kind));
    let first = |kind| of(kind).into_iter().next();
    // Options appear with their values, as in `--size <WxH>`.
    let name = |text: String| text.split(' ').next().unwrap_or_default().to_owned();
    let given = first(ContextKind::InvalidArg);
    let option = given.clone().map(name).unwrap_or_default();
    let near = |kind| match first(kind) {
        Some(near) => format!(". Did you mean {near}?"),
        None => format!("; {help} lists what there is"),
    };
    Some(match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::MissingRequiredArgument => {
            let missing = of(ContextKind::InvalidArg);
            let verb = if missing.len() == 1 { "is" } else { "are" };
            let missing = missing.join(" and ");
            format!("{missing} {verb} missing; {help} shows how to use it")
        }
        ErrorKind::UnknownArgument
            if subcommand.is_some_and(|subcommand| has(subcommand, &option)) =>
        {
            let subcommand = subcommand.map_or("", Command::get_name);
            format!("{option} goes after the subcommand: limpid {subcommand} … {option}")
        }
        ErrorKind::UnknownArgument if option.starts_with('-') => {
            format!("unknown option {option}{}", near(ContextKind::SuggestedArg))
        }
        ErrorKind::UnknownArgument => {
            format!("'{option}' is one argument too many; {help} shows how to use it")
        }
        ErrorKind::InvalidSubcommand => {
            let subcommand = first(ContextKind::InvalidSubcommand).unwrap_or_default();
            // The nearest is the last.
            let near = match of(ContextKind::SuggestedSubcommand).pop() {
                Some(near) => format!(". Did you mean {near}?"),
                None => "; `limpid --help` lists the subcommands".to_owned(),
            };
            format!("unknown subcommand '{subcommand}'{near}")
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let value = first(ContextKind::InvalidValue).unwrap_or_default();
            let valid = of(ContextKind::ValidValue);
            match (std::error::Error::source(error), value.as_str()) {
                (Some(why), _) => format!("{option} {value}: {}", reason(why)),
                (None, "") => format!("{option} needs a value; {help} shows which"),
                (None, _) => format!("{option} {value}: expected {}", valid.join(", ")),
            }
        }
        ErrorKind::ArgumentConflict => {
            let other = first(ContextKind::PriorArg).map(name).unwrap_or_default();
            match other == option {
                true => format!("{option} is given twice; leave one out"),
                false => format!("{option} cannot be used together with {other}; leave one out"),
            }
        }
        _ => plain(&error.render().to_string()),
    })
}

/// Whether a subcommand has an option.
fn has(subcommand: &Command, option: &str) -> bool {
    let mut all = subcommand.get_arguments().filter_map(|a| a.get_long());
    all.any(|long| option.strip_prefix("--") == Some(long))
}

/// Why a value is refused.
fn reason(why: &(dyn std::error::Error + 'static)) -> String {
    if why.is::<ParseIntError>() {
        return "expected a whole number, such as 3".to_owned();
    }
    if why.is::<ParseFloatError>() {
        return "expected a number, such as 0.5".to_owned();
    }
    match why.downcast_ref() {
        Some(limpid::Error::Option { expected, .. }) => format!("expected {expected}"),
        _ => why.to_string(),
    }
}

/// All texts of a value.
fn all(value: Option<&ContextValue>) -> Vec<String> {
    match value {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// The first paragraph of a message, in one line.
fn plain(text: &str) -> String {
    let first = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}
