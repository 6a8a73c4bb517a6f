//! WITH SYSTEM VERSIONING in definitions.
//!
//! A versioned table has a ROW START and a ROW END column: its own, which PERIOD FOR SYSTEM_TIME names, or two hidden ones behind all
//! others. Its unique keys end with the ROW END column, unless they have one of the two already, so that old versions are in nobody's way.

use catalog::{ColumnDef, DefaultValue, RowTime, TableDef, same_name};
use row_format::ColumnType;
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::versioning::{CURRENT_END, not_versioned};
use sql_syntax::ast;
use types::{Context, Value};

use super::copy::ColumnSource;
use super::create::{NewIndex, hidden};

/// Names of the hidden columns.
const HIDDEN: [(&str, RowTime); 2] = [("row_start", RowTime::Start), ("row_end", RowTime::End)];

/// What a statement says of versioning.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// WITH SYSTEM VERSIONING of the table.
    pub(super) table: bool,
    /// PERIOD FOR SYSTEM_TIME: start and end.
    pub(super) period: Option<(String, String)>,
    /// WITH and WITHOUT SYSTEM VERSIONING of columns.
    pub(super) columns: Vec<(String, bool)>,
}

fn error(errno: u16, text: String) -> SqlError {
    SqlError::Other { errno, state: *b"HY000", text }
}

fn missing(def: &TableDef, what: &str) -> SqlError {
    error(4125, format!("Wrong parameters for `{}`: missing '{what}'", def.name))
}

/// Error 4137.
pub(super) fn not_done(what: &str) -> SqlError {
    error(4137, format!("System-versioned tables do not support {what}"))
}

/// Error 4135.
pub(super) fn already_versioned(def: &TableDef) -> SqlError {
    error(4135, format!("Table `{}` is already system-versioned", def.name))
}

impl Declared {
    /// What the attributes of a column say.
    pub(super) fn note(&mut self, column: &str, versioned: Option<bool>) {
        self.columns.retain(|(name, _)| !same_name(name, column));
        if let Some(versioned) = versioned {
            self.columns.push((column.to_owned(), versioned));
        }
    }

    /// Completes the definition of a table whose columns are known.
    pub(super) fn finish(&self, def: &mut TableDef, indexes: &mut [NewIndex]) -> SqlResult<()> {
        let of = |wanted| def.columns.iter().filter(move |c| c.row_time == Some(wanted));
        if let Some(second) = of(RowTime::Start).nth(1) {
            return Err(error(4134, format!("Duplicate ROW START column `{}`", second.name)));
        }
        if let Some(second) = of(RowTime::End).nth(1) {
            return Err(error(4134, format!("Duplicate ROW END column `{}`", second.name)));
        }
        let own = of(RowTime::Start).count() + of(RowTime::End).count();
        let by_column = self.columns.iter().any(|(_, versioned)| *versioned);
        if !self.table && !by_column {
            return if own > 0 || self.period.is_some() {
                Err(missing(def, "WITH SYSTEM VERSIONING"))
            } else {
                Ok(())
            };
        }
        self.mark_columns(def);
        let versioned = |c: &ColumnDef| c.row_time.is_none() && !c.unversioned;
        if own == 1 || !def.columns.iter().any(versioned) {
            let text = format!("Table `{}` must have at least one versioned column", def.name);
            return Err(error(4123, text));
        }
        if def.temporary {
            return Err(not_done("CREATE TEMPORARY TABLE"));
        }
        match &self.period {
            Some(_) if own == 0 => return Err(missing(def, "AS ROW START")),
            None if own > 0 => return Err(missing(def, "PERIOD FOR SYSTEM_TIME")),
            Some(period) => check_period(def, period)?,
            None => add_hidden(def)?,
        }
        add_to_keys(def, indexes)
    }

    /// Columns without versioning: those that say so, and without WITH SYSTEM VERSIONING of the table those that say nothing.
    fn mark_columns(&self, def: &mut TableDef) {
        for column in def.columns.iter_mut().filter(|c| c.row_time.is_none()) {
            let said = self.columns.iter().find(|(name, _)| same_name(name, &column.name));
            column.unversioned = !said.map_or(self.table, |(_, versioned)| *versioned);
        }
    }
}

