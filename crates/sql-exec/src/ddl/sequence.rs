//! CREATE, ALTER and DROP SEQUENCE.
//!
//! A sequence is a table of one row whose definition says so. What ALTER changes is the row and the definition in one change; the
//! table's new handle has no values in memory, so those that the old one had reserved are left out.

use catalog::sequence::SequenceState;
use catalog::{ColumnDef, DefaultValue, HIDDEN_KEY, IndexDef, SequenceDef, TableDef};
use row_format::{ColumnType, IntSize};
use sql_plan::error::{SqlError, SqlResult};
use sql_syntax::ast::{self, SequenceOption};

use base::{IndexId, Lsn, PageNo, SpaceId, TableId};

use super::{DdlContext, copy, storage_error};
use crate::outcome::Outcome;
use crate::sequence::{limits, read_sequence, write_sequence};

/// CACHE when nothing is said.
const CACHE: u64 = 1000;

fn other(errno: u16, state: [u8; 5], text: String) -> SqlError {
    SqlError::Other { errno, state, text }
}

fn out_of_range(schema: &str, name: &str) -> SqlError {
    other(4085, *b"HY000", format!("Sequence '{schema}.{name}' has out of range value for options"))
}

/// Error 4091.
fn unknown(names: &str) -> SqlError {
    other(4091, *b"42S02", format!("Unknown SEQUENCE: '{names}'"))
}

/// The options as written, each once.
#[derive(Debug, Default, Clone, Copy)]
struct Options {
    start: Option<i128>,
    increment: Option<i128>,
    minimum: Option<Option<i128>>,
    maximum: Option<Option<i128>>,
    cache: Option<i128>,
    cycle: Option<bool>,
    restart: Option<Option<i128>>,
}

fn options(list: &[SequenceOption]) -> SqlResult<Options> {
    fn once<T>(slot: &mut Option<T>, value: T, name: &str) -> SqlResult<()> {
        match slot.replace(value) {
            None => Ok(()),
            Some(_) => Err(other(1225, *b"HY000", format!("Option '{name}' used twice in statement"))),
        }
    }
    let mut out = Options::default();
    for option in list {
        match *option {
            SequenceOption::Start(n) => once(&mut out.start, n, "START")?,
            SequenceOption::Increment(n) => once(&mut out.increment, n, "INCREMENT")?,
            SequenceOption::MinValue(n) => once(&mut out.minimum, n, "MINVALUE")?,
            SequenceOption::MaxValue(n) => once(&mut out.maximum, n, "MAXVALUE")?,
            SequenceOption::Cache(n) => once(&mut out.cache, n, "CACHE")?,
            SequenceOption::Cycle(on) => once(&mut out.cycle, on, "CYCLE")?,
            SequenceOption::Restart(n) => once(&mut out.restart, n, "RESTART")?,
        }
    }
    Ok(out)
}

/// The integer type of AS.
fn integer_type(ty: Option<&ast::DataType<'_>>, cx: &DdlContext<'_>) -> SqlResult<(IntSize, bool)> {
    let Some(ty) = ty else { return Ok((IntSize::Big, false)) };
    let collation = cx.server_collation;
    match super::variable("", ty, collation)?.ty {
        ColumnType::Int { size, unsigned } => Ok((size, unsigned)),
        _ => Err(SqlError::not_supported("sequences of this type")),
    }
}

/// A limit of the type's range: beyond it with a note.
fn limited(n: i128, (low, high): (i128, i128), name: &str, cx: &mut DdlContext<'_>) -> i128 {
    let fits = n.clamp(low, high);
    if fits != n {
        let text = format!("Truncated incorrect INTEGER value: '{name}'");
        cx.warnings.note(other(1292, *b"22007", text));
    }
    fits
}

/// What the options make of what was there before.
fn define(
    o: &Options,
    before: Option<&SequenceDef>,
    range: (i128, i128),
    cx: &mut DdlContext<'_>,
) -> SequenceDef {
    let increment = o.increment.or(before.map(|b| b.increment)).unwrap_or(1);
    let up = increment >= 0;
    let default_minimum = if up { range.0.max(1) } else { range.0 };
    let default_maximum = if up || range.0 >= 0 { range.1 } else { -1 };
    let minimum = match o.minimum {
        Some(Some(n)) => limited(n, range, "MINVALUE", cx),
        None if before.is_some() => before.map_or(0, |b| b.minimum),
        _ => default_minimum,
    };
    let maximum = match o.maximum {
        Some(Some(n)) => limited(n, range, "MAXVALUE", cx),
        None if before.is_some() => before.map_or(0, |b| b.maximum),
        _ => default_maximum,
    };
    let first = if up { minimum } else { maximum };
    SequenceDef {
        start: o.start.or(before.map(|b| b.start)).unwrap_or(first),
        minimum,
        maximum,
        increment,
        cache: o.cache.map_or_else(|| before.map_or(CACHE, |b| b.cache), |n| n.max(0) as u64),
        cycle: o.cycle.unwrap_or(before.is_some_and(|b| b.cycle)),
    }
}

