//! Binlog events as text that a server can run: what `mariadb-binlog` prints, byte for byte as far as the options here go.
//!
//! # Parts
//! ```text
//! Source (a classic file, a server, the segments of the log) -> Selection (what to show) -> Printer -> text
//! ```
//!
//! # Invariants
//! P1. The text, run by a server, makes the same changes as the events: statements as they are, rows as BINLOG statements.
//! P2. A damaged event ends the printing with an error that names its place; everything before it has been printed, whole.
//! P3. Memory is bounded by the events of one statement, whose BINLOG text stands behind all their headers.
#![forbid(unsafe_code)]

pub mod arguments;
mod convert;
mod flashback;
mod float;
mod hexdump;
mod names;
mod options;
mod printer;
mod query;
mod rows;
pub mod run;
mod selection;
mod session;
pub mod source;
mod values;
mod verify;

pub use options::{Base64, Options, Position};
pub use printer::{PrintError, Printer};
pub use selection::{IdFilter, Selection};
