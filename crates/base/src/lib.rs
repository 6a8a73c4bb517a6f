//! Ids, positions, byte cursors and checksums that every other room speaks in.
//!
//! # Invariants
//! B1. Ids and positions are newtypes; a bare integer never names a page, a transaction or a log position.
//! B2. Everything on disk is little-endian, except memcmp-ordered keys.
//! B3. `decode` code reads through [`Reader`], which returns [`Corruption`] with place and field instead of panicking.
#![forbid(unsafe_code)]

mod checksum;
mod corruption;
mod cursor;
mod ids;

pub use checksum::{crc32c, crc32c_append};
pub use corruption::Corruption;
pub use cursor::{Put, Reader, varint_len};
pub use ids::{Gtid, IndexId, Lsn, PageId, PageNo, SpaceId, TableId, TrxId};

/// Bytes of a page: 16 KiB.
pub const PAGE_SIZE: usize = 16 * 1024;
