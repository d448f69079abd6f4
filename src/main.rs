//! The program `witness`.

// They end the program if nobody reads what it says.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod cli;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> std::process::ExitCode {
    cli::main()
}
