//! ALTER TABLE, CREATE INDEX, DROP INDEX.
//!
//! The new definition is made from the old one action by action. When only names, comments, defaults or the set and order of columns
//! differ (`way`), the dictionary row changes and no row is touched; when types or the primary key differ, rows are copied into a new space
//! under the exclusive metadata lock, and the new space takes the place of the old one in the same dictionary transaction. Secondary
//! indexes are built beside writers (`online`), and go without the rows being touched.

use std::sync::Arc;

use catalog::{DefaultValue, IndexDef, PRIMARY, PeriodDef, TableDef, TableHandle, same_name};
use charset::{Charset, Collation};
use row_format::{ColumnType, KeyPart};
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::versioning::not_versioned;
use sql_syntax::ast::{self, AlterAction as A};

use super::columns::{self, NewColumn};
use super::copy::{self, ColumnSource};
use super::create::{self, NewIndex};
use super::foreign::{self, NewForeignKey};
use super::periods;
use super::rules::{self, PendingRules};
use super::versioning;
use super::way::{self, Demand, Way};
use super::{DdlContext, check_name, online, storage_error};
use crate::outcome::Outcome;

mod together;

/// A table between its old and its new definition.
struct Altered<'a> {
    def: TableDef,
    /// Of each column of `def`: where its values come from.
    sources: Vec<ColumnSource>,
    indexes: Vec<NewIndex>,
    rules: PendingRules<'a>,
    foreign: Vec<NewForeignKey>,
    rename: Option<(String, String)>,
    start: Option<u64>,
    /// Rows must be copied.
    rebuild: bool,
    /// MariaDB copies row by row for this change too, and counts the rows.
    counts_rows: bool,
    /// Something a replica had better begin early: not a new name alone.
    is_work: bool,
    demand: Demand<'a>,
    versioning: versioning::Declared,
    ended: versioning::Ended,
    /// It comes when all columns have come and an old one has gone.
    period: Option<PeriodDef>,
    /// What happens to the partitions.
    divide: Option<ast::PartitionAction<'a>>,
}

impl Altered<'_> {
    fn new(old: &TableDef) -> Self {
        Self {
            sources: (0..old.columns.len()).map(ColumnSource::Old).collect(),
            indexes: old.indexes.iter().filter(|i| !i.parts.is_empty()).map(|i| named(old, i)).collect(),
            def: old.clone(),
            rules: PendingRules::default(),
            foreign: Vec::new(),
            rename: None,
            start: None,
            rebuild: false,
            counts_rows: false,
            is_work: true,
            demand: Demand::default(),
            versioning: versioning::Declared::default(),
            ended: versioning::Ended::of(old),
            period: None,
            divide: None,
        }
    }
}

/// An index with its columns by name, so that positions may change under it.
fn named(def: &TableDef, index: &IndexDef) -> NewIndex {
    NewIndex {
        name: Some(index.name.clone()),
        primary: index.name == PRIMARY,
        unique: index.unique,
        parts: index
            .parts
            .iter()
            .map(|p| (def.columns[p.column].name.clone(), p.prefix.map(u64::from), p.descending))
            .collect(),
        comment: index.comment.clone(),
        using_btree: index.using_btree,
        ignored: index.ignored,
        without_overlaps: index.without_overlaps,
        ends_hidden: index.parts.last().is_some_and(|p| def.columns[p.column].hidden),
    }
}

pub(super) fn table(s: &ast::AlterTable<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let (schema, name) = cx.table_name(&s.name)?;
    cx.lock_exclusive(&schema, &name)?;
    let old = match cx.existing(&schema, &name) {
        Ok(old) => old,
        Err(e) if s.if_exists => {
            cx.warnings.note(e);
            return Ok(Outcome::default());
        }
        Err(e) => return Err(e),
    };
    if old.def.sequence.is_some() && !s.actions.iter().all(|a| matches!(a, ast::AlterAction::Rename { .. })) {
        return Err(SqlError::not_supported("ALTER TABLE of a sequence"));
    }
    versioning::check_alter(&old.def, s.actions, cx.settings.alter_history)?;
    let mut new = Altered::new(&old.def);
    together::apply_all(s.actions, &mut new, cx)?;
    if new.def.columns.is_empty() {
        return Err(SqlError::CannotRemoveAllColumns);
    }
    new.demand.check_words()?;
    let quick = |a: &A<'_>| matches!(a, A::Rename { .. } | A::DisableKeys | A::EnableKeys);
    new.is_work = !s.actions.iter().all(quick);
    match new.divide {
        Some(ast::PartitionAction::By(_) | ast::PartitionAction::Remove) | None => {
            finish(old, new, s.ignore, cx)
        }
        Some(action) => super::partition_alter::run(&old, &action, cx),
    }
}

