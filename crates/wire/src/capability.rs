//! Capability flags: 32 bits of MySQL's, 32 of MariaDB's above them.
//!
//! MariaDB's bits travel in bytes that older peers leave zero, and are valid only when `MYSQL` (bit 0) is *not* announced
//! by the server, or not answered by the client.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not};

/// What a peer can do, or what both agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Capabilities(pub u64);

impl Capabilities {
    /// Set by servers and clients that do not know MariaDB's upper bits.
    pub const MYSQL: Self = Self(1);
    /// Affected rows count rows found, not rows changed.
    pub const FOUND_ROWS: Self = Self(1 << 1);
    pub const LONG_FLAG: Self = Self(1 << 2);
    pub const CONNECT_WITH_DB: Self = Self(1 << 3);
    pub const NO_SCHEMA: Self = Self(1 << 4);
    pub const COMPRESS: Self = Self(1 << 5);
    pub const ODBC: Self = Self(1 << 6);
    pub const LOCAL_FILES: Self = Self(1 << 7);
    pub const IGNORE_SPACE: Self = Self(1 << 8);
    pub const PROTOCOL_41: Self = Self(1 << 9);
    pub const INTERACTIVE: Self = Self(1 << 10);
    pub const SSL: Self = Self(1 << 11);
    pub const IGNORE_SIGPIPE: Self = Self(1 << 12);
    pub const TRANSACTIONS: Self = Self(1 << 13);
    pub const SECURE_CONNECTION: Self = Self(1 << 15);
    pub const MULTI_STATEMENTS: Self = Self(1 << 16);
    pub const MULTI_RESULTS: Self = Self(1 << 17);
    pub const PS_MULTI_RESULTS: Self = Self(1 << 18);
    pub const PLUGIN_AUTH: Self = Self(1 << 19);
    pub const CONNECT_ATTRS: Self = Self(1 << 20);
    pub const PLUGIN_AUTH_LENENC: Self = Self(1 << 21);
    pub const CAN_HANDLE_EXPIRED_PASSWORDS: Self = Self(1 << 22);
    pub const SESSION_TRACK: Self = Self(1 << 23);
    pub const DEPRECATE_EOF: Self = Self(1 << 24);
    pub const REMEMBER_OPTIONS: Self = Self(1 << 31);
    /// MariaDB: progress reports in the middle of a statement.
    pub const PROGRESS: Self = Self(1 << 32);
    /// MariaDB: many parameter rows in one COM_STMT_BULK_EXECUTE.
    pub const STMT_BULK_OPERATIONS: Self = Self(1 << 34);
    /// MariaDB: extended type names in column definitions.
    pub const EXTENDED_METADATA: Self = Self(1 << 35);
    /// MariaDB: column definitions may be left out when the client has them from the prepare.
    pub const CACHE_METADATA: Self = Self(1 << 36);
    /// MariaDB: one result per parameter row of a bulk execute.
    pub const BULK_UNIT_RESULTS: Self = Self(1 << 37);

    /// What this server announces (W4), beside `SSL` when it has a certificate.
    pub const SERVER: Self = Self(
        Self::FOUND_ROWS.0
            | Self::LONG_FLAG.0
            | Self::CONNECT_WITH_DB.0
            | Self::COMPRESS.0
            | Self::LOCAL_FILES.0
            | Self::NO_SCHEMA.0
            | Self::ODBC.0
            | Self::IGNORE_SPACE.0
            | Self::PROTOCOL_41.0
            | Self::INTERACTIVE.0
            | Self::IGNORE_SIGPIPE.0
            | Self::TRANSACTIONS.0
            | Self::SECURE_CONNECTION.0
            | Self::MULTI_STATEMENTS.0
            | Self::MULTI_RESULTS.0
            | Self::PS_MULTI_RESULTS.0
            | Self::PLUGIN_AUTH.0
            | Self::CONNECT_ATTRS.0
            | Self::PLUGIN_AUTH_LENENC.0
            | Self::CAN_HANDLE_EXPIRED_PASSWORDS.0
            | Self::SESSION_TRACK.0
            | Self::DEPRECATE_EOF.0
            | Self::REMEMBER_OPTIONS.0
            | Self::STMT_BULK_OPERATIONS.0
            | Self::CACHE_METADATA.0,
    );

    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
    /// MySQL's half.
    pub const fn low(self) -> u32 {
        self.0 as u32
    }
    /// MariaDB's half.
    pub const fn high(self) -> u32 {
        (self.0 >> 32) as u32
    }
    pub const fn from_halves(low: u32, high: u32) -> Self {
        Self((high as u64) << 32 | low as u64)
    }
}

impl BitOr for Capabilities {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Capabilities {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Capabilities {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Capabilities {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0)
    }
}
