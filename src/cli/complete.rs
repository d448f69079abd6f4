//! `witness completions` and `witness man`: made from the same definitions as the command line itself.

use super::output::print;
use super::{Cli, ExitCode};
use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;
use std::fs;
use std::path::PathBuf;

/// Print the completions of a shell.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness completions bash > ~/.local/share/bash-completion/completions/witness
  witness completions zsh > ~/.zfunc/_witness
  witness completions fish > ~/.config/fish/completions/witness.fish")]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Print the manual page, or write those of all commands to a folder.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  witness man | man -l -
  witness man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// The folder; one page for each command.
    folder: Option<PathBuf>,
}

pub fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "witness", &mut text);
    print(|out| Ok(std::io::Write::write_all(out, &text)?))?;
    Ok(ExitCode::Nothing)
}

pub fn man(args: &ManArgs) -> anyhow::Result<ExitCode> {
    match &args.folder {
        None => print(|out| Ok(clap_mangen::Man::new(Cli::command()).render(out)?))?,
        Some(folder) => {
            let context = || format!("cannot write the manual pages to {}", folder.display());
            fs::create_dir_all(folder).with_context(context)?;
            clap_mangen::generate_to(Cli::command(), folder).with_context(context)?;
        }
    }
    Ok(ExitCode::Nothing)
}
