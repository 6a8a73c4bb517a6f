//! PERIOD FOR of application time, and keys WITHOUT OVERLAPS, in definitions.
//!
//! A period makes its columns NOT NULL, and is a CHECK constraint of its own name that SHOW CREATE TABLE does not show. A key
//! WITHOUT OVERLAPS is declared with the period's name as its last part; in the definition the end and the start column stand there.

use catalog::{CheckDef, DefaultValue, PeriodDef, TableDef, quote_name, same_name};
use row_format::ColumnType;
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::portion::no_period;
use sql_syntax::ast;

use super::check_name;
use super::create::NewIndex;
use super::rules::PendingRules;

fn error(errno: u16, text: String) -> SqlError {
    SqlError::Other { errno, state: *b"HY000", text }
}

/// The period as written.
pub(super) fn of(name: ast::Ident<'_>, start: ast::Ident<'_>, end: ast::Ident<'_>) -> PeriodDef {
    let text = |i: ast::Ident<'_>| i.text().into_owned();
    PeriodDef { name: text(name), start: text(start), end: text(end) }
}

/// Error 4154.
pub(super) fn only_one() -> SqlError {
    error(4154, "Cannot specify more than one application-time period".into())
}

/// Puts a new period into a definition whose columns are known.
pub(super) fn add(def: &mut TableDef, period: PeriodDef, rules: &PendingRules<'_>) -> SqlResult<()> {
    if def.period.is_some() {
        return Err(only_one());
    }
    check_name(&period.name, SqlError::IncorrectColumnName)?;
    if def.temporary {
        return Err(error(4152, "Application-time period table cannot be temporary".into()));
    }
    if same_name(&period.start, &period.end) {
        let text = format!("Column '{}' specified twice", period.start);
        return Err(SqlError::Other { errno: 1110, state: *b"42000", text });
    }
    if def.column(&period.name).is_some() {
        return Err(SqlError::DuplicateColumn(period.name));
    }
    let place = |name: &String| {
        def.column(name).ok_or_else(|| SqlError::Other {
            errno: 1054,
            state: *b"42S22",
            text: format!("Unknown column '{name}' in '{}'", period.name),
        })
    };
    let (start, end) = (place(&period.start)?, place(&period.end)?);
    for at in [start, end] {
        let column = &def.columns[at];
        let generated = column.generated.is_some() || rules.generates(&column.name);
        if generated || column.row_time.is_some() {
            let text = format!("Period field `{}` cannot be GENERATED ALWAYS AS", column.name);
            return Err(error(4155, text));
        }
        let temporal = matches!(
            column.ty,
            ColumnType::Date | ColumnType::DateTime { .. } | ColumnType::Timestamp { .. }
        );
        if !temporal {
            let text = format!("Incorrect column specifier for column '{}'", column.name);
            return Err(SqlError::Other { errno: 1063, state: *b"42000", text });
        }
    }
    if def.columns[start].ty != def.columns[end].ty {
        return Err(error(4153, format!("Fields of PERIOD FOR `{}` have different types", period.name)));
    }
    let expr = format!("{} < {}", quote_name(&def.columns[start].name), quote_name(&def.columns[end].name));
    def.checks.push(CheckDef { name: period.name.clone(), expr });
    def.period = Some(period);
    Ok(())
}

/// The columns of the period are there and never NULL; the keys that name it get its columns.
pub(super) fn finish(def: &mut TableDef, indexes: &mut [NewIndex]) -> SqlResult<()> {
    if let Some(period) = &def.period {
        for name in [&period.start, &period.end] {
            let column = def.columns.iter_mut().find(|c| same_name(&c.name, name));
            let column = column.ok_or_else(|| SqlError::Other {
                errno: 1054,
                state: *b"42S22",
                text: format!("Unknown column '{name}' in 'CHECK'"),
            })?;
            column.nullable = false;
            if column.default == DefaultValue::Null {
                column.default = DefaultValue::None;
            }
        }
    }
    for index in indexes.iter_mut().filter(|i| i.without_overlaps) {
        let Some((last, ..)) = index.parts.last() else { continue };
        let Some(period) = &def.period else { return Err(no_period(last)) };
        if same_name(last, &period.start) {
            continue;
        }
        if !same_name(last, &period.name) {
            return Err(no_period(last));
        }
        if def.versioning().is_some() {
            return Err(SqlError::not_supported("WITHOUT OVERLAPS of system-versioned tables"));
        }
        index.parts.pop();
        let of_period = |name: &String| same_name(name, &period.start) || same_name(name, &period.end);
        if let Some((column, ..)) = index.parts.iter().find(|(name, ..)| of_period(name)) {
            let key = index.name.as_ref().unwrap_or(&index.parts[0].0);
            let text = format!("Key `{key}` cannot explicitly include column `{column}`");
            return Err(error(4170, text));
        }
        index.parts.push((period.end.clone(), None, false));
        index.parts.push((period.start.clone(), None, false));
    }
    Ok(())
}

/// A column got another name.
pub(super) fn rename_column(def: &mut TableDef, old: &str, new: &str) {
    let Some(period) = &mut def.period else { return };
    for name in [&mut period.start, &mut period.end] {
        if same_name(name, old) {
            new.clone_into(name);
        }
    }
}

/// Error 4158.
pub(super) fn not_a_constraint(name: &str) -> SqlError {
    error(4158, format!("Can't DROP CONSTRAINT `{name}`. Use DROP PERIOD `{name}` for this"))
}

/// DROP PERIOD; false when there is none of the name.
pub(super) fn remove(def: &mut TableDef, indexes: &[NewIndex], name: &str) -> SqlResult<bool> {
    if !def.period.as_ref().is_some_and(|p| same_name(&p.name, name)) {
        return Ok(false);
    }
    if indexes.iter().any(|i| i.without_overlaps) {
        return Err(no_period(name));
    }
    if let Some(check) = def.period_check() {
        def.checks.remove(check);
    }
    def.period = None;
    Ok(true)
}
