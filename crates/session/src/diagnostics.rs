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
    /// What SIGNAL said beyond number, state and text: item and value.
    pub items: Vec<(&'static str, String)>,
}

impl Condition {
    pub(crate) fn new(level: Level, error: ClientError) -> Self {
        Self { level, error, items: Vec::new() }
    }
    /// Of the statement's row number `row`; 0 is none.
    pub(crate) fn at_row(level: Level, error: ClientError, row: u64) -> Self {
        let items = if row == 0 { Vec::new() } else { vec![("ROW_NUMBER", row.to_string())] };
        Self { level, error, items }
    }
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
    /// How many were ever added.
    added: u64,
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
        self.add_condition(Condition::new(level, error), max);
    }
    pub(crate) fn added(&self) -> u64 {
        self.added
    }
    pub(crate) fn add_condition(&mut self, condition: Condition, max: u64) {
        if self.kept {
            self.clear();
        }
        self.added += 1;
        self.warnings += 1;
        self.errors += u64::from(condition.level == Level::Error);
        if (self.conditions.len() as u64) < max {
            self.conditions.push(condition);
        }
    }
    /// Takes one condition out.
    pub(crate) fn remove(&mut self, condition: Option<&Condition>) {
        let found = condition.and_then(|c| self.conditions.iter().rposition(|k| k == c));
        if let Some(at) = found {
            let gone = self.conditions.remove(at);
            self.warnings -= 1;
            self.errors -= u64::from(gone.level == Level::Error);
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
    /// What the end of a result says: the running statement's own conditions.
    pub(crate) fn wire_count(&self) -> u16 {
        if self.kept {
            return 0;
        }
        self.warnings.min(u64::from(u16::MAX)) as u16
    }
}
