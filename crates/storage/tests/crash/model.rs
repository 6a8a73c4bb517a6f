//! What the workload has done, as plain maps.

use std::collections::BTreeMap;
use std::rc::Rc;

use env::SimDisk;
use storage::table::TableSpec;

/// Tables of a world.
pub(crate) const TABLES: usize = 2;

/// A byte string that its first byte and its length tell; each 64 bytes differ from those before, so a piece out of place shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) first: u8,
    pub(crate) len: usize,
}

impl Text {
    pub(crate) fn new(first: u8, len: usize) -> Self {
        // Nothing has no first byte.
        Self { first: if len == 0 { 0 } else { first }, len }
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        (0..self.len).map(|at| self.first.wrapping_add((at >> 6) as u8)).collect()
    }

    /// The text that has these bytes, if one has.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let text = Self { first: bytes.first().copied().unwrap_or_default(), len: bytes.len() };
        let is_its = |(at, chunk): (usize, &[u8])| {
            let byte = text.first.wrapping_add(at as u8);
            chunk.iter().fold(0, |other, b| other | (b ^ byte)) == 0
        };
        bytes.chunks(64).enumerate().all(is_its).then_some(text)
    }
}

/// One row: `(id int primary key, number int, word varchar, long blob)`; some definitions have one more column behind `id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) number: Option<i64>,
    pub(crate) word: Text,
    pub(crate) long: Text,
}

/// The committed rows of all tables.
pub(crate) type State = [BTreeMap<i64, Row>; TABLES];

/// States after each commit, and how many commits were acknowledged.
pub(crate) struct History {
    disk: SimDisk,
    /// Tables as they are; empty until their creation was durable.
    pub(crate) specs: Vec<TableSpec>,
    pub(crate) states: Vec<Rc<State>>,
    /// The newest commit that must survive a power cut.
    pub(crate) durable: usize,
    /// The newest commit that must survive the end of the process (flush policies 1 and 2).
    pub(crate) written: usize,
    marks: Vec<Mark>,
    definitions: Vec<Vec<TableSpec>>,
}

/// What was known when the disk had had so many calls.
struct Mark {
    calls: u64,
    /// The tables' definitions then: an index into `History::definitions`.
    specs: usize,
    states: usize,
    durable: usize,
    written: usize,
}

impl History {
    pub(crate) fn new(disk: &SimDisk) -> Self {
        let states = vec![Rc::new(State::default())];
        Self {
            disk: disk.clone(),
            specs: Vec::new(),
            states,
            durable: 0,
            written: 0,
            marks: Vec::new(),
            definitions: vec![Vec::new()],
        }
    }

    pub(crate) fn newest(&self) -> &State {
        self.states.last().expect("there is always the empty state")
    }

    /// The tables have been made, or have other definitions from here on.
    pub(crate) fn defined(&mut self, specs: Vec<TableSpec>) {
        self.definitions.push(specs.clone());
        self.specs = specs;
        self.mark();
    }

    /// A commit whose record may reach the log from now on.
    pub(crate) fn commit(&mut self, state: State) -> usize {
        self.states.push(Rc::new(state));
        self.mark();
        self.states.len() - 1
    }

    /// Commit `number` was acknowledged; `durable` when it must survive a power cut.
    pub(crate) fn acknowledge(&mut self, number: usize, durable: bool) {
        self.written = number;
        if durable {
            self.durable = number;
        }
        self.mark();
    }

    fn mark(&mut self) {
        let (specs, states) = (self.definitions.len() - 1, self.states.len());
        let calls = self.disk.calls();
        self.marks.push(Mark { calls, specs, states, durable: self.durable, written: self.written });
    }

    /// What had happened when the disk had had `calls` calls and the next one came; `disk` is the one that goes on from there.
    pub(crate) fn at(&self, calls: u64, disk: &SimDisk) -> Self {
        let mut history = Self::new(disk);
        let known = self.marks.partition_point(|mark| mark.calls <= calls);
        if let Some(mark) = self.marks[..known].last() {
            history.specs = self.definitions[mark.specs].clone();
            history.definitions = vec![history.specs.clone()];
            history.states = self.states[..mark.states].to_vec();
            (history.durable, history.written) = (mark.durable, mark.written);
        }
        history
    }

    /// The commits after `state` did not survive.
    pub(crate) fn forget_after(&mut self, state: usize) {
        self.states.truncate(state + 1);
        (self.durable, self.written) = (state, state);
    }

    /// All commits so far must survive.
    pub(crate) fn all_durable(&mut self) {
        self.acknowledge(self.states.len() - 1, true);
    }
}
