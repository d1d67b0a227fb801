//! Batches: which inputs are meant, where their results go, what is checked before the work, and what failed.

mod folder;

use crate::say::{self, OrUsage};
use crate::{heif, report, shot, video};
use anyhow::{Context, Result};
use folder::InputFile;
use limpid::Error;
use limpid::io::Format;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// How a batch is processed.
#[derive(clap::Args, Clone)]
pub(crate) struct Batch {
    /// Allow results to replace their inputs
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Search the folders inside folders too; results go to folders of the same names
    #[arg(long)]
    pub(crate) recursive: bool,
    /// Number of files to process at the same time
    #[arg(long, default_value_t = 1, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: u16,
    /// Print a JSON object per file on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

/// A file and the path of its result. Both are patterns for the frames of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Job {
    pub(crate) from: PathBuf,
    pub(crate) to: PathBuf,
}

/// The extension of a file, if it is of neither a film nor an image.
fn unknown(path: &Path) -> Option<String> {
    let extension = path.extension()?.to_string_lossy();
    let known = video::is_film(path) || heif::is_heif(path) || Format::from_path(path).is_ok();
    (!known).then(|| extension.into_owned())
}

impl Batch {
    /// The jobs of a command line. Everything that can be checked before the first pixel is checked here, and by `check`, before a
    /// folder is created.
    pub(crate) fn jobs(
        &self,
        inputs: &[PathBuf],
        output: &Path,
        check: impl FnOnce(&[Job]) -> Result<()>,
    ) -> Result<Vec<Job>> {
        let of_folder = inputs.iter().any(|input| input.is_dir());
        let inputs = folder::found(inputs, self.recursive, Some(output))?;
        let (jobs, folder) = targets(&inputs, output, of_folder)?;
        for job in &jobs {
            if !video::is_film(&job.to) {
                if let (true, Some(unknown)) = (video::is_film(&job.from), unknown(&job.to)) {
                    return usage(format!(
                        "{}: '{unknown}' is not a format that films are written in; use one of: {}, y4m, or images such as \
                         frame.####.png",
                        job.to.display(),
                        video::FILMS.join(", ")
                    ));
                }
                Format::from_path(&job.to).or_usage()?;
            }
            let several = |path: &Path| video::is_film(path) || shot::is_pattern(path);
            if video::is_film(&job.to) != video::is_film(&job.from)
                && !(several(&job.to) && several(&job.from))
            {
                if let Some(unknown) = unknown(&job.from) {
                    return usage(format!(
                        "{}: '{unknown}' is not a format that is read; convert it first, for example by ffmpeg -i {} {}",
                        job.from.display(),
                        job.from.display(),
                        job.from.with_extension("mkv").display()
                    ));
                }
                let kind = |path| match video::is_film(path) {
                    true => "a film",
                    false => "an image",
                };
                return usage(format!(
                    "{} is {}, but {} is {}; choose an output of the same kind",
                    job.from.display(),
                    kind(&job.from),
                    job.to.display(),
                    kind(&job.to)
                ));
            }
            if !self.overwrite && is_same(&job.from, &job.to) {
                return usage(format!(
                    "{}: the result would replace its input; choose another output, or add --overwrite",
                    job.from.display()
                ));
            }
        }
        for (i, job) in jobs.iter().enumerate() {
            if let Some(other) = jobs[..i].iter().find(|j| j.to == job.to) {
                return usage(format!(
                    "{} and {} would both be written to {}",
                    other.from.display(),
                    job.from.display(),
                    job.to.display()
                ));
            }
        }
        check(&jobs)?;
        match folder {
            Some(folder) => {
                create(&folder)?;
                jobs.iter().try_for_each(|job| create(folder_of(&job.to)))?;
            }
            // Like a folder, the place of numbered files is created.
            None if shot::is_pattern(output) => create(folder_of(output))?,
            None => can_write(output)?,
        }
        Ok(jobs)
    }

    /// The same, with the frames of sequences as separate files, for methods without history.
    pub(crate) fn single(&self, inputs: &[PathBuf], output: &Path) -> Result<Vec<Job>> {
        let mut all = Vec::new();
        for job in self.jobs(inputs, output, |_| Ok(()))? {
            if !shot::is_pattern(&job.from) {
                all.push(job);
                continue;
            }
            for n in shot::found(&job.from)? {
                all.push(Job {
                    from: shot::numbered(&job.from, n),
                    to: shot::numbered(&job.to, n),
                });
            }
        }
        Ok(all)
    }

