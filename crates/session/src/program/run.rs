//! Runs a program: one operation after the other, with its open blocks, handlers and cursors.
//!
//! # Handlers
//! The handlers of open blocks lie on a stack, those of one block together. While a handler runs, its own block's and those of the
//! blocks between it and the place of the condition are not looked at: a frame on the block stack says which part to leave out.
//! In the innermost block that has any, the most specific handler wins: error number, then SQLSTATE, then class.

use std::ops::Range;
use std::sync::Arc;

use client_error::{ClientError, program as error};
use sql_plan::error::SqlError;
use types::Value;

use super::code::{At, Matches, Op, Program, Target, Unit, Variable};
use crate::diagnostics::{Condition, Diagnostics, Level};

/// An error on its way out.
#[derive(Debug)]
pub(crate) struct Raised {
    pub error: ClientError,
    /// What it was before it had a number: it says what becomes of the transaction.
    pub source: Option<Box<SqlError>>,
    /// It stands among the conditions already.
    pub recorded: bool,
}

impl Raised {
    /// What no handler sees: the session is to end, or the transaction is gone under a running statement.
    fn is_final(&self, nested: bool) -> bool {
        match self.source.as_deref() {
            Some(SqlError::Interrupted) => true,
            Some(SqlError::Deadlock | SqlError::SnapshotChanged { .. }) => nested,
            _ => false,
        }
    }
}

impl From<ClientError> for Raised {
    fn from(error: ClientError) -> Self {
        Self { error, source: None, recorded: false }
    }
}

/// Rows of a cursor and how many columns they have.
pub(crate) type Rows = (usize, Vec<Vec<Value>>);

/// Where a program runs: a session by itself, or a statement of it.
pub(crate) trait Host {
    /// Functions and triggers.
    const NESTED: bool;
    fn variables(&mut self) -> &mut Vec<Value>;
    fn diagnostics(&mut self) -> &mut Diagnostics;
    fn run(&mut self, unit: &Unit, variables: &[Variable]) -> Result<(), Raised>;
    /// `assigns`: the value goes into a variable, where strict mode refuses a division by zero.
    fn eval(&mut self, unit: &Unit, assigns: bool) -> Result<Value, Raised>;
    fn rows(&mut self, unit: &Unit) -> Result<Rows, Raised>;
    fn prepared_rows(&mut self, name: &str) -> Result<Rows, Raised>;
    /// The value as the variable holds it.
    fn convert(&mut self, variable: &Variable, value: Value) -> Result<Value, Raised>;
    fn is_true(&mut self, value: &Value) -> Option<bool>;
    fn set_user_variable(&mut self, name: &str, value: Value);
    /// What OUT parameters of functions have for variables.
    fn take_outs(&mut self) -> Vec<(u16, Value)>;
    fn record(&mut self, level: Level, error: ClientError);
    /// Conditions whose handlers run, outermost first.
    fn handled(&mut self) -> &mut Vec<Condition>;
    /// Ends the program when its session was killed.
    fn check_killed(&mut self) -> Result<(), Raised>;
}

/// An open block, or a running handler.
#[derive(Debug, Clone)]
enum Frame {
    Block {
        depth: u32,
        handlers: usize,
        cursors: Range<usize>,
    },
    /// Handlers from `base` to `top` are not looked at while it runs.
    Handler {
        depth: u32,
        base: usize,
        top: usize,
        resume: At,
    },
}

impl Frame {
    fn depth(&self) -> u32 {
        match self {
            Self::Block { depth, .. } | Self::Handler { depth, .. } => *depth,
        }
    }
}

/// A handler of an open block.
#[derive(Debug, Clone, Copy)]
struct Active {
    handler: usize,
    /// Where the handlers of its block begin.
    base: usize,
    depth: u32,
}

#[derive(Debug, Clone)]
struct OpenCursor {
    columns: usize,
    rows: std::vec::IntoIter<Vec<Value>>,
}

struct Run<'p> {
    program: &'p Program,
    place: Place,
    row: GroupRow,
}

/// Where a program is, and what is open there.
#[derive(Debug, Clone)]
struct Place {
    at: At,
    frames: Vec<Frame>,
    handlers: Vec<Active>,
    cursors: Vec<Option<OpenCursor>>,
}

