//! What the workload has done, as plain maps.

use std::collections::BTreeMap;

use storage::table::TableSpec;

/// Tables of a world.
pub(crate) const TABLES: usize = 2;

/// One row: `(id int primary key, number int, word varchar, long blob)`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) number: Option<i64>,
    pub(crate) word: Vec<u8>,
    pub(crate) long: Vec<u8>,
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = |bytes: &[u8]| format!("{:?} x {}", bytes.first(), bytes.len());
        write!(f, "({:?}, {}, {})", self.number, bytes(&self.word), bytes(&self.long))
    }
}

/// The committed rows of all tables.
pub(crate) type State = [BTreeMap<i64, Row>; TABLES];

/// States after each commit, and how many commits were acknowledged.
pub(crate) struct History {
    /// Tables as they were made; empty until their creation was durable.
    pub(crate) specs: Vec<TableSpec>,
    pub(crate) states: Vec<State>,
    pub(crate) acknowledged: usize,
}

impl History {
    pub(crate) fn new() -> Self {
        Self { specs: Vec::new(), states: vec![State::default()], acknowledged: 0 }
    }

    pub(crate) fn newest(&self) -> &State {
        self.states.last().expect("there is always the empty state")
    }

    /// A commit whose record may reach the log from now on.
    pub(crate) fn commit(&mut self, state: State) -> usize {
        self.states.push(state);
        self.states.len() - 1
    }

    /// The commits after `state` did not survive.
    pub(crate) fn forget_after(&mut self, state: usize) {
        self.states.truncate(state + 1);
        self.acknowledged = state;
    }
}