fn check_period(def: &TableDef, (start, end): &(String, String)) -> SqlResult<()> {
    let Some((s, e)) = def.versioning() else { return Err(missing(def, "AS ROW END")) };
    let (s, e) = (&def.columns[s], &def.columns[e]);
    if !same_name(&s.name, start) || !same_name(&e.name, end) {
        let text = format!("PERIOD FOR SYSTEM_TIME must use columns `{}` and `{}`", s.name, e.name);
        return Err(error(4126, text));
    }
    let by_transaction = |c: &ColumnDef| c.ty == ColumnType::int(row_format::IntSize::Big, true);
    let (wanted, fits): (_, &dyn Fn(&ColumnDef) -> bool) = match by_transaction(s) {
        true => ("BIGINT(20) UNSIGNED", &by_transaction),
        false => ("TIMESTAMP(6)", &|c| c.ty == ColumnType::Timestamp { fsp: 6 }),
    };
    if let Some(column) = [s, e].into_iter().find(|c| !fits(c)) {
        let (column, table) = (&column.name, &def.name);
        let text = format!("`{column}` must be of type {wanted} for system-versioned table `{table}`");
        return Err(error(4110, text));
    }
    if by_transaction(s) {
        return Err(SqlError::not_supported("transaction-precise system versioning"));
    }
    Ok(())
}

fn add_hidden(def: &mut TableDef) -> SqlResult<()> {
    for (name, row_time) in HIDDEN {
        if def.column(name).is_some() {
            return Err(SqlError::DuplicateColumn(name.to_owned()));
        }
        def.columns.push(ColumnDef {
            nullable: false,
            default: DefaultValue::None,
            invisible: true,
            row_time: Some(row_time),
            hidden: true,
            ..ColumnDef::new(name, ColumnType::Timestamp { fsp: 6 })
        });
    }
    Ok(())
}

/// The ROW END column behind the columns of each unique key.
pub(super) fn add_to_keys(def: &TableDef, indexes: &mut [NewIndex]) -> SqlResult<()> {
    let Some((start, end)) = def.versioning() else { return Ok(()) };
    let (start, end) = (&def.columns[start], &def.columns[end]);
    for index in indexes.iter_mut().filter(|i| !i.without_overlaps) {
        let own = index.parts.len() - usize::from(index.ends_hidden);
        let names = |c: &ColumnDef| index.parts[..own].iter().any(|(name, ..)| same_name(name, &c.name));
        if end.hidden && (names(start) || names(end)) {
            let name = if names(start) { &start.name } else { &end.name };
            return Err(SqlError::KeyColumnMissing(name.clone()));
        }
        if index.unique && own == index.parts.len() && !names(start) && !names(end) {
            index.parts.push((end.name.clone(), None, false));
            index.ends_hidden = end.hidden;
        }
    }
    Ok(())
}

/// What ALTER TABLE says of the end of versioning.
#[derive(Debug, Default)]
pub(super) struct Ended {
    /// The table was versioned, by columns with names of its own.
    pub(super) was_versioned: bool,
    pub(super) was_named: bool,
    /// DROP SYSTEM VERSIONING.
    pub(super) versioning: bool,
    /// DROP PERIOD FOR SYSTEM_TIME.
    pub(super) period: bool,
}

impl Ended {
    pub(super) fn of(old: &TableDef) -> Self {
        let columns = old.versioning();
        let was_named = columns.is_some_and(|(_, end)| !old.columns[end].hidden);
        Self { was_versioned: columns.is_some(), was_named, ..Self::default() }
    }

