//! Row bodies in binlog packing and memcmp-ordered keys: a pure codec.
//!
//! # Layout of a body
//! ```text
//! null bitmap, (columns + 7) / 8 bytes, bit i of byte i / 8 set = column i is NULL; spare bits are 1 | packed values
//! ```
//! exactly as MariaDB writes a row image of all columns in a rows event. A NULL column takes no byte.
//!
//! # Invariants
//! R1. Bytes that come from disk never panic: a body that does not fit its layout is a [`base::Corruption`].
//! R2. `encode` of what `RowView` decoded gives the same bytes.
//! R3. Comparing two keys with memcmp orders rows as MariaDB's index does.
#![forbid(unsafe_code)]

mod checksum;
mod column;
mod encode;
mod history;
pub mod key;
mod layout;
mod packed;
pub mod protocol;
mod splice;
mod store;
mod view;

pub use checksum::row_checksum;
pub use column::{Column, ColumnType, IntSize};
pub use encode::{EncodeError, encode_column, encode_row};
pub use history::{OldFormat, Shapes, Source};
pub use key::KeyPart;
pub use layout::RowLayout;
pub use packed::{decode, set_value};
pub use splice::{Splice, apply_backward, apply_forward, diff};
pub use store::{Severity, StoreProblem, Stored, keeps, store};
pub use view::{Place, RowView};
