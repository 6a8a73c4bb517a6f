//! Errors of the parser, with MariaDB's codes and texts.

use std::fmt;

/// Why a text is not a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// 1064. `near` starts at the token that does not fit and is cut as MariaDB cuts it.
    Syntax { near: Vec<u8>, line: u32 },
    /// 1436: nested deeper than `MAX_NESTING`.
    TooDeep,
    /// Another of the errors that MariaDB's parser raises itself: code and text.
    Other { code: u16, message: String },
}

impl ParseError {
    pub fn code(&self) -> u16 {
        match self {
            ParseError::Syntax { .. } => 1064,
            ParseError::TooDeep => 1436,
            ParseError::Other { code, .. } => *code,
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Syntax { near, line } => write!(
                f,
                "You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server \
                 version for the right syntax to use near '{}' at line {line}",
                String::from_utf8_lossy(near)
            ),
            ParseError::TooDeep => f.write_str("Thread stack overrun: the statement is nested too deeply"),
            ParseError::Other { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for ParseError {}
