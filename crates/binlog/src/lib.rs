//! The binary log: MariaDB's event groups made from the one log (docs/design/core.md, section 7).
//!
//! # Who does what
//! ```text
//! log_files   which segments are files of the binary log, retention, GTID states and positions
//! reader      next group: at the log's end by `feed`, behind it by scanning `frames`
//! transaction records of one transaction, forwards, without what was rolled back
//! changes     records to changed rows                         tables, image   definitions, columns
//! columns     which columns the images have: binlog_row_image
//! group       changed rows to events
//! undecided   the events of a transaction that has not committed yet: for a binary log in files of its own
//! ```
//! # Invariants
//! L4. Groups come in commit order. L5. Only durable ones. Memory of a reader is bounded whatever a group's size.
//! A corrupt place in a segment is an error of the reader that meets it; it names the file and the offset.
#![forbid(unsafe_code)]

mod api;
mod branch;
mod changes;
mod columns;
mod feed;
mod frames;
mod group;
mod image;
mod log_files;
mod reader;
mod source;
mod tables;
mod tail;
mod transaction;
mod undecided;

pub use api::{
    EmitError, EmitOptions, EventSink, GroupHead, Next, Position, ReadError, SinkClosed, Start, Wait,
};
pub use feed::Feed;
pub use log_files::{Binlog, BinlogFile, Lookup, PurgeError, StoppedBinlog};
pub use reader::{GroupReader, Interrupt, Turn};
pub use undecided::{Stage, Undecided};
