//! CREATE TABLE: by columns, LIKE another table, from a SELECT.

use catalog::sequence::SequenceState;
use catalog::{
    ColumnDef, DefaultValue, HIDDEN_KEY, IndexDef, KEY_BYTES_MAX, PRIMARY, PeriodDef, TableDef, same_name,
};
use row_format::{ColumnType, KeyPart};
use sql_plan::error::{SqlError, SqlResult};
use sql_syntax::ast;

use base::{IndexId, Lsn, PageNo, SpaceId, TableId};

use super::columns::{self, NewColumn};
use super::database::resolve_collation;
use super::foreign::{self, NewForeignKey};
use super::periods;
use super::rules::PendingRules;
use super::versioning;
use super::{DdlContext, check_name, copy, storage_error};
use crate::outcome::Outcome;
use crate::sequence::write_sequence;

const KEY_PARTS_MAX: usize = 32;
const INDEXES_MAX: usize = 64;
const COLUMNS_MAX: usize = 4096;

/// An index as written, its columns by name.
#[derive(Debug, Clone)]
pub(super) struct NewIndex {
    pub(super) name: Option<String>,
    pub(super) primary: bool,
    pub(super) unique: bool,
    /// Column, prefix length, descending.
    pub(super) parts: Vec<(String, Option<u64>, bool)>,
    pub(super) comment: String,
    pub(super) using_btree: bool,
    pub(super) ignored: bool,
    /// The period of WITHOUT OVERLAPS has become the last two parts.
    pub(super) without_overlaps: bool,
    /// The last part is the hidden ROW END column.
    pub(super) ends_hidden: bool,
}

/// Whether a table or view is there already: IF NOT EXISTS need not wait for those who use it.
fn exists_for_good(schema: &str, name: &str, cx: &mut DdlContext<'_>) -> SqlResult<bool> {
    let is_there = |cx: &DdlContext<'_>| {
        let snapshot = cx.catalog.shared().snapshot();
        let found = snapshot.database(schema);
        found.is_some_and(|d| d.tables.contains_key(name) || d.views.contains_key(name))
    };
    if !is_there(cx) {
        return Ok(false);
    }
    cx.lock_shared(schema, name)?;
    Ok(is_there(cx))
}