    /// Processes all files. One that fails does not stop the others; the error at the end says how many failed. Each worker
    /// starts with a state, which is handed from file to file.
    pub(crate) fn run<S>(
        &self,
        jobs: &[Job],
        start: impl Fn() -> S + Sync,
        work: impl Fn(&Job, &mut S) -> Result<()> + Sync,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        let stop = AtomicBool::new(false);
        let failed: Mutex<Vec<(usize, anyhow::Error)>> = Mutex::default();
        let worker = || {
            let mut state = start();
            while !stop.load(Ordering::Relaxed) {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(at) else { break };
                say::set_position(at + 1, jobs.len());
                let result = say::about(&job.from, || work(job, &mut state));
                if let Err(error) = result {
                    if self.json {
                        report::failure(&job.from, &error);
                    }
                    let last = jobs.len() == 1 || say::ends_all(&error);
                    stop.fetch_or(last, Ordering::Relaxed);
                    if !last {
                        say::error(&error);
                    }
                    let mut failed = failed.lock().unwrap_or_else(|e| e.into_inner());
                    failed.push((at, error));
                }
            }
            // The program ends; the system takes memory back faster than it is freed piece by piece.
            std::mem::forget(state);
        };
        let workers = usize::from(self.jobs).min(jobs.len());
        if workers > 1 {
            say::several_bars();
            std::thread::scope(|scope| {
                (0..workers).for_each(|_| drop(scope.spawn(worker)));
            });
        } else {
            worker();
        }
        say::repeated_warnings();
        let mut failed = failed.into_inner().unwrap_or_else(|e| e.into_inner());
        if let Some(at) = failed.iter().position(|(_, e)| say::ends_all(e)) {
            return Err(failed.swap_remove(at).1);
        }
        match failed.len() {
            0 => Ok(()),
            1 if jobs.len() == 1 => Err(failed.swap_remove(0).1),
            count => {
                failed.sort_by_key(|(at, _)| *at);
                let names = failed.iter().map(|(at, _)| jobs[*at].from.display());
                let names: Vec<String> = names.map(|n| n.to_string()).collect();
                let all = jobs.len();
                let message = format!("{count} of {all} files failed: {}", names.join(", "));
                // An option that fits none of the files is wrong usage.
                match count == all && failed.iter().all(|(_, e)| say::is_usage(e)) {
                    true => usage(message),
                    false => Err(anyhow::anyhow!(message)),
                }
            }
        }
    }
}

pub(crate) fn usage<T>(message: String) -> Result<T> {
    Err(Error::input(message)).or_usage()
}

/// The files that the inputs denote: folders, wildcards and names. Patterns of sequences are kept.
pub(crate) fn expand(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let found = folder::found(inputs, false, None)?;
    Ok(found.into_iter().map(|found| found.path).collect())
}

/// The path of each result, and the folder that must exist. The results of a folder go to a folder, even if it holds one image.
fn targets(
    inputs: &[InputFile],
    output: &Path,
    of_folder: bool,
) -> Result<(Vec<Job>, Option<PathBuf>)> {
    let names_file =
        Format::from_path(output).is_ok() || video::is_film(output) || shot::is_pattern(output);
    let looks_like_folder =
        output.is_dir() || ends_with_separator(output) || (of_folder && !names_file);
    let is_file = !looks_like_folder && names_file;
    if let ([InputFile { path: from, .. }], false) = (inputs, looks_like_folder) {
        if shot::is_pattern(from) && !shot::is_pattern(output) && !video::is_film(output) {
            if is_file {
                return usage(format!(
                    "{}: several frames need a placeholder for their number, such as OUT.####.exr, or a folder",
                    output.display()
                ));
            }
        } else {
            let to = output.to_owned();
            let from = from.clone();
            return Ok((vec![Job { from, to }], None));
        }
    }
    if is_file {
        return usage(format!(
            "{}: several inputs need an output folder; name one, such as results/",
            output.display()
        ));
    }
    let mut jobs = Vec::new();
    for InputFile { path, name } in inputs {
        if path == Path::new("-") {
            return usage("-: standard input has no name; name an output file".to_owned());
        }
        // There is no encoder for these.
        let name = match (heif::is_heif(path), limpid::io::is_raw(path)) {
            (true, _) => name.with_extension("png"),
            (_, true) => name.with_extension("dng"),
            _ => name.clone(),
        };
        jobs.push(Job {
            from: path.clone(),
            to: output.join(name),
        });
    }
    Ok((jobs, Some(output.to_owned())))
}

fn ends_with_separator(path: &Path) -> bool {
    let last = path.as_os_str().as_encoded_bytes().last();
    last.is_some_and(|b| std::path::is_separator(char::from(*b)))
}

/// The folder of a file.
pub(crate) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Creates a folder, if it is not there.
pub(crate) fn create(folder: &Path) -> Result<()> {
    if folder.exists() && !folder.is_dir() {
        return usage(format!(
            "{}: there is a file of this name; name a folder",
            folder.display()
        ));
    }
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{}: cannot be created", folder.display()))
}

/// Checks that a file can be written before the work begins.
pub(crate) fn can_write(file: &Path) -> Result<()> {
    let folder = folder_of(file);
    if !folder.is_dir() {
        return usage(format!(
            "{}: the folder {} does not exist; create it first",
            file.display(),
            folder.display()
        ));
    }
    if file.is_dir() {
        return usage(format!("{}: is a folder; name a file", file.display()));
    }
    Ok(())
}

/// The same, and that its folder takes new files: for what is written after a long measurement.
pub(crate) fn can_create(file: &Path) -> Result<()> {
    can_write(file)?;
    let made = tempfile::tempfile_in(folder_of(file));
    made.map(drop).map_err(|e| Error::io(file, e).into())
}

/// The images that are meant; a sequence stands for its frames.
pub(crate) fn images(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for input in expand(inputs)? {
        match shot::is_pattern(&input) {
            true => all.extend(
                shot::found(&input)?
                    .iter()
                    .map(|n| shot::numbered(&input, *n)),
            ),
            false => all.push(input),
        }
    }
    Ok(all)
}

/// Whether two names denote the same file, or the same frames.
fn is_same(a: &Path, b: &Path) -> bool {
    if a == Path::new("-") {
        return false;
    }
    let place = |path: &Path| {
        let folder = path.parent().filter(|f| !f.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    let real = |path: &Path| path.canonicalize().ok().or_else(|| place(path));
    a == b || (real(a).is_some() && real(a) == real(b))
}