impl Place {
    fn start(program: &Program) -> Self {
        let cursors = program.cursors.iter().map(|_| None).collect();
        Self { at: 0, frames: Vec::new(), handlers: Vec::new(), cursors }
    }
}

/// What FETCH GROUP NEXT ROW finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupRow {
    /// The row that the parameters have, not yet fetched.
    New,
    /// It was fetched: the program pauses until the next one.
    Taken,
    /// There are no more: NOT FOUND.
    None,
    /// That was said already: the program ends.
    Past,
}

/// A program that waits for the next row of its group.
#[derive(Debug, Clone)]
pub(crate) struct Paused {
    place: Place,
    /// Of the handlers that run.
    handled: Vec<Condition>,
}

/// How running ended.
#[derive(Debug)]
pub(crate) enum End {
    Returned(Value),
    /// Behind the last statement.
    Fell,
    Paused(Paused),
}

enum Flow {
    Next,
    Jump(At),
    Return(Value),
    Pause,
}

/// Runs a program on the host's variables; the value of RETURN, if one was reached.
pub(crate) fn run<H: Host>(host: &mut H, program: &Arc<Program>) -> Result<Option<Value>, Raised> {
    match run_group(host, program, None, GroupRow::None)? {
        End::Returned(value) => Ok(Some(value)),
        End::Fell | End::Paused(_) => Ok(None),
    }
}

/// Runs an aggregate function from its start, or from where it paused, until it wants a further row.
pub(crate) fn run_group<H: Host>(
    host: &mut H,
    program: &Arc<Program>,
    paused: Option<Paused>,
    row: GroupRow,
) -> Result<End, Raised> {
    let handled = host.handled().len();
    let place = match paused {
        Some(paused) => {
            host.handled().extend(paused.handled);
            paused.place
        }
        None => Place::start(program),
    };
    let mut run = Run { program, place, row };
    let outcome = run.go(host);
    let running = host.handled().split_off(handled);
    Ok(match outcome? {
        Flow::Return(value) => End::Returned(value),
        Flow::Pause => End::Paused(Paused { place: run.place, handled: running }),
        Flow::Next | Flow::Jump(_) => End::Fell,
    })
}