pub(super) fn table(s: &ast::CreateTable<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let (schema, name) = cx.table_name(&s.name)?;
    if !s.temporary {
        if s.mode.if_not_exists && exists_for_good(&schema, &name, cx)? {
            cx.warnings.note(SqlError::TableExists(name));
            return Ok(Outcome::default());
        }
        cx.lock_shared_name(&schema, &name)?;
    }
    let snapshot = cx.catalog.shared().snapshot();
    let database = snapshot.database(&schema).ok_or_else(|| SqlError::UnknownDatabase(schema.clone()))?;
    // A temporary table may have the name of a table or view, and the other way round.
    let existing = match s.temporary {
        true => cx.catalog.temporary(&schema, &name),
        false => database.tables.get(&name).cloned(),
    };
    let is_view = !s.temporary && database.views.contains_key(&name);
    if is_view || existing.is_some() && !s.mode.or_replace {
        if s.mode.if_not_exists {
            cx.warnings.note(SqlError::TableExists(name));
            return Ok(Outcome::default());
        }
        return Err(SqlError::TableExists(name));
    }
    let mut def = TableDef {
        id: TableId(0),
        version: 1,
        space: SpaceId(0),
        schema,
        name,
        columns: Vec::new(),
        formats: Vec::new(),
        indexes: Vec::new(),
        collation: database.def.collation,
        comment: String::new(),
        options: String::new(),
        created: cx.now_seconds(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        sequence: None,
        period: None,
        partitioning: None,
        temporary: s.temporary,
    };
    let (mut start, mut like_temporary) = (None, false);
    match &s.content {
        ast::TableContent::Like(other) => {
            let (schema, name) = cx.table_name(other)?;
            like_temporary = cx.catalog.temporary(&schema, &name).is_some();
            if schema == def.schema && name == def.name && like_temporary == def.temporary {
                return Err(SqlError::NotUniqueTable(name));
            }
            like(&schema, &name, &mut def, cx)?;
            if def.temporary {
                versioning::strip(&mut def);
            }
        }
        ast::TableContent::Elements(elements) => {
            start = options(s.options, &mut def, cx)?;
            let mut new = elements_of(elements, &mut def, cx)?;
            new.versioning.table =
                s.options.iter().any(|o| matches!(o, ast::TableOption::WithSystemVersioning));
            foreign::add_indexes(&new.foreign, &mut new.indexes);
            if s.query.is_none() {
                new.add_times(&mut def)?;
                finish(&mut def, new.indexes)?;
                new.rules.finish(&mut def)?;
                foreign::finish(new.foreign, &mut def, cx)?;
                divide(s, &mut def, cx)?;
            } else {
                return super::create_select::table(s, def, new, existing, cx);
            }
        }
    }
    if let Some(old) = &existing {
        foreign::check_drop(old, &[], cx)?;
    }
    let mut change = cx.catalog.change();
    if let Some(old) = existing {
        super::drop::remove(&mut change, &old)?;
    }
    copy::make_trees(&mut change, &mut def)?;
    // LIKE a sequence: another one, at its start.
    if let Some(sequence) = def.sequence {
        let table = copy::open_new(cx, &def);
        let state = SequenceState { next_not_cached: sequence.start, def: sequence, cycle_count: 0 };
        write_sequence(change.trx(), &table, None, &state)?;
    }
    if let Some(value) = start {
        copy::start_auto_increment(cx, &mut change, &def, value)?;
    }
    // The other servers do not have the temporary table that this one is like.
    let text = like_temporary.then(|| logged_text(&def, s.mode.or_replace, cx));
    let temporary = def.temporary;
    change.put_table(def).map_err(|e| storage_error(e, ""))?;
    match text {
        _ if temporary => cx.commit_temporary(change)?,
        Some(text) => cx.commit_as(change, &text)?,
        None => cx.commit(change)?,
    }
    Ok(Outcome::default())
}

/// PARTITION BY: the columns and keys are complete.
pub(super) fn divide(s: &ast::CreateTable<'_>, def: &mut TableDef, cx: &mut DdlContext<'_>) -> SqlResult<()> {
    if let Some(written) = s.partitioning {
        let of_table = s.options.iter().rev().find_map(|o| match o {
            ast::TableOption::Engine(name) => Some(*name),
            _ => None,
        });
        super::partition::check_engines(of_table, written.partitions)?;
        let made = super::partition::resolve(written, def, cx)?;
        super::partition::put(def, made);
    }
    Ok(())
}

/// The definition alone, with the name as seen from the default database.
pub(super) fn logged_text(def: &TableDef, or_replace: bool, cx: &DdlContext<'_>) -> String {
    let text = def.create_statement(None);
    let columns = text.find(" (\n").map_or("", |at| &text[at..]);
    let replace = if or_replace { "OR REPLACE " } else { "" };
    format!("CREATE {replace}TABLE {}{columns}", cx.logged_name(&def.schema, &def.name))
}

fn like(schema: &str, name: &str, def: &mut TableDef, cx: &mut DdlContext<'_>) -> SqlResult<()> {
    cx.lock_to_read(schema, name)?;
    let source = cx.existing(schema, name)?;
    if def.temporary && source.def.partitioning.is_some() {
        return Err(super::partition::error(
            1506,
            "Partitioned tables do not support CREATE TEMPORARY TABLE",
        ));
    }
    let own = TableDef::clone(def);
    *def = TableDef {
        schema: own.schema,
        name: own.name,
        created: own.created,
        temporary: own.temporary,
        version: 1,
        // Foreign keys are not copied.
        foreign_keys: Vec::new(),
        ..TableDef::clone(&source.def)
    };
    Ok(())
}

/// ENGINE = name: there is one engine, whatever a table asks for.
pub(super) fn engine(name: ast::Ident<'_>, table: &str, cx: &mut DdlContext<'_>) -> SqlResult<()> {
    if name.is("innodb") || name.is("morse") {
        return Ok(());
    }
    let known = ["myisam", "aria", "memory", "heap", "csv", "archive", "merge"];
    if cx.values.sql_mode.has(types::SqlMode::NO_ENGINE_SUBSTITUTION) && !known.iter().any(|k| name.is(k)) {
        return Err(SqlError::UnknownEngine(name.text().into_owned()));
    }
    cx.warnings.warn(SqlError::Other {
        errno: 1266,
        state: *b"HY000",
        text: format!("Using storage engine InnoDB for table '{table}'"),
    });
    Ok(())
}

/// Table options; answers AUTO_INCREMENT = n.
pub(super) fn options(
    options: &[ast::TableOption<'_>],
    def: &mut TableDef,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Option<u64>> {
    use ast::TableOption as O;
    let (mut charset, mut collate, mut start) = (None, None, None);
    let named = |d: &ast::DefaultOr<'_>| match d {
        ast::DefaultOr::Default => None,
        ast::DefaultOr::Name(name) => Some(name.text().into_owned()),
    };
    for option in options {
        match option {
            O::Engine(name) => engine(*name, &def.name, cx)?,
            O::Charset(d) => charset = named(d),
            O::Collate(d) => collate = named(d),
            O::Comment(text) => def.comment = columns::comment(text),
            O::AutoIncrement(n) => start = Some(*n),
            O::RowFormat(name) if !name.is("default") => {
                def.options = format!(" ROW_FORMAT={}", name.text().to_uppercase());
            }
            O::Sequence(_) => return Err(SqlError::not_supported("sequences")),
            O::Other(option) => {
                return Err(SqlError::Other {
                    errno: 1911,
                    state: *b"HY000",
                    text: format!("Unknown option '{}'", option.name),
                });
            }
            // Accepted for compatibility; they tune engines of other servers.
            _ => {}
        }
    }
    def.collation = resolve_collation(charset.as_deref(), collate.as_deref(), def.collation)?;
    Ok(start)
}

/// What a CREATE TABLE says beside its columns.
#[derive(Default)]
pub(super) struct NewElements<'a> {
    pub(super) indexes: Vec<NewIndex>,
    pub(super) rules: PendingRules<'a>,
    pub(super) foreign: Vec<NewForeignKey>,
    pub(super) versioning: versioning::Declared,
    pub(super) period: Option<PeriodDef>,
}

impl NewElements<'_> {
    /// What versioning and a period add to a definition whose own columns are known.
    pub(super) fn add_times(&mut self, def: &mut TableDef) -> SqlResult<()> {
        if let Some(period) = self.period.take() {
            periods::add(def, period, &self.rules)?;
        }
        self.versioning.finish(def, &mut self.indexes)?;
        periods::finish(def, &mut self.indexes)
    }
}

