//! A run along a schedule, and then beyond its end, where the program goes on by itself.

use super::{LiveError, Planner};
use crate::record::ProcessNumber;
use crate::schedule::Schedule;
use crate::session::{Bounds, Launch, Ran, Session, Settings};
use crate::trace::EventId;
use std::time::Duration;

/// How long a program may go on behind the schedule before the run is ended.
pub(super) const GOES_ON: Duration = Duration::from_secs(10);

/// Runs the program of a trace along a schedule and on; and the event before which it left the schedule, if it did.
pub(super) fn beyond(
    planner: &Planner<'_>,
    schedule: &Schedule,
    launch: &Launch,
    goes_on: Duration,
    settings: Settings,
) -> Result<(Ran, Option<EventId>), LiveError> {
    if launch.descent.is_some() {
        let number = ProcessNumber::of(&planner.checker().trace().tables().meta);
        return Err(LiveError::ForkedProcess {
            number: number.map_or_else(String::new, |number| number.to_string()),
        });
    }
    let plan = planner.plan(schedule)?;
    let steps = plan.steps().ok_or(LiveError::TooManyThreads)?;
    let bounds = Bounds {
        timeout: Some(goes_on + launch.patience),
        patience: Some(launch.patience),
        max_events: None,
        usual: None,
    };
    let ran = Session::new(launch, bounds)?.follow(&steps, settings)?;
    let left_at = ran.diverged.as_ref().map(|diverged| plan.event(diverged.step()));
    Ok((ran, left_at))
}
