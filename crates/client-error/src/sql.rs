//! Numbers and texts of what statements can do wrong.

use crate::ClientError;
use sql_plan::error::SqlError;

/// Number, SQLSTATE and text of a condition.
pub fn describe(error: &SqlError) -> ClientError {
    names(error)
        .or_else(|| shapes(error))
        .or_else(|| definitions(error))
        .or_else(|| values(error))
        .unwrap_or_else(|| engine(error))
}

fn e(errno: u16, state: &[u8; 5], text: String) -> Option<ClientError> {
    Some(ClientError::new(errno, state, text))
}

fn s(errno: u16, state: &[u8; 5], text: &'static str) -> Option<ClientError> {
    Some(ClientError::new(errno, state, text))
}

fn names(error: &SqlError) -> Option<ClientError> {
    use SqlError::*;
    match error {
        NoDatabaseSelected => s(1046, b"3D000", "No database selected"),
        UnknownDatabase(name) => e(1049, b"42000", format!("Unknown database '{name}'")),
        DatabaseExists(name) => e(1007, b"HY000", format!("Can't create database '{name}'; database exists")),
        DatabaseMissing(name) => {
            e(1008, b"HY000", format!("Can't drop database '{name}'; database doesn't exist"))
        }
        TableExists(name) => e(1050, b"42S01", format!("Table '{name}' already exists")),
        UnknownTable(name) | NoSuchTableNote(name) => e(1051, b"42S02", format!("Unknown table '{name}'")),
        RecordNotFound { table } => e(1032, b"HY000", format!("Can't find record in '{table}'")),
        EventColumnType { column, table, event, definition } => e(
            1677,
            b"HY000",
            format!(
                "Column {column} of table '{table}' cannot be converted from type '{event}' to type '{definition}'"
            ),
        ),
        NoSuchTable { schema, name } => e(1146, b"42S02", format!("Table '{schema}.{name}' doesn't exist")),
        UnknownColumn { name, clause } => e(1054, b"42S22", format!("Unknown column '{name}' in '{clause}'")),
        AmbiguousColumn { name, clause } => {
            e(1052, b"23000", format!("Column '{name}' in {clause} is ambiguous"))
        }
        TriggerInWrongSchema => s(1435, b"HY000", "Trigger in wrong schema"),
        UndeclaredVariable(name) => e(1327, b"42000", format!("Undeclared variable: {name}")),
        TableNotLocked(name) => e(1100, b"HY000", format!("Table '{name}' was not locked with LOCK TABLES")),
        TableLockedForRead(name) => {
            e(1099, b"HY000", format!("Table '{name}' was locked with a READ lock and can't be updated"))
        }
        ConflictingReadLock => {
            s(1223, b"HY000", "Can't execute the query because you have a conflicting read lock")
        }
        LockedTablesOrTransaction => s(
            1192,
            b"HY000",
            "Can't execute the given command because you have active locked tables or an active transaction",
        ),
        NotUniqueTable(name) => e(1066, b"42000", format!("Not unique table/alias: '{name}'")),
        UnknownKey { key, table } => {
            e(1176, b"42000", format!("Key '{key}' doesn't exist in table '{table}'"))
        }
        UnknownFunction(name) => e(1305, b"42000", format!("FUNCTION {name} does not exist")),
        WrongParameterCount(name) => {
            e(1582, b"42000", format!("Incorrect parameter count in the call to native function '{name}'"))
        }
        RoutineArguments { kind, name, expected, got } => e(
            1318,
            b"42000",
            format!("Incorrect number of arguments for {kind} {name}; expected {expected}, got {got}"),
        ),
        UnknownVariable(name) => e(1193, b"HY000", format!("Unknown system variable '{name}'")),
        IncorrectTableName(name) => e(1103, b"42000", format!("Incorrect table name '{name}'")),
        IncorrectDatabaseName(name) => e(1102, b"42000", format!("Incorrect database name '{name}'")),
        IncorrectColumnName(name) => e(1166, b"42000", format!("Incorrect column name '{name}'")),
        IdentifierTooLong(name) => {
            // The message shows 100 characters at most.
            let shown: String = match name.char_indices().nth(100) {
                None => name.clone(),
                Some(_) => name.chars().take(97).chain("...".chars()).collect(),
            };
            e(1059, b"42000", format!("Identifier name '{shown}' is too long"))
        }
        AccessDeniedToDatabase { user, schema } => {
            e(1044, b"42000", format!("Access denied for user {user} to database '{schema}'"))
        }
        _ => None,
    }
}