/// Whether the values fit one another.
fn is_sound(def: &SequenceDef, o: &Options) -> bool {
    let step = def.increment.unsigned_abs().max(1);
    let cached = u128::from(def.cache).saturating_mul(step);
    def.minimum < def.maximum
        && (def.minimum..=def.maximum).contains(&def.start)
        && o.cache.is_none_or(|n| n >= 0)
        && cached < i64::MAX as u128
        && i64::try_from(def.increment).is_ok()
}

/// The columns of every sequence's table; its numbers have the type of the sequence.
fn columns(size: IntSize, unsigned: bool) -> Vec<ColumnDef> {
    let value = ColumnType::int(size, unsigned);
    let wide = |unsigned| ColumnType::int(IntSize::Big, unsigned);
    let list = [
        ("next_not_cached_value", value.clone(), ""),
        ("minimum_value", value.clone(), ""),
        ("maximum_value", value.clone(), ""),
        ("start_value", value, "start value when sequences is created or value if RESTART is used"),
        ("increment", wide(false), "increment value"),
        ("cache_size", wide(true), ""),
        (
            "cycle_option",
            ColumnType::int(IntSize::Tiny, true),
            "0 if no cycles are allowed, 1 if the sequence should begin a new cycle when maximum_value is passed",
        ),
        ("cycle_count", wide(false), "How many cycles have been done"),
    ];
    let column = |(name, ty, comment): (&str, ColumnType, &str)| {
        let width = match &ty {
            ColumnType::Int { size: IntSize::Big, .. } => 21,
            ColumnType::Int { size: IntSize::Tiny, .. } if name == "cycle_option" => 1,
            ColumnType::Int { size: IntSize::Tiny, .. } => 5,
            ColumnType::Int { size: IntSize::Small, .. } => 7,
            ColumnType::Int { size: IntSize::Medium, .. } => 10,
            _ => 12,
        };
        ColumnDef {
            nullable: false,
            default: DefaultValue::None,
            width: Some(width),
            comment: comment.to_owned(),
            ..ColumnDef::new(name, ty)
        }
    };
    list.into_iter().map(column).collect()
}

