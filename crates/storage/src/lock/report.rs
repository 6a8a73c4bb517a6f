//! What people are shown about locks: lists for INFORMATION_SCHEMA and SHOW ENGINE INNODB STATUS, and the latest deadlock.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base::{IndexId, TrxId};

use super::mode::LockMode;
use super::owner::Owner;
use super::shard::{Entry, Lock};

/// One explicit lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockInfo {
    pub index: IndexId,
    /// `None` is the supremum.
    pub key: Option<Vec<u8>>,
    pub mode: LockMode,
    pub waiting: bool,
    pub trx_id: TrxId,
    pub connection: u64,
    pub slot: u32,
}

impl LockInfo {
    pub(super) fn new(entry: &Entry, lock: &Lock) -> Self {
        Self {
            index: entry.index,
            key: entry.key.as_ref().map(|k| k.to_vec()),
            mode: lock.mode,
            waiting: lock.waiting,
            trx_id: lock.owner.trx_id(),
            connection: lock.owner.connection(),
            slot: lock.owner.slot,
        }
    }
}

impl fmt::Display for LockInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RECORD LOCKS index {} trx id {} {}", self.index, self.trx_id, self.mode)?;
        if self.waiting {
            f.write_str(" waiting")?;
        }
        match &self.key {
            None => f.write_str("; supremum"),
            Some(key) => {
                f.write_str("; key ")?;
                key.iter().take(32).try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

/// A member of a deadlock at the time it was found.
#[derive(Debug, Clone)]
pub struct DeadlockMember {
    pub trx_id: TrxId,
    pub connection: u64,
    /// Log bytes it had written.
    pub weight: u64,
    /// Its latest locks; the waiting one among them.
    pub locks: Vec<LockInfo>,
}

/// A deadlock that was found and broken.
#[derive(Debug, Clone)]
pub struct DeadlockReport {
    /// Wall time, since 1970.
    pub at: Duration,
    pub members: Vec<DeadlockMember>,
    /// Position of the victim.
    pub victim: usize,
}

impl DeadlockReport {
    pub(super) fn new(
        at: Duration,
        circle: &[Arc<Owner>],
        victim: usize,
        locks: impl Fn(&Owner) -> Vec<LockInfo>,
    ) -> Self {
        let member = |o: &Arc<Owner>| DeadlockMember {
            trx_id: o.trx_id(),
            connection: o.connection(),
            weight: o.weight(),
            locks: locks(o),
        };
        Self { at, members: circle.iter().map(member).collect(), victim }
    }
}

impl fmt::Display for DeadlockReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, m) in self.members.iter().enumerate() {
            writeln!(f, "*** ({}) TRANSACTION:", i + 1)?;
            writeln!(f, "TRANSACTION {}, connection {}, {} log bytes", m.trx_id, m.connection, m.weight)?;
            for lock in m.locks.iter().filter(|l| l.waiting) {
                writeln!(f, "*** WAITING FOR THIS LOCK TO BE GRANTED:\n{lock}")?;
            }
            for lock in m.locks.iter().filter(|l| !l.waiting) {
                writeln!(f, "*** HOLDS:\n{lock}")?;
            }
        }
        writeln!(f, "*** WE ROLL BACK TRANSACTION ({})", self.victim + 1)
    }
}
