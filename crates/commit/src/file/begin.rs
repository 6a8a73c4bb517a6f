//! Files that are begun and ended by a statement, or with the server: FLUSH BINARY LOGS, RESET MASTER, shutdown.

use std::sync::Arc;

use base::Lsn;
use binlog_file::Writer;

use super::lock;
use crate::{CommitError, Committer, GtidPositions};

impl Committer {
    /// FLUSH BINARY LOGS: the next file, whose state names the domains of `without` no more.
    pub fn next_file(&self, without: &[u32]) -> Result<(), CommitError> {
        let Some(file) = self.file.get() else { return Ok(()) };
        let mut tail = lock(&file.tail);
        let before = tail.positions.clone();
        if !without.is_empty() {
            let kept = tail.positions.state().into_iter().filter(|g| !without.contains(&g.domain_id));
            tail.positions = GtidPositions::from_gtids(kept.collect::<Vec<_>>());
            self.order().positions = tail.positions.clone();
        }
        let rotated = self.rotate_file(file, &mut tail, &file.options());
        if rotated.is_err() {
            self.order().positions = before.clone();
            tail.positions = before;
        }
        rotated
    }

    /// RESET MASTER, SET GLOBAL gtid_binlog_state: all files go, and the first begins with this state.
    pub fn begin_files_anew(&self, number: u64, positions: GtidPositions) -> Result<(), CommitError> {
        let Some(file) = self.file.get() else { return Ok(()) };
        let mut tail = lock(&file.tail);
        if let Some(why) = file.files.failure() {
            return Err(CommitError::file(why));
        }
        self.before_next_file(&tail, Lsn::NONE).map_err(CommitError::NotWritten)?;
        // The engine's log says the same from now on, should the binary log move there.
        self.replace_positions(positions.clone())?;
        let options = file.options();
        let failed = |e: env::DiskError| CommitError::file(&file.files.fail(&e.to_string()));
        file.files.remove_all().map_err(failed)?;
        let head = options.head(self.now(), true);
        tail.writer =
            Writer::begin(Arc::clone(&file.files), number, &head, positions.state()).map_err(failed)?;
        tail.positions = positions;
        tail.unsynced = 0;
        if let Some(gate) = self.gate.get() {
            gate.begins_anew();
        }
        Ok(())
    }

    /// The server stops: nothing is committed any more.
    pub fn close_files(&self) {
        let Some(file) = self.file.get() else { return };
        let mut tail = lock(&file.tail);
        let now = (self.now() / 1_000_000) as u32;
        if file.files.failure().is_none() && self.before_next_file(&tail, Lsn::NONE).is_ok() {
            // The next start looks at a file that was not closed as after a crash.
            let _ = tail.writer.close(now);
        }
    }
}
