//! The primary's side of replication: what a MariaDB replica asks for, and what it is sent.
//!
//! # The life of a dump
//! ```text
//! user variables, COM_REGISTER_SLAVE          session; kept in `replicas`
//! COM_BINLOG_DUMP -> DumpRequest              request.rs
//! where to start, what to pass over           start.rs, on GTIDs alone
//! packets                                     stream.rs; old clients: mimic.rs
//! acknowledgements -> waiting commits         acks.rs, semi_sync.rs
//! ```
#![forbid(unsafe_code)]

pub mod acks;
pub mod dump;
pub mod gtid_list;
pub mod mimic;
pub mod replica_position;
pub mod replicas;
pub mod request;
mod running_state;
pub mod semi_sync;
pub mod source;
pub mod start;
pub mod stream;

pub use dump::{Begin, Dump as DumpThread, DumpControl, DumpFacts, Ended, Stop};
pub use gtid_list::{GtidListError, format_list, parse_position, parse_state};
pub use replicas::{Dump, InUse, Registered, Replicas};
pub use request::{Capability, DumpRequest, GtidStart, UserVariables};
pub use semi_sync::{Acknowledged, SemiSync, SemiSyncConfig, WaitPoint};
pub use source::{BinaryLog, Groups, LogFile, Turn};
pub use stream::{EventStream, Line};
