//! Values into columns: conversion, NOT NULL, and what strict mode makes of losses.

use catalog::{ColumnDef, DefaultValue, TableHandle};
use row_format::{Severity, keeps, store};
use sql_plan::error::{SqlError, SqlResult, Warnings};
use types::{
    Context, Date, DateTime, Decimal, EnumValue, Fixed, Str, Time, Timestamp, TypeName, Value, Warning,
};

use row_format::ColumnType;

/// How a statement treats values that do not fit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreMode {
    /// Losses are errors: strict sql_mode and no IGNORE.
    pub(crate) strict: bool,
    /// Row number for messages, from 1.
    pub(crate) row: u64,
    pub(crate) nulls: Nulls,
}

/// What becomes of NULL for a NOT NULL column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// An error in strict mode, else the column's implicit default.
    ByMode,
    /// An error: what INSERT says of its only row.
    Refused,
    /// It waits for the BEFORE triggers.
    Late,
}

/// The value as the column holds it.
///
/// # Errors
/// What the column cannot hold, in strict mode; NULL for a NOT NULL column, in strict mode.
pub(crate) fn convert(
    table: &TableHandle,
    column: usize,
    value: Value,
    mode: StoreMode,
    cx: &mut Context,
    warnings: &mut Warnings,
) -> SqlResult<Value> {
    let def = &table.def.columns[column];
    if value.is_null() {
        if def.nullable || mode.nulls == Nulls::Late {
            return Ok(Value::Null);
        }
        if is_now_for_null(def) {
            return Ok(now_for(&def.ty, cx));
        }
        let error = SqlError::ColumnCannotBeNull(def.name.clone());
        if mode.strict || mode.nulls == Nulls::Refused {
            return Err(error);
        }
        warnings.warn(error);
        return Ok(implicit_default(&def.ty));
    }
    if keeps(&def.ty, &value) {
        return Ok(value);
    }
    let stored = store(&def.ty, &value, cx);
    if let Some(problem) = stored.problem {
        let told = if mode.strict { problem.error } else { problem.warning };
        let condition = condition(table, def, told, mode);
        match problem.severity {
            Severity::Note => warnings.note(condition),
            Severity::Warning if mode.strict => return Err(condition),
            Severity::Warning => warnings.warn(condition),
        }
    }
    Ok(stored.value)
}

/// The value as a variable of a stored program holds it.
///
/// # Errors
/// What the variable cannot hold, in strict mode.
pub fn store_variable(
    def: &ColumnDef,
    value: Value,
    cx: &mut Context,
    warnings: &mut Warnings,
) -> SqlResult<Value> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    let strict = cx.sql_mode.strict();
    let stored = store(&def.ty, &value, cx);
    if let Some(problem) = stored.problem {
        let told = if strict { problem.error } else { problem.warning };
        // A variable is no row, but for this one message.
        let row = u64::from(told == Warning::OutOfRange);
        let condition = condition_of(["", ""], def, told, StoreMode { strict, row, nulls: Nulls::ByMode });
        match problem.severity {
            Severity::Note => warnings.note(condition),
            Severity::Warning if strict => return Err(condition),
            Severity::Warning => warnings.warn(condition),
        }
    }
    Ok(stored.value)
}

fn condition(table: &TableHandle, def: &ColumnDef, warning: Warning, mode: StoreMode) -> SqlError {
    condition_of([&table.def.schema, &table.def.name], def, warning, mode)
}

fn condition_of(table: [&str; 2], def: &ColumnDef, warning: Warning, mode: StoreMode) -> SqlError {
    let (column, row) = (def.name.clone(), mode.row);
    match warning {
        Warning::Truncated => SqlError::DataTruncated { column, row },
        Warning::OutOfRange => SqlError::OutOfRange { column, row },
        Warning::TooLong => SqlError::DataTooLong { column, row },
        Warning::NullToNotNull => SqlError::ColumnCannotBeNull(column),
        Warning::IncorrectForColumn { as_type, text }
        | Warning::IncorrectValue { as_type, text }
        | Warning::TruncatedWrongValue { as_type, text } => {
            let kind = as_type.text().to_lowercase();
            let column = format!("`{}`.`{}`.`{}`", table[0], table[1], def.name);
            if as_type == TypeName::Str {
                return SqlError::IncorrectStringValue { kind, value: text, column, row };
            }
            SqlError::IncorrectValue { kind, value: text, column, row }
        }
        other => sql_plan::ops::warning_of(&other),
    }
}

