//! The program: one file per subcommand, no pixel work.

mod batch;
mod command;
mod files;
mod heif;
mod layers;
mod method_options;
mod profile;
mod raw;
mod render_tags;
mod report;
mod run;
mod say;
mod shot;
mod usage;
mod video;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use limpid::wavelet::Direction;
use say::OrUsage;
use std::ffi::OsString;
use std::path::Path;

/// A fast denoiser for renders, photographs and films, on any GPU and on the CPU.
#[derive(Parser)]
#[command(
    name = "limpid",
    version,
    long_version = env!("LIMPID_VERSION"),
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 success, 1 failure, 2 incorrect usage, 130 interrupted."
)]
struct Cli {
    /// Print only warnings and errors [also: LIMPID_QUIET=1]
    #[arg(long, short, global = true)]
    quiet: bool,
    /// Number of CPU threads [default: all cores]
    #[arg(long, value_name = "COUNT", global = true)]
    threads: Option<usize>,
    /// Memory limit, such as 8G or 500M; larger images are processed in tiles, or rejected if the method cannot use tiles
    #[arg(long, value_name = "LIMIT", global = true)]
    memory: Option<run::Bytes>,
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Denoise(command::denoise::Args),
    Compare(command::compare::Args),
    Convert(command::convert::Args),
    View(command::view::Args),
    Info(command::info::Args),
    Methods(command::methods::Args),
    Demo(command::demo::Args),
    Render(command::render::Args),
    Reconstruct(command::reconstruct::Args),
    Filter(command::filter::Args),
    Dwt(command::dwt::Args),
    /// Transform wavelet coefficients back to images
    Idwt(command::dwt::Args),
    Plan(command::plan::Args),
    Bench(command::bench::Args),
    Completions(command::shell::Completions),
    Man(command::shell::Man),
}

fn main() -> ! {
    headless();
    say::start();
    let args: Vec<OsString> = std::env::args_os().collect();
    let result = parse(&args).and_then(|(cli, given)| {
        if cli.quiet {
            say::be_quiet();
        }
        run::set_threads(cli.threads)?;
        run::set_memory(cli.memory);
        match cli.task {
            Task::Info(args) => command::info::run(&args),
            Task::Methods(args) => command::methods::run(&args),
            Task::Compare(args) => command::compare::run(&args),
            Task::Convert(args) => command::convert::run(&args),
            Task::View(args) => command::view::run(&args),
            Task::Denoise(args) => command::denoise::run(&args, &given),
            Task::Filter(args) => command::filter::run(&args, &given),
            Task::Dwt(args) => command::dwt::run(&args, &given, Direction::Forward),
            Task::Idwt(args) => command::dwt::run(&args, &given, Direction::Inverse),
            Task::Reconstruct(args) => command::reconstruct::run(&args, &given),
            Task::Plan(args) => command::plan::run(&args, &given),
            Task::Bench(args) => command::bench::run(&args, &given),
            Task::Render(args) => command::render::run(&args),
            Task::Demo(args) => command::demo::run(&args),
            Task::Completions(args) => command::shell::completions(&args, Cli::command()),
            Task::Man(args) => command::shell::man(&args, Cli::command()),
        }
    });
    let code = match result {
        Ok(()) => 0,
        Err(error) if say::broken_pipe(&error) => 0,
        Err(error) => {
            say::error(&error);
            match say::is_usage(&error) {
                true => 2,
                false if say::interrupted() => say::INTERRUPTED,
                false => 1,
            }
        }
    };
    say::end_now(code)
}

/// Without a desktop, a Mesa layer looks for a Wayland display and complains on standard error if there is none.
/// The layer only sorts devices for windows.
fn headless() {
    let place = std::env::var_os("XDG_RUNTIME_DIR").is_some_and(|p| Path::new(&p).is_absolute());
    let asked = std::env::var_os("MESA_VK_DEVICE_SELECT").is_some();
    if cfg!(target_os = "linux") && !place && !asked {
        // SAFETY: nothing else runs yet, so no other thread reads the environment.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

/// Parses the command line. The options of the method that it names become options of the subcommand.
fn parse(args: &[OsString]) -> anyhow::Result<(Cli, method_options::Given)> {
    // A file may be called like a method: the right one is that whose options let the line name it.
    let mut candidates = method_options::candidates(args)?;
    let right = candidates.iter().position(|named| {
        let matches = command(Some(named)).try_get_matches_from(args);
        matches.is_ok_and(|m| named.is_named_by(&m))
    });
    let named = match right {
        Some(at) => Some(candidates.swap_remove(at)),
        None => candidates.into_iter().next(),
    };
    let matches = match command(named.as_ref()).try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => {
            if let (ErrorKind::UnknownArgument, Some(ContextValue::String(option)), Some(named)) =
                (error.kind(), error.get(ContextKind::InvalidArg), &named)
                && option.starts_with("--")
            {
                let subcommand = command(Some(named));
                let known = subcommand.find_subcommand(&named.subcommand);
                let known = known.map(method_options::options_of).unwrap_or_default();
                Err(method_options::unknown(option, named, &known)).or_usage()?;
            }
            return refused(&error, args);
        }
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return refused(&error, args),
    };
    let given = match (named, matches.subcommand()) {
        (Some(named), Some((_, matches))) => method_options::given(named.method.as_ref(), matches),
        _ => method_options::Given::default(),
    };
    say::remember(given.options());
    Ok((cli, given))
}

/// Prints help or the version, or gives the error in one sentence.
fn refused<T>(error: &clap::Error, args: &[OsString]) -> anyhow::Result<T> {
    let program = Cli::command();
    let mut words = args.iter().skip(1);
    let subcommand = words.find_map(|word| program.find_subcommand(word));
    match usage::sentence(error, subcommand) {
        Some(sentence) => Err(limpid::Error::input(sentence)).or_usage(),
        None => error.exit(),
    }
}

/// The program's arguments, with the options of the method that was named.
fn command(named: Option<&method_options::Named>) -> clap::Command {
    match named {
        None => Cli::command(),
        Some(named) => Cli::command().mut_subcommand(&named.subcommand, |subcommand| {
            method_options::augment(subcommand, named.method.as_ref())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands of the pages that take too long to run are at least parsed.
    #[test]
    fn commands_for_readers_are_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut pages = vec![root.join("README.md")];
        for folder in ["docs", "docs/notes"] {
            let entries = std::fs::read_dir(root.join(folder)).unwrap();
            pages.extend(entries.map(|e| e.unwrap().path()));
        }
        let mut found = 0;
        for page in pages
            .iter()
            .filter(|p| p.extension().is_some_and(|e| e == "md"))
        {
            let text = std::fs::read_to_string(page).unwrap();
            for block in text.split("\n```sh\n").skip(1) {
                let block = block.split("\n```").next().unwrap().replace("\\\n", " ");
                for line in block.lines() {
                    let line = line.replace("cargo run --release -- ", "limpid ");
                    let words = line.split_whitespace();
                    let args: Vec<OsString> = words
                        .take_while(|w| !["|", ">", "#", "&&"].contains(w))
                        .map(|w| w.trim_matches(['\'', '"']).into())
                        .collect();
                    if args.first().is_some_and(|a| a == "limpid") {
                        let named = method_options::candidates(&args).unwrap();
                        if let Err(error) = command(named.first()).try_get_matches_from(&args) {
                            panic!("{}: {line}\n{error}", page.display());
                        }
                        found += 1;
                    }
                }
            }
        }
        assert!(found > 0);
    }
}