fn shapes(error: &SqlError) -> Option<ClientError> {
    use SqlError::*;
    match error {
        ColumnSpecifiedTwice(name) => e(1110, b"42000", format!("Column '{name}' specified twice")),
        ColumnCountMismatch { row } => {
            e(1136, b"21S01", format!("Column count doesn't match value count at row {row}"))
        }
        NoTablesUsed => s(1096, b"HY000", "No tables used"),
        InvalidGroupFunction => s(1111, b"HY000", "Invalid use of group function"),
        MixOfGroupColumns => s(
            1140,
            b"42000",
            "Mixing of GROUP columns (MIN(),MAX(),COUNT(),...) with no GROUP columns is illegal if there is no GROUP BY clause",
        ),
        OperandColumns(count) => e(1241, b"21000", format!("Operand should contain {count} column(s)")),
        IllegalParameterTypes { left, right, operation } => e(
            4078,
            b"HY000",
            format!("Illegal parameter data types {left} and {right} for operation '{operation}'"),
        ),
        UnionColumnCount => {
            s(1222, b"21000", "The used SELECT statements have a different number of columns")
        }
        SubqueryMoreThanOneRow => s(1242, b"21000", "Subquery returns more than 1 row"),
        WrongUsage { first, second } => e(1221, b"HY000", format!("Incorrect usage of {first} and {second}")),
        IllegalMixOfCollations { first, second, operation } => e(
            1267,
            b"HY000",
            format!("Illegal mix of collations {first} and {second} for operation '{operation}'"),
        ),
        CollationNotForCharset { collation, charset } => {
            e(1253, b"42000", format!("COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'"))
        }
        UnknownCharset(name) => e(1115, b"42000", format!("Unknown character set: '{name}'")),
        UnknownCollation(name) => e(1273, b"HY000", format!("Unknown collation: '{name}'")),
        UnknownEngine(name) => e(1286, b"42000", format!("Unknown storage engine '{name}'")),
        UpdateTableUsed(name) => e(
            1093,
            b"HY000",
            format!(
                "Table '{name}' is specified twice, both as a target for 'UPDATE' and as a separate source for data"
            ),
        ),
        NotSupported(what) => {
            e(1235, b"42000", format!("This version of MorseDB doesn't yet support '{what}'"))
        }
        WrongArguments(what) => e(1210, b"HY000", format!("Incorrect arguments to {what}")),
        _ => None,
    }
}

fn definitions(error: &SqlError) -> Option<ClientError> {
    use SqlError::*;
    match error {
        DuplicateColumn(name) => e(1060, b"42S21", format!("Duplicate column name '{name}'")),
        DuplicateKeyName(name) => e(1061, b"42000", format!("Duplicate key name '{name}'")),
        MultiplePrimaryKey => s(1068, b"42000", "Multiple primary key defined"),
        WrongAutoColumn => s(
            1075,
            b"42000",
            "Incorrect table definition; there can be only one auto column and it must be defined as a key",
        ),
        BlobKeyWithoutLength(name) => e(
            1170,
            b"42000",
            format!("BLOB/TEXT column '{name}' used in key specification without a key length"),
        ),
        KeyColumnMissing(name) => e(1072, b"42000", format!("Key column '{name}' doesn't exist in table")),
        WrongSubKey => s(
            1089,
            b"HY000",
            "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys",
        ),
        KeyTooLong(max) => {
            e(1071, b"42000", format!("Specified key was too long; max key length is {max} bytes"))
        }
        TooManyKeyParts(max) => {
            e(1070, b"42000", format!("Too many key parts specified; max {max} parts allowed"))
        }
        TooManyColumns => s(1117, b"HY000", "Too many columns"),
        DisplayWidth { column, max } => {
            e(1439, b"42000", format!("Display width out of range for '{column}' (max = {max})"))
        }
        PrecisionTooBig { column, max } => {
            e(1426, b"42000", format!("Too big precision specified for '{column}'. Maximum is {max}"))
        }
        ScaleTooBig { column, max } => {
            e(1425, b"42000", format!("Too big scale specified for '{column}'. Maximum is {max}"))
        }
        ScaleOverPrecision(name) => e(
            1427,
            b"42000",
            format!("For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{name}')"),
        ),
        ColumnTooLong { column, max } => e(
            1074,
            b"42000",
            format!("Column length too big for column '{column}' (max = {max}); use BLOB or TEXT instead"),
        ),
        RowSizeTooLarge => s(
            1118,
            b"42000",
            "Row size too large. The maximum row size for the used table type, not counting BLOBs, is 65535. This includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs",
        ),
        InvalidDefault(name) => e(1067, b"42000", format!("Invalid default value for '{name}'")),
        InvalidOnUpdate(name) => e(1294, b"HY000", format!("Invalid ON UPDATE clause for '{name}' column")),
        PrimaryKeyNullable => s(
            1171,
            b"42000",
            "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead",
        ),
        TableMustHaveColumns => s(1113, b"42000", "A table must have at least 1 column"),
        CannotDrop { what, name } => {
            e(1091, b"42000", format!("Can't DROP {what} `{name}`; check that it exists"))
        }
        CannotRemoveAllColumns => {
            s(1090, b"42000", "You can't delete all columns with ALTER TABLE; use DROP TABLE instead")
        }
        InvalidUseOfNull => s(1138, b"22004", "Invalid use of NULL value"),
        _ => None,
    }
}

