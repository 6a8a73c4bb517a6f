//! Sequences: which value comes next. Pure, but for the memory of one server.
//!
//! # What lasts
//! A sequence's table has one row. `next_not_cached` in it is the first value that no server has taken into its memory: it is written,
//! and durable, before a value below it is given away. So after a crash values are left out, none comes twice.
//!
//! # Invariants
//! 1. Values lie between minimum and maximum; what counts on leaves room of one step beyond both (`i128` holds every type's).
//! 2. `Reserved::next` has not passed `state.next_not_cached`, or the sequence has run out.

use crate::definition::SequenceDef;

/// The one row of a sequence's table.
#[derive(Debug, Clone, PartialEq)]
pub struct SequenceState {
    pub next_not_cached: i128,
    pub def: SequenceDef,
    pub cycle_count: i64,
}

/// What a server has in memory of a sequence. Empty until the row is read.
#[derive(Debug, Default)]
pub struct SequenceCache {
    pub reserved: Option<Reserved>,
}

#[derive(Debug, Clone)]
pub struct Reserved {
    /// The row as it was last written.
    pub state: SequenceState,
    pub next: i128,
}

impl Reserved {
    pub fn of(state: SequenceState) -> Self {
        Self { next: state.next_not_cached, state }
    }

    fn is_downwards(&self) -> bool {
        self.state.def.increment < 0
    }

    fn step(&self) -> i128 {
        if self.state.def.increment == 0 { 1 } else { self.state.def.increment }
    }

    /// Whether `value` lies behind `limit` in the direction of the sequence, or is it.
    fn reaches(&self, value: i128, limit: i128) -> bool {
        if self.is_downwards() { value <= limit } else { value >= limit }
    }

    /// The next value, when it is one of those that were reserved.
    pub fn take(&mut self) -> Option<i128> {
        if self.reaches(self.next, self.state.next_not_cached) {
            return None;
        }
        let value = self.next;
        self.next += self.step();
        Some(value)
    }

    /// The first value behind the last one.
    fn beyond(&self) -> i128 {
        if self.is_downwards() { self.state.def.minimum - 1 } else { self.state.def.maximum + 1 }
    }

    /// What is to be written, and then kept, before the next value can be taken; `None`: the sequence has run out.
    pub fn reserve(&self) -> Option<Self> {
        let mut more = self.clone();
        if self.reaches(self.next, self.beyond()) {
            if !self.state.def.cycle {
                return None;
            }
            more.next = if self.is_downwards() { self.state.def.maximum } else { self.state.def.minimum };
            more.state.cycle_count += 1;
        }
        let end = more.next + self.step() * i128::from(self.state.def.cache.max(1));
        let beyond = self.beyond();
        more.state.next_not_cached = if self.reaches(end, beyond) { beyond } else { end };
        Some(more)
    }

    /// SETVAL: what is to be written and kept; `None` when the sequence is beyond that value already.
    pub fn set(&self, value: i128, is_used: bool, round: u64) -> Option<Self> {
        let round = i64::try_from(round).unwrap_or(i64::MAX);
        let def = &self.state.def;
        let next = if is_used { value + self.step() } else { value };
        let back = if self.is_downwards() { next > self.next } else { next < self.next };
        if value < def.minimum
            || value > def.maximum
            || round < self.state.cycle_count
            || round == self.state.cycle_count && back
        {
            return None;
        }
        let mut set = self.clone();
        set.next = next;
        set.state.cycle_count = round;
        set.state.next_not_cached = if self.reaches(next, self.beyond()) { self.beyond() } else { next };
        Some(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(
        minimum: i128,
        maximum: i128,
        start: i128,
        increment: i128,
        cache: u64,
        cycle: bool,
    ) -> Reserved {
        let def = SequenceDef { start, minimum, maximum, increment, cache, cycle };
        Reserved::of(SequenceState { next_not_cached: start, def, cycle_count: 0 })
    }

    /// Values until it runs out, and how often it was written.
    fn values(mut s: Reserved, n: usize) -> (Vec<i128>, usize) {
        let (mut out, mut writes) = (Vec::new(), 0);
        while out.len() < n {
            if let Some(value) = s.take() {
                out.push(value);
                continue;
            }
            let Some(more) = s.reserve() else { break };
            s = more;
            writes += 1;
        }
        (out, writes)
    }

    #[test]
    fn values_are_reserved_before_they_are_given() {
        assert_eq!(values(sequence(1, 100, 5, 1, 3, false), 4), (vec![5, 6, 7, 8], 2));
        assert_eq!(values(sequence(1, 10, 10, -3, 0, false), 9), (vec![10, 7, 4, 1], 4));
        assert_eq!(values(sequence(1, 3, 2, 1, 10, true), 5).0, vec![2, 3, 1, 2, 3]);
        let edge = i128::from(i64::MAX);
        assert_eq!(values(sequence(1, edge, edge, 1, 1000, false), 5).0, vec![edge]);
    }

    #[test]
    fn setval_never_goes_back() {
        let s = sequence(1, 1000, 1, 1, 10, false);
        let set = s.set(100, true, 0).unwrap();
        assert_eq!((set.next, set.state.next_not_cached), (101, 101));
        assert!(set.set(50, true, 0).is_none());
        assert_eq!(set.set(50, false, 1).unwrap().next, 50);
        assert!(s.set(2000, true, 0).is_none());
    }
}