    /// Completes what an ALTER TABLE has made of a versioned table's columns; true when rows must be copied. Named columns go
    /// together: then hidden ones take their place, unless versioning goes too.
    pub(super) fn finish(
        &self,
        old: &TableDef,
        def: &mut TableDef,
        sources: &mut Vec<ColumnSource>,
        indexes: &mut Vec<NewIndex>,
    ) -> SqlResult<bool> {
        let Some((start, end)) = old.versioning() else { return Ok(false) };
        let stays = |at: usize| sources.iter().any(|s| matches!(s, ColumnSource::Old(c) if *c == at));
        let drop = |at: usize| format!("DROP COLUMN `{}`", old.columns[at].name);
        match (stays(start), stays(end)) {
            (true, true) if self.versioning && old.columns[end].hidden => remove(def, sources, indexes)?,
            (true, true) if self.versioning => return Err(missing(def, &drop(start))),
            (true, true) if self.period => {
                return Err(missing(def, &format!("{}, {}", drop(start), drop(end))));
            }
            (true, true) => return Ok(false),
            (true, false) => return Err(missing(def, &drop(start))),
            (false, true) => return Err(missing(def, &drop(end))),
            (false, false) if self.versioning => def.columns.iter_mut().for_each(|c| c.unversioned = false),
            (false, false) => {
                add_hidden(def)?;
                sources.extend([ColumnSource::Old(start), ColumnSource::Old(end)]);
            }
        }
        Ok(true)
    }
}

/// CREATE TEMPORARY TABLE ... LIKE: the copy is not versioned, and as in MariaDB has none of the keys with the columns.
pub(super) fn strip(def: &mut TableDef) {
    let Some((start, end)) = def.versioning() else { return };
    def.indexes.retain(|index| !index.parts.iter().any(|p| p.column == start || p.column == end));
    for part in def.indexes.iter_mut().flat_map(|index| &mut index.parts) {
        part.column -= usize::from(part.column > start) + usize::from(part.column > end);
    }
    if def.indexes.first().is_none_or(|clustered| !clustered.parts.is_empty()) {
        def.indexes.insert(0, hidden());
    }
    def.columns.retain(|c| c.row_time.is_none());
}

/// ALTER TABLE ... DROP SYSTEM VERSIONING: the columns go, and leave the keys.
fn remove(def: &mut TableDef, sources: &mut Vec<ColumnSource>, indexes: &mut Vec<NewIndex>) -> SqlResult<()> {
    let Some((start, end)) = def.versioning() else { return Err(not_versioned(&def.name)) };
    for at in [start.max(end), start.min(end)] {
        let gone = def.columns.remove(at);
        sources.remove(at);
        for index in indexes.iter_mut() {
            index.parts.retain(|(name, ..)| !same_name(name, &gone.name));
            index.ends_hidden = false;
        }
    }
    indexes.retain(|index| !index.parts.is_empty());
    def.columns.iter_mut().for_each(|c| c.unversioned = false);
    Ok(())
}

/// Where rows that are there already get their life from: they begin now.
pub(super) fn sources(def: &TableDef, sources: &mut Vec<ColumnSource>, cx: &Context) {
    let first = sources.len();
    for (i, column) in def.columns.iter().enumerate() {
        let life = match column.row_time {
            Some(RowTime::Start) => crate::versioning::now(cx),
            Some(RowTime::End) => CURRENT_END,
            None => continue,
        };
        let source = ColumnSource::Value(Value::Timestamp(life));
        if i >= first {
            sources.push(source);
        } else if !matches!(sources[i], ColumnSource::Old(_)) {
            sources[i] = source;
        }
    }
}

/// Refuses what would change the past, unless `@@system_versioning_alter_history` is KEEP.
pub(super) fn check_alter(def: &TableDef, actions: &[ast::AlterAction<'_>], keeps: bool) -> SqlResult<()> {
    use ast::AlterAction as A;
    if keeps || def.versioning().is_none() {
        return Ok(());
    }
    let changes = |action: &A<'_>| match action {
        A::AddColumn { .. } | A::DropColumn { .. } | A::ModifyColumn { .. } | A::ChangeColumn { .. } => true,
        A::AddIndex(index) => matches!(index.kind, ast::IndexKind::Primary | ast::IndexKind::Unique),
        _ => false,
    };
    if actions.iter().any(changes) { Err(not_allowed(def)) } else { Ok(()) }
}

/// Error 4119.
pub(super) fn not_allowed(def: &TableDef) -> SqlError {
    error(
        4119,
        format!(
            "Not allowed for system-versioned `{}`.`{}`. Change @@system_versioning_alter_history to proceed with ALTER.",
            def.schema, def.name
        ),
    )
}

/// Error 4130.
pub(super) fn not_changeable(column: &str) -> SqlError {
    error(4130, format!("Can not change system versioning field `{column}`"))
}