pub(super) fn create_index(s: &ast::CreateIndex<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let (schema, name) = cx.table_name(&s.table)?;
    cx.lock_exclusive(&schema, &name)?;
    let old = cx.existing(&schema, &name)?;
    if old.def.sequence.is_some() {
        return Err(SqlError::not_supported("indexes of a sequence"));
    }
    let mut new = Altered::new(&old.def);
    (new.demand.algorithm, new.demand.lock) = (s.algorithm, s.lock);
    new.demand.check_words()?;
    let index = create::index_of(&s.index)?;
    if index.unique && old.def.versioning().is_some() && !cx.settings.alter_history {
        return Err(versioning::not_allowed(&old.def));
    }
    if s.mode.or_replace {
        new.indexes.retain(|i| !matches(i, index.name.as_deref()));
    }
    add_index(index, s.mode.if_not_exists || s.index.if_not_exists, &mut new, cx)?;
    finish(old, new, false, cx)
}

pub(super) fn drop_index(s: &ast::DropIndex<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let (schema, name) = cx.table_name(&s.table)?;
    cx.lock_exclusive(&schema, &name)?;
    let old = cx.existing(&schema, &name)?;
    let mut new = Altered::new(&old.def);
    (new.demand.algorithm, new.demand.lock) = (s.algorithm, s.lock);
    new.demand.check_words()?;
    remove_index(&s.name.text(), s.if_exists, &mut new, cx)?;
    finish(old, new, false, cx)
}

/// Copies a table whose name is locked exclusively into a new space: OPTIMIZE TABLE.
pub(super) fn rebuild(schema: &str, name: &str, cx: &mut DdlContext<'_>) -> SqlResult<()> {
    let old = cx.existing(schema, name)?;
    let mut new = Altered::new(&old.def);
    (new.rebuild, new.is_work) = (true, false);
    finish(old, new, false, cx).map(|_| ())
}

fn matches(index: &NewIndex, name: Option<&str>) -> bool {
    match (&index.name, name) {
        (Some(a), Some(b)) => same_name(a, b),
        _ => false,
    }
}

fn add_index(
    index: NewIndex,
    if_not_exists: bool,
    new: &mut Altered<'_>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<()> {
    let taken = new.indexes.iter().any(|i| index.primary && i.primary || matches(i, index.name.as_deref()));
    if taken && if_not_exists {
        cx.warnings.note(SqlError::DuplicateKeyName(index.name.unwrap_or_default()));
        return Ok(());
    }
    if index.without_overlaps {
        // Rows that are there already may overlap.
        return Err(SqlError::not_supported("adding a key WITHOUT OVERLAPS to a table"));
    }
    if taken && index.primary {
        return Err(SqlError::MultiplePrimaryKey);
    }
    if index.primary {
        new.demand.need(Way::Inplace, None);
    } else {
        new.demand.need(Way::NoCopy, Some("ADD INDEX"));
    }
    new.indexes.push(index);
    Ok(())
}

fn remove_index(
    name: &str,
    if_exists: bool,
    new: &mut Altered<'_>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<()> {
    let Some(at) = new.indexes.iter().position(|i| matches(i, Some(name))) else {
        return missing("INDEX", name, if_exists, cx);
    };
    if !new.indexes.remove(at).primary {
        new.demand.need(Way::NoCopy, Some("DROP INDEX"));
    }
    Ok(())
}

fn missing(what: &'static str, name: &str, if_exists: bool, cx: &mut DdlContext<'_>) -> SqlResult<()> {
    let error = SqlError::CannotDrop { what, name: name.to_owned() };
    if if_exists {
        cx.warnings.note(error);
        return Ok(());
    }
    Err(error)
}

