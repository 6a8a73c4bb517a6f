//! Storage's errors as a statement's errors.

use base::Corruption;
use catalog::{PRIMARY, TableHandle};
use row_format::RowView;
use sql_plan::error::SqlError;
use storage::row::RowError;
use types::{Context, Value};

/// A storage error, with the row that was to be written when there is one.
pub(crate) fn row_error(error: RowError, table: &TableHandle, body: Option<&[u8]>, cx: &Context) -> SqlError {
    match error {
        RowError::DuplicateKey { index } => {
            let def = &table.def.indexes[index];
            let value = body.map_or_else(String::new, |b| key_text(table, index, b, cx));
            let key = if index == 0 { PRIMARY.to_owned() } else { def.name.clone() };
            SqlError::DuplicateEntry { value, key }
        }
        RowError::DefinitionChanged => SqlError::DefinitionChanged,
        RowError::Deadlock => SqlError::Deadlock,
        RowError::LockWaitTimeout => SqlError::LockWaitTimeout,
        RowError::NoWait => SqlError::LockNoWait,
        RowError::SnapshotChanged => SqlError::SnapshotChanged { table: table.def.name.clone() },
        RowError::Interrupted => SqlError::Interrupted,
        RowError::RowTooLarge { .. } => SqlError::RowTooLarge { max: 8126 },
        RowError::AutoIncrementExhausted => SqlError::AutoIncrementExhausted,
        RowError::KeyTooLong { .. } => SqlError::KeyTooLong(3072),
        RowError::Corrupt(found) => {
            SqlError::Corrupt { table: table.def.full_name(), detail: found.to_string() }
        }
        RowError::Full => SqlError::TableFull(table.def.name.clone()),
        RowError::RowGone => SqlError::RowGone,
        RowError::Storage(operation) => SqlError::Io { operation, table: table.def.full_name() },
    }
}

/// Bytes that do not verify, where no table is at hand.
pub(crate) fn corrupt(found: &Corruption) -> SqlError {
    SqlError::Corrupt { table: String::new(), detail: found.to_string() }
}

/// `1-abc`: the columns of a key in a row, as message 1062 shows them.
fn key_text(table: &TableHandle, index: usize, body: &[u8], cx: &Context) -> String {
    let spec = table.table.spec();
    let Ok(view) = RowView::new(&spec.layout, body) else { return String::new() };
    let shown = table.def.indexes[index].parts.iter().filter(|p| !table.def.columns[p.column].hidden);
    let parts = shown.map(|part| match view.value(part.column) {
        Ok(Value::Null) | Err(_) => "NULL".to_owned(),
        Ok(value) => {
            let text = sql_plan::ops::to_text(&value, charset::Collation::UTF8MB4_BIN, cx).to_utf8_lossy();
            match part.prefix {
                Some(chars) => text.chars().take(usize::from(chars)).collect(),
                None => text,
            }
        }
    });
    let mut out = parts.collect::<Vec<_>>().join("-");
    if out.len() > 64 && !out.is_ascii() || out.len() > 192 {
        out = out.chars().take(61).collect::<String>() + "...";
    }
    out
}
