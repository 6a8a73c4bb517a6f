//! ALTER TABLE: partitions that come, go, are emptied, divided anew or exchanged.
//!
//! Every action makes a new list of partitions. What stays keeps its trees, what is new gets empty ones, and rows of partitions that are
//! divided anew are copied into them under the exclusive lock on the name. Then one dictionary transaction replaces the definition; trees
//! that it no longer names are given up behind it.
//!
//! # Crash
//! Before the commit the new spaces have no name, behind it the old ones have none: the next start removes them.

use std::sync::Arc;

use catalog::partition::{
    PartTrees, PartitionDef, PartitionMethod, PartitionOptions, PartitionValues, Partitioning,
};
use catalog::{CatalogChange, TableDef, TableHandle};
use row_format::RowView;
use sql_plan::error::{SqlError, SqlResult};
use sql_syntax::ast::{self, PartitionAction as P};
use storage::row::{BulkLoad, Direction, KeyRange, ReadMode, RowBuf, Strength, WaitMode};

use super::copy::{load_error, new_part, open_new};
use super::partition::{check, error, partition_of};
use super::{DdlContext, storage_error};
use crate::outcome::Outcome;

const SHARED: ReadMode = ReadMode::Locking { strength: Strength::Shared, wait: WaitMode::Wait };

/// Runs one action on a table whose name is locked exclusively.
pub(super) fn run(old: &Arc<TableHandle>, action: &P<'_>, cx: &mut DdlContext<'_>) -> SqlResult<Outcome> {
    let now = Partitioning::clone(partitioning_of(old)?);
    match action {
        P::Add { if_not_exists, count, partitions } => add(old, now, *if_not_exists, *count, partitions, cx),
        P::Drop { if_exists, names } => drop_named(old, now, names, *if_exists, cx),
        P::Truncate(names) => truncate(old, now, names, cx),
        P::Coalesce(count) => coalesce(old, now, *count, cx),
        P::Reorganize { names, into } => reorganize(old, now, names, into, cx),
        P::Rebuild(names) => {
            let places = places_of(&now, names.0)?;
            refill(old, &now, now.clone(), &places, cx)
        }
        P::Exchange { name, table, validate } => exchange(old, now, &name.text(), table, *validate, cx),
        P::ConvertToTable { name, table } => convert_to_table(old, now, &name.text(), table, cx),
        P::ConvertFromTable { table, partition } => convert_from_table(old, now, table, partition, cx),
        // CHECK and its kin alone are statements with a result (`admin`).
        P::By(_) | P::Remove | P::Optimize(_) | P::Analyze(_) | P::Check(_) | P::Repair(_) => {
            Err(SqlError::not_supported("this order of changes"))
        }
        P::DiscardTablespace(_) | P::ImportTablespace(_) => {
            Err(SqlError::not_supported("transportable tablespaces"))
        }
    }
}

fn partitioning_of(table: &TableHandle) -> SqlResult<&Arc<Partitioning>> {
    let not_there = || error(1505, "Partition management on a not partitioned table is not possible");
    table.def.partitioning.as_ref().ok_or_else(not_there)
}