fn apply<'a>(action: &A<'a>, new: &mut Altered<'a>, cx: &mut DdlContext<'_>) -> SqlResult<()> {
    match action {
        A::AddColumn { if_not_exists, column, position } => {
            add_column(column, *position, *if_not_exists, new, cx)
        }
        A::AddIndex(index) => add_index(create::index_of(index)?, index.if_not_exists, new, cx),
        A::DropColumn { if_exists, name, .. } => drop_column(&name.text(), *if_exists, new, cx),
        A::DropIndex { if_exists, name } => remove_index(&name.text(), *if_exists, new, cx),
        A::DropPrimaryKey { if_exists } => remove_index(PRIMARY, *if_exists, new, cx),
        A::ModifyColumn { if_exists, column, position } => {
            change_column(&column.name.text(), column, *position, *if_exists, new, cx)
        }
        A::ChangeColumn { if_exists, old, column, position } => {
            change_column(&old.text(), column, *position, *if_exists, new, cx)
        }
        // `together` has done it.
        A::RenameColumn { .. } => Ok(()),
        A::RenameIndex { old, new: name, .. } => {
            let old = old.text();
            let found = new.indexes.iter().position(|i| matches(i, Some(&old)));
            let Some(at) = found else {
                return Err(SqlError::UnknownKey { key: old.into_owned(), table: new.def.name.clone() });
            };
            new.indexes[at].name = Some(name.text().into_owned());
            Ok(())
        }
        A::Rename { new: name, .. } => {
            new.rename = Some(cx.table_name(name)?);
            new.demand.rename();
            Ok(())
        }
        A::SetDefault { if_exists, column, value } => {
            let Some(at) = find_column(&column.text(), *if_exists, new, cx)? else { return Ok(()) };
            if columns::is_computed(&new.def.columns[at], value) {
                let rules = columns::ColumnRules { default: Some(*value), ..Default::default() };
                new.rules.of_column(&column.text(), rules);
                return Ok(());
            }
            new.def.columns[at].default = columns::default_value(&new.def.columns[at].clone(), value, cx)?;
            Ok(())
        }
        A::DropDefault { if_exists, column } => {
            let Some(at) = find_column(&column.text(), *if_exists, new, cx)? else { return Ok(()) };
            new.def.columns[at].default = DefaultValue::None;
            Ok(())
        }
        A::ConvertCharset { charset, collation } => convert_charset(charset, *collation, new),
        A::AddSystemVersioning | A::Option(ast::TableOption::WithSystemVersioning) => {
            if new.def.versioning().is_some() {
                return Err(versioning::already_versioned(&new.def));
            }
            new.versioning.table = true;
            (new.rebuild, new.counts_rows) = (true, true);
            new.demand.need(Way::Copy, None);
            Ok(())
        }
        A::Option(option) => {
            match option {
                // A table that is given the engine it has is made anew: the way to give up its old formats.
                ast::TableOption::Engine(_) => {
                    new.rebuild = true;
                    new.demand.need(Way::Inplace, None);
                }
                ast::TableOption::RowFormat(_) | ast::TableOption::KeyBlockSize(_) => {
                    let reason = "Changing table options requires the table to be rebuilt";
                    new.demand.need(Way::Inplace, Some(reason));
                }
                _ => {}
            }
            let start = create::options(std::slice::from_ref(option), &mut new.def, cx)?;
            new.start = start.or(new.start);
            Ok(())
        }
        A::Force => {
            new.rebuild = true;
            new.demand.need(Way::Inplace, None);
            Ok(())
        }
        A::Algorithm(word) => {
            new.demand.algorithm = Some(*word);
            Ok(())
        }
        A::Lock(word) => {
            new.demand.lock = Some(*word);
            Ok(())
        }
        // Rows have no order that could be kept.
        A::DisableKeys | A::EnableKeys | A::OrderBy(_) => Ok(()),
        A::IndexIgnored { if_exists, name, ignored } => {
            let name = name.text();
            match new.indexes.iter_mut().find(|i| matches(i, Some(&name))) {
                Some(index) if index.primary && *ignored => Err(SqlError::Other {
                    errno: 4174,
                    state: *b"HY000",
                    text: "A primary key cannot be marked as IGNORE".into(),
                }),
                Some(index) => {
                    index.ignored = *ignored;
                    Ok(())
                }
                None if *if_exists => Ok(()),
                None => Err(SqlError::UnknownKey { key: name.into_owned(), table: new.def.name.clone() }),
            }
        }
        A::AddForeignKey(key) => {
            new.foreign.push(foreign::of_clause(key, &new.def.schema, cx)?);
            // Rows that are there already must have their parents.
            new.rebuild |= cx.settings.foreign_keys;
            new.counts_rows |= cx.settings.foreign_keys;
            if cx.settings.foreign_keys {
                new.demand.need(Way::Copy, Some("Adding foreign keys needs foreign_key_checks=OFF"));
            }
            Ok(())
        }
        A::DropForeignKey { if_exists, name } => {
            let name = name.text();
            let known = new.def.foreign_keys.len();
            new.def.foreign_keys.retain(|k| !same_name(&k.name, &name));
            if new.def.foreign_keys.len() == known {
                return missing("FOREIGN KEY", &name, *if_exists, cx);
            }
            Ok(())
        }
        A::AddCheck(check) => {
            new.rules.check(check);
            // Rows that are there already must meet it.
            (new.rebuild, new.counts_rows) = (true, true);
            new.demand.need(Way::Copy, None);
            Ok(())
        }
        A::DropConstraint { if_exists, name } => drop_constraint(&name.text(), *if_exists, new, cx),
        A::AddPeriod { name, start, end, .. } if name.is("system_time") => {
            new.versioning.period = Some((start.text().into_owned(), end.text().into_owned()));
            Ok(())
        }
        A::AddPeriod { if_not_exists, name, start, end } => {
            let period = periods::of(*name, *start, *end);
            check_name(&period.name, SqlError::IncorrectColumnName)?;
            if new.period.is_some() || new.def.period.is_some() && *if_not_exists {
                let known = periods::only_one();
                if !*if_not_exists {
                    return Err(known);
                }
                cx.warnings.note(known);
                return Ok(());
            }
            new.period = Some(period);
            (new.rebuild, new.counts_rows) = (true, true);
            new.demand.need(Way::Copy, None);
            Ok(())
        }
        A::DropPeriod { name, .. } if name.is("system_time") && new.ended.was_named => {
            new.ended.period = true;
            Ok(())
        }
        A::DropPeriod { if_exists, name } => {
            let name = name.text();
            if periods::remove(&mut new.def, &new.indexes, &name)? {
                return Ok(());
            }
            missing("PERIOD", &name, *if_exists, cx)
        }
        A::DropSystemVersioning => {
            if !new.ended.was_versioned {
                return Err(not_versioned(&new.def.name));
            }
            new.ended.versioning = true;
            new.rebuild = true;
            new.demand.need(Way::Copy, None);
            Ok(())
        }
        A::DiscardTablespace | A::ImportTablespace => {
            Err(SqlError::not_supported("transportable tablespaces"))
        }
        A::Partition(action) => {
            new.divide = Some(*action);
            Ok(())
        }
    }
}