/// Columns into `def`, indexes and rules as written.
fn elements_of<'a>(
    elements: &[ast::TableElement<'a>],
    def: &mut TableDef,
    cx: &mut DdlContext<'_>,
) -> SqlResult<NewElements<'a>> {
    let mut out = NewElements::default();
    for element in elements {
        match element {
            ast::TableElement::Column(c) => {
                let column = columns::column(c, def.collation, cx)?;
                out.rules.of_column(&column.def.name, column.rules);
                out.versioning.note(&column.def.name, column.versioned);
                if let Some(references) = column.references {
                    let mut key = foreign::of_column(references, &column.def.name, &def.schema, cx)?;
                    key.place = out.indexes.len();
                    out.foreign.push(key);
                }
                add_column(def, column, &mut out.indexes)?;
            }
            ast::TableElement::Index(i) => out.indexes.push(index_of(i)?),
            ast::TableElement::ForeignKey(key) => {
                let mut key = foreign::of_clause(key, &def.schema, cx)?;
                key.place = out.indexes.len();
                out.foreign.push(key);
            }
            ast::TableElement::Check(check) => out.rules.check(check),
            ast::TableElement::Period { name, start, end } if name.is("system_time") => {
                out.versioning.period = Some((start.text().into_owned(), end.text().into_owned()));
            }
            ast::TableElement::Period { .. } if out.period.is_some() => return Err(periods::only_one()),
            ast::TableElement::Period { name, start, end } => {
                out.period = Some(periods::of(*name, *start, *end));
            }
        }
    }
    Ok(out)
}

pub(super) fn add_column(
    def: &mut TableDef,
    column: NewColumn<'_>,
    indexes: &mut Vec<NewIndex>,
) -> SqlResult<()> {
    if def.column(&column.def.name).is_some() {
        return Err(SqlError::DuplicateColumn(column.def.name));
    }
    key_of_column(&column, indexes);
    def.columns.push(column.def);
    Ok(())
}

/// PRIMARY KEY and UNIQUE written beside a column.
pub(super) fn key_of_column(column: &NewColumn<'_>, indexes: &mut Vec<NewIndex>) {
    let index = |primary| NewIndex {
        name: None,
        primary,
        unique: true,
        parts: vec![(column.def.name.clone(), None, false)],
        comment: String::new(),
        using_btree: false,
        ignored: false,
        without_overlaps: false,
        ends_hidden: false,
    };
    if column.primary {
        indexes.push(index(true));
    }
    if column.unique {
        indexes.push(index(false));
    }
}

