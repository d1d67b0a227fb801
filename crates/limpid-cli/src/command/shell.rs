//! `limpid completions` and `limpid man`.

use crate::{batch, say};
use anyhow::{Context, Result};
use clap_complete::Shell;
use std::io::Write;
use std::path::PathBuf;

/// Print completions for a shell
///
/// For bash: limpid completions bash > ~/.local/share/bash-completion/completions/limpid
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Print the manual page, or write one for each subcommand into a folder
#[derive(clap::Args)]
pub(crate) struct Man {
    /// Folder for limpid.1, limpid-denoise.1, …
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

pub(crate) fn completions(args: &Completions, mut program: clap::Command) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut program, "limpid", &mut text);
    Ok(std::io::stdout().write_all(&text)?)
}

pub(crate) fn man(args: &Man, program: clap::Command) -> Result<()> {
    let Some(folder) = &args.output else {
        let mut text = Vec::new();
        clap_mangen::Man::new(program).render(&mut text)?;
        return Ok(std::io::stdout().write_all(&text)?);
    };
    let named = || folder.display().to_string();
    batch::create(folder)?;
    clap_mangen::generate_to(program, folder).with_context(named)?;
    if !say::is_quiet() {
        say::line(&format!("manual pages written to {}", folder.display()));
    }
    Ok(())
}
