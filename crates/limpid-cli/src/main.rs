//! The program: one file per verb, no pixel work.

mod files;
mod knobs;
mod run;
mod say;
mod verb;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::process::ExitCode;

/// Takes noise out of images, fast, on any GPU and on the CPU.
#[derive(Parser)]
#[command(
    name = "limpid",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Info(verb::info::Args),
    Compare(verb::compare::Args),
    Denoise(verb::denoise::Args),
    Filter(verb::filter::Args),
    Plan(verb::plan::Args),
    Bench(verb::bench::Args),
    Render(verb::render::Args),
    Demo(verb::demo::Args),
}

fn main() -> ExitCode {
    say::start();
    let args: Vec<String> = std::env::args_os()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    let result = parse(&args).and_then(|(verb, knobs)| match verb {
        Verb::Info(args) => verb::info::run(&args),
        Verb::Compare(args) => verb::compare::run(&args),
        Verb::Denoise(args) => verb::denoise::run(&args, &knobs),
        Verb::Filter(args) => verb::filter::run(&args, &knobs),
        Verb::Plan(args) => verb::plan::run(&args, &knobs),
        Verb::Bench(args) => verb::bench::run(&args, &knobs),
        Verb::Render(args) => verb::render::run(&args),
        Verb::Demo(args) => verb::demo::run(&args),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if say::broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("limpid: {error:#}");
            ExitCode::from(if error.is::<say::Usage>() { 2 } else { 1 })
        }
    }
}

/// Parses the command line. The options of the method that it names become options of the verb.
fn parse(args: &[String]) -> anyhow::Result<(Verb, knobs::Given)> {
    let named = knobs::named(args)?;
    let mut command = Cli::command();
    if let Some(named) = &named {
        command = command.mut_subcommand(&named.verb, |verb| {
            knobs::augment(verb, named.method.as_ref())
        });
    }
    let matches = command.get_matches_from(args);
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let given = match (named, matches.subcommand()) {
        (Some(named), Some((_, matches))) => knobs::given(named.method.as_ref(), matches),
        _ => knobs::Given::default(),
    };
    Ok((cli.verb, given))
}
