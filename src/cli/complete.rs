//! `witness completions` and `witness man`: made from the same definitions as the command line itself.

use super::output::print;
use super::{Cli, ExitCode};
use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use safe_files::Readers;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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

/// Bash puts a file's name into the command line as it is, unless it is told that it is one: `$(…)` would be executed, and
/// `*` and spaces would make other words of it.
fn with_quoted_names(script: String) -> String {
    script.replace(
        "COMPREPLY=($(compgen -f \"${cur}\"))",
        "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"${cur}\")",
    )
}

pub fn completions(args: &CompletionsArgs) -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "witness", &mut text);
    if args.shell == Shell::Bash {
        text = with_quoted_names(String::from_utf8(text)?).into_bytes();
    }
    print(|out| Ok(out.write_all(&text)?))?;
    Ok(ExitCode::Nothing)
}

/// Writes the page of a command and those of its subcommands.
fn pages(command: Command, folder: &Path) -> io::Result<()> {
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.cloned().try_for_each(|command| pages(command, folder))?;
    let page = Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text)?;
    safe_files::write(&folder.join(page.get_filename()), &text, Readers::AsUsual)
}

pub fn man(args: &ManArgs) -> anyhow::Result<ExitCode> {
    match &args.folder {
        None => print(|out| Ok(Man::new(Cli::command()).render(out)?))?,
        Some(folder) => {
            let mut command = Cli::command().disable_help_subcommand(true);
            command.build();
            let there = if folder.is_dir() {
                Ok(())
            } else {
                safe_files::make_folder(folder)
            };
            let written = there.and_then(|()| pages(command, folder));
            written.with_context(|| format!("cannot write the manual pages to {}", folder.display()))?;
        }
    }
    Ok(ExitCode::Nothing)
}
