//! What a dump needs of the binary log: files, states, groups. A trait, so that a dump can be tested on groups that a test makes.

use base::{Gtid, Lsn};
use binlog::{EmitError, EmitOptions, EventSink, Next, Position, ReadError, Start, Wait};

/// One file of the binary log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    pub segment: u64,
    pub name: String,
    /// LSN of its first byte.
    pub start: Lsn,
    /// Bytes that are written.
    pub size: u64,
    /// Seconds since 1970.
    pub created: u64,
}

/// The binary log.
pub trait BinaryLog: Send + Sync {
    /// Kept files, oldest first; never empty.
    fn files(&self) -> Vec<LogFile>;
    /// Places in files are those of the bytes that are sent: a replica may ask for them.
    fn has_real_positions(&self) -> bool {
        false
    }
    /// The state of all that was committed.
    fn state(&self) -> Vec<Gtid>;
    /// The newest place whose state is covered by `wanted` (it answers whether), and that state. None when all places of the
    /// kept log lie behind.
    fn locate(&self, wanted: &dyn Fn(&[Gtid]) -> bool) -> Result<Option<(Position, Vec<Gtid>)>, ReadError>;
    /// The state at the head of a kept file.
    fn state_at_head(&self, segment: u64) -> Result<Vec<Gtid>, ReadError>;
    /// The nearest place of a kept file at or before an offset that is known without reading it, and the state there; offset 0 is the
    /// head.
    fn nearest(&self, segment: u64, _offset: u64) -> Result<(u64, Vec<Gtid>), ReadError> {
        Ok((0, self.state_at_head(segment)?))
    }
    fn open(&self, start: Start) -> Result<Box<dyn Groups>, ReadError>;
}

/// A reader of groups; see `binlog::GroupReader`.
pub trait Groups {
    fn next(&mut self, wait: Wait) -> Result<Next, ReadError>;
    fn emit(&mut self, options: &EmitOptions, sink: &mut dyn EventSink) -> Result<(), EmitError>;
    /// Its turn among the readers at the log's end.
    fn turn(&self) -> Box<dyn Turn> {
        Box::new(NoTurns)
    }
    /// Ends the wait of this reader, now and from now on; for other threads.
    fn interrupt(&self) -> Box<dyn Fn() + Send + Sync>;
}

/// Readers that wait for the end of the log go on by turns, so that many of them do not take the processor from writers at once.
pub trait Turn {
    /// Before a wait for something else than the log: others go on.
    fn pass(&self);
    /// This reader waits for nobody's turn from now on: commits wait for its replica.
    fn hurry(&self);
}

/// Of a reader that always goes on at once.
struct NoTurns;

impl Turn for NoTurns {
    fn pass(&self) {}
    fn hurry(&self) {}
}