fn values(error: &SqlError) -> Option<ClientError> {
    use SqlError::*;
    match error {
        DuplicateEntry { value, key } => {
            e(1062, b"23000", format!("Duplicate entry '{value}' for key '{key}'"))
        }
        ColumnCannotBeNull(name) => e(1048, b"23000", format!("Column '{name}' cannot be null")),
        NoDefault(name) => e(1364, b"HY000", format!("Field '{name}' doesn't have a default value")),
        DataTooLong { column, row } => {
            e(1406, b"22001", format!("Data too long for column '{column}' at row {row}"))
        }
        OutOfRange { column, row } => {
            e(1264, b"22003", format!("Out of range value for column '{column}' at row {row}"))
        }
        DataTruncated { column, row } => {
            e(1265, b"01000", format!("Data truncated for column '{column}' at row {row}"))
        }
        IncorrectValue { kind, value, column, row } => {
            let wrong_text = ["date", "datetime", "time", "timestamp", "uuid", "inet4", "inet6"];
            let errno = if wrong_text.contains(&kind.as_str()) { 1292 } else { 1366 };
            e(errno, b"22007", format!("Incorrect {kind} value: '{value}' for column {column} at row {row}"))
        }
        IncorrectStringValue { kind, value, column, row } => {
            e(1366, b"22007", format!("Incorrect {kind} value: '{value}' for column {column} at row {row}"))
        }
        TruncatedValue { kind, value } => {
            e(1292, b"22007", format!("Truncated incorrect {kind} value: '{value}'"))
        }
        DivisionByZero => s(1365, b"22012", "Division by 0"),
        ValueOutOfRange { kind, expression } => {
            e(1690, b"22003", format!("{kind} value is out of range in '{expression}'"))
        }
        RowGone => s(1032, b"HY000", "Can't find record"),
        ForeignKeyChild(text) => e(
            1452,
            b"23000",
            format!("Cannot add or update a child row: a foreign key constraint fails ({text})"),
        ),
        ForeignKeyParent(text) if text.is_empty() => {
            s(1451, b"23000", "Cannot delete or update a parent row: a foreign key constraint fails")
        }
        ForeignKeyParent(text) => e(
            1451,
            b"23000",
            format!("Cannot delete or update a parent row: a foreign key constraint fails ({text})"),
        ),
        ViewCheckFailed(view) => e(1369, b"44000", format!("CHECK OPTION failed {view}")),
        ConstraintFailed { constraint, table } => {
            e(4025, b"23000", format!("CONSTRAINT `{constraint}` failed for {table}"))
        }
        AutoIncrementExhausted => {
            s(1467, b"HY000", "Failed to read auto-increment value from storage engine")
        }
        KeyNeeded => s(
            1175,
            b"HY000",
            "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column",
        ),
        // MariaDB tells the storage engine's number.
        AutoIncrementOutOfRange { column, row } => {
            e(167, b"22003", format!("Out of range value for column '{column}' at row {row}"))
        }
        GroupConcatCut { row } => e(1260, b"HY000", format!("Row {row} was cut by group_concat()")),
        _ => None,
    }
}

/// The rest; whatever no family above names ends here.
fn engine(error: &SqlError) -> ClientError {
    use SqlError::*;
    match error {
        Deadlock => ClientError::new(
            1213,
            b"40001",
            "Deadlock found when trying to get lock; try restarting transaction",
        ),
        LockWaitTimeout | LockNoWait => {
            ClientError::new(1205, b"HY000", "Lock wait timeout exceeded; try restarting transaction")
        }
        SnapshotChanged { table } => {
            let text =
                format!("Record has changed since last read in table '{table}'; try restarting transaction");
            ClientError::new(1020, b"HY000", text)
        }
        DefinitionChanged => {
            ClientError::new(1412, b"HY000", "Table definition has changed, please retry transaction")
        }
        RowsExamined => ClientError::new(1317, b"70100", "Query execution was interrupted"),
        Interrupted => ClientError::new(1317, b"70100", "Query execution was interrupted"),
        ReadOnly => ClientError::new(
            1290,
            b"HY000",
            "The MariaDB server is running with the --read-only option so it cannot execute this statement",
        ),
        ReadOnlyTransaction => {
            ClientError::new(1792, b"25006", "Cannot execute statement in a READ ONLY transaction")
        }
        RowTooLarge { max } => ClientError::new(
            1118,
            b"42000",
            format!(
                "Row size too large (> {max}). Changing some columns to TEXT or BLOB may help. In current row format, BLOB prefix of 0 bytes is stored inline."
            ),
        ),
        TableFull(name) => ClientError::new(1114, b"HY000", format!("The table '{name}' is full")),
        Io { operation, table } => ClientError::new(
            1030,
            b"HY000",
            format!("Got error 5 \"{operation}\" from storage engine on '{table}'"),
        ),
        Corrupt { table, detail } => {
            ClientError::new(1712, b"HY000", format!("Index for table '{table}' is corrupt; {detail}"))
        }
        OutOfMemory => ClientError::new(1037, b"HY001", "Out of memory; restart server and try again"),
        StalePlan => ClientError::new(1615, b"HY000", "Prepared statement needs to be re-prepared"),
        Other { errno, state, text } => ClientError::new(*errno, state, text.clone()),
        other => ClientError::new(1105, b"HY000", format!("Unknown error: {other:?}")),
    }
}
