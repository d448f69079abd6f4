//! What the exit status of `witness` says. This is the only place where one is chosen.

/// The statuses with which `witness` ends. `witness record` ends with the recorded program's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitCode {
    /// Nothing witnessed, nothing left open; for other commands: done.
    Nothing = 0,
    /// `check`: the trace is no sequentially consistent execution, or the schedule is rejected.
    NotAccepted = 1,
    /// Bad usage, or a file that is missing, unreadable or damaged.
    BadInput = 2,
    /// No race witnessed, but some pairs are left unknown, or the trace is cut; `confirm`, `explain`: or are only not in this trace.
    OnlyUnknowns = 3,
    /// `replay --live`: the program did something else than a schedule says.
    Diverged = 4,
    /// `replay --live`: the program did not come to a race, though it did nothing else.
    NotReached = 5,
    /// At least one race is witnessed (as ThreadSanitizer ends).
    Witnessed = 66,
    /// `run`: no race, but threads of the program waited for one another for ever. `record`: so the run ended.
    Deadlock = 67,
    /// `run`: no race, but the program failed: it died, or ended with another status than 0.
    Failed = 68,
    /// A bug in `witness` itself, such as a schedule that its own checker rejects.
    Internal = 70,
    /// `record`, `run`: the program was ended by `--timeout` (as `timeout` ends).
    TimedOut = 124,
}

impl ExitCode {
    /// All of them, from the best to the worst.
    const ALL: [ExitCode; 11] = [
        ExitCode::Nothing,
        ExitCode::NotAccepted,
        ExitCode::BadInput,
        ExitCode::OnlyUnknowns,
        ExitCode::Diverged,
        ExitCode::NotReached,
        ExitCode::TimedOut,
        ExitCode::Failed,
        ExitCode::Deadlock,
        ExitCode::Witnessed,
        ExitCode::Internal,
    ];

    /// The table for `--help`.
    pub const HELP: &str = "Exit status:
  0   nothing witnessed, nothing left open; for other commands: done
  1   check: the trace is no sequentially consistent execution, or the schedule is rejected
  2   bad usage, or a file that is missing, unreadable or damaged
  3   no race witnessed, but some pairs are left unknown, or the trace is cut; confirm, explain: or are only not in this trace
  4   replay --live: a live run did something else than its schedule says
  5   replay --live: a live run did not come to the race, though it did nothing else
  66  at least one race is witnessed; replay --live: every race shown is confirmed
  67  run: no race, but threads waited for one another for ever; record: that ended the run
  68  run: no race, but the program died, or ended with a status other than 0
  70  a bug in witness itself
  124 record, run: --timeout ended the program
`witness record` otherwise ends with the exit status of the recorded program.";
}

impl ExitCode {
    /// What two traces, or a trace and the run that it is of, say together: a bug before a race, a race before how the
    /// program ended, that before what is not known.
    pub fn or_worse(self, other: ExitCode) -> ExitCode {
        let rank = |code: ExitCode| ExitCode::ALL.iter().position(|&one| one == code);
        if rank(self) >= rank(other) { self } else { other }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> std::process::ExitCode {
        std::process::ExitCode::from(code as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::ExitCode;

    #[test]
    fn the_help_lists_every_status() {
        for code in ExitCode::ALL {
            let line = format!("\n  {:<3} ", code as u8);
            assert!(ExitCode::HELP.contains(&line), "{code:?}");
        }
    }
}
