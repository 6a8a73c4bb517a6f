//! Rows events applied to a table: what BINLOG runs.
//!
//! Columns are matched by position, as everywhere in replication. A column of the event has the type of the table's, or one that
//! `slave_type_conversions` lets be converted ([`crate::row_conversion`]); columns that only
//! the table has take their defaults, numbers or generated values, columns that only the event has are left out. Generated columns of the
//! event, checks and triggers are not computed again: the event holds what came of them. What foreign keys ask for is done again: rows
//! that a cascade changed are in no event.
//!
//! # How a row is found
//! By the primary key; else by a unique key whose columns are all in the image and not NULL; else by reading the table until a row
//! equals the image in every column of it that the table has.

use std::sync::Arc;

use catalog::{DefaultValue, TableHandle};
use event_format::{Image, Rows, RowsKind, WireColumn, rows_flags};
use row_format::{RowView, decode, encode_column};
use sql_plan::error::{SqlError, SqlResult, Warnings};
use sql_plan::relations::TableRelations;
use storage::row::{Direction, KeyRange, ReadMode, RowBuf, RowError, Strength, WaitMode};
use types::Value;

use crate::computed;
use crate::context::ExecContext;
use crate::errors::{corrupt, row_error};
use crate::exec::Exec;
use crate::partitioned;
use crate::row;
use crate::row_conversion::{Conversions, Reading, reading, wire_of};
use crate::store::{self, Nulls, StoreMode};
use crate::versioning;

const LOCKING: ReadMode = ReadMode::Locking { strength: Strength::Exclusive, wait: WaitMode::Wait };

/// Applies a rows event to the table, which is locked for writing; `columns` are those of its TABLE_MAP, the tables of `relations`
/// are locked, too. Answers how many rows.
///
/// # Errors
/// A type that is not the table's; a row that is not there; what a change of the row can run into.
pub fn apply_rows(
    cx: &mut ExecContext<'_>,
    table: &Arc<TableHandle>,
    columns: &[WireColumn],
    conversions: Conversions,
    relations: &Arc<[TableRelations]>,
    rows: &Rows<'_>,
) -> SqlResult<u64> {
    let readings = readings(table, columns, conversions)?;
    if cx.trx.wants_written_columns().is_some() {
        let written = rows.present_after.unwrap_or(rows.present);
        let mut said = vec![0; table.def.columns.len().div_ceil(8)];
        for column in (0..table.def.columns.len().min(rows.width)).filter(|i| written.get(*i)) {
            said[column / 8] |= 1 << (column % 8);
        }
        cx.trx.set_written_columns(&table.table, said.into());
    }
    let mut exec = Exec::of_definitions(cx);
    if rows.flags & rows_flags::NO_FOREIGN_KEY_CHECKS == 0 {
        exec.relations = Arc::clone(relations);
    }
    let mut applier = Applier { exec, table, readings, found: RowBuf::new(), body: Vec::new() };
    let mut count = 0;
    for change in rows.changes(columns).map_err(|c| corrupt(&c))? {
        let change = change.map_err(|c| corrupt(&c))?;
        match (rows.change, &change.before, &change.after) {
            (RowsKind::Write, _, Some(after)) => applier.insert(after)?,
            (RowsKind::Update, Some(before), Some(after)) => applier.update(before, after)?,
            (RowsKind::Delete, Some(before), _) => applier.delete(before)?,
            _ => {}
        }
        count += 1;
    }
    Ok(count)
}

/// How the values of each column that both have are read.
fn readings(table: &TableHandle, columns: &[WireColumn], allowed: Conversions) -> SqlResult<Vec<Reading>> {
    let both = columns.iter().zip(&table.def.columns).enumerate();
    both.map(|(i, (wire, def))| {
        reading(*wire, &def.ty, allowed).ok_or_else(|| {
            let ours = wire_of(&def.ty);
            SqlError::EventColumnType {
                column: i,
                table: format!("{}.{}", table.def.schema, table.def.name),
                event: format!("type {} ({:#06x})", wire.code, wire.meta),
                definition: format!("type {} ({:#06x})", ours.code, ours.meta),
            }
        })
    })
    .collect()
}

/// What the event does not say is never refused: the primary had it, too.
const LAX: StoreMode = StoreMode { strict: false, row: 1, nulls: Nulls::ByMode };

/// A value of the event as the table holds it.
fn value(
    table: &TableHandle,
    readings: &[Reading],
    column: usize,
    bytes: Option<&[u8]>,
    cx: &mut ExecContext<'_>,
) -> SqlResult<Value> {
    let Some(bytes) = bytes else {
        let def = &table.def.columns[column];
        if def.nullable || def.generated.is_some() {
            return Ok(Value::Null);
        }
        cx.warnings.warn(SqlError::ColumnCannotBeNull(def.name.clone()));
        return Ok(store::implicit_default(&def.ty));
    };
    match readings.get(column) {
        Some(Reading::As(from)) => {
            let value = decode(from, bytes).map_err(|c| corrupt(&c))?;
            // What a conversion loses was allowed.
            store::convert(table, column, value, LAX, cx.values, &mut Warnings::default())
        }
        _ => decode(&table.def.columns[column].ty, bytes).map_err(|c| corrupt(&c)),
    }
}

