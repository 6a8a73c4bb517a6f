//! The binary log in files of its own, in MariaDB's format and with its names: `--binlog-storage-engine=FILE`.
//!
//! # Files
//! ```text
//! NAME.index                 names of the files, one a line, oldest first
//! NAME.000001, .000002 ...   magic | FORMAT_DESCRIPTION | GTID_LIST | BINLOG_CHECKPOINT | groups ... | ROTATE or STOP
//! NAME.000001.idx ...        where in the file groups begin, with the GTID state there: a help that may be missing
//! #binlog_cache_files/       groups of running transactions that outgrew binlog_cache_size
//! ```
//! # Who does what
//! ```text
//! names, index   what the files are called, which ones there are      head      what a file begins with
//! cache          one transaction's group until it is written           events    a file, event by event
//! writer         the file that is written                              recover   what the last file says after a crash
//! files          all files as readers see them                         reader    groups for dump threads
//! gtid_index     places in a file by GTID
//! ```
//! Who commits, and in which order, is decided above (`commit::file`).
//!
//! # Invariants
//! W1. A file is part of the binary log from the moment its name is durable in the index. What it holds before that has not happened.
//! W2. Readers see only what is durable here and decided in the engine's log (L5).
//! W3. A failed sync is final (L7): [`Files::fail`] is asked before every commit.
#![forbid(unsafe_code)]

mod cache;
mod events;
mod files;
mod gtid_index;
mod head;
mod index;
mod names;
mod reader;
mod recover;
mod writer;

pub use cache::{Cache, CacheLimits};
pub use events::Events;
pub use files::{EngineLog, Files, virtual_lsn};
pub use gtid_index::IndexOptions;
pub use head::HeadFacts;
pub use names::Names;
pub use reader::{FileGroups, FileInterrupt};
pub use recover::{BranchName, Decision, Group, LastFile};
pub use writer::{Mark, Place, WriteError, Writer};
