//! Runs the targets on mutations of their corpus, each in a child process with bounded memory and time. `cargo xtask fuzz` builds
//! it with coverage counters and starts it.

use anyhow::{Context, bail};
use clap::Parser;
use limpid_fuzz::coverage::Reached;
use limpid_fuzz::mutate::{Corpus, Dice};
use limpid_fuzz::{TARGETS, Target, target};
use std::fs;
use std::io::{BufRead, BufReader, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Fuzz readers and parsers.
#[derive(Parser)]
struct Arguments {
    /// Targets; all of them when none is named
    targets: Vec<String>,
    /// Minutes for each target
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// Stop after this many inputs of a target
    #[arg(long)]
    inputs: Option<u64>,
    /// Where random numbers begin
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder with a folder of inputs for each target, to start from; inputs that reach something new are added
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Where inputs go that panic, abort, run out of memory or take too long
    #[arg(long, default_value = "finds")]
    finds: PathBuf,
    /// The most memory of a child process, in MiB
    #[arg(long, default_value_t = 2048)]
    memory: u64,
    /// The longest that one input may take, in seconds
    #[arg(long, default_value_t = 10)]
    patience: u64,
    /// Work as a child process
    #[arg(long, hide = true)]
    child: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let mut chosen = Vec::new();
    for name in &arguments.targets {
        let Some(found) = target(name) else {
            let known: Vec<&str> = TARGETS.iter().map(|t| t.name).collect();
            bail!(
                "no target is called '{name}'; there are: {}",
                known.join(", ")
            );
        };
        chosen.push(found);
    }
    if let Some(current) = &arguments.child {
        work(
            chosen.first().context("a child needs a target")?,
            &arguments,
            current,
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    if chosen.is_empty() {
        chosen.extend(TARGETS);
    }
    let mut finds = 0;
    for target in chosen {
        finds += watch(target, &arguments)?;
    }
    Ok(if finds == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What a child has done so far.
#[derive(Default, Clone, Copy)]
struct Progress {
    inputs: u64,
    accepted: u64,
    edges: u64,
}

/// Runs children of a target until its time is over; gives the number of finds.
fn watch(target: &Target, arguments: &Arguments) -> anyhow::Result<u64> {
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(60.0 * arguments.minutes);
    let scratch = tempfile::tempdir()?;
    let current = scratch.path().join("current");
    let (mut total, mut finds, mut seed) = (Progress::default(), 0, arguments.seed);
    let enough = |total: &Progress| arguments.inputs.is_some_and(|most| total.inputs >= most);
    while Instant::now() < end && !enough(&total) && finds < 20 {
        let (mut child, lines) = start(target, arguments, &current, seed, end, total.inputs)?;
        let (done, what) = follow(&mut child, &lines, arguments, end)?;
        total.inputs += done.inputs;
        total.accepted += done.accepted;
        total.edges = total.edges.max(done.edges);
        seed += 1;
        if let Some(what) = what {
            finds += 1;
            let input = fs::read(&current)?;
            let path = arguments.finds.join(target.name).join(name_of(&input));
            fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            fs::write(&path, input)?;
            println!("{}: {what}; the input is {}", target.name, path.display());
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{}: {} inputs in {seconds:.0} s ({:.0} per second), {} accepted, {} edges reached, {finds} finds",
        target.name,
        total.inputs,
        total.inputs as f64 / seconds,
        total.accepted,
        total.edges,
    );
    Ok(finds)
}

/// Starts a child with a limit of its memory, and a thread that reads what it says.
fn start(
    target: &Target,
    arguments: &Arguments,
    current: &Path,
    seed: u64,
    end: Instant,
    before: u64,
) -> anyhow::Result<(Child, Receiver<String>)> {
    let own = std::env::current_exe()?;
    let mut command = if cfg!(unix) {
        let mut shell = Command::new("sh");
        // KiB of addresses.
        let limit = format!("ulimit -v {} && exec \"$0\" \"$@\"", arguments.memory << 10);
        shell.arg("-c").arg(limit).arg(own);
        shell
    } else {
        Command::new(own)
    };
    let minutes = end.saturating_duration_since(Instant::now()).as_secs_f64() / 60.0;
    command.arg(target.name).arg("--child").arg(current);
    command.args(["--seed", &seed.to_string()]);
    command.args(["--minutes", &minutes.to_string()]);
    if let Some(most) = arguments.inputs {
        command.args(["--inputs", &(most - before).to_string()]);
    }
    if let Some(corpus) = &arguments.corpus {
        command.arg("--corpus").arg(corpus);
    }
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let out = child.stdout.take().context("a child without output")?;
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    Ok((child, lines))
}

/// Follows a child to its end. Gives what it did, and what was wrong.
fn follow(
    child: &mut Child,
    lines: &Receiver<String>,
    arguments: &Arguments,
    end: Instant,
) -> anyhow::Result<(Progress, Option<String>)> {
    let mut progress = Progress::default();
    let patience = Duration::from_secs(arguments.patience);
    let mut heard = Instant::now();
    loop {
        match lines.recv_timeout(Duration::from_millis(200)) {
            Ok(line) => {
                heard = Instant::now();
                let mut numbers = line.split(' ').map_while(|n| n.parse().ok());
                if let (Some(inputs), Some(accepted), Some(edges)) =
                    (numbers.next(), numbers.next(), numbers.next())
                {
                    progress = Progress {
                        inputs,
                        accepted,
                        edges,
                    };
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                let late = Instant::now() > end + patience;
                // A child reports once a second, between inputs.
                if heard.elapsed() > patience + Duration::from_secs(2) || late {
                    child.kill()?;
                    child.wait()?;
                    return Ok((
                        progress,
                        Some(format!("longer than {} s", arguments.patience)),
                    ));
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait()?;
                let what = (!status.success()).then(|| format!("the process ended with {status}"));
                return Ok((progress, what));
            }
        }
    }
}

/// The work of a child: mutates, runs, keeps what reached something new. The input that is tried lies in `current`.
fn work(target: &'static Target, arguments: &Arguments, current: &Path) -> anyhow::Result<()> {
    let begin = Instant::now();
    let minutes = Duration::from_secs_f64(60.0 * arguments.minutes);
    let folder = arguments.corpus.as_ref().map(|c| c.join(target.name));
    let mut more = Vec::new();
    for entry in folder
        .iter()
        .flat_map(|f| fs::read_dir(f).into_iter().flatten())
    {
        more.push(fs::read(entry?.path())?);
    }
    let mut dice = Dice::new(arguments.seed);
    let mut corpus = Corpus::new(target, more);
    let mut file = fs::File::create(current)?;
    let mut reached = Reached::default();
    let mut progress = Progress::default();
    let mut say = Instant::now();
    let tell = |p: &Progress| println!("{} {} {}", p.inputs, p.accepted, p.edges);
    let start: Vec<Vec<u8>> = corpus.inputs().to_vec();
    let mut first = start.into_iter();
    while begin.elapsed() < minutes && arguments.inputs.is_none_or(|most| progress.inputs < most) {
        let given = first.next();
        let old = given.is_some();
        let input = given.unwrap_or_else(|| corpus.next(&mut dice));
        file.rewind()?;
        file.write_all(&input)?;
        file.set_len(input.len() as u64)?;
        reached.reset();
        let accepted = (target.run)(&input);
        progress.inputs += 1;
        progress.accepted += u64::from(accepted);
        if reached.take() && !old {
            if let Some(folder) = &folder {
                fs::create_dir_all(folder)?;
                fs::write(folder.join(name_of(&input)), &input)?;
            }
            corpus.keep(input, &mut dice);
        }
        if say.elapsed() > Duration::from_secs(1) {
            progress.edges = reached.edges() as u64;
            tell(&progress);
            say = Instant::now();
        }
    }
    progress.edges = reached.edges() as u64;
    tell(&progress);
    Ok(())
}

/// A name that follows from the bytes.
fn name_of(input: &[u8]) -> String {
    let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", input.iter().fold(0xcbf2_9ce4_8422_2325, mix))
}
