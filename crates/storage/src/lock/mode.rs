//! Lock modes and who has to wait for whom.
//!
//! A lock names a key of an index. `Record` covers the entry itself, `Gap` the open interval between the entry and the one
//! before it, `NextKey` both. An insert intention is the question "may I put a new entry into this gap?".
//!
//! # Rules (InnoDB's)
//! M1. Two locks of one transaction never conflict.
//! M2. Gap locks are compatible with everything but insert intentions, whatever their strength.
//! M3. Two shared locks are compatible; a shared and an exclusive one, or two exclusive ones, are not.
//! M4. Insert intentions block nobody; they wait for gap and next-key locks of others.
//! M5. The supremum has no record: a lock on it is a gap lock.

/// Shared or exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    Shared,
    Exclusive,
}

/// What of an entry is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    Record,
    Gap,
    NextKey,
    InsertIntention,
}

/// Strength and extent of one lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LockMode {
    pub strength: Strength,
    pub extent: Extent,
}

impl LockMode {
    pub const INSERT_INTENTION: Self =
        Self { strength: Strength::Exclusive, extent: Extent::InsertIntention };

    pub const fn new(strength: Strength, extent: Extent) -> Self {
        Self { strength, extent }
    }
    pub const fn record(strength: Strength) -> Self {
        Self::new(strength, Extent::Record)
    }
    pub const fn gap(strength: Strength) -> Self {
        Self::new(strength, Extent::Gap)
    }
    pub const fn next_key(strength: Strength) -> Self {
        Self::new(strength, Extent::NextKey)
    }

    pub const fn covers_gap(self) -> bool {
        matches!(self.extent, Extent::Gap | Extent::NextKey)
    }
    pub const fn covers_record(self) -> bool {
        matches!(self.extent, Extent::Record | Extent::NextKey)
    }

    /// Must a request of this mode wait while another transaction holds, or asked earlier for, `other` on the same key?
    pub fn waits_for(self, other: Self) -> bool {
        if other.extent == Extent::InsertIntention || self.extent == Extent::Gap {
            return false;
        }
        if self.extent == Extent::InsertIntention {
            return other.covers_gap();
        }
        let both_shared = self.strength == Strength::Shared && other.strength == Strength::Shared;
        other.covers_record() && !both_shared
    }

    /// Does holding this lock make a request for `wanted` needless?
    pub fn includes(self, wanted: Self) -> bool {
        if self.extent == Extent::InsertIntention || wanted.extent == Extent::InsertIntention {
            return false;
        }
        self.strength >= wanted.strength
            && (!wanted.covers_record() || self.covers_record())
            && (!wanted.covers_gap() || self.covers_gap())
    }

    /// What is left of the lock when the entry goes away: its gap lock on the next entry.
    pub const fn inherited(self) -> Self {
        Self { strength: self.strength, extent: Extent::Gap }
    }
}

impl std::fmt::Display for LockMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.strength {
            Strength::Shared => "lock mode S",
            Strength::Exclusive => "lock_mode X",
        })?;
        f.write_str(match self.extent {
            Extent::Record => " locks rec but not gap",
            Extent::Gap => " locks gap before rec",
            Extent::NextKey => "",
            Extent::InsertIntention => " locks gap before rec insert intention",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Strength = Strength::Shared;
    const X: Strength = Strength::Exclusive;

    /// The manual's table: rows are requests, columns what another transaction has.
    #[test]
    fn waits_follow_the_manual() {
        use Extent::{Gap, InsertIntention, NextKey, Record};
        let extents = [Gap, InsertIntention, Record, NextKey];
        let waits = |request, held| LockMode::new(X, request).waits_for(LockMode::new(X, held));
        let table: Vec<[bool; 4]> = extents.iter().map(|r| extents.map(|h| waits(*r, h))).collect();
        assert_eq!(
            table,
            [
                [false, false, false, false],
                [true, false, false, true],
                [false, false, true, true],
                [false, false, true, true],
            ]
        );
    }

    #[test]
    fn only_shared_record_locks_live_together() {
        for (a, b, waits) in [(S, S, false), (S, X, true), (X, S, true), (X, X, true)] {
            assert_eq!(LockMode::record(a).waits_for(LockMode::next_key(b)), waits, "{a:?} {b:?}");
        }
    }

    #[test]
    fn an_insert_waits_for_a_shared_gap_lock() {
        assert!(LockMode::INSERT_INTENTION.waits_for(LockMode::gap(S)));
        assert!(!LockMode::INSERT_INTENTION.waits_for(LockMode::record(X)));
        assert!(!LockMode::gap(X).waits_for(LockMode::INSERT_INTENTION));
    }

    #[test]
    fn a_next_key_lock_includes_its_halves_and_a_record_lock_no_gap() {
        assert!(LockMode::next_key(X).includes(LockMode::record(S)));
        assert!(LockMode::next_key(X).includes(LockMode::gap(X)));
        assert!(!LockMode::record(X).includes(LockMode::next_key(S)));
        assert!(!LockMode::next_key(S).includes(LockMode::record(X)));
        assert!(!LockMode::gap(X).includes(LockMode::INSERT_INTENTION));
    }
}
