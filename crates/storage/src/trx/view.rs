//! Read views: which row versions a consistent read sees.

use std::sync::Arc;

use base::{Lsn, TrxId};

use super::system::TrxSystem;
use super::table::{Directory, Fate};

/// A snapshot as its transaction uses it. It is registered in the transaction's slot while it lives there.
#[derive(Debug, Clone)]
pub struct ReadView {
    /// Commits whose record starts below are visible.
    lsn: Lsn,
    /// Everything older is visible without a look at the table.
    low: TrxId,
    /// The table as it was; newer transactions are looked up in the shared one.
    directory: Arc<Directory>,
}

impl ReadView {
    pub(super) fn new(lsn: Lsn, low: TrxId, directory: Arc<Directory>) -> Self {
        Self { lsn, low, directory }
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
        let fate = self.directory.fate(trx).unwrap_or_else(|| system.table().fate(trx));
        match fate {
            Fate::Committed(commit) => commit < self.lsn,
            // A transaction that was rolled back has left nothing behind; after a restart these are the old ones.
            Fate::RolledBack | Fate::Old => true,
            Fate::Active { .. } => false,
        }
    }
}
