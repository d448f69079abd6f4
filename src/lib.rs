//! `witness` predicts data races from one recorded run, proves each with a feasible schedule, and replays it.
