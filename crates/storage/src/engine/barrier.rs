//! The pool's view of the log: pages wait for it (L6).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use base::Lsn;
use log::Log;

use crate::pool::WalBarrier;

/// Stands between pool and log, because recovery needs the pool before there is a log to append to.
#[derive(Default)]
pub(crate) struct LogBarrier {
    log: OnceLock<Arc<Log>>,
    redone: AtomicU64,
}

impl LogBarrier {
    /// From now on pages wait for this log.
    pub(crate) fn set(&self, log: &Arc<Log>) {
        assert!(self.log.set(Arc::clone(log)).is_ok(), "an engine has one log");
    }

    /// Redo has come to `lsn`.
    pub(crate) fn redo_reached(&self, lsn: Lsn) {
        self.redone.store(lsn.0 + 1, Ordering::Relaxed);
    }
}

impl WalBarrier for LogBarrier {
    fn make_durable(&self, page_lsn: Lsn) -> Result<(), String> {
        match self.log.get() {
            // A record is durable as soon as its first byte is.
            Some(log) => log.wait_durable(page_lsn + 1).map_err(|e| e.to_string()),
            // Redo: the scan syncs a segment before it reads it.
            None => Ok(()),
        }
    }

    fn reserved_lsn(&self) -> Lsn {
        self.log.get().map_or_else(|| Lsn(self.redone.load(Ordering::Relaxed)), |log| log.reserved_lsn())
    }
}