/// DROP CONSTRAINT: a CHECK, or a unique or primary key of that name.
fn drop_constraint(
    name: &str,
    if_exists: bool,
    new: &mut Altered<'_>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<()> {
    if let Some(at) = rules::find_check(&new.def, name) {
        new.def.checks.remove(at);
        return Ok(());
    }
    if new.def.period.as_ref().is_some_and(|p| same_name(&p.name, name)) {
        return Err(periods::not_a_constraint(name));
    }
    if let Some(at) = new.def.foreign_keys.iter().position(|k| same_name(&k.name, name)) {
        new.def.foreign_keys.remove(at);
        return Ok(());
    }
    if new.indexes.iter().any(|i| i.unique && matches(i, Some(name))) {
        return remove_index(name, if_exists, new, cx);
    }
    missing("CONSTRAINT", name, if_exists, cx)
}

fn find_column(
    name: &str,
    if_exists: bool,
    new: &Altered<'_>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Option<usize>> {
    if let Some(at) = new.def.column(name) {
        return Ok(Some(at));
    }
    let error = SqlError::Other {
        errno: 1054,
        state: *b"42S22",
        text: format!("Unknown column '{name}' in '{}'", new.def.name),
    };
    if if_exists {
        cx.warnings.note(error);
        return Ok(None);
    }
    Err(error)
}

/// Where a column goes; `len` = behind all others.
fn place(position: ast::ColumnPosition<'_>, new: &Altered<'_>, last: usize) -> SqlResult<usize> {
    match position {
        ast::ColumnPosition::Last => Ok(last),
        ast::ColumnPosition::First => Ok(0),
        ast::ColumnPosition::After(name) => {
            let name = name.text();
            new.def.column(&name).map(|at| at + 1).ok_or_else(|| SqlError::Other {
                errno: 1054,
                state: *b"42S22",
                text: format!("Unknown column '{name}' in '{}'", new.def.name),
            })
        }
    }
}

