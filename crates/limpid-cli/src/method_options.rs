//! The options of a method as options of a subcommand.

use crate::profile;
use crate::say::OrUsage;
use anyhow::Context;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};
use limpid::method::{Auto, Entry, Method, OptionInfo, QUALITY, Steps, Use};
use limpid_lab::{find, methods};
use std::ffi::OsString;

/// The method that a command line names, and its subcommand.
pub(crate) struct Named {
    pub(crate) subcommand: String,
    pub(crate) method: Box<dyn Method>,
    used: Use,
    /// The subcommand's argument that names the method, and its value.
    argument: &'static str,
    name: String,
}

impl Named {
    /// The beginning of a command line that names it.
    fn in_words(&self) -> String {
        let subcommand = &self.subcommand;
        match subcommand.as_str() {
            "dwt" | "idwt" => subcommand.clone(),
            "denoise" | "reconstruct" => format!("{subcommand} --method {}", self.name),
            _ => format!("{subcommand} {}", self.name),
        }
    }

    /// Whether a parsed command line names this method.
    pub(crate) fn is_named_by(&self, matches: &ArgMatches) -> bool {
        let subcommand = matches.subcommand_matches(&self.subcommand);
        let found = subcommand.and_then(|m| m.try_get_one::<String>(self.argument).ok().flatten());
        found.is_none_or(|name| *name == self.name)
    }
}

/// Options of the method that were given, as name and value.
#[derive(Default)]
pub(crate) struct Given(Vec<(String, String)>);

impl Given {
    /// Names and values, as they were typed.
    pub(crate) fn options(&self) -> &[(String, String)] {
        &self.0
    }

    /// Whether an option was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(n, _)| n == name)
    }

    /// Sets the given options.
    pub(crate) fn apply(&self, method: &mut dyn Method) -> anyhow::Result<()> {
        let mut all = self.0.clone();
        for (name, value) in &mut all {
            if name == "noise" {
                *value = profile::given(value)?;
            }
        }
        let all = all.iter().map(|(name, value)| (&**name, &**value));
        method.set_all(all).or_usage()
    }
}

/// Methods that the raw command line may name, in order: `denoise --method M`, `reconstruct --method M`,
/// `filter NAME`, `plan PATH`, `bench PATH`; `dwt` and `idwt` are methods themselves. A file may have the name of a method, so there can be several.
pub(crate) fn candidates(args: &[OsString]) -> anyhow::Result<Vec<Named>> {
    let words: Vec<&str> = args.iter().map(|a| a.to_str().unwrap_or("")).collect();
    let [subcommand, rest @ ..] = after_globals(&words) else {
        return Ok(Vec::new());
    };
    let named = |argument, name: &str, entry: &Entry| Named {
        subcommand: (*subcommand).to_owned(),
        method: (entry.make)(),
        used: entry.used,
        argument,
        name: name.to_owned(),
    };
    let used = match *subcommand {
        "denoise" => Use::Denoise,
        "reconstruct" => Use::Reconstruct,
        "filter" | "plan" | "bench" => Use::Filter,
        "dwt" | "idwt" => {
            let entry = listed(Use::Filter, subcommand)?;
            return Ok(vec![named("method", subcommand, entry)]);
        }
        _ => return Ok(Vec::new()),
    };
    if used != Use::Filter {
        let default = (used == Use::Reconstruct).then_some(RECONSTRUCTION);
        return match asked(rest).or(default) {
            Some(name) => Ok(vec![named("method", name, listed(used, name)?)]),
            None => Ok(vec![Named {
                subcommand: (*subcommand).to_owned(),
                method: Box::new(Auto::default()),
                used,
                argument: "method",
                name: String::new(),
            }]),
        };
    }
    let found = rest.iter().filter_map(|word| {
        let mut all = methods();
        match *subcommand {
            "filter" => all
                .find(|e| e.used == Use::Filter && e.name == *word)
                .map(|e| named("name", word, e)),
            _ => all
                .find(|e| e.path() == *word)
                .map(|e| named("method", word, e)),
        }
    });
    Ok(found.collect())
}