pub(super) fn index_of(i: &ast::IndexDef<'_>) -> SqlResult<NewIndex> {
    let (primary, unique) = match i.kind {
        ast::IndexKind::Primary => (true, true),
        ast::IndexKind::Unique => (false, true),
        ast::IndexKind::Plain => (false, false),
        ast::IndexKind::Fulltext => return Err(SqlError::not_supported("FULLTEXT indexes")),
        ast::IndexKind::Spatial => return Err(SqlError::not_supported("SPATIAL indexes")),
        ast::IndexKind::Vector => return Err(SqlError::not_supported("VECTOR indexes")),
    };
    let mut out = NewIndex {
        name: i.name.or(i.constraint).map(|n| n.text().into_owned()),
        primary,
        unique,
        parts: i.parts.iter().map(|p| (p.column.text().into_owned(), p.length, p.descending)).collect(),
        comment: String::new(),
        using_btree: false,
        ignored: false,
        without_overlaps: i.without_overlaps.is_some(),
        ends_hidden: false,
    };
    if let Some(period) = i.without_overlaps {
        out.parts.push((period.text().into_owned(), None, false));
    }
    for option in i.options {
        match option {
            ast::IndexOption::Comment(text) => out.comment = columns::comment(text),
            ast::IndexOption::Using(name) => out.using_btree = name.is("btree"),
            ast::IndexOption::Ignored(ignored) => out.ignored = *ignored,
            _ => {}
        }
    }
    Ok(out)
}

/// Checks the columns, resolves the indexes and puts them into `def`, the clustered one first.
pub(super) fn finish(def: &mut TableDef, new: Vec<NewIndex>) -> SqlResult<()> {
    if def.columns.iter().all(|c| c.invisible) {
        return Err(SqlError::TableMustHaveColumns);
    }
    if def.columns.len() > COLUMNS_MAX {
        return Err(SqlError::TooManyColumns);
    }
    if new.iter().filter(|i| i.primary).count() > 1 {
        return Err(SqlError::MultiplePrimaryKey);
    }
    if new.len() > INDEXES_MAX {
        return Err(SqlError::Other {
            errno: 1069,
            state: *b"42000",
            text: format!("Too many keys specified; max {INDEXES_MAX} keys allowed"),
        });
    }
    let mut indexes: Vec<IndexDef> = Vec::with_capacity(new.len() + 1);
    for index in &new {
        let resolved = resolve(def, index)?;
        indexes.push(resolved);
    }
    name_indexes(def, &new, &mut indexes)?;
    // The clustered key, then unique keys without NULL, then unique keys, then the others.
    let nullable = |i: &IndexDef| i.parts.iter().any(|p| def.columns[p.column].nullable);
    indexes.sort_by_key(|i| match (i.name == PRIMARY, i.unique) {
        (true, _) => 0,
        (false, true) => 1 + u8::from(nullable(i)),
        (false, false) => 3,
    });
    if indexes.first().is_none_or(|i| i.name != PRIMARY) {
        indexes.insert(0, hidden());
    }
    def.indexes = indexes;
    check_auto_increment(def)?;
    columns::check_row_size(&def.columns)
}

/// The clustered index of a table without a primary key.
pub(super) fn hidden() -> IndexDef {
    IndexDef {
        space: None,
        since: Lsn::NONE,
        id: IndexId(0),
        root: PageNo(0),
        name: HIDDEN_KEY.to_owned(),
        unique: true,
        parts: Vec::new(),
        comment: String::new(),
        using_btree: false,
        ignored: false,
        without_overlaps: false,
    }
}

fn check_auto_increment(def: &TableDef) -> SqlResult<()> {
    let auto: Vec<usize> = (0..def.columns.len()).filter(|i| def.columns[*i].auto_increment).collect();
    match auto.as_slice() {
        [] => Ok(()),
        [one] if def.indexes.iter().any(|i| i.parts.first().is_some_and(|p| p.column == *one)) => Ok(()),
        _ => Err(SqlError::WrongAutoColumn),
    }
}

