//! Every error below becomes MariaDB's number, SQLSTATE and text here, and nowhere else.
//!
//! Texts were compared with a MariaDB 11.8 server; `tests/sql/errors.test` keeps the comparison.

/// Constructors of conditions: name, arguments, number, SQLSTATE, text.
macro_rules! conditions {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) = $errno:literal $state:literal $text:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name($($arg: $ty),*) -> ClientError {
            ClientError::new($errno, $state, format!($text))
        }
    )*};
}

pub mod account;
pub mod connection;
pub mod program;
pub mod replication;
mod sql;

use std::borrow::Cow;

pub use sql::describe;

/// What an error packet or a row of SHOW WARNINGS says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientError {
    pub errno: u16,
    pub state: [u8; 5],
    pub text: Cow<'static, str>,
}

impl ClientError {
    pub fn new(errno: u16, state: &[u8; 5], text: impl Into<Cow<'static, str>>) -> Self {
        Self { errno, state: *state, text: text.into() }
    }
    pub fn sqlstate(&self) -> &str {
        std::str::from_utf8(&self.state).unwrap_or("HY000")
    }
}

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.errno, self.sqlstate(), self.text)
    }
}

impl std::error::Error for ClientError {}

impl From<&sql_plan::error::SqlError> for ClientError {
    fn from(error: &sql_plan::error::SqlError) -> Self {
        describe(error)
    }
}