/// The changes of one event.
struct Applier<'a, 'c, 't> {
    exec: Exec<'a, 'c>,
    table: &'t Arc<TableHandle>,
    readings: Vec<Reading>,
    found: RowBuf,
    body: Vec<u8>,
}

impl Applier<'_, '_, '_> {
    fn insert(&mut self, image: &Image<'_>) -> SqlResult<()> {
        let def = &self.table.def;
        let mut values = Vec::with_capacity(def.columns.len());
        for (i, column) in def.columns.iter().enumerate() {
            values.push(match image.columns.get(i) {
                Some(Some(bytes)) => self.value(i, *bytes)?,
                // What the primary's statement left out is no surprise.
                Some(None) => store::default_of(column, LAX, self.exec.cx.values, &mut Warnings::default())?,
                None => store::default_of(column, LAX, self.exec.cx.values, self.exec.cx.warnings)?,
            });
        }
        versioning::fill(self.table, &mut values, &|i| i < image.columns.len(), self.exec.cx.values);
        self.complete(image, &mut values)?;
        row::body_of(&self.table.table.spec().layout, &values, &mut self.body)?;
        partitioned::insert(self.exec.cx.trx, self.table, &self.body)?.map_err(|e| self.error(e, true))?;
        self.exec.row_written(self.table, None, &self.body)?;
        self.raise_auto_increment(&values)
    }

    /// Values that depend on the row, in columns that the image has not.
    fn complete(&mut self, image: &Image<'_>, values: &mut [Value]) -> SqlResult<()> {
        let table = self.table;
        let missing = |i: &usize| image.columns.get(*i).copied().flatten().is_none();
        if let Some(column) = table.def.auto_increment().filter(missing) {
            let settings = &self.exec.cx.settings;
            let (increment, offset) = (settings.auto_increment_increment, settings.auto_increment_offset);
            let next = crate::auto::next(self.exec.cx.trx, table, increment, offset);
            let next = Value::UInt(next.map_err(|e| self.error(e, false))?);
            let cx = &mut *self.exec.cx;
            values[column] = store::convert(table, column, next, LAX, cx.values, cx.warnings)?;
        }
        let columns = table.def.columns.iter().enumerate();
        for (i, _) in columns.filter(|(i, c)| missing(i) && matches!(c.default, DefaultValue::Expression(_)))
        {
            values[i] = self.exec.column_default(table, i, values, LAX)?;
        }
        self.generate(&missing, values)
    }

    /// Computes generated columns that the event does not know.
    fn generate(&mut self, unknown: &dyn Fn(&usize) -> bool, values: &mut [Value]) -> SqlResult<()> {
        let columns = self.table.def.columns.iter().enumerate();
        let wanted: Vec<usize> =
            columns.filter(|(i, c)| c.generated.is_some() && unknown(i)).map(|(i, _)| i).collect();
        if let Some(program) = computed::program_of(self.table)?.filter(|_| !wanted.is_empty()) {
            let mut computed = values.to_vec();
            self.exec.compute_row(self.table, program, &mut computed, LAX)?;
            for column in wanted {
                values[column] = std::mem::replace(&mut computed[column], Value::Null);
            }
        }
        Ok(())
    }

    /// Changes of generated columns behind the event's last one.
    fn generate_changes(&mut self, width: usize, changes: &mut Vec<(usize, Value)>) -> SqlResult<()> {
        let generated = |(i, c): (usize, &catalog::ColumnDef)| i >= width && c.generated.is_some();
        if !self.table.def.columns.iter().enumerate().any(generated) {
            return Ok(());
        }
        let mut values = {
            let layout = &self.table.table.spec().layout;
            let view = RowView::new(layout, &self.found.body).map_err(|c| corrupt(&c))?;
            let values = (0..self.table.def.columns.len()).map(|i| view.value(i));
            values.collect::<Result<Vec<_>, _>>().map_err(|c| corrupt(&c))?
        };
        for (column, value) in changes.iter() {
            values[*column] = value.clone();
        }
        self.generate(&|i| *i >= width, &mut values)?;
        let behind = values.into_iter().enumerate().skip(width);
        let table = self.table;
        changes.extend(behind.filter(|(i, _)| table.def.columns[*i].generated.is_some()));
        Ok(())
    }

    /// The next generated value is above every one that an event brought.
    fn raise_auto_increment(&mut self, values: &[Value]) -> SqlResult<()> {
        let taken = match self.table.def.auto_increment().map(|i| &values[i]) {
            Some(Value::Int(v)) => u64::try_from(*v).unwrap_or(0),
            Some(Value::UInt(v)) => *v,
            _ => 0,
        };
        if taken == 0 {
            return Ok(());
        }
        self.exec.cx.trx.note_auto_increment(&self.table.table, taken).map_err(|e| self.error(e, false))
    }

    fn update(&mut self, before: &Image<'_>, after: &Image<'_>) -> SqlResult<()> {
        self.find(before)?;
        let mut changes = Vec::with_capacity(after.columns.len());
        for (i, value) in after.columns.iter().enumerate().take(self.table.def.columns.len()) {
            if let Some(bytes) = value {
                changes.push((i, self.value(i, *bytes)?));
            }
        }
        self.generate_changes(after.columns.len(), &mut changes)?;
        row::rebuild(&self.table.table.spec().layout, &self.found.body, &changes, &mut self.body)?;
        if self.body == self.found.body {
            return Ok(());
        }
        let changed = partitioned::update(self.exec.cx.trx, self.table, &self.found, &self.body, &None)?;
        changed.map_err(|e| self.error(e, true))?;
        self.exec.row_written(self.table, Some(&self.found.body), &self.body)
    }

    fn delete(&mut self, before: &Image<'_>) -> SqlResult<()> {
        self.find(before)?;
        // The end of a version is in the event itself.
        let gone = partitioned::delete(self.exec.cx.trx, self.table, &self.found)?;
        gone.map_err(|e| self.error(e, false))?;
        self.exec.row_deleted(self.table, &self.found.body)
    }

    /// Reads and locks the row that the image tells apart.
    fn find(&mut self, image: &Image<'_>) -> SqlResult<()> {
        let spec = self.table.table.spec();
        for index in 0..spec.indexes.len() {
            let usable = if index == 0 { !spec.has_hidden_key() } else { spec.indexes[index].unique };
            if let Some(key) = usable.then(|| self.key_of(index, image)).transpose()?.flatten() {
                let (trx, found) = (&mut *self.exec.cx.trx, &mut self.found);
                let got = partitioned::get(trx, self.table, index, &key, LOCKING, found, &None)?;
                return match got.map_err(|e| self.error(e, false))? {
                    true => Ok(()),
                    false => Err(self.not_found()),
                };
            }
        }
        self.find_by_reading(image)
    }

    /// The image's key in an index, when it has all of its columns.
    fn key_of(&mut self, index: usize, image: &Image<'_>) -> SqlResult<Option<Vec<u8>>> {
        let spec = self.table.table.spec();
        let parts = &spec.indexes[index].parts;
        let known = |column: usize| matches!(image.columns.get(column), Some(Some(Some(_))));
        if !parts.iter().all(|part| known(part.column)) {
            return Ok(None);
        }
        let mut values = vec![Value::Null; self.table.def.columns.len()];
        for part in parts {
            let bytes = image.columns[part.column].flatten();
            values[part.column] = self.value(part.column, bytes)?;
        }
        row::body_of(&spec.layout, &values, &mut self.body)?;
        let view = RowView::new(&spec.layout, &self.body).map_err(|c| corrupt(&c))?;
        let mut key = Vec::new();
        row_format::key::encode(&spec.layout, parts, &view, &mut key).map_err(|c| corrupt(&c))?;
        Ok(Some(key))
    }

    fn find_by_reading(&mut self, image: &Image<'_>) -> SqlResult<()> {
        let (trx, all, forward) = (&mut *self.exec.cx.trx, KeyRange::all(), Direction::Forward);
        let mut scan = partitioned::scan(trx, self.table, 0, all, forward, LOCKING, &None, false).large();
        loop {
            match scan.next(self.exec.cx.trx, &mut self.found) {
                Ok(true) if self.equals(image)? => return Ok(()),
                Ok(true) => self.exec.cx.trx.unlock_row(&self.table.table, &self.found),
                Ok(false) => return Err(self.not_found()),
                Err(e) => return Err(self.error(e, false)),
            }
        }
    }

    /// Whether the row that was found has the image's bytes in every column of it.
    fn equals(&mut self, image: &Image<'_>) -> SqlResult<bool> {
        let view =
            RowView::new(&self.table.table.spec().layout, &self.found.body).map_err(|c| corrupt(&c))?;
        for (i, (stored, wanted)) in view.columns().zip(&image.columns).enumerate() {
            let stored = stored.map_err(|c| corrupt(&c))?;
            let Some(wanted) = *wanted else { continue };
            let equal = match (self.readings.get(i), wanted) {
                (Some(Reading::As(_)), Some(_)) => {
                    let wanted = value(self.table, &self.readings, i, wanted, self.exec.cx)?;
                    let mut packed = Vec::new();
                    let ty = &self.table.def.columns[i].ty;
                    encode_column(ty, &wanted, &mut packed).is_ok() && stored == Some(&packed[..])
                }
                _ => wanted == stored,
            };
            if !equal {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn value(&mut self, column: usize, bytes: Option<&[u8]>) -> SqlResult<Value> {
        value(self.table, &self.readings, column, bytes, self.exec.cx)
    }

    fn not_found(&self) -> SqlError {
        SqlError::RecordNotFound { table: self.table.def.name.clone() }
    }

    fn error(&self, error: RowError, with_body: bool) -> SqlError {
        row_error(error, self.table, with_body.then_some(&self.body[..]), self.exec.cx.values)
    }
}