fn resolve(def: &mut TableDef, index: &NewIndex) -> SqlResult<IndexDef> {
    if index.parts.len() > KEY_PARTS_MAX {
        return Err(SqlError::TooManyKeyParts(KEY_PARTS_MAX as u32));
    }
    let mut parts: Vec<KeyPart> = Vec::with_capacity(index.parts.len());
    let mut bytes = 0;
    for (name, length, descending) in &index.parts {
        let at = def.column(name).ok_or_else(|| SqlError::KeyColumnMissing(name.clone()))?;
        if parts.iter().any(|p| p.column == at) {
            return Err(SqlError::DuplicateColumn(name.clone()));
        }
        let column = &mut def.columns[at];
        if index.primary {
            // NULL that was only left out becomes NOT NULL; the default goes with it.
            column.nullable = false;
            if column.default == DefaultValue::Null {
                column.default = DefaultValue::None;
            }
        }
        let whole = length.is_none() && may_be_long(index);
        let widest = column.ty.collation().map_or(1, |c| c.charset().max_len() as u64);
        let prefix = match length {
            None if whole => None,
            None if !index.unique => prefix_that_fits(column, widest),
            length => prefix_of(column, *length)?,
        };
        bytes += prefix.map_or(column.ty.max_bytes(), |p| u64::from(p) * widest);
        parts.push(KeyPart { column: at, prefix, descending: *descending });
    }
    if bytes > KEY_BYTES_MAX && !may_be_long(index) {
        return Err(SqlError::KeyTooLong(KEY_BYTES_MAX as u32));
    }
    Ok(IndexDef {
        space: None,
        since: Lsn::NONE,
        id: IndexId(0),
        root: PageNo(0),
        name: if index.primary { PRIMARY.to_owned() } else { index.name.clone().unwrap_or_default() },
        unique: index.unique,
        parts,
        comment: index.comment.clone(),
        using_btree: index.using_btree,
        ignored: index.ignored,
        without_overlaps: index.without_overlaps,
    })
}

/// MariaDB makes a hash of the values of a unique key that no ordinary key could hold. Here it is a key as others, and it is the
/// single value that must not be too long for it.
fn may_be_long(index: &NewIndex) -> bool {
    index.unique && !index.primary && !index.using_btree
}

/// What of a column without a length goes into a plain key: text and bytes are cut to what a key may have, BLOB and TEXT always.
fn prefix_that_fits(column: &ColumnDef, widest: u64) -> Option<u16> {
    let bytes = column.ty.max_bytes();
    match &column.ty {
        ColumnType::Blob { .. } => Some(bytes.min(KEY_BYTES_MAX / widest) as u16),
        ColumnType::Char { .. } | ColumnType::VarChar { .. } if bytes > KEY_BYTES_MAX => {
            Some((KEY_BYTES_MAX / widest) as u16)
        }
        _ => None,
    }
}

fn prefix_of(column: &ColumnDef, length: Option<u64>) -> SqlResult<Option<u16>> {
    let is_blob = matches!(column.ty, ColumnType::Blob { .. });
    let Some(length) = length else {
        return if is_blob { Err(SqlError::BlobKeyWithoutLength(column.name.clone())) } else { Ok(None) };
    };
    let (ColumnType::Char { collation, .. }
    | ColumnType::VarChar { collation, .. }
    | ColumnType::Blob { collation, .. }) = &column.ty
    else {
        return Err(SqlError::WrongSubKey);
    };
    if length == 0 {
        return Err(SqlError::Other {
            errno: 1391,
            state: *b"HY000",
            text: format!("Key part '{}' length cannot be 0", column.name),
        });
    }
    let chars = column.ty.max_bytes() / collation.charset().max_len() as u64;
    if !is_blob && length > chars {
        return Err(SqlError::WrongSubKey);
    }
    if !is_blob && length == chars {
        return Ok(None);
    }
    u16::try_from(length).map(Some).map_err(|_| SqlError::KeyTooLong(KEY_BYTES_MAX as u32))
}

/// Names the unnamed after their first column: `a`, `a_2`, `a_3`.
fn name_indexes(def: &TableDef, new: &[NewIndex], indexes: &mut [IndexDef]) -> SqlResult<()> {
    let mut taken: Vec<String> = Vec::new();
    for (given, index) in new.iter().zip(indexes.iter()) {
        if given.primary || given.name.is_some() {
            if !given.primary {
                check_name(&index.name, |name| SqlError::Other {
                    errno: 1280,
                    state: *b"42000",
                    text: format!("Incorrect index name '{name}'"),
                })?;
                if same_name(&index.name, PRIMARY) || same_name(&index.name, HIDDEN_KEY) {
                    return Err(SqlError::Other {
                        errno: 1280,
                        state: *b"42000",
                        text: format!("Incorrect index name '{}'", index.name),
                    });
                }
            }
            if taken.iter().any(|t| same_name(t, &index.name)) {
                return Err(SqlError::DuplicateKeyName(index.name.clone()));
            }
            taken.push(index.name.clone());
        }
    }
    for (given, index) in new.iter().zip(indexes.iter_mut()) {
        if given.primary || given.name.is_some() {
            continue;
        }
        let base = def.columns[index.parts[0].column].name.clone();
        let mut name = base.clone();
        let mut number = 2;
        while taken.iter().any(|t| same_name(t, &name)) || same_name(&name, PRIMARY) {
            name = format!("{base}_{number}");
            number += 1;
        }
        taken.push(name.clone());
        index.name = name;
    }
    Ok(())
}