/// The words from the subcommand on: options of the program itself may precede it.
fn after_globals<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    let program = crate::Cli::command();
    let mut rest = words.get(1..).unwrap_or_default();
    while let [word, after @ ..] = rest
        && word.starts_with('-')
    {
        let mut own = program.get_arguments();
        let takes_value = own.any(|option| {
            let named = option
                .get_long()
                .is_some_and(|long| word.strip_prefix("--") == Some(long));
            named && option.get_action().takes_values()
        });
        rest = match takes_value {
            true => after.get(1..).unwrap_or_default(),
            false => after,
        };
    }
    rest
}

/// The default method of `reconstruct`.
pub(crate) const RECONSTRUCTION: &str = "poisson";

/// The value of `--method`.
fn asked<'a>(args: &[&'a str]) -> Option<&'a str> {
    let apart = args.windows(2).find(|pair| pair[0] == "--method");
    let joined = || args.iter().find_map(|a| a.strip_prefix("--method="));
    apart.map(|pair| pair[1]).or_else(joined)
}

/// The method of this name, for this use. The error for a method of another subcommand names that subcommand.
pub(crate) fn method(used: Use, name: &str) -> anyhow::Result<Box<dyn Method>> {
    let is_here = methods().any(|e| e.used == used && e.name == name);
    if let Some(other) = methods().find(|e| e.name == name)
        && !is_here
    {
        let subcommand = match (other.used, name) {
            (Use::Denoise, _) => format!("denoise --method {name}"),
            (Use::Reconstruct, _) => "reconstruct".to_owned(),
            (Use::Filter, "dwt" | "idwt") => name.to_owned(),
            (Use::Filter, _) => format!("filter {name}"),
        };
        let message = format!("{name} belongs to `limpid {subcommand}`; use that");
        return Err(limpid::Error::input(message)).or_usage();
    }
    find(used, name).or_usage()
}

fn listed(used: Use, name: &str) -> anyhow::Result<&'static Entry> {
    method(used, name)?;
    let mut known = methods();
    let entry = known.find(|e| e.used == used && e.name == name);
    entry.with_context(|| format!("{name} is not a listed method"))
}

/// Adds the options of the method to the subcommand, except those that the subcommand defines itself.
pub(crate) fn augment(subcommand: Command, method: &dyn Method) -> Command {
    let taken: Vec<String> = subcommand
        .get_arguments()
        .filter_map(|a| a.get_long().map(str::to_owned))
        .collect();
    let heading = match method.name() {
        "auto" => "Options of the chosen method".to_owned(),
        name => format!("Options of {name}"),
    };
    let mut subcommand = subcommand.next_help_heading(heading);
    for option in method.named_options() {
        let name = flag(&option.name, option.form, &option.value);
        if taken.contains(&name) {
            continue;
        }
        let about = match name == option.name {
            true => help(&about(&option), &option.value),
            // The option describes the switch that it turns off.
            false => format!("Turn this off: {}", lower(option.about)),
        };
        let arg = Arg::new(id(&option.name)).long(name).help(about);
        subcommand = subcommand.arg(match option.form {
            "true|false" => arg.action(ArgAction::SetTrue),
            "LIST" => arg
                .value_name("LIST")
                .action(ArgAction::Append)
                .allow_hyphen_values(true),
            _ => arg
                .value_name(value_name(&option))
                .allow_negative_numbers(true),
        });
    }
    if let Some(steps) = other_steps(method)
        && !taken.iter().any(|name| name == "quality")
    {
        let about = format!("How much time to spend; sets --{}", steps.option);
        let arg = Arg::new(id("quality")).long("quality").help(about);
        subcommand = subcommand.arg(arg.value_name(QUALITY.join("|")));
    }
    subcommand
}

/// The quality steps of a method that are values of an option of another name.
fn other_steps(method: &dyn Method) -> Option<Steps> {
    method.steps().filter(|steps| steps.option != "quality")
}

/// The longest list of words that stands for a value; a longer one would push the help aside.
const WIDEST: usize = 40;

