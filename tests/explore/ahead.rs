//! Looking ahead: where threads try again, and see what makes no difference to them, histories multiply. Taken together
//! as far as they go on alike they are few, and a failure that is many changes of threads away is found in fewer runs.

use crate::interpreter::Interpreter;
use crate::program::{Instruction, Program, Register, Term};
use std::ops::ControlFlow;
use witness::explore::{End, Options, What, explore};

const STAGE: usize = 0;
const NOISE: usize = 1;

/// How often each of two threads moves the stage on.
const MOVES: i64 = 6;

/// How often a thread looks in vain in all, before it gives up.
const ATTEMPTS: i64 = 2;

const SEEN: Register = 0;
const TRIED: Register = 1;
const STALE: Register = 2;

fn load(from: usize, into: Register) -> Instruction {
    let atomic = true;
    Instruction::Read { from, into, atomic }
}

fn store(to: usize, value: i64) -> Instruction {
    Instruction::Write {
        to,
        value: Term::Number(value),
        atomic: true,
    }
}

fn jump_if(register: Register, equals: i64, to: usize) -> Instruction {
    let left = Term::Plus(register, 0);
    Instruction::JumpIf { left, equals, to }
}

/// A thread, at this place of the code, that moves the stage on from each second number, and looks at the noise before
/// it looks at the stage. It ends the program if it sees the last stage then and `fails`.
fn mover(at: usize, first: i64, fails: bool) -> Vec<Instruction> {
    const LENGTH: usize = 7;
    let ends = at + LENGTH * MOVES as usize + 2;
    let mut code = Vec::new();
    for number in 0..MOVES {
        let begins = at + code.len();
        let wanted = first + 2 * number;
        code.extend([
            load(NOISE, STALE),
            load(STAGE, SEEN),
            jump_if(SEEN, wanted, begins + LENGTH - 1),
            Instruction::Set {
                into: TRIED,
                value: Term::Plus(TRIED, 1),
            },
            jump_if(TRIED, ATTEMPTS, ends),
            Instruction::Jump { to: begins },
            store(STAGE, wanted + 1),
        ]);
    }
    let last = if fails { 2 * MOVES } else { -1 };
    code.extend([load(STAGE, SEEN), jump_if(SEEN, last, ends + 1)]);
    code.extend([Instruction::End, Instruction::Fail]);
    code
}

/// Two threads that move the stage on by turns, and one that makes noise.
fn program() -> Program {
    let mut code = vec![Instruction::End; 4];
    let fork = |at| Instruction::Fork { at, into: 3 };
    code[0] = fork(code.len());
    code.extend(mover(code.len(), 0, true));
    code[1] = fork(code.len());
    code.extend(mover(code.len(), 1, false));
    code[2] = fork(code.len());
    code.extend((1..=5).map(|number| store(NOISE, number)));
    code.push(Instruction::End);
    Program {
        code,
        ..Program::default()
    }
}

/// Runs until the first failure, if one of so many is it.
fn runs_until_failure(looks_ahead_after: Option<usize>, most: usize) -> Option<usize> {
    let program = program();
    let mut session = Interpreter::new(&program, 1);
    let options = Options {
        runs: most,
        looks_ahead_after,
        ..Options::default()
    };
    let exploration = explore(&mut session, &options, &mut |progress| match progress.found {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    let exploration = exploration.unwrap();
    let failed = |what: &What| matches!(what, What::Ended(End::Failure(_)));
    let found = exploration.found.iter().any(|found| failed(&found.what));
    found.then_some(exploration.runs)
}

#[test]
fn a_deep_failure_among_many_histories_is_found_in_fewer_runs() {
    let runs = runs_until_failure(Some(8), 1_000).expect("the failure is found");
    println!("{runs} runs, and {:?} without", runs_until_failure(None, 1_000));
    assert_eq!(runs_until_failure(None, 2 * runs), None, "{runs} runs look ahead");
}
