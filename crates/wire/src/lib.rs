//! The MariaDB client protocol as pure bytes: both sides, no sockets.
//!
//! # Layout of a conversation
//! ```text
//! server: Greeting            client: Login            server: Ok | AuthSwitch | Err
//! client: Command (sequence 0)
//! server: Ok | Err | result set = count, columns, [Eof], rows, Eof-or-Ok
//! ```
//! Everything travels in packets, see [`packet`].
//!
//! # Invariants
//! W1. No input makes a decoder panic or allocate more than the input's own size.
//! W2. An encoder cannot fail; what does not fit the format is a bug and asserts.
//! W3. A decoder borrows from the packet; nothing is copied that the caller does not keep.
//! W4. A capability is announced only when both directions are built here ([`Capabilities::SERVER`]).
#![forbid(unsafe_code)]

pub mod auth;
pub mod caching_sha2;
pub mod capability;
pub mod column;
pub mod command;
pub mod compressed;
pub mod ed25519;
pub mod greeting;
pub mod lenenc;
pub mod login;
pub mod packet;
pub mod reply;
pub mod row;
pub mod statement;

pub use capability::Capabilities;
pub use column::{ColumnDefinition, ColumnFlags, ColumnType};
pub use command::Command;
pub use greeting::Greeting;
pub use login::{AuthSwitch, ChangeUser, Login, put_auth_switch, wants_tls};
pub use packet::{FrameError, PacketReader, PacketWriter};
pub use reply::{Eof, ErrPacket, OkPacket, SessionChange, Status};
pub use row::{BinaryRow, BinaryValue, RowPosition, TemporalValue, TextRow};
pub use statement::{Execute, Parameter, ParameterType, PrepareOk};