fn add_column<'a>(
    column: &ast::ColumnDef<'a>,
    position: ast::ColumnPosition<'_>,
    if_not_exists: bool,
    new: &mut Altered<'a>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<()> {
    let made = columns::column(column, new.def.collation, cx)?;
    if new.def.column(&made.def.name).is_some() {
        let error = SqlError::DuplicateColumn(made.def.name);
        if if_not_exists {
            cx.warnings.note(error);
            return Ok(());
        }
        return Err(error);
    }
    new.versioning.note(&made.def.name, made.versioned);
    let at = place(position, new, new.def.columns.len())?;
    create::key_of_column(&made, &mut new.indexes);
    let computed = made.rules.generated.is_some_and(|g| g.stored) || made.rules.default.is_some();
    if computed || made.rules.check.is_some() {
        (new.rebuild, new.counts_rows) = (true, true);
        new.demand.need(if computed { Way::Copy } else { Way::Inplace }, None);
    }
    new.rebuild |= made.rules.generated.is_some() || made.def.auto_increment;
    if made.primary || made.unique || made.def.auto_increment {
        new.demand.need(Way::Inplace, None);
    }
    let source = match &made.rules {
        rules if rules.generated.is_some() => ColumnSource::Generated,
        rules if rules.default.is_some() => ColumnSource::Default,
        _ if made.def.auto_increment => ColumnSource::Value(types::Value::Null),
        _ => ColumnSource::Value(columns::value_for_existing(&made.def, cx)),
    };
    new.rules.of_column(&made.def.name, made.rules);
    if let Some(references) = made.references {
        new.foreign.push(foreign::of_column(references, &made.def.name, &new.def.schema, cx)?);
    }
    new.sources.insert(at, source);
    let mut def = made.def;
    def.unversioned = new.def.versioning().is_some() && made.versioned == Some(false);
    new.def.columns.insert(at, def);
    Ok(())
}

fn drop_column(name: &str, if_exists: bool, new: &mut Altered<'_>, cx: &mut DdlContext<'_>) -> SqlResult<()> {
    let Some(at) = new.def.column(name).filter(|at| !new.def.columns[*at].hidden) else {
        return missing("COLUMN", name, if_exists, cx);
    };
    new.def.columns.remove(at);
    new.sources.remove(at);
    new.rules.forget(name);
    // Indexes lose the column; an index without columns goes.
    let parts = |new: &Altered<'_>| new.indexes.iter().map(|i| i.parts.len()).sum::<usize>();
    let indexed = parts(new);
    for index in &mut new.indexes {
        index.parts.retain(|(column, ..)| !same_name(column, name));
    }
    if parts(new) < indexed {
        new.demand.need(Way::NoCopy, Some("DROP INDEX"));
    }
    new.indexes.retain(|i| !i.parts.is_empty());
    Ok(())
}

fn change_column<'a>(
    old: &str,
    column: &ast::ColumnDef<'a>,
    position: ast::ColumnPosition<'_>,
    if_exists: bool,
    new: &mut Altered<'a>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<()> {
    let Some(at) = find_column(old, if_exists, new, cx)? else { return Ok(()) };
    if new.def.columns[at].row_time.is_some() {
        return Err(versioning::not_changeable(&new.def.columns[at].name));
    }
    let mut made: NewColumn<'a> = columns::column(column, new.def.collation, cx)?;
    let versioned = made.versioned.unwrap_or(!new.def.columns[at].unversioned);
    made.def.unversioned = new.def.versioning().is_some() && !versioned;
    new.versioning.note(&made.def.name, made.versioned);
    let taken = new.def.column(&made.def.name).is_some_and(|i| i != at);
    if taken {
        return Err(SqlError::DuplicateColumn(made.def.name));
    }
    create::key_of_column(&made, &mut new.indexes);
    let before = new.def.columns[at].clone();
    if before.name != made.def.name {
        rename_column(at, made.def.name.clone(), new)?;
    }
    if made.rules.generated.is_some() {
        new.sources[at] = ColumnSource::Generated;
    }
    new.rules.of_column(&made.def.name, made.rules);
    let same_values = way::is_instant(&before.ty, &made.def.ty);
    new.rebuild |= !same_values
        || before.nullable != made.def.nullable
        || before.generated.is_some()
        || made.rules.generated.is_some()
        || made.rules.check.is_some()
        || before.auto_increment != made.def.auto_increment
        || made.primary
        || made.unique;
    new.counts_rows |= !same_values;
    if !same_values || before.auto_increment != made.def.auto_increment {
        new.demand.need(Way::Copy, way::TYPE_CHANGE);
    } else if before.nullable != made.def.nullable || made.primary {
        new.demand.need(Way::Inplace, None);
    }
    if made.rules.check.is_some() {
        new.demand.need(Way::Copy, None);
    }
    if made.unique {
        new.demand.need(Way::NoCopy, Some("ADD INDEX"));
    }
    new.def.columns[at] = made.def;
    if position != ast::ColumnPosition::Last {
        let column = new.def.columns.remove(at);
        let source = new.sources.remove(at);
        let to = place(position, new, at)?;
        new.def.columns.insert(to, column);
        new.sources.insert(to, source);
    }
    Ok(())
}

