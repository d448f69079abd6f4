//! A program as what is explored, each of whose runs somebody looks at as soon as it is kept.

use witness::explore::{Learnt, Prefix, Program, Ran, Remembered, Session};
use witness::forest::Forest;

/// Looks at a run: its number, from 0, and what it was the first to show.
pub type Look<'a> = dyn FnMut(&Program, usize, &Learnt) -> anyhow::Result<()> + 'a;

/// A program and who looks at its runs.
pub struct Watched<'a> {
    program: &'a mut Program,
    look: &'a mut Look<'a>,
    /// How many runs of an earlier exploration were looked at; `None` if those are not to be.
    remembered: Option<usize>,
}

impl<'a> Watched<'a> {
    /// Of the runs that are made from now on.
    pub fn new(program: &'a mut Program, look: &'a mut Look<'a>) -> Watched<'a> {
        Watched {
            program,
            look,
            remembered: None,
        }
    }

    /// Of all, those included that an earlier exploration has left.
    pub fn from_the_first(program: &'a mut Program, look: &'a mut Look<'a>) -> Watched<'a> {
        Watched {
            remembered: Some(0),
            ..Watched::new(program, look)
        }
    }
}

impl Session for Watched<'_> {
    type Error = anyhow::Error;

    fn run(&mut self, forest: &Forest, prefix: &Prefix) -> anyhow::Result<Ran> {
        Ok(self.program.run(forest, prefix)?)
    }

    fn run_all(&mut self, forest: &Forest, prefixes: &[Prefix]) -> anyhow::Result<Vec<Ran>> {
        Ok(self.program.run_all(forest, prefixes)?)
    }

    fn run_unsearched(&mut self, prefers: Option<&dyn Fn(u64) -> bool>, count: usize) -> anyhow::Result<Vec<Ran>> {
        Ok(self.program.run_unsearched(prefers, count)?)
    }

    fn keep(&mut self, run: usize, learnt: &Learnt) -> anyhow::Result<()> {
        self.program.keep(run, learnt)?;
        (self.look)(self.program, run, learnt)
    }

    fn remember(&mut self) -> anyhow::Result<Option<Remembered>> {
        let remembered = self.program.remember()?;
        if let (Some(Remembered { learnt, .. }), Some(run)) = (&remembered, self.remembered) {
            (self.look)(self.program, run, learnt)?;
            self.remembered = Some(run + 1);
        }
        Ok(remembered)
    }
}
