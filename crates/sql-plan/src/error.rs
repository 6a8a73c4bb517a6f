//! What can be wrong with a statement, from names to values. Numbers, SQLSTATEs and texts are `client-error`'s.
//!
//! The same values are warnings when the statement goes on (IGNORE, non-strict mode, IF EXISTS).

use std::fmt;

/// The part of a statement that names a column, for "Unknown column 'x' in 'WHERE'".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clause {
    Select,
    Where,
    On,
    GroupBy,
    Having,
    OrderBy,
    Set,
    InsertInto,
    Values,
    Limit,
    OnDuplicateKey,
    /// The expressions of a table's definition.
    Generated,
    Check,
    Default,
    Partition,
}

/// One condition of a statement: an error, or a warning where the mode lets the statement go on.
#[derive(Debug, Clone, PartialEq)]
pub enum SqlError {
    // Names.
    NoDatabaseSelected,
    UnknownDatabase(String),
    DatabaseExists(String),
    DatabaseMissing(String),
    TableExists(String),
    /// DROP of what is not there: `db.t` or a list of them.
    UnknownTable(String),
    NoSuchTable {
        schema: String,
        name: String,
    },
    /// A rows event changes a row that is not there.
    RecordNotFound {
        table: String,
    },
    /// A column of a rows event has another type than the table's.
    EventColumnType {
        column: usize,
        table: String,
        event: String,
        definition: String,
    },
    UnknownColumn {
        name: String,
        clause: Clause,
    },
    AmbiguousColumn {
        name: String,
        clause: Clause,
    },
    NotUniqueTable(String),
    /// A table with triggers was to move to another database.
    TriggerInWrongSchema,
    /// A stored program has no such variable.
    UndeclaredVariable(String),
    /// LOCK TABLES did not name it.
    TableNotLocked(String),
    TableLockedForRead(String),
    /// The session holds a lock that the statement would have to wait for.
    ConflictingReadLock,
    /// FLUSH TABLES WITH READ LOCK behind LOCK TABLES.
    LockedTablesOrTransaction,
    UnknownKey {
        key: String,
        table: String,
    },
    UnknownFunction(String),
    WrongParameterCount(String),
    /// A stored routine was called with the wrong number of arguments.
    RoutineArguments {
        kind: &'static str,
        name: String,
        expected: usize,
        got: usize,
    },
    UnknownVariable(String),
    IncorrectTableName(String),
    IncorrectDatabaseName(String),
    IncorrectColumnName(String),
    IdentifierTooLong(String),
    AccessDeniedToDatabase {
        user: String,
        schema: String,
    },
    // Shape.
    ColumnSpecifiedTwice(String),
    ColumnCountMismatch {
        row: u64,
    },
    NoTablesUsed,
    InvalidGroupFunction,
    MixOfGroupColumns,
    OperandColumns(u32),
    IllegalParameterTypes {
        left: &'static str,
        right: &'static str,
        operation: String,
    },
    UnionColumnCount,
    SubqueryMoreThanOneRow,
    WrongUsage {
        first: &'static str,
        second: &'static str,
    },
    IllegalMixOfCollations {
        first: String,
        second: String,
        operation: String,
    },
    CollationNotForCharset {
        collation: String,
        charset: String,
    },
    UnknownCharset(String),
    UnknownCollation(String),
    UnknownEngine(String),
    UpdateTableUsed(String),
    /// Understood but not built.
    NotSupported(String),
    WrongArguments(String),
    // Definitions.
    DuplicateColumn(String),
    DuplicateKeyName(String),
    MultiplePrimaryKey,
    WrongAutoColumn,
    BlobKeyWithoutLength(String),
    KeyColumnMissing(String),
    WrongSubKey,
    KeyTooLong(u32),
    TooManyKeyParts(u32),
    TooManyColumns,
    DisplayWidth {
        column: String,
        max: u32,
    },
    PrecisionTooBig {
        column: String,
        max: u32,
    },
    ScaleTooBig {
        column: String,
        max: u32,
    },
    ScaleOverPrecision(String),
    ColumnTooLong {
        column: String,
        max: u32,
    },
    RowSizeTooLarge,
    InvalidDefault(String),
    InvalidOnUpdate(String),
    PrimaryKeyNullable,
    TableMustHaveColumns,
    CannotDrop {
        what: &'static str,
        name: String,
    },
    CannotRemoveAllColumns,
    InvalidUseOfNull,
    // Values.
    DuplicateEntry {
        value: String,
        key: String,
    },
    ColumnCannotBeNull(String),
    NoDefault(String),
    DataTooLong {
        column: String,
        row: u64,
    },
    OutOfRange {
        column: String,
        row: u64,
    },
    DataTruncated {
        column: String,
        row: u64,
    },
    /// "Incorrect integer value: 'abc' for column `t`.`a`.`b` at row 1".
    IncorrectValue {
        kind: String,
        value: String,
        column: String,
        row: u64,
    },
    /// "Incorrect string value" has its own number.
    IncorrectStringValue {
        kind: String,
        value: String,
        column: String,
        row: u64,
    },
    /// "Truncated incorrect DOUBLE value: '1a'".
    TruncatedValue {
        kind: String,
        value: String,
    },
    DivisionByZero,
    ValueOutOfRange {
        kind: String,
        expression: String,
    },
    /// 1175: `sql_safe_updates` and no key.
    KeyNeeded,
    AutoIncrementExhausted,
    /// The next AUTO_INCREMENT value is none of its column.
    AutoIncrementOutOfRange {
        column: String,
        row: u64,
    },
    /// A row that was found is not there any more.
    RowGone,
    /// No parent; the child's constraint as text.
    ForeignKeyChild(String),
    /// There are children; the child's constraint as text.
    ForeignKeyParent(String),
    /// WITH CHECK OPTION; the view as `schema`.`name`.
    ViewCheckFailed(String),
    /// A CHECK constraint is false; the table as `schema`.`name`.
    ConstraintFailed {
        constraint: String,
        table: String,
    },
    GroupConcatCut {
        row: u64,
    },
    // Transactions, locks, storage.
    Deadlock,
    LockWaitTimeout,
    LockNoWait,
    SnapshotChanged {
        table: String,
    },
    /// The transaction's snapshot is older than the table's definition.
    DefinitionChanged,
    Interrupted,
    /// LIMIT ROWS EXAMINED is used up: the statement ends with the rows it has.
    RowsExamined,
    ReadOnly,
    ReadOnlyTransaction,
    RowTooLarge {
        max: u32,
    },
    TableFull(String),
    Io {
        operation: String,
        table: String,
    },
    /// Bytes of a table that do not verify; the text says where.
    Corrupt {
        table: String,
        detail: String,
    },
    OutOfMemory,
    /// The plan was made for an older version of a table: plan again. A client sees it only if that fails repeatedly.
    StalePlan,
    /// Notes.
    NoSuchTableNote(String),
    /// A number, a state and a text made elsewhere (SIGNAL, functions of other crates).
    Other {
        errno: u16,
        state: [u8; 5],
        text: String,
    },
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Select => "SELECT",
            Self::Where => "WHERE",
            Self::On => "ON",
            Self::GroupBy => "GROUP BY",
            Self::Having => "HAVING",
            Self::OrderBy => "ORDER BY",
            Self::Set => "SET",
            Self::InsertInto => "INSERT INTO",
            Self::Values => "VALUES",
            Self::Limit => "LIMIT",
            Self::OnDuplicateKey => "UPDATE",
            Self::Generated => "GENERATED ALWAYS AS",
            Self::Check => "CHECK",
            Self::Default => "DEFAULT",
            Self::Partition => "PARTITION BY",
        })
    }
}

