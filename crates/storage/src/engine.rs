//! The engine: pages, log, transactions and their background threads, opened from one data directory.
//!
//! # Files
//! `morse.control` control file · `log/` segments · `spaces/` data files · `doublewrite.morse` · `morse.lock`
//!
//! # Start
//! 1. Lock the directory. 2. Read the control file, or make a new directory. 3. Repair torn pages, scan the log, redo ([`recovery`]).
//! 4. Take up the transactions without an outcome: their rows are locked by their ids again. From here on reads are right.
//! 5. The caller reads the dictionary, names the spaces that are in use ([`Engine::remove_orphan_spaces`]) and gives a
//!    [`TableSource`] ([`Engine::start`]): the background threads begin, losers are rolled back, purge goes on.
//!
//! # Making a new directory
//! `morse.initializing` is made first and removed last, the control file is the last but one. A crash in between leaves the mark
//! without a control file: everything is made anew. Log or data files without a control file and without the mark are
//! somebody's data, and are refused.
//!
//! # Locking order
//! checkpointer > pool and log, each with its own. Nothing here is taken with a latch held.
//!
//! [`recovery`]: crate::recovery

pub(crate) mod barrier;
mod config;
pub mod control;
mod error;
pub(crate) mod ground;

pub use config::{
    DICTIONARY_INDEX, DICTIONARY_ROOT, DICTIONARY_SPACE, EngineConfig, FIRST_USER_ID, Shutdown, StartReport,
};
pub use error::EngineError;
