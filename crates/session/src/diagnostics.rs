//! Warnings, notes and errors of the last statement: SHOW WARNINGS, @@warning_count.
//!
//! A statement that uses no table leaves the list of the one before alone when it has no condition of its own, as
//! MariaDB does: SELECT @@warning_count can be asked.

use client_error::ClientError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Note,
    Warning,
    Error,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Note => "Note",
            Self::Warning => "Warning",
            Self::Error => "Error",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub level: Level,
    pub error: ClientError,
}

/// The conditions of one statement.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    conditions: Vec<Condition>,
    /// Including those beyond max_error_count.
    warnings: u64,
    errors: u64,
    /// The list is of an earlier statement: the first condition of this one replaces it.
    kept: bool,
}

impl Diagnostics {
    pub(crate) fn clear(&mut self) {
        self.conditions.clear();
        self.warnings = 0;
        self.errors = 0;
        self.kept = false;
    }
    /// A statement begins that leaves the list alone while it has no condition of its own.
    pub(crate) fn keep(&mut self) {
        self.kept = true;
    }
    /// Adds one; `max` is max_error_count.
    pub(crate) fn add(&mut self, level: Level, error: ClientError, max: u64) {
        if self.kept {
            self.clear();
        }
        self.warnings += 1;
        self.errors += u64::from(level == Level::Error);
        if (self.conditions.len() as u64) < max {
            self.conditions.push(Condition { level, error });
        }
    }
    /// Conditions that were counted but not kept.
    pub(crate) fn count_only(&mut self, n: u64) {
        self.warnings += n;
    }
    pub(crate) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
    /// What @@warning_count and the OK packet say.
    pub(crate) fn warning_count(&self) -> u64 {
        self.warnings
    }
    pub(crate) fn error_count(&self) -> u64 {
        self.errors
    }
    pub(crate) fn wire_count(&self) -> u16 {
        self.warnings.min(u64::from(u16::MAX)) as u16
    }
}