fn rename_column(at: usize, name: String, new: &mut Altered<'_>) -> SqlResult<()> {
    check_name(&name, SqlError::IncorrectColumnName)?;
    if new.def.column(&name).is_some_and(|i| i != at) {
        return Err(SqlError::DuplicateColumn(name));
    }
    let before = std::mem::replace(&mut new.def.columns[at].name, name.clone());
    rules::rename_column(&mut new.def, &before, &name)?;
    periods::rename_column(&mut new.def, &before, &name);
    super::partition::rename_column(&mut new.def, &before, &name)?;
    for index in &mut new.indexes {
        for (column, ..) in &mut index.parts {
            if same_name(column, &before) {
                column.clone_from(&name);
            }
        }
    }
    Ok(())
}

fn convert_charset(
    charset: &ast::DefaultOr<'_>,
    collation: Option<ast::Ident<'_>>,
    new: &mut Altered<'_>,
) -> SqlResult<()> {
    let charset = match charset {
        ast::DefaultOr::Default => new.def.collation.charset(),
        ast::DefaultOr::Name(name) => {
            let name = name.text();
            Charset::by_name(&name).ok_or_else(|| SqlError::UnknownCharset(name.into_owned()))?
        }
    };
    let collation = super::database::resolve_collation(
        Some(charset.name()),
        collation.map(|c| c.text().into_owned()).as_deref(),
        new.def.collation,
    )?;
    new.def.collation = collation;
    for column in &mut new.def.columns {
        let before = column.ty.clone();
        convert_column(&mut column.ty, collation);
        if column.ty != before {
            (new.rebuild, new.counts_rows) = (true, true);
            new.demand.need(Way::Copy, way::TYPE_CHANGE);
        }
    }
    Ok(())
}

/// A text column under another character set holds as many characters as before.
fn convert_column(ty: &mut ColumnType, to: Collation) {
    let widest = |c: Collation| c.charset().max_len() as u64;
    match ty {
        ColumnType::Char { max_bytes, collation } | ColumnType::VarChar { max_bytes, collation }
            if !collation.is_binary() =>
        {
            let chars = u64::from(*max_bytes) / widest(*collation);
            *max_bytes = u16::try_from(chars * widest(to)).unwrap_or(u16::MAX);
            *collation = to;
        }
        ColumnType::Blob { collation, length_bytes } if !collation.is_binary() => {
            if widest(to) > widest(*collation) && *length_bytes < 4 {
                *length_bytes += 1;
            }
            *collation = to;
        }
        ColumnType::Enum { collation, .. } | ColumnType::Set { collation, .. } => *collation = to,
        _ => {}
    }
}