/// The value of a column that an INSERT does not name.
pub(crate) fn default_of(
    def: &ColumnDef,
    mode: StoreMode,
    cx: &mut Context,
    warnings: &mut Warnings,
) -> SqlResult<Value> {
    match &def.default {
        DefaultValue::Null => Ok(Value::Null),
        DefaultValue::Literal(literal) => Ok(literal.0.clone()),
        DefaultValue::CurrentTimestamp => Ok(now_for(&def.ty, cx)),
        DefaultValue::None if def.auto_increment => Ok(Value::Null),
        // Its value comes later, from its row.
        DefaultValue::Expression(_) => Ok(Value::Null),
        DefaultValue::None
            if def.generated.is_some() || def.row_time.is_some() || mode.nulls == Nulls::Late =>
        {
            Ok(Value::Null)
        }
        // An ENUM has its first member by default.
        DefaultValue::None if matches!(def.ty, ColumnType::Enum { .. }) => Ok(implicit_default(&def.ty)),
        DefaultValue::None => {
            let error = SqlError::NoDefault(def.name.clone());
            if mode.strict {
                return Err(error);
            }
            warnings.warn(error);
            Ok(implicit_default(&def.ty))
        }
    }
}

/// NULL means the time of the statement to a TIMESTAMP that cannot be NULL.
pub(crate) fn is_now_for_null(def: &ColumnDef) -> bool {
    !def.nullable && matches!(def.ty, ColumnType::Timestamp { .. })
}

/// The statement's time as a column of this type holds it.
pub(crate) fn now_for(ty: &ColumnType, cx: &mut Context) -> Value {
    let now = Value::DateTime(cx.now());
    store(ty, &now, cx).value
}

/// What a NOT NULL column gets when nothing else is known: zero, or the empty string.
pub(crate) fn implicit_default(ty: &ColumnType) -> Value {
    match ty {
        ColumnType::Int { unsigned: false, .. } => Value::Int(0),
        ColumnType::Int { unsigned: true, .. } => Value::UInt(0),
        ColumnType::Float { .. } => Value::Float(0.0),
        ColumnType::Double { .. } => Value::Double(0.0),
        ColumnType::Decimal { scale, .. } => Decimal::ZERO.with_scale(*scale).into(),
        ColumnType::Year => Value::Year(0),
        ColumnType::Bit { bits } => Value::Bit { value: 0, bits: *bits },
        ColumnType::Date => Value::Date(Date::default()),
        ColumnType::Time { fsp } => Value::Time(Time { micros: 0, fsp: *fsp }),
        ColumnType::DateTime { fsp } => Value::DateTime(DateTime { fsp: *fsp, ..DateTime::default() }),
        ColumnType::Timestamp { fsp } => Value::Timestamp(Timestamp { fsp: *fsp, ..Timestamp::default() }),
        ColumnType::Char { collation, .. }
        | ColumnType::VarChar { collation, .. }
        | ColumnType::Blob { collation, .. } => Value::str(b"", *collation),
        ColumnType::Enum { members, collation } => Value::Enum(Box::new(EnumValue {
            number: 1,
            text: Str::new(members.first().map_or(&[][..], |m| m), *collation),
        })),
        ColumnType::Fixed(kind) => Value::Fixed(Fixed::zero(*kind)),
        ColumnType::Set { collation, .. } => {
            Value::Enum(Box::new(EnumValue { number: 0, text: Str::new(b"", *collation) }))
        }
    }
}
