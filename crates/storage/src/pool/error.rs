//! What can go wrong with a page request, and what the log owes the pool.

use base::{Corruption, Lsn, PageId, SpaceId};
use env::DiskError;
use std::fmt;

/// Why a page cannot be had or written.
#[derive(Debug)]
pub enum PoolError {
    /// The disk refused; nothing was lost, a page that could not be written stays dirty.
    Disk(DiskError),
    /// The page's checksum or id is wrong.
    Corrupt(Corruption),
    /// The page was never written: beyond the end of its file, or all zeros.
    Missing(PageId),
    /// The space has no file: dropped, or never made.
    NoSpace(SpaceId),
    /// Every frame is latched; the pool is too small for what runs at once.
    NoFreeFrame,
    /// A sync failed or the log failed earlier: pages are not written any more (L7). The text says what happened first.
    Stopped(String),
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(error) => error.fmt(f),
            Self::Corrupt(corruption) => corruption.fmt(f),
            Self::Missing(id) => write!(f, "{id} was never written"),
            Self::NoSpace(space) => write!(f, "space {space} has no file"),
            Self::NoFreeFrame => f.write_str("every frame of the buffer pool is in use"),
            Self::Stopped(why) => write!(f, "pages are not written any more since: {why}"),
        }
    }
}

impl std::error::Error for PoolError {}

impl From<DiskError> for PoolError {
    fn from(error: DiskError) -> Self {
        Self::Disk(error)
    }
}

impl From<Corruption> for PoolError {
    fn from(corruption: Corruption) -> Self {
        Self::Corrupt(corruption)
    }
}

/// What the pool needs from the log (L6).
pub trait WalBarrier: Send + Sync {
    /// Returns when every record that starts at or below `page_lsn` is durable; the error is final.
    fn make_durable(&self, page_lsn: Lsn) -> Result<(), String>;
    /// The end of the log as reserved, for the age of dirty pages.
    fn reserved_lsn(&self) -> Lsn;
}
