//! Read views: which row versions a consistent read sees.

use base::{Lsn, TrxId};

use super::system::TrxSystem;
use super::table::Fate;

/// A snapshot as its transaction uses it. It is registered in the transaction's slot while it lives there.
#[derive(Debug, Clone, Copy)]
pub struct ReadView {
    /// Commits whose record starts below are visible.
    lsn: Lsn,
    /// Everything older is visible without a look at the table.
    low: TrxId,
}

impl ReadView {
    pub(super) fn new(lsn: Lsn, low: TrxId) -> Self {
        Self { lsn, low }
    }
    pub fn lsn(&self) -> Lsn {
        self.lsn
    }
    /// Transactions below are visible.
    pub fn low(&self) -> TrxId {
        self.low
    }

    /// Is a version made by `trx` visible? `own` is the reader's own id, if it has one.
    #[inline]
    pub fn sees(&self, trx: TrxId, own: TrxId, system: &TrxSystem) -> bool {
        trx < self.low || (trx == own && own.0 != 0) || self.looks_up(trx, system)
    }

    fn looks_up(&self, trx: TrxId, system: &TrxSystem) -> bool {
        match system.table().fate(trx) {
            Fate::Committed(commit) => commit < self.lsn,
            // Old ones are visible to everybody, also to this view: it is registered. A transaction that was rolled back has left nothing behind; after a restart these are the old ones.
            Fate::RolledBack | Fate::Old => true,
            Fate::Active { .. } => false,
        }
    }
}
