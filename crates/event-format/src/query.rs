//! QUERY (2) and QUERY_COMPRESSED (165): a statement as text.
//!
//! # Layout
//! ```text
//! thread id u32 | seconds it took u32 | database length u8 | error u16 | length of the status variables u16
//! | status variables (see [`crate::status`]) | database | NUL | statement, to the end (compressed: see [`crate::compressed`])
//! ```

use std::borrow::Cow;

use base::{Corruption, Put, Reader};

use crate::event::take_rest;
use crate::{EventKind, compressed};

/// Bits of the status variable `Flags2`, by which a replica sets its session.
pub mod query_flags {
    pub const AUTO_IS_NULL: u32 = 1 << 14;
    pub const NO_CHECK_CONSTRAINT_CHECKS: u32 = 1 << 15;
    pub const NOT_AUTOCOMMIT: u32 = 1 << 19;
    /// `explicit_defaults_for_timestamp` is on.
    pub const EXPLICIT_TIMESTAMPS: u32 = 1 << 24;
    pub const NO_FOREIGN_KEY_CHECKS: u32 = 1 << 26;
    pub const RELAXED_UNIQUE_CHECKS: u32 = 1 << 27;
    /// `sql_if_exists`.
    pub const IF_EXISTS: u32 = 1 << 28;
    pub const SYSTEM_VERSIONING_INSERT_HISTORY: u32 = 1 << 30;
}

/// The fixed part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryHead {
    pub thread_id: u32,
    /// Seconds.
    pub exec_time: u32,
    /// The error with which the statement ended on the primary; a replica expects the same.
    pub error_code: u16,
}

impl QueryHead {
    pub(crate) fn encode(&self, out: &mut Vec<u8>, database_len: usize, status_len: usize) {
        assert!(database_len <= 255 && status_len <= 65535, "{database_len} and {status_len} bytes");
        out.put_u32(self.thread_id);
        out.put_u32(self.exec_time);
        out.put_u8(database_len as u8);
        out.put_u16(self.error_code);
        out.put_u16(status_len as u16);
    }
    /// With the lengths of database and status variables.
    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<(Self, usize, usize), Corruption> {
        let (thread_id, exec_time) = (r.u32("thread id")?, r.u32("execution time")?);
        let database_len = usize::from(r.u8("database length")?);
        let error_code = r.u16("error code")?;
        let status_len = usize::from(r.u16("length of the status variables")?);
        Ok((Self { thread_id, exec_time, error_code }, database_len, status_len))
    }
}

/// A statement, or the COMMIT that ends a group that is not transactional.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query<'a> {
    pub head: QueryHead,
    /// What [`crate::StatusVariables`] reads and writes.
    pub status: &'a [u8],
    pub database: &'a [u8],
    pub sql: Cow<'a, [u8]>,
    /// Stands compressed in the log.
    pub compressed: bool,
}

impl<'a> Query<'a> {
    pub(crate) fn kind(&self) -> EventKind {
        if self.compressed { EventKind::QUERY_COMPRESSED } else { EventKind::QUERY }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        self.head.encode(out, self.database.len(), self.status.len());
        out.put(self.status);
        out.put(self.database);
        out.put_u8(0);
        if self.compressed {
            compressed::compress(&self.sql, out);
        } else {
            out.put(&self.sql);
        }
    }

    pub(crate) fn decode(r: &mut Reader<'a>, compressed: bool) -> Result<Self, Corruption> {
        let (head, database_len, status_len) = QueryHead::decode(r)?;
        let status = r.bytes(status_len, "status variables")?;
        let database = r.bytes(database_len, "database")?;
        r.u8("end of database")?;
        let text = take_rest(r);
        let sql = if compressed { Cow::Owned(compressed::decompress(text)?) } else { Cow::Borrowed(text) };
        Ok(Self { head, status, database, sql, compressed })
    }
}
