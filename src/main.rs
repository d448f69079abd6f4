//! The program `witness`.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