impl SqlError {
    pub fn not_supported(what: impl Into<String>) -> Self {
        Self::NotSupported(what.into())
    }

    /// The row that it speaks of.
    pub fn row(&self) -> Option<u64> {
        match self {
            Self::ColumnCountMismatch { row }
            | Self::DataTooLong { row, .. }
            | Self::OutOfRange { row, .. }
            | Self::DataTruncated { row, .. }
            | Self::IncorrectValue { row, .. }
            | Self::IncorrectStringValue { row, .. }
            | Self::AutoIncrementOutOfRange { row, .. } => Some(*row),
            _ => None,
        }
    }

    /// EXECUTE ... USING DEFAULT or IGNORE for a parameter that is not a column's whole new value.
    pub fn default_as_parameter() -> Self {
        let text = "Default/ignore value is not supported for such parameter usage".to_owned();
        Self::Other { errno: 4032, state: *b"HY000", text }
    }

    /// A native function called with `expr AS name`.
    pub fn named_arguments(function: &str) -> Self {
        let text = format!("Incorrect parameters in the call to native function '{function}'");
        Self::Other { errno: 1583, state: *b"42000", text }
    }
}

pub type SqlResult<T> = Result<T, SqlError>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Note,
    Warning,
    Error,
}

/// The diagnostics area of a statement: SHOW WARNINGS, @@warning_count.
#[derive(Debug, Default)]
pub struct Warnings {
    list: Vec<(Level, SqlError)>,
    /// The row of each.
    rows: Vec<u64>,
    /// The row that the statement is at, 0 outside of rows.
    row: u64,
    count: u32,
    errors: u32,
    /// max_error_count: how many are kept; all are counted.
    kept_max: u32,
}