/// The parts of the partitions named, of all when none is; `None` for a name that is unknown or there twice.
pub(crate) fn parts_named(table: &TableHandle, names: &[ast::Ident<'_>]) -> SqlResult<Option<Vec<usize>>> {
    let partitioning = partitioning_of(table)?;
    let each = partitioning.parts_per_partition();
    Ok(match places_of(partitioning, names) {
        Ok(places) if names.is_empty() || places.len() == names.len() => {
            Some(places.into_iter().flat_map(|at| at * each..(at + 1) * each).collect())
        }
        _ => None,
    })
}

/// Copies all rows of a table whose name is locked exclusively into the parts that they belong into.
pub(crate) fn divide_anew(table: &Arc<TableHandle>, cx: &mut DdlContext<'_>) -> SqlResult<()> {
    let now = Partitioning::clone(partitioning_of(table)?);
    let places: Vec<usize> = (0..now.partitions.len()).collect();
    refill(table, &now, now.clone(), &places, cx).map(|_| ())
}

fn wrong_name() -> SqlError {
    error(1507, "Wrong partition name or partition list")
}

/// Places of the partitions named; all when none is.
fn places_of(now: &Partitioning, names: &[ast::Ident<'_>]) -> SqlResult<Vec<usize>> {
    if names.is_empty() {
        return Ok((0..now.partitions.len()).collect());
    }
    let mut out = Vec::new();
    for name in names {
        let name = name.text();
        let at = now.partitions.iter().position(|p| catalog::same_name(&p.name, &name));
        let at = at.ok_or_else(wrong_name)?;
        if !out.contains(&at) {
            out.push(at);
        }
    }
    Ok(out)
}

fn only_range_or_list(now: &Partitioning, action: &str) -> SqlResult<()> {
    if now.rule.method.spreads() {
        let text = format!("{action} PARTITION can only be used on RANGE/LIST partitions");
        return Err(error(1512, text));
    }
    Ok(())
}

fn trees_of(partition: &PartitionDef) -> Vec<PartTrees> {
    match partition.subpartitions.as_slice() {
        [] => vec![partition.trees.clone()],
        subs => subs.iter().map(|s| s.trees.clone()).collect(),
    }
}

/// Empty trees for a partition.
fn plant(partition: &mut PartitionDef, indexes: usize, change: &mut CatalogChange) -> SqlResult<()> {
    if partition.subpartitions.is_empty() {
        partition.trees = new_part(change, indexes)?;
    }
    for sub in &mut partition.subpartitions {
        sub.trees = new_part(change, indexes)?;
    }
    Ok(())
}

/// Puts the new partitions in place.
fn finish(
    old: &TableHandle,
    made: Partitioning,
    mut change: CatalogChange,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Outcome> {
    let mut def = TableDef::clone(&old.def);
    def.partitioning = Some(Arc::new(made));
    def.version += 1;
    change.put_table(def).map_err(|e| storage_error(e, old.name()))?;
    cx.commit(change)?;
    Ok(Outcome {
        info: format!("Records: 0  Duplicates: 0  Warnings: {}", cx.warnings.count()),
        ..Outcome::default()
    })
}

/// `made` replaces the partitions at `gone`, whose rows are divided anew. Partitions of `made` without trees get some.
fn refill(
    old: &Arc<TableHandle>,
    now: &Partitioning,
    mut made: Partitioning,
    gone: &[usize],
    cx: &mut DdlContext<'_>,
) -> SqlResult<Outcome> {
    let mut change = cx.catalog.change();
    let leaving: Vec<PartTrees> = gone.iter().flat_map(|at| trees_of(&now.partitions[*at])).collect();
    let left = |trees: &PartTrees| trees.indexes.is_empty() || leaving.iter().any(|l| l.id == trees.id);
    let indexes = old.def.indexes.len();
    for partition in &mut made.partitions {
        if trees_of(partition).iter().any(left) {
            plant(partition, indexes, &mut change)?;
        }
    }
    check(&made, &old.def)?;
    let mut def = TableDef::clone(&old.def);
    def.partitioning = Some(Arc::new(made.clone()));
    let each = now.parts_per_partition();
    let sources = gone.iter().flat_map(|at| at * each..(at + 1) * each).collect::<Vec<_>>();
    let copied = copy_parts(old, &sources, &def, &mut change, cx)?;
    change.drop_parts(&leaving);
    let outcome = finish(old, made, change, cx)?;
    let info = format!("Records: {copied}  Duplicates: 0  Warnings: {}", cx.warnings.count());
    Ok(Outcome { affected_rows: copied, info, ..outcome })
}

/// Copies the rows of some parts into the trees of a new definition of the same table; answers how many.
fn copy_parts(
    old: &Arc<TableHandle>,
    sources: &[usize],
    def: &TableDef,
    change: &mut CatalogChange,
    cx: &mut DdlContext<'_>,
) -> SqlResult<u64> {
    let new = open_new(cx, def);
    let Some(router) = sql_plan::partition::router(&new)? else { return Ok(0) };
    let layout = &new.table.spec().layout;
    let kernel = change.trx().kernel().clone();
    let mut loads: Vec<BulkLoad<'_>> =
        new.table.partitions().iter().map(|part| BulkLoad::new(&kernel, part)).collect();
    let mut touched = vec![false; loads.len()];
    let (mut row, mut copied) = (RowBuf::new(), 0u64);
    for source in sources {
        let part = &old.table.partitions()[*source];
        let mut scan = change.trx().scan(part, 0, KeyRange::all(), Direction::Forward, SHARED).large();
        while scan.next(change.trx(), &mut row).map_err(|e| storage_error(e, old.name()))? {
            let into = router.part_of(layout, &row.body)?;
            touched[into] = true;
            loads[into].push(change.trx(), &row.body).map_err(|e| load_error(e, &new, cx.values))?;
            copied += 1;
            if copied.is_multiple_of(1024) && cx.session.interrupted() {
                return Err(SqlError::Interrupted);
            }
        }
    }
    for (load, _) in loads.into_iter().zip(touched).filter(|(_, touched)| *touched) {
        load.finish(&mut || cx.session.interrupted()).map_err(|e| load_error(e, &new, cx.values))?;
    }
    Ok(copied)
}

fn add(
    old: &Arc<TableHandle>,
    now: Partitioning,
    if_not_exists: bool,
    count: Option<u64>,
    written: &[ast::PartitionDef<'_>],
    cx: &mut DdlContext<'_>,
) -> SqlResult<Outcome> {
    let mut made = now.clone();
    if count == Some(0) {
        return Err(error(1514, "At least one partition must be added"));
    }
    if count.is_some() && !now.rule.method.spreads() {
        let text = format!("For {} partitions each partition must be defined", now.rule.method.name());
        return Err(error(1492, text));
    }
    for partition in written {
        let partition = new_partition(partition, &now, &old.def, cx)?;
        if if_not_exists && now.parts_of(&partition.name).is_some() {
            cx.warnings.note(error(1517, format!("Duplicate partition name {}", partition.name)));
            continue;
        }
        made.partitions.push(partition);
    }
    for _ in 0..count.unwrap_or(0) {
        let mut number = made.partitions.len();
        while made.parts_of(&format!("p{number}")).is_some() {
            number += 1;
        }
        made.partitions.push(PartitionDef {
            name: format!("p{number}"),
            values: PartitionValues::None,
            options: PartitionOptions::default(),
            trees: PartTrees::default(),
            subpartitions: Vec::new(),
        });
    }
    made.counted &= written.is_empty();
    // Rows move when they are spread, and out of DEFAULT.
    let moves =
        now.rule.method.spreads() || now.partitions.iter().any(|p| p.values == PartitionValues::Default);
    let gone: Vec<usize> = if moves { (0..now.partitions.len()).collect() } else { Vec::new() };
    refill(old, &now, made, &gone, cx)
}

/// A partition of an ALTER TABLE, with as many subpartitions as the others have.
fn new_partition(
    written: &ast::PartitionDef<'_>,
    now: &Partitioning,
    def: &TableDef,
    cx: &mut DdlContext<'_>,
) -> SqlResult<PartitionDef> {
    let mut made = partition_of(written, now, def, cx)?;
    let each = now.partitions.first().map_or(0, |p| p.subpartitions.len());
    if made.subpartitions.is_empty() && each > 0 {
        let name = |i| format!("{}sp{i}", made.name);
        let sub = |i| catalog::partition::SubpartitionDef {
            name: name(i),
            options: made.options.clone(),
            trees: PartTrees::default(),
        };
        made.subpartitions = (0..each).map(sub).collect();
    } else if made.subpartitions.len() != each {
        return Err(error(1513, "Trying to Add partition(s) with wrong number of subpartitions"));
    }
    Ok(made)
}

fn drop_named(
    old: &Arc<TableHandle>,
    now: Partitioning,
    names: &[ast::Ident<'_>],
    if_exists: bool,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Outcome> {
    only_range_or_list(&now, "DROP")?;
    let known =
        |name: &&ast::Ident<'_>| now.partitions.iter().any(|p| catalog::same_name(&p.name, &name.text()));
    let there: Vec<ast::Ident<'_>> = names.iter().filter(known).copied().collect();
    if there.len() < names.len() {
        if !if_exists {
            return Err(wrong_name());
        }
        cx.warnings.note(wrong_name());
    }
    if there.is_empty() {
        return Ok(Outcome::default());
    }
    let places = places_of(&now, &there)?;
    if places.len() == now.partitions.len() {
        return Err(error(1508, "Cannot remove all partitions, use DROP TABLE instead"));
    }
    let mut change = cx.catalog.change();
    let mut made = now.clone();
    let mut at = 0;
    made.partitions.retain(|_| {
        at += 1;
        !places.contains(&(at - 1))
    });
    for place in &places {
        change.drop_parts(&trees_of(&now.partitions[*place]));
    }
    finish(old, made, change, cx)
}

fn truncate(
    old: &Arc<TableHandle>,
    now: Partitioning,
    names: &ast::PartitionNames<'_>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Outcome> {
    let mut parts = Vec::new();
    for name in names.0 {
        let place = places_of(&now, std::slice::from_ref(name))
            .map_err(|_| error(1567, "Incorrect partition name"))?[0];
        let each = now.parts_per_partition();
        parts.extend(place * each..(place + 1) * each);
    }
    if names.0.is_empty() {
        parts.extend(0..now.part_count());
    }
    let mut change = cx.catalog.change();
    let mut made = now.clone();
    let mut left = Vec::new();
    for (_, trees) in made.parts_mut().enumerate().filter(|(at, _)| parts.contains(at)) {
        left.push(std::mem::replace(trees, new_part(&mut change, old.def.indexes.len())?));
    }
    change.drop_parts(&left);
    finish(old, made, change, cx)
}

fn coalesce(
    old: &Arc<TableHandle>,
    now: Partitioning,
    count: u64,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Outcome> {
    if !now.rule.method.spreads() {
        return Err(error(1509, "COALESCE PARTITION can only be used on HASH/KEY partitions"));
    }
    if count == 0 {
        return Err(error(1515, "At least one partition must be coalesced"));
    }
    if count >= now.partitions.len() as u64 {
        return Err(error(1508, "Cannot remove all partitions, use DROP TABLE instead"));
    }
    let mut made = now.clone();
    made.partitions.truncate(now.partitions.len() - count as usize);
    let all: Vec<usize> = (0..now.partitions.len()).collect();
    refill(old, &now, made, &all, cx)
}

fn reorganize(
    old: &Arc<TableHandle>,
    now: Partitioning,
    names: &[ast::Ident<'_>],
    into: &[ast::PartitionDef<'_>],
    cx: &mut DdlContext<'_>,
) -> SqlResult<Outcome> {
    if names.is_empty() && into.is_empty() {
        if !now.rule.method.spreads() {
            let text = "REORGANIZE PARTITION without parameters can only be used on auto-partitioned tables using HASH PARTITIONs";
            return Err(error(1511, text));
        }
        let all: Vec<usize> = (0..now.partitions.len()).collect();
        return refill(old, &now, now.clone(), &all, cx);
    }
    if now.rule.method.spreads() && names.len() != into.len() {
        let text =
            "REORGANIZE PARTITION can only be used to reorganize partitions not to change their numbers";
        return Err(error(1510, text));
    }
    if names.len() > now.partitions.len() {
        return Err(error(1516, "More partitions to reorganize than there are partitions"));
    }
    let mut places = places_of(&now, names)?;
    let ordered = places.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    if now.rule.method == PartitionMethod::Range && !ordered {
        let text = "When reorganizing a set of partitions they must be in consecutive order";
        return Err(error(1519, text));
    }
    places.sort_unstable();
    let mut made = now.clone();
    let mut fresh = Vec::new();
    for partition in into {
        fresh.push(new_partition(partition, &now, &old.def, cx)?);
    }
    if now.rule.method == PartitionMethod::Range {
        check_range(&now, &places, &fresh)?;
    }
    let first = places[0];
    for at in places.iter().rev() {
        made.partitions.remove(*at);
    }
    made.partitions.splice(first..first, fresh);
    made.counted = false;
    made.sub_counted &= into.iter().all(|p| p.subpartitions.is_empty());
    refill(old, &now, made, &places, cx)
}

/// 1520: the same total range, except that the last partition may reach further.
fn check_range(now: &Partitioning, places: &[usize], fresh: &[PartitionDef]) -> SqlResult<()> {
    let last = places[places.len() - 1];
    let same = fresh.last().is_some_and(|f| f.values == now.partitions[last].values);
    if same || last + 1 == now.partitions.len() {
        return Ok(());
    }
    let text = "Reorganize of range partitions cannot change total ranges except for last partition where it can extend the range";
    Err(error(1520, text))
}

/// The trees of a table without partitions, as a part's; `None` when an index has a space of its own.
fn as_part(def: &TableDef) -> Option<PartTrees> {
    if def.indexes.iter().any(|i| i.space.is_some()) {
        return None;
    }
    let since = def.indexes.iter().map(|i| i.since).max()?;
    let indexes = def.indexes.iter().map(|i| (i.id, i.root)).collect();
    Some(PartTrees { id: def.id, space: def.space, since, indexes })
}

/// Gives a definition without partitions the trees of a part.
fn take_part(def: &mut TableDef, part: &PartTrees) {
    (def.id, def.space, def.partitioning) = (part.id, part.space, None);
    for (index, (id, root)) in def.indexes.iter_mut().zip(&part.indexes) {
        (index.id, index.root, index.space, index.since) = (*id, *root, None, part.since);
    }
}

/// The other table of EXCHANGE and CONVERT: one that could be a part.
fn partner(
    old: &TableHandle,
    table: &ast::ObjectName<'_>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Arc<TableHandle>> {
    let (schema, name) = cx.table_name(table)?;
    if cx.catalog.temporary(&schema, &name).is_some() {
        return Err(error(1733, format!("Table to exchange with partition is temporary: '{name}'")));
    }
    if schema == old.schema() && name == old.name() {
        return Err(SqlError::NotUniqueTable(name));
    }
    cx.lock_exclusive(&schema, &name)?;
    let other = cx.existing(&schema, &name)?;
    if other.def.partitioning.is_some() {
        return Err(error(1732, format!("Table to exchange with partition is partitioned: '{name}'")));
    }
    let referenced = !cx.catalog.snapshot().children(&schema, &name).is_empty();
    if !other.def.foreign_keys.is_empty() || referenced {
        let text = format!("Table to exchange with partition has foreign key references: '{name}'");
        return Err(error(1740, text));
    }
    if !other.def.formats.is_empty() {
        return Err(error(1731, "Non matching attribute 'INSTANT COLUMN(s)' between partition and table"));
    }
    let shape = |def: &TableDef| {
        let indexes = def.indexes.iter().map(|i| (i.name.clone(), i.unique, i.parts.clone()));
        (def.columns.clone(), indexes.collect::<Vec<_>>(), def.collation)
    };
    if shape(&old.def) != shape(&other.def) || other.def.sequence.is_some() {
        return Err(error(1736, "Tables have different definitions"));
    }
    Ok(other)
}

/// Every row of the table belongs into the part at `place` of `def`.
fn check_rows(
    other: &TableHandle,
    def: &TableDef,
    place: usize,
    change: &mut CatalogChange,
    cx: &mut DdlContext<'_>,
) -> SqlResult<()> {
    let Some(partitioning) = &def.partitioning else { return Ok(()) };
    let router = sql_plan::partition::Router::new(def, partitioning)?;
    let (table, mut row, mut seen) = (&other.table, RowBuf::new(), 0u64);
    let layout = &table.spec().layout;
    let mut scan = change.trx().scan(table, 0, KeyRange::all(), Direction::Forward, SHARED).large();
    while scan.next(change.trx(), &mut row).map_err(|e| storage_error(e, other.name()))? {
        RowView::new(layout, &row.body).map_err(|c| crate::errors::corrupt(&c))?;
        if router.part_of(layout, &row.body)? != place {
            return Err(error(1737, "Found a row that does not match the partition"));
        }
        seen += 1;
        if seen.is_multiple_of(1024) && cx.session.interrupted() {
            return Err(SqlError::Interrupted);
        }
    }
    Ok(())
}

/// The one part that a name of EXCHANGE and CONVERT stands for.
fn single_part(now: &Partitioning, table: &str, name: &str) -> SqlResult<usize> {
    let unknown = || error(1735, format!("Unknown partition '{name}' in table '{table}'"));
    let parts = now.parts_of(name).ok_or_else(unknown)?;
    if now.sub.is_some() && now.partitions.iter().any(|p| catalog::same_name(&p.name, name)) {
        return Err(error(1734, "Subpartitioned table, use subpartition instead of partition"));
    }
    Ok(parts.start)
}

fn needs_rebuild() -> SqlError {
    SqlError::not_supported("a table whose index was added later, before ALTER TABLE ... FORCE")
}

fn exchange(
    old: &Arc<TableHandle>,
    now: Partitioning,
    name: &str,
    table: &ast::ObjectName<'_>,
    validate: bool,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Outcome> {
    let other = partner(old, table, cx)?;
    let place = single_part(&now, old.name(), name)?;
    let mut change = cx.catalog.change();
    if validate {
        check_rows(&other, &old.def, place, &mut change, cx)?;
    }
    let mut made = now.clone();
    let incoming = as_part(&other.def).ok_or_else(needs_rebuild)?;
    let mut def = TableDef::clone(&other.def);
    if let Some(trees) = made.parts_mut().nth(place) {
        take_part(&mut def, trees);
        *trees = incoming;
    }
    def.version += 1;
    change.put_table(def).map_err(|e| storage_error(e, other.name()))?;
    finish(old, made, change, cx)
}

fn convert_to_table(
    old: &Arc<TableHandle>,
    now: Partitioning,
    name: &str,
    table: &ast::ObjectName<'_>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Outcome> {
    only_range_or_list(&now, "CONVERT")?;
    let place = single_part(&now, old.name(), name)?;
    if now.partitions.len() == 1 {
        return Err(error(1508, "Cannot remove all partitions, use DROP TABLE instead"));
    }
    let (schema, table) = cx.table_name(table)?;
    cx.lock_exclusive(&schema, &table)?;
    if cx.catalog.shared().snapshot().has(&schema, &table) {
        return Err(SqlError::TableExists(table));
    }
    let mut change = cx.catalog.change();
    let mut made = now.clone();
    let trees = made.partitions.remove(place / now.parts_per_partition()).trees;
    let mut def = TableDef::clone(&old.def);
    take_part(&mut def, &trees);
    (def.schema, def.name, def.version, def.created) = (schema, table, 1, cx.now_seconds());
    change.put_table(def).map_err(|e| storage_error(e, old.name()))?;
    finish(old, made, change, cx)
}

fn convert_from_table(
    old: &Arc<TableHandle>,
    now: Partitioning,
    table: &ast::ObjectName<'_>,
    written: &ast::PartitionDef<'_>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Outcome> {
    only_range_or_list(&now, "CONVERT")?;
    if now.sub.is_some() {
        return Err(SqlError::not_supported("CONVERT TABLE of a table with subpartitions"));
    }
    let other = partner(old, table, cx)?;
    let mut made = now.clone();
    let mut partition = new_partition(written, &now, &old.def, cx)?;
    partition.trees = as_part(&other.def).ok_or_else(needs_rebuild)?;
    made.partitions.push(partition);
    made.counted = false;
    check(&made, &old.def)?;
    let mut def = TableDef::clone(&old.def);
    def.partitioning = Some(Arc::new(made.clone()));
    let mut change = cx.catalog.change();
    check_rows(&other, &def, made.part_count() - 1, &mut change, cx)?;
    change.move_triggers((other.schema(), other.name()), None).map_err(|e| storage_error(e, other.name()))?;
    change.remove_table(other.schema(), other.name()).map_err(|e| storage_error(e, other.name()))?;
    finish(old, made, change, cx)
}
