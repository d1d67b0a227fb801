//! The program: one file per verb, no pixel work.

mod verb;

use clap::{Parser, Subcommand};
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
}

fn main() -> ExitCode {
    let result = match Cli::parse().verb {
        Verb::Info(args) => verb::info::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("limpid: {error:#}");
            ExitCode::FAILURE
        }
    }
}