fn finish(
    old: Arc<TableHandle>,
    mut new: Altered<'_>,
    ignore: bool,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Outcome> {
    new.rebuild |= new.ended.finish(&old.def, &mut new.def, &mut new.sources, &mut new.indexes)?;
    if let Some(period) = new.period.take() {
        periods::add(&mut new.def, period, &new.rules)?;
    }
    let mut indexes = std::mem::take(&mut new.indexes);
    if new.def.versioning().is_none() || old.def.versioning().is_none() {
        new.versioning.finish(&mut new.def, &mut indexes)?;
        versioning::sources(&new.def, &mut new.sources, cx.values);
    } else {
        versioning::add_to_keys(&new.def, &mut indexes)?;
    }
    periods::finish(&mut new.def, &mut indexes)?;
    foreign::add_indexes(&new.foreign, &mut indexes);
    let previous = new.def.indexes.clone();
    create::finish(&mut new.def, indexes)?;
    std::mem::take(&mut new.rules).finish(&mut new.def)?;
    let sources = new.sources.clone();
    let moved = |old: usize| sources.iter().position(|s| matches!(s, ColumnSource::Old(c) if *c == old));
    foreign::keep(&old.def, &mut new.def, &moved)?;
    let snapshot = cx.catalog.snapshot();
    let renamed = foreign::Renamed::of(&old.def, &new.def, &moved);
    foreign::check_indexes(&old.def, &new.def, &renamed, &snapshot)?;
    divide(&old.def, &mut new, cx)?;
    if let Some(partitioning) = new.def.partitioning.clone() {
        super::partition::check(&partitioning, &new.def)?;
    }
    let kept_keys = new.def.foreign_keys.len();
    foreign::finish(std::mem::take(&mut new.foreign), &mut new.def, cx)?;
    let parents = if cx.settings.foreign_keys {
        foreign::parents_of(&new.def, kept_keys, &snapshot)
    } else {
        Vec::new()
    };
    let loses_key = old.def.has_primary_key() && !new.def.has_primary_key();
    new.counts_rows |= loses_key || old.def.temporary;
    demand_of_whole(&old.def, &mut new, loses_key);
    new.demand.check()?;
    if new.demand.copies() {
        (new.rebuild, new.counts_rows) = (true, true);
    }
    if new.is_work && !old.def.temporary && (new.rebuild || new.start.is_some() || *old.def != new.def) {
        (cx.begins)().map_err(|e| storage_error(e, ""))?;
    }
    let mut change = cx.catalog.change();
    let mut copied = 0;
    let trees = if new.rebuild { None } else { keep_trees(&mut new.def, &previous, &moved) };
    match trees {
        Some(trees) => match way::formats(&old, &new.def, &new.sources, change.trx().log_end()) {
            Some(formats) if is_possible(&old.def, &new.def, &trees, &formats) => {
                if !trees.added.is_empty() {
                    online::build(cx, &mut change, &old, &mut new.def, &trees.added)?;
                }
                trees.gone.into_iter().for_each(|index| change.drop_index(old.def.space, index));
                new.def.formats = formats;
            }
            _ => new.rebuild = true,
        },
        None => new.rebuild = true,
    }
    if new.rebuild {
        copy::make_trees(&mut change, &mut new.def)?;
        copied = copy::copy_rows(cx, &mut change, &old, &new.def, &new.sources, &parents, ignore)?;
        if new.start.is_none() {
            copy::keep_auto_increment(cx, &mut change, &old, &new.def, &new.sources)?;
        }
        change.drop_table(&old.def);
    }
    if let Some(value) = new.start {
        copy::start_auto_increment(cx, &mut change, &new.def, value)?;
    }
    new.def.version += 1;
    if let Some((schema, name)) = new.rename.take_if(|_| old.def.temporary) {
        let own = &old.def;
        if (&own.schema, &own.name) != (&schema, &name) && cx.catalog.temporary(&schema, &name).is_some() {
            return Err(SqlError::TableExists(name));
        }
        change.remove_temporary(&own.schema, &own.name);
        (new.def.schema, new.def.name) = (schema, name);
    }
    if let Some((schema, name)) = new.rename.take() {
        cx.lock_exclusive(&schema, &name)?;
        let same = schema == new.def.schema && name == new.def.name;
        if !same && cx.catalog.snapshot().table(&schema, &name).is_some() {
            return Err(SqlError::TableExists(name));
        }
        super::drop::move_triggers(&mut change, (&old.def.schema, &old.def.name), (&schema, &name))?;
        change.remove_table(&old.def.schema, &old.def.name).map_err(|e| storage_error(e, &old.def.name))?;
        let from = (old.def.schema.as_str(), old.def.name.as_str());
        foreign::point_at(&mut new.def, from, (&schema, &name));
        foreign::follow_rename(from, (&schema, &name), &renamed, &mut change, cx)?;
        (new.def.schema, new.def.name) = (schema, name);
    } else if !renamed.is_empty() {
        let same = (old.def.schema.as_str(), old.def.name.as_str());
        foreign::follow_rename(same, same, &renamed, &mut change, cx)?;
    }
    change.put_table(new.def).map_err(|e| storage_error(e, ""))?;
    if old.def.temporary {
        cx.commit_temporary(change)?;
    } else {
        cx.commit(change)?;
    }
    let copied = if new.counts_rows { copied } else { 0 };
    Ok(Outcome {
        affected_rows: copied,
        info: format!("Records: {copied}  Duplicates: 0  Warnings: {}", cx.warnings.count()),
        ..Outcome::default()
    })
}

/// PARTITION BY and REMOVE PARTITIONING: the rows are copied.
fn divide(old: &TableDef, new: &mut Altered<'_>, cx: &mut DdlContext<'_>) -> SqlResult<()> {
    match new.divide {
        Some(ast::PartitionAction::By(written)) => {
            if old.sequence.is_some() {
                return Err(SqlError::not_supported("partitions of a sequence"));
            }
            new.def.partitioning = None;
            super::partition::check_engines(None, written.partitions)?;
            let made = super::partition::resolve(written, &new.def, cx)?;
            super::partition::put(&mut new.def, made);
        }
        Some(ast::PartitionAction::Remove) => {
            if new.def.partitioning.take().is_none() {
                let text = "Partition management on a not partitioned table is not possible";
                return Err(super::partition::error(1505, text));
            }
        }
        _ => return Ok(()),
    }
    (new.rebuild, new.counts_rows) = (true, true);
    new.demand.need(Way::Copy, None);
    Ok(())
}

/// What MariaDB needs for the change as a whole.
fn demand_of_whole(old: &TableDef, new: &mut Altered<'_>, loses_key: bool) {
    let adds = new.sources.iter().any(|s| !matches!(s, ColumnSource::Old(_)));
    if adds && new.def.indexes.len() > old.indexes.len() {
        new.demand.need(Way::Inplace, None);
    }
    if loses_key {
        let reason = "Dropping a primary key is not allowed without also adding a new primary key";
        new.demand.need(Way::Copy, Some(reason));
    }
    if old.temporary {
        new.demand.need(Way::Copy, None);
    }
}

/// What becomes of a table's trees.
struct Trees {
    /// Indexes of the new definition that have none.
    added: Vec<usize>,
    /// Indexes of the old definition that are no more.
    gone: Vec<IndexDef>,
}

/// Whether the change is possible without copying: temporary tables are always copied, as in MariaDB, and an index is built from rows
/// as they are.
fn is_possible(old: &TableDef, new: &TableDef, trees: &Trees, formats: &[row_format::OldFormat]) -> bool {
    let same_columns = *formats == old.formats[..];
    let same_trees = trees.added.is_empty() && trees.gone.is_empty();
    if old.partitioning.is_some() {
        // The parts have their trees by position.
        let ids = |def: &TableDef| def.indexes.iter().map(|i| i.id).collect::<Vec<_>>();
        return same_columns && same_trees && ids(old) == ids(new);
    }
    if old.temporary { same_columns && same_trees } else { same_columns || trees.added.is_empty() }
}

/// Indexes over the same columns keep their trees. `None` when the clustered index is another.
fn keep_trees(
    def: &mut TableDef,
    previous: &[IndexDef],
    moved: &dyn Fn(usize) -> Option<usize>,
) -> Option<Trees> {
    let parts_now = |p: &IndexDef| -> Option<Vec<KeyPart>> {
        p.parts.iter().map(|part| Some(KeyPart { column: moved(part.column)?, ..*part })).collect()
    };
    let (mut free, mut trees) = (Vec::new(), Trees { added: Vec::new(), gone: Vec::new() });
    for index in previous {
        match parts_now(index) {
            Some(parts) => free.push((index, parts)),
            None => trees.gone.push(index.clone()),
        }
    }
    for (i, index) in def.indexes.iter_mut().enumerate() {
        let same = |(p, parts): &(&IndexDef, Vec<KeyPart>)| *parts == index.parts && p.unique == index.unique;
        let named = free.iter().position(|known| same(known) && known.0.name == index.name);
        // The clustered index is one of its kind.
        let is_clustered = |at: &usize| (i == 0) == (free[*at].0.id == previous[0].id);
        match named.or_else(|| free.iter().position(same)).filter(is_clustered) {
            Some(at) => {
                let (kept, _) = free.remove(at);
                (index.id, index.root, index.space, index.since) =
                    (kept.id, kept.root, kept.space, kept.since);
            }
            None if i == 0 => return None,
            None => trees.added.push(i),
        }
    }
    trees.gone.extend(free.into_iter().map(|(index, _)| index.clone()));
    Some(trees)
}
