//! How a run was scheduled: as the runtime is told, and as a trace's description says.

use recorder_ring::{Policy, Settings};
use trace_format::Meta;

/// In place of the steps of `pct` if the seed says how many.
const DRAWN: &str = "drawn";

/// What another one is told: another sequence of choices for each, the same in every run.
pub(crate) fn of_process(first: Settings, steps: &[u32]) -> Settings {
    let seed = steps.iter().fold(first.seed, |seed, &step| {
        seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(step))
    });
    Settings { seed, ..first }
}

/// The policy, as a trace's description has it.
pub(crate) fn text(settings: Settings) -> String {
    match settings.policy {
        Policy::Fifo => "fifo".to_owned(),
        Policy::Random => "random".to_owned(),
        Policy::Pct if settings.steps == 0 => format!("pct, depth {}, steps {DRAWN}", settings.depth),
        Policy::Pct => format!("pct, depth {}, steps {}", settings.depth, settings.steps),
        Policy::Pos => "pos".to_owned(),
        Policy::InTurn => format!("in turn, steps {}", settings.steps),
        Policy::Schedule => "schedule".to_owned(),
    }
}

/// The same of a run that was forced along a prefix of so many events before.
pub(crate) fn text_after(settings: Settings, prefix: usize) -> String {
    match prefix {
        0 => text(settings),
        _ => format!("{prefix} events forced, then {}", text(settings)),
    }
}

/// What the first process of a recording was told, but for its limit. `None` if it was no recording.
#[must_use]
pub fn settings_of(meta: &Meta) -> Option<Settings> {
    let mut settings = Settings {
        policy: Policy::Fifo,
        seed: meta.seed,
        depth: 0,
        steps: 0,
        most: u64::MAX,
        clocks_stand_at: 0,
        pictures: 0,
    };
    match &*meta.policy {
        "fifo" => {}
        "random" => settings.policy = Policy::Random,
        "pos" => settings.policy = Policy::Pos,
        other => {
            let (depth, steps) = other.strip_prefix("pct, depth ")?.split_once(", steps ")?;
            settings.policy = Policy::Pct;
            settings.depth = depth.parse().ok()?;
            settings.steps = if steps == DRAWN { 0 } else { steps.parse().ok()? };
        }
    }
    Some(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_say_how_a_run_was_scheduled() {
        use Policy::{Fifo, Pct, Pos, Random};
        for (policy, depth, steps) in [(Fifo, 0, 0), (Random, 0, 0), (Pos, 0, 0), (Pct, 3, 70_000), (Pct, 2, 0)] {
            let told = Settings {
                policy,
                seed: 9,
                depth,
                steps,
                ..Settings::fifo()
            };
            let meta = Meta {
                policy: text(told),
                seed: 9,
                ..Meta::default()
            };
            assert_eq!(format!("{:?}", settings_of(&meta)), format!("{:?}", Some(told)));
        }
        for policy in ["", "schedule", "pct", "pct, depth x, steps 3"] {
            let meta = Meta {
                policy: policy.to_owned(),
                ..Meta::default()
            };
            assert!(settings_of(&meta).is_none(), "{policy}");
        }
    }
}
