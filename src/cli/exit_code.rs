//! The meaning of `witness`'s exit status. No other file chooses one.

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
    /// No race witnessed, but some pairs are unknown or the trace is cut; `confirm`, `explain`: also if some are not in
    /// this trace.
    OnlyUnknowns = 3,
    /// `replay --live`: the program departed from a schedule, or from the recorded run.
    Diverged = 4,
    /// `replay --live`: the program kept to the schedule but did not reach the race, or the end of the recorded run.
    NotReached = 5,
    /// At least one race is witnessed (ThreadSanitizer uses the same status).
    Witnessed = 66,
    /// `run`, `explore`: no race, but threads of the program waited for one another forever. `record`: the run ended in
    /// such a deadlock.
    Deadlock = 67,
    /// `run`, `explore`: no race, but a signal killed the program, or it exited with a status other than 0.
    Failed = 68,
    /// A bug in `witness` itself, such as a schedule that its own checker rejects.
    Internal = 70,
    /// `record`, `run`: `--timeout` ended the program (`timeout` uses the same status). `explore`: the program can
    /// hang.
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

    /// The one with this number, if there is one.
    pub fn of_status(status: u8) -> Option<ExitCode> {
        ExitCode::ALL.into_iter().find(|&code| code as u8 == status)
    }

    /// The table for `--help`.
    pub const HELP: &str = "Exit status:
  0   nothing witnessed, nothing left open; for other commands: done
  1   check: the trace is no sequentially consistent execution, or the schedule is rejected
  2   bad usage, or a file that is missing, unreadable or damaged
  3   nothing witnessed, but some pairs are unknown or the trace is cut; confirm, explain: also if some are not in this trace
  4   replay --live: the program departed from a schedule, or from the recorded run
  5   replay --live: the program kept to the schedule but did not reach the race, or the end of the recorded run
  66  a race, a use after free, a deadlock or an atomicity violation is witnessed; replay --live: every witness shown is confirmed
  67  analyze, run, explore: nothing witnessed, but threads of the recorded run, or of another one, waited for one another forever; record: the run ended in such a deadlock
  68  run, explore: nothing witnessed, but a signal killed the program, or it exited with a status other than 0
  70  a bug in witness itself
  124 record, run: --timeout ended the program; explore: it can run until --timeout or --max-events
`witness record` otherwise ends with the exit status of the recorded program.";
}

impl ExitCode {
    /// The status of two traces together, or of a trace and its run: a bug ranks before a race, a race before the
    /// program's end, and that before unknown pairs.
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
