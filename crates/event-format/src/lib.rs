//! MariaDB's binlog events as pure bytes: what a binlog file holds and a replica is sent.
//!
//! # Layout of a binlog file
//! ```text
//! fe 'b' 'i' 'n' | FORMAT_DESCRIPTION | GTID_LIST | BINLOG_CHECKPOINT | event group ... | ROTATE or STOP
//! event group = GTID | [ANNOTATE | TABLE_MAP ... | rows ...] ... | XID            rows of a transaction
//!             = GTID | QUERY                                                       DDL and other statements that stand alone
//!             = GTID | [INTVAR | RAND | USER_VAR] ... QUERY ... | XID or QUERY "COMMIT"
//! ```
//! # Layout of an event
//! ```text
//! header 19 bytes (see [`Header`]) | body, drawn beside each event's codec | CRC-32 u32, when the checksum is CRC32
//! ```
//!
//! # Invariants
//! E1. No input makes a decoder panic. None makes it allocate more than a small multiple of the input, except a compressed event, which
//!     may grow as far as deflate can (see [`compressed`]).
//! E2. A decoder borrows from the event; an encoder cannot fail and asserts what the format cannot hold.
//! E3. `read(write(e)) = e`, and the bytes of a real server's event come back from `write(read(bytes))`.
//! E4. Layouts are pinned by golden tests on bytes of MariaDB 10.11 and 11.8.
#![forbid(unsafe_code)]

pub mod base64;
mod bitmap;
pub mod compressed;
mod control;
mod event;
mod format_description;
mod gtid;
mod header;
mod kind;
mod lenenc;
pub mod metadata;
mod query;
mod rows;
pub mod semi_sync;
mod statement;
pub mod status;
mod table_map;
mod wire_type;
mod xa;

pub use bitmap::Bitmap;
pub use control::{
    BinlogCheckpoint, GtidList, Heartbeat, Incident, Rotate, StartEncryption, gtid_list_flags,
};
pub use event::{Event, event_length, read, read_unverified, restamp, write, write_opaque};
pub use format_description::{FormatDescription, POST_HEADER_LENGTHS};
pub use gtid::{GtidEvent, gtid_flags, gtid_flags_extra};
pub use header::{Checksum, End, Header, MAGIC, Stamp, crc32, header_flags};
pub use kind::EventKind;
pub use metadata::{Key, MetadataLevel, OptionalMetadata};
pub use query::{Query, QueryHead, query_flags};
pub use rows::{
    Image, ImageWriter, RowChange, RowImages, Rows, RowsKind, RowsWriter, rows_flags, write_image,
};
pub use statement::{
    Annotate, BeginLoad, DeleteFile, ExecuteLoad, IntVar, IntVarKind, LoadBlock, Rand, UserValue, UserVar,
};
pub use status::{StatusVariable, StatusVariables};
pub use table_map::{MapColumn, TableDescription, TableMap};
pub use wire_type::{WireColumn, type_code};
pub use xa::{Xa, XaPrepare};