impl Warnings {
    pub fn new() -> Self {
        Self { kept_max: 64, ..Self::default() }
    }
    pub fn set_kept_max(&mut self, kept_max: u32) {
        self.kept_max = kept_max;
    }
    pub fn clear(&mut self) {
        self.row = 0;
        if self.count != 0 || !self.list.is_empty() {
            self.list.clear();
            self.rows.clear();
            self.count = 0;
            self.errors = 0;
        }
    }
    pub fn push(&mut self, level: Level, condition: SqlError) {
        self.count += 1;
        self.errors += u32::from(level == Level::Error);
        if self.list.len() < self.kept_max as usize {
            self.rows.push(condition.row().unwrap_or(self.row));
            self.list.push((level, condition));
        }
    }
    /// The statement is at its row number `row`.
    pub fn at_row(&mut self, row: u64) {
        self.row = row;
    }
    #[inline]
    pub fn next_row(&mut self) {
        self.row += 1;
    }
    pub fn row(&self) -> u64 {
        self.row
    }
    pub fn warn(&mut self, condition: SqlError) {
        self.push(Level::Warning, condition);
    }
    /// A warning of the value library, at its level.
    pub fn of_value(&mut self, warning: &types::Warning) {
        let level = if warning.is_note() { Level::Note } else { Level::Warning };
        self.push(level, crate::ops::warning_of(warning));
    }
    pub fn note(&mut self, condition: SqlError) {
        self.push(Level::Note, condition);
    }
    pub fn list(&self) -> &[(Level, SqlError)] {
        &self.list
    }
    /// The conditions with the row of each.
    pub fn with_rows(&self) -> impl Iterator<Item = (Level, &SqlError, u64)> {
        self.list.iter().zip(&self.rows).map(|((level, condition), row)| (*level, condition, *row))
    }
    /// All conditions, kept or not.
    pub fn count(&self) -> u32 {
        self.count
    }
    pub fn error_count(&self) -> u32 {
        self.errors
    }
}

/// What the table of a sequence does not do.
pub fn not_of_sequences(schema: &str, name: &str) -> SqlError {
    let text = format!("Storage engine SEQUENCE of the table `{schema}`.`{name}` doesn't have this option");
    SqlError::Other { errno: 1031, state: *b"HY000", text }
}