pub(super) fn create(s: &ast::CreateSequence<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    if s.temporary {
        return Err(SqlError::not_supported("temporary sequences"));
    }
    let (schema, name) = cx.table_name(&s.name)?;
    let written = options(s.sequence)?;
    let (size, unsigned) = integer_type(s.data_type.as_ref(), cx)?;
    let sequence = define(&written, None, limits(size, unsigned), cx);
    if !is_sound(&sequence, &written) {
        return Err(out_of_range(&schema, &name));
    }
    cx.lock_exclusive(&schema, &name)?;
    let snapshot = cx.catalog.snapshot();
    let database = snapshot.database(&schema).ok_or_else(|| SqlError::UnknownDatabase(schema.clone()))?;
    let existing = database.tables.get(&name).cloned();
    if database.views.contains_key(&name) || existing.is_some() && !s.mode.or_replace {
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
        columns: columns(size, unsigned),
        formats: Vec::new(),
        indexes: vec![hidden_key()],
        collation: database.def.collation,
        comment: String::new(),
        options: String::new(),
        created: cx.now_seconds(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        sequence: Some(sequence),
        period: None,
        partitioning: None,
        temporary: false,
    };
    super::create::options(s.options, &mut def, cx)?;
    let mut change = cx.catalog.change();
    if let Some(old) = existing {
        super::foreign::check_drop(&old, &[], cx)?;
        let failed = |e| storage_error(e, old.name());
        change.move_triggers((old.schema(), old.name()), None).map_err(failed)?;
        change.remove_table(old.schema(), old.name()).map_err(failed)?;
        change.drop_table(&old.def);
    }
    copy::make_trees(&mut change, &mut def)?;
    let table = copy::open_new(cx, &def);
    let state = SequenceState { next_not_cached: sequence.start, def: sequence, cycle_count: 0 };
    write_sequence(change.trx(), &table, None, &state)?;
    change.put_table(def).map_err(|e| storage_error(e, ""))?;
    cx.commit(change)?;
    Ok(Outcome::default())
}

fn hidden_key() -> IndexDef {
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

pub(super) fn alter(s: &ast::AlterSequence<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let (schema, name) = cx.table_name(&s.name)?;
    cx.lock_exclusive(&schema, &name)?;
    let full = format!("{schema}.{name}");
    let found = cx.catalog.snapshot().table(&schema, &name).cloned();
    let Some(table) = found else {
        if cx.catalog.snapshot().view(&schema, &name).is_some() {
            return Err(other(4089, *b"42S02", format!("'{full}' is not a SEQUENCE")));
        }
        if s.if_exists {
            cx.warnings.note(unknown(&full));
            return Ok(Outcome::default());
        }
        return Err(unknown(&name));
    };
    let Some(ColumnType::Int { size, unsigned }) =
        table.def.sequence.as_ref().map(|_| &table.def.columns[0].ty).cloned()
    else {
        return Err(other(4089, *b"42S02", format!("'{full}' is not a SEQUENCE")));
    };
    if s.data_type.is_some() {
        return Err(SqlError::not_supported("ALTER SEQUENCE ... AS"));
    }
    let written = options(s.sequence)?;
    let mut change = cx.catalog.change();
    let Some((mut state, row)) = read_sequence(change.trx(), &table)? else {
        return Err(SqlError::RecordNotFound { table: name });
    };
    let def = define(&written, Some(&state.def), limits(size, unsigned), cx);
    if let Some(restart) = written.restart {
        state.next_not_cached = restart.unwrap_or(def.start);
        state.cycle_count = 0;
    }
    let past_end = state.next_not_cached == def.maximum + 1 || state.next_not_cached == def.minimum - 1;
    let inside = (def.minimum..=def.maximum).contains(&state.next_not_cached);
    // A sequence that has run out goes on when its end moves away.
    if !is_sound(&def, &written) || !inside && !past_end {
        return Err(out_of_range(&schema, &name));
    }
    state.def = def;
    write_sequence(change.trx(), &table, Some(&row), &state)?;
    let mut new = TableDef::clone(&table.def);
    new.version += 1;
    new.sequence = Some(def);
    change.put_table(new).map_err(|e| storage_error(e, &name))?;
    cx.commit(change)?;
    Ok(Outcome::default())
}

pub(super) fn drop(s: &ast::DropObjects<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let mut names = Vec::with_capacity(s.names.len());
    for name in s.names {
        names.push(cx.table_name(name)?);
    }
    let mut sorted = names.clone();
    sorted.sort();
    sorted.dedup();
    for (schema, name) in &sorted {
        cx.lock_exclusive(schema, name)?;
    }
    let (mut missing, mut logged, mut wrong) = (Vec::new(), Vec::new(), None);
    let mut change = cx.catalog.change();
    for (schema, name) in &names {
        let snapshot = cx.catalog.snapshot();
        match snapshot.table(schema, name) {
            Some(table) if table.def.sequence.is_some() => {
                logged.push(cx.logged_name(schema, name));
                change.remove_table(schema, name).map_err(|e| storage_error(e, name))?;
                change.drop_table(&table.def);
            }
            Some(_) => wrong = Some(format!("'{schema}.{name}' is not a SEQUENCE")),
            None if snapshot.view(schema, name).is_some() => {
                wrong = Some(format!("'{schema}.{name}' is not a SEQUENCE"));
            }
            None => {
                if s.if_exists {
                    logged.push(cx.logged_name(schema, name));
                }
                missing.push(format!("{schema}.{name}"));
            }
        }
    }
    if !logged.is_empty() {
        let condition = if s.if_exists { "IF EXISTS " } else { "" };
        let text = format!("DROP SEQUENCE {condition}{} /* generated by server */", logged.join(","));
        cx.commit_as(change, &text)?;
    }
    if let Some(text) = wrong {
        return Err(other(4090, *b"42S02", text));
    }
    if missing.is_empty() {
        return Ok(Outcome::default());
    }
    let error = unknown(&missing.join(","));
    if s.if_exists {
        cx.warnings.note(error);
        return Ok(Outcome::default());
    }
    Err(error)
}