/// What stands for a value: its form, or the name of the option where that is a long list.
fn value_name(option: &OptionInfo) -> String {
    match option.form.len() > WIDEST {
        true => option.name.to_uppercase(),
        false => option.form.to_owned(),
    }
}

/// What an option does, with the words it takes if they do not stand for the value.
fn about(option: &OptionInfo) -> String {
    match option.form.len() > WIDEST {
        true => {
            let about = option.about.trim_end_matches('.');
            format!("{about}: {}", option.form.replace('|', ", "))
        }
        false => option.about.to_owned(),
    }
}

/// The long options of a subcommand.
pub(crate) fn options_of(subcommand: &Command) -> Vec<String> {
    let long = subcommand.get_arguments().filter_map(Arg::get_long);
    long.map(|l| format!("--{l}")).collect()
}

/// The message for an option that the subcommand does not have with this method: which methods have it, or the nearest name.
pub(crate) fn unknown(option: &str, named: &Named, known: &[String]) -> limpid::Error {
    let own = named.method.name();
    let plain = option.trim_start_matches("--");
    let plain = plain.split('=').next().unwrap_or(plain);
    let has = |entry: &&Entry| {
        let options = (entry.make)().named_options();
        let same = |k: &OptionInfo| k.name == plain || flag(&k.name, k.form, &k.value) == plain;
        entry.used == named.used && options.iter().any(same)
    };
    let holders: Vec<&str> = methods().filter(has).map(|e| e.name).collect();
    if plain == "quality" && named.used == Use::Denoise {
        let stepped = methods().filter(|e| e.used == named.used && e.steps.is_some());
        let mut all: Vec<&str> = stepped.map(|e| e.name).chain(holders).collect();
        all.sort_unstable();
        all.dedup();
        let message = format!("{own} has no quality steps; {} have", listed_in_words(&all));
        return limpid::Error::input(message);
    }
    if let Some(first) = holders.first() {
        let them = listed_in_words(&holders);
        let message = match own {
            "auto" => {
                format!("--{plain} is an option of {them}; add --method {first}")
            }
            own => format!("{own} has no option --{plain}; it is an option of {them}"),
        };
        return limpid::Error::input(message);
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = match limpid::Error::unknown("option", &format!("--{plain}"), known) {
        limpid::Error::Unknown {
            near: Some(near), ..
        } => format!("Did you mean {near}?"),
        _ if own == "auto" => format!("`limpid {} --help` lists the options", named.subcommand),
        _ => format!("`limpid {} --help` lists the options", named.in_words()),
    };
    limpid::Error::input(format!("unknown option --{plain}. {near}"))
}

/// `a`, `a and b`, `a, b and c`.
fn listed_in_words(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The name of a method's option among the matches, which never equals that of a subcommand's option.
fn id(option: &str) -> String {
    format!("method {option}")
}

/// A switch that is on by default is turned off by `--no-NAME`.
fn flag(name: &str, form: &str, value: &str) -> String {
    if form == "true|false" && value == "true" {
        format!("no-{name}")
    } else {
        name.to_owned()
    }
}

/// The text with a lower-case first letter.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_lowercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

fn help(about: &str, value: &str) -> String {
    match value {
        "" | "true" | "false" => about.to_owned(),
        value => format!("{about} [default: {value}]"),
    }
}

/// The options that were given on the command line.
pub(crate) fn given(method: &dyn Method, matches: &ArgMatches) -> Given {
    let mut given = Vec::new();
    for option in method.named_options() {
        let id = id(&option.name);
        if option.form == "true|false" {
            if let Ok(Some(true)) = matches.try_get_one::<bool>(&id) {
                given.push((option.name.clone(), (option.value != "true").to_string()));
            }
        } else if let Ok(Some(values)) = matches.try_get_many::<String>(&id) {
            let values: Vec<&str> = values.map(String::as_str).collect();
            given.push((option.name.clone(), values.join(",")));
        }
    }
    if other_steps(method).is_some()
        && let Ok(Some(value)) = matches.try_get_one::<String>(&id("quality"))
    {
        given.push(("quality".to_owned(), value.clone()));
    }
    Given(given)
}