impl Run<'_> {
    /// `Return` or `Pause`; `Next` at the program's end.
    fn go<H: Host>(&mut self, host: &mut H) -> Result<Flow, Raised> {
        while let Some(op) = self.program.ops.get(self.place.at) {
            let added = host.diagnostics().added();
            match self.step(host, op) {
                Ok(end @ (Flow::Return(_) | Flow::Pause)) => return Ok(end),
                Ok(flow) => {
                    let next = match flow {
                        Flow::Jump(to) => {
                            host.check_killed()?;
                            to
                        }
                        _ => self.place.at + 1,
                    };
                    if host.diagnostics().added() == added || !self.warned(host, added, next) {
                        self.place.at = next;
                    }
                }
                Err(raised) => self.raised(host, raised)?,
            }
        }
        Ok(Flow::Next)
    }

    /// The value of an expression; what its functions have written to variables is there then.
    fn eval<H: Host>(&self, host: &mut H, unit: usize, assigns: bool) -> Result<Value, Raised> {
        let outcome = host.eval(&self.program.units[unit], assigns);
        self.take_outs(host)?;
        outcome
    }

    fn take_outs<H: Host>(&self, host: &mut H) -> Result<(), Raised> {
        host.take_outs().into_iter().try_for_each(|(slot, value)| self.assign(host, slot, value))
    }

    fn step<H: Host>(&mut self, host: &mut H, op: &Op) -> Result<Flow, Raised> {
        let program = self.program;
        match op {
            Op::Run(unit) => {
                let outcome = host.run(&program.units[*unit], &program.variables);
                self.take_outs(host)?;
                outcome?;
            }
            Op::Set { slot, unit } => {
                let value = self.eval(host, *unit, true)?;
                self.assign(host, *slot, value)?;
            }
            Op::SetNull(slot) => host.variables()[usize::from(*slot)] = Value::Null,
            Op::JumpIfNot { unit, to, .. } => {
                let value = self.eval(host, *unit, false)?;
                if host.is_true(&value) != Some(true) {
                    return Ok(Flow::Jump(*to));
                }
            }
            Op::Jump(to) => return Ok(Flow::Jump(*to)),
            Op::Enter { depth, cursors } => {
                let handlers = self.place.handlers.len();
                self.place.frames.push(Frame::Block { depth: *depth, handlers, cursors: cursors.clone() });
            }
            Op::Handle(list) => {
                let base = self.place.handlers.len();
                let depth = self.place.frames.last().map_or(0, Frame::depth);
                self.place.handlers.extend(list.iter().map(|handler| Active {
                    handler: *handler,
                    base,
                    depth,
                }));
            }
            Op::Leave => self.pop_frame(host),
            Op::Unwind { depth, to } => {
                self.unwind(host, *depth);
                return Ok(Flow::Jump(*to));
            }
            Op::EndHandler { exit } => return Ok(Flow::Jump(self.end_handler(host, *exit))),
            Op::Open { cursor, args } => self.open(host, *cursor, args)?,
            Op::Fetch { cursor, into } => {
                let row = self.next_row(*cursor, into.len())?.ok_or_else(error::no_data)?;
                for (target, value) in into.iter().zip(row) {
                    match target {
                        Target::Slot(slot) => self.assign(host, *slot, value)?,
                        Target::User(name) => host.set_user_variable(name, value),
                    }
                }
            }
            Op::FetchOr { cursor, into, to } => {
                let Some(row) = self.next_row(*cursor, into.len())? else { return Ok(Flow::Jump(*to)) };
                for (slot, value) in into.iter().zip(row) {
                    self.assign(host, *slot, value)?;
                }
            }
            Op::Close { cursor, quiet } => {
                if self.place.cursors[*cursor].take().is_none() && !quiet {
                    return Err(error::cursor_closed().into());
                }
            }
            Op::Return(unit) => return Ok(Flow::Return(self.eval(host, *unit, true)?)),
            Op::NextRow => match self.row {
                GroupRow::New => self.row = GroupRow::Taken,
                GroupRow::Taken => return Ok(Flow::Pause),
                GroupRow::None => {
                    self.row = GroupRow::Past;
                    return Err(error::no_data().into());
                }
                GroupRow::Past => return Ok(Flow::Jump(program.ops.len())),
            },
            Op::CaseNotFound => return Err(error::case_not_found().into()),
            Op::WrongColumns(count) => return Err(error::operand_columns(*count).into()),
        }
        Ok(Flow::Next)
    }

    fn assign<H: Host>(&self, host: &mut H, slot: u16, value: Value) -> Result<(), Raised> {
        let value = host.convert(&self.program.variables[usize::from(slot)], value)?;
        host.variables()[usize::from(slot)] = value;
        Ok(())
    }

    // Cursors.

    fn open<H: Host>(&mut self, host: &mut H, cursor: usize, args: &[(u16, usize)]) -> Result<(), Raised> {
        if self.place.cursors[cursor].is_some() {
            return Err(error::cursor_open().into());
        }
        for (slot, unit) in args {
            let value = self.eval(host, *unit, true)?;
            self.assign(host, *slot, value)?;
        }
        let (columns, rows) = match &self.program.cursors[cursor].unit {
            Ok(unit) => host.rows(&self.program.units[*unit])?,
            Err(name) => host.prepared_rows(name)?,
        };
        self.place.cursors[cursor] = Some(OpenCursor { columns, rows: rows.into_iter() });
        Ok(())
    }

    fn next_row(&mut self, cursor: usize, targets: usize) -> Result<Option<Vec<Value>>, Raised> {
        let Some(open) = &mut self.place.cursors[cursor] else { return Err(error::cursor_closed().into()) };
        if open.columns != targets {
            return Err(error::fetch_variables().into());
        }
        Ok(open.rows.next())
    }

    // Blocks.

    fn pop_frame<H: Host>(&mut self, host: &mut H) {
        match self.place.frames.pop() {
            Some(Frame::Block { handlers, cursors, .. }) => {
                self.place.handlers.truncate(handlers);
                for cursor in cursors {
                    self.place.cursors[cursor] = None;
                }
            }
            Some(Frame::Handler { .. }) => {
                host.handled().pop();
            }
            None => {}
        }
    }

    fn unwind<H: Host>(&mut self, host: &mut H, depth: u32) {
        while self.place.frames.last().is_some_and(|f| f.depth() > depth) {
            self.pop_frame(host);
        }
    }

    fn end_handler<H: Host>(&mut self, host: &mut H, exit: Option<(u32, At)>) -> At {
        // What it handled is done with.
        host.diagnostics().clear();
        match exit {
            Some((depth, to)) => {
                self.unwind(host, depth);
                to
            }
            None => {
                let resume = match self.place.frames.last() {
                    Some(Frame::Handler { resume, .. }) => *resume,
                    _ => self.place.at + 1,
                };
                self.pop_frame(host);
                resume
            }
        }
    }

    // Conditions.

    /// An error: goes on in a handler, or out.
    fn raised<H: Host>(&mut self, host: &mut H, mut raised: Raised) -> Result<(), Raised> {
        let level = Level::Error;
        if !raised.recorded {
            host.record(level, raised.error.clone());
            raised.recorded = true;
        }
        if !raised.is_final(H::NESTED)
            && let Some(found) = self.find(&raised.error, level)
        {
            let resume = match &self.program.ops[self.place.at] {
                Op::JumpIfNot { after, .. } => *after,
                _ => self.place.at + 1,
            };
            let condition = host.diagnostics().conditions().iter().rev().find(|c| c.error == raised.error);
            let condition = condition.cloned().unwrap_or_else(|| Condition::new(level, raised.error));
            self.activate(host, found, condition, resume);
            return Ok(());
        }
        let line = self.program.lines[self.place.at];
        host.record(Level::Note, error::stack_trace(line, &self.program.name));
        Err(raised)
    }

    /// The statement has added conditions: true when a handler goes on with one of them.
    fn warned<H: Host>(&mut self, host: &mut H, before: u64, next: At) -> bool {
        let new = host.diagnostics().added().wrapping_sub(before) as usize;
        let conditions = host.diagnostics().conditions();
        let fresh = &conditions[conditions.len() - new.min(conditions.len())..];
        let matching = fresh.iter().rev().filter(|c| c.level != Level::Error);
        let Some((found, condition)) =
            matching.filter_map(|c| Some((self.find(&c.error, c.level)?, c.clone()))).next()
        else {
            return false;
        };
        self.activate(host, found, condition, next);
        true
    }

    /// The handler for a condition.
    fn find(&self, error: &ClientError, level: Level) -> Option<Active> {
        let mut end = self.place.handlers.len();
        let mut ranges = Vec::new();
        for frame in self.place.frames.iter().rev() {
            if let Frame::Handler { base, top, .. } = frame {
                ranges.push(*top..end);
                end = *base;
            }
        }
        ranges.push(0..end);
        for range in ranges {
            let mut best: Option<(u8, Active)> = None;
            for active in self.place.handlers.get(range)?.iter().rev() {
                // All of a block stand together; a better one of an outer block does not count.
                if best.is_some_and(|(_, b)| b.base != active.base) {
                    break;
                }
                let conditions = &self.program.handlers[active.handler].conditions;
                let rank = conditions.iter().filter_map(|c| rank(c, error, level)).min();
                if let Some(rank) = rank
                    && best.is_none_or(|(r, _)| rank <= r)
                {
                    best = Some((rank, *active));
                }
            }
            if let Some((_, active)) = best {
                return Some(active);
            }
        }
        None
    }

    fn activate<H: Host>(&mut self, host: &mut H, found: Active, condition: Condition, resume: At) {
        let top = self.place.handlers.len();
        self.place.frames.push(Frame::Handler { depth: found.depth + 1, base: found.base, top, resume });
        host.handled().push(condition);
        self.place.at = self.program.handlers[found.handler].start;
    }
}

/// How well a handler's condition fits, 0 best; `None` when it does not.
fn rank(condition: &Matches, error: &ClientError, level: Level) -> Option<u8> {
    let class = &error.state[..2];
    match condition {
        Matches::Errno(errno) => (*errno == error.errno).then_some(0),
        Matches::State(state) => (*state == error.state).then_some(1),
        Matches::NotFound => (class == b"02").then_some(2),
        Matches::Warning => (class == b"01" || level == Level::Warning && class != b"02").then_some(3),
        Matches::Exception => (level == Level::Error && !matches!(class, b"00" | b"01" | b"02")).then_some(4),
    }
}
