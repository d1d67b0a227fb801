//! The options of a method as options of a verb.

use crate::say::OrUsage;
use anyhow::Context;
use clap::{Arg, ArgAction, ArgMatches, Command};
use limpid::method::{self, METHODS, Method, Use};

/// The method that a command line names, and the verb it is for.
pub(crate) struct Named {
    pub(crate) verb: String,
    pub(crate) method: Box<dyn Method>,
}

/// Options of the method that were given, as name and value.
#[derive(Default)]
pub(crate) struct Given(Vec<(String, String)>);

impl Given {
    /// Sets what was given.
    pub(crate) fn apply(&self, method: &mut dyn Method) -> anyhow::Result<()> {
        for (name, value) in &self.0 {
            method.set(name, value).or_usage()?;
        }
        Ok(())
    }
}

/// Finds the method in the raw command line: `denoise --method M`, `reconstruct --method M`, `filter NAME`, `plan PATH`, `bench PATH`.
pub(crate) fn named(args: &[String]) -> anyhow::Result<Option<Named>> {
    let Some(verb) = args.get(1) else {
        return Ok(None);
    };
    let rest = &args[2..];
    let entry = match verb.as_str() {
        "denoise" => match asked(rest) {
            Some(name) => Some(listed(Use::Denoise, &name)?),
            None => None,
        },
        "reconstruct" => {
            let name = asked(rest).unwrap_or_else(|| RECONSTRUCTION.to_owned());
            Some(listed(Use::Reconstruct, &name)?)
        }
        "filter" => METHODS
            .iter()
            .find(|e| e.used == Use::Filter && rest.iter().any(|a| a == e.name)),
        "plan" | "bench" => METHODS.iter().find(|e| rest.iter().any(|a| *a == e.path())),
        _ => None,
    };
    Ok(entry.map(|e| Named {
        verb: verb.clone(),
        method: (e.make)(),
    }))
}

/// How images are reconstructed when no method is named.
pub(crate) const RECONSTRUCTION: &str = "poisson";

/// What follows `--method`.
fn asked(args: &[String]) -> Option<String> {
    let long = |a: &String| a.strip_prefix("--method=").map(str::to_owned);
    let pair = |p: &[String]| (p[0] == "--method").then(|| p[1].clone());
    let apart = args.windows(2).find_map(pair);
    apart.or_else(|| args.iter().find_map(long))
}

/// The method of this name.
fn listed(used: Use, name: &str) -> anyhow::Result<&'static method::Entry> {
    method::find(used, name).or_usage()?;
    let mut known = METHODS.iter();
    let entry = known.find(|e| e.used == used && e.name == name);
    entry.with_context(|| format!("{name} is not listed"))
}

/// Adds the method's options to the verb, apart from those whose name the verb uses itself.
pub(crate) fn augment(verb: Command, method: &dyn Method) -> Command {
    let taken: Vec<String> = verb
        .get_arguments()
        .filter_map(|a| a.get_long().map(str::to_owned))
        .collect();
    let mut verb = verb.next_help_heading(format!("Options of {}", method.name()));
    for knob in method.knobs() {
        let name = flag(&knob.name, knob.form, &knob.value);
        if taken.contains(&name) {
            continue;
        }
        let arg = Arg::new(id(&knob.name))
            .long(name)
            .help(help(knob.about, &knob.value));
        verb = verb.arg(match knob.form {
            "true|false" => arg.action(ArgAction::SetTrue),
            "LIST" => arg
                .value_name("LIST")
                .action(ArgAction::Append)
                .allow_hyphen_values(true),
            form => arg.value_name(form).allow_negative_numbers(true),
        });
    }
    verb
}

/// What an option of the method is called among the matches: never what an option of the verb is.
fn id(knob: &str) -> String {
    format!("method {knob}")
}

/// A switch that is on by default is turned off with `--no-NAME`.
fn flag(name: &str, form: &str, value: &str) -> String {
    if form == "true|false" && value == "true" {
        format!("no-{name}")
    } else {
        name.to_owned()
    }
}

fn help(about: &str, value: &str) -> String {
    match value {
        "" | "true" | "false" => about.to_owned(),
        value => format!("{about} [default: {value}]"),
    }
}

/// What was given on the command line.
pub(crate) fn given(method: &dyn Method, matches: &ArgMatches) -> Given {
    let mut given = Vec::new();
    for knob in method.knobs() {
        let id = id(&knob.name);
        if knob.form == "true|false" {
            if let Ok(Some(true)) = matches.try_get_one::<bool>(&id) {
                given.push((knob.name.clone(), (knob.value != "true").to_string()));
            }
        } else if let Ok(Some(values)) = matches.try_get_many::<String>(&id) {
            let values: Vec<&str> = values.map(String::as_str).collect();
            given.push((knob.name.clone(), values.join(",")));
        }
    }
    Given(given)
}
