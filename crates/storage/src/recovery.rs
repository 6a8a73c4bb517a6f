//! Recovery: one scan of the log from the control block's scan start (docs/design/core.md, section 6).
//!
//! # Order
//! 1. The doublewrite has repaired torn pages (`BufferPool::open`).
//! 2. Each record: facts into [`Analysis`](analysis), page parts from redo start on into [`Redo`](redo), a window behind the scan
//!    ([`ahead`]). Pages may be written meanwhile: what the scan hands out is durable.
//! 3. The log is ready for new records; the facts go to the transaction system, which rolls losers back in the background.
//!
//! # After a kill
//! The process before may have left writes that are not synced. What a start reads and builds on is synced first: the control
//! file and the log's segments when they are read, data files before their copies in the doublewrite are written over and before the
//! next checkpoint. Else a later power cut would take back what had been taken for done.
//!
//! # A crash during recovery
//! The control block has not moved. The next start does the same over the pages that got written, each change at most once (D1).

mod ahead;
mod analysis;
pub(crate) mod redo;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use base::Corruption;
use env::Disk;
use log::{Log, LogConfig, LogError};
use log_format::record::Record;

pub use analysis::{Branch, Committed, Loser, OwnedXid, Recovered};

use crate::engine::EngineError;
use crate::engine::barrier::LogBarrier;
use crate::engine::control::ControlBlock;
use crate::pool::BufferPool;
use ahead::Window;
use analysis::Analysis;
use redo::{Redo, RedoError};

/// Brings the pages up to the end of the log and opens the log behind it. `threads`: whether others may read pages beside it.
pub(crate) fn recover(
    disk: Arc<dyn Disk>,
    config: LogConfig,
    control: &ControlBlock,
    pool: &Arc<BufferPool>,
    barrier: &LogBarrier,
    threads: bool,
) -> Result<(Arc<Log>, Recovered), EngineError> {
    let mut analysis = Analysis::new(control.checkpoint);
    let mut redo = Redo::new(pool);
    // The scan stops at the first error; one that is no corruption waits here.
    let mut refused = None;
    let mut apply = |lsn, record: &Record<'_>| {
        barrier.redo_reached(lsn);
        redo.record(lsn, record).map_err(|e| match e {
            RedoError::Corrupt(e) => e,
            RedoError::Pool(e) => {
                let stopped = Corruption::new("redo", "page", "a page that can be read", &e);
                refused = Some(e);
                stopped
            }
        })
    };
    let mut window = Window::new(pool, threads);
    let mut visit = |lsn, bytes: &[u8]| {
        let record = Record::decode(lsn, bytes)?;
        analysis.note(lsn, &record);
        if lsn < control.redo_start {
            return Ok(());
        }
        window.push(lsn, bytes, &record, &mut apply)
    };
    let scanned = Log::scan(disk, config, control.scan_start, control.durable, &mut visit);
    let rest = if scanned.is_ok() { window.finish(&mut apply) } else { Ok(()) };
    let scanned = match (scanned, rest, refused) {
        (_, _, Some(e)) => return Err(EngineError::Pool(e)),
        (Err(LogError::Corrupt(e)), ..) | (_, Err(e), _) => return Err(EngineError::Corrupt(e)),
        (Err(e), ..) => return Err(EngineError::Log(e)),
        (Ok(scanned), ..) => scanned,
    };
    // Everything that can be refused is refused before the log is changed.
    redo.finish(scanned.end())?;
    pool.started();
    let recovered = analysis.finish()?;
    Ok((scanned.begin()?, recovered))
}
