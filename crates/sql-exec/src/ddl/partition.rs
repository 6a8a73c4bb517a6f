//! PARTITION BY: from the clause as written to a definition, with MariaDB's checks in MariaDB's words.
//!
//! First come the checks that need no table (names, counts, which values which method takes), then the expressions, then the values,
//! which are brought to the form that SHOW CREATE TABLE prints, and at last the unique keys.

use std::sync::Arc;

use catalog::TableDef;
use catalog::partition::{
    PartTrees, PartitionBy, PartitionDef, PartitionMethod, PartitionOptions, PartitionRule, PartitionValues,
    Partitioning, SubpartitionDef,
};
use row_format::{ColumnType, KeyPart};
use sql_plan::error::{Clause, SqlError, SqlResult};
use sql_plan::{partition, program};
use sql_syntax::ast;
use types::Value;

use super::partition_function::check_function;
use super::{DdlContext, check_name};

const PARTITIONS_MAX: u64 = 8192;
/// Columns of RANGE COLUMNS and its kin.
const COLUMNS_MAX: usize = 16;

pub(super) fn error(errno: u16, text: impl Into<String>) -> SqlError {
    let state = match errno {
        1054 => *b"42S22",
        _ => *b"HY000",
    };
    SqlError::Other { errno, state, text: text.into() }
}

/// The partitions of a table as written. The table's columns and indexes are complete.
pub(super) fn resolve(
    written: &ast::Partitioning<'_>,
    def: &TableDef,
    cx: &mut DdlContext<'_>,
) -> SqlResult<Partitioning> {
    if def.temporary {
        return Err(error(1506, "Partitioned tables do not support CREATE TEMPORARY TABLE"));
    }
    let rule = rule_of(&written.method, def, false)?;
    let sub = written.subpartition.as_ref().map(|sub| rule_of(sub, def, true)).transpose()?;
    check_rule(&rule, def, false)?;
    check_counts(written, &rule, sub.is_some())?;
    let mut made = Partitioning {
        counted: written.partitions.is_empty(),
        sub_counted: !written.partitions.iter().any(|p| !p.subpartitions.is_empty()),
        rule,
        sub,
        partitions: Vec::new(),
    };
    let subs = sub_count(written)?;
    if written.partitions.is_empty() {
        let count = written.count.unwrap_or(1);
        made.partitions = (0..count).map(|i| counted(&format!("p{i}"))).collect();
    }
    for partition in written.partitions {
        made.partitions.push(partition_of(partition, &made, def, cx)?);
    }
    if made.sub.is_some() && made.sub_counted {
        for partition in &mut made.partitions {
            let name = |i| format!("{}sp{i}", partition.name);
            let own = partition.options.clone();
            let sub =
                |i| SubpartitionDef { name: name(i), options: own.clone(), trees: PartTrees::default() };
            partition.subpartitions = (0..subs).map(sub).collect();
        }
    }
    // Without a number there is one of them, and the number is not shown.
    made.sub_counted &= written.subpartition_count.is_some();
    check(&made, def)?;
    Ok(made)
}

/// What must hold of partitions and their table together, also after the table or the partitions have changed.
pub(super) fn check(made: &Partitioning, def: &TableDef) -> SqlResult<()> {
    check_names(made)?;
    if made.part_count() as u64 > PARTITIONS_MAX {
        return Err(error(1499, "Too many partitions (including subpartitions) were defined"));
    }
    check_rule(&made.rule, def, false)?;
    if let Some(sub) = &made.sub {
        check_rule(sub, def, true)?;
    }
    check_values(made, def)?;
    if def.versioning().is_some() || def.period.is_some() {
        return Err(SqlError::not_supported("partitions of tables with system versioning or periods"));
    }
    if !def.foreign_keys.is_empty() {
        return Err(error(1506, "Partitioned tables do not support FOREIGN KEY"));
    }
    check_unique_keys(made, def)
}

/// A table and its partitions name one engine, or none.
pub(super) fn check_engines(
    of_table: Option<ast::Ident<'_>>,
    partitions: &[ast::PartitionDef<'_>],
) -> SqlResult<()> {
    let mut engines: Vec<String> = of_table.iter().map(|name| name.text().to_lowercase()).collect();
    for partition in partitions {
        let subs = partition.subpartitions.iter().flat_map(|s| s.options);
        for option in partition.options.iter().chain(subs) {
            if let ast::TableOption::Engine(name) = option {
                engines.push(name.text().to_lowercase());
            }
        }
    }
    let mixed = engines.windows(2).any(|pair| pair[0] != pair[1]);
    let text = "The mix of handlers in the partitions is not allowed in this version of MariaDB";
    if mixed { Err(error(1497, text)) } else { Ok(()) }
}

fn counted(name: &str) -> PartitionDef {
    PartitionDef {
        name: name.to_owned(),
        values: PartitionValues::None,
        options: PartitionOptions::default(),
        trees: PartTrees::default(),
        subpartitions: Vec::new(),
    }
}

fn rule_of(method: &ast::PartitionMethod<'_>, def: &TableDef, sub: bool) -> SqlResult<PartitionRule> {
    use ast::PartitionMethod as M;
    let names = |columns: &[ast::Ident<'_>]| {
        PartitionBy::Columns(columns.iter().map(|c| c.text().into_owned()).collect())
    };
    let of_expr = |expr: &ast::Expr<'_>| -> SqlResult<PartitionBy> {
        check_function(expr, def, sub)?;
        Ok(PartitionBy::Expr(program::text_of(expr, false)))
    };
    let (method, by) = match method {
        M::Range(expr) => (PartitionMethod::Range, of_expr(expr)?),
        M::List(expr) => (PartitionMethod::List, of_expr(expr)?),
        M::RangeColumns(columns) => (PartitionMethod::Range, names(columns)),
        M::ListColumns(columns) => (PartitionMethod::List, names(columns)),
        M::Hash { linear, expr } => (PartitionMethod::Hash { linear: *linear }, of_expr(expr)?),
        M::Key { linear, algorithm, columns } => {
            let algorithm = match algorithm {
                None | Some(2) => 0,
                Some(1) => 1,
                Some(_) => return Err(SqlError::not_supported("this ALGORITHM of PARTITION BY KEY")),
            };
            (PartitionMethod::Key { linear: *linear, algorithm }, names(columns))
        }
        M::SystemTime { .. } => return Err(SqlError::not_supported("PARTITION BY SYSTEM_TIME")),
    };
    Ok(PartitionRule { method, by })
}

/// Columns that a rule names or reads are there and of types that it takes.
fn check_rule(rule: &PartitionRule, def: &TableDef, sub: bool) -> SqlResult<()> {
    let names = match &rule.by {
        PartitionBy::Expr(_) => {
            // A column that has gone is missed here.
            partition::rule_columns(def, rule)?;
            return Ok(());
        }
        PartitionBy::Columns(names) => names,
    };
    let is_key = rule.method.spreads();
    if is_key && names.is_empty() && partition::key_columns(def).is_empty() {
        return Err(error(1488, "Field in list of fields for partition function not found in table"));
    }
    if names.len() > COLUMNS_MAX {
        let what = if sub { "list of subpartition fields" } else { "list of partition fields" };
        return Err(error(1655, format!("Too many fields in '{what}'")));
    }
    for (i, name) in names.iter().enumerate() {
        let Some(column) = def.column(name) else {
            return Err(error(1488, "Field in list of fields for partition function not found in table"));
        };
        if names[..i].iter().any(|n| catalog::same_name(n, name)) {
            return Err(error(1652, format!("Duplicate partition field name '{name}'")));
        }
        let ty = &def.columns[column].ty;
        let allowed = match ty {
            ColumnType::Blob { .. } => false,
            _ if is_key => true,
            ColumnType::Timestamp { .. }
            | ColumnType::Float { .. }
            | ColumnType::Double { .. }
            | ColumnType::Decimal { .. }
            | ColumnType::Bit { .. }
            | ColumnType::Enum { .. }
            | ColumnType::Set { .. }
            | ColumnType::Year => false,
            _ => true,
        };
        if is_key && matches!(ty, ColumnType::Blob { .. }) {
            return Err(error(1502, "A BLOB field is not allowed in partition function"));
        }
        if !allowed {
            let text = format!("Field '{name}' is of a not allowed type for this type of partitioning");
            return Err(error(1659, text));
        }
    }
    Ok(())
}

fn check_counts(written: &ast::Partitioning<'_>, rule: &PartitionRule, sub: bool) -> SqlResult<()> {
    let spreads = rule.method.spreads();
    if written.count == Some(0) {
        return Err(error(1504, "Number of partitions = 0 is not an allowed value"));
    }
    if written.subpartition_count == Some(0) {
        return Err(error(1504, "Number of subpartitions = 0 is not an allowed value"));
    }
    if written.count.is_some_and(|n| n > PARTITIONS_MAX) {
        return Err(error(1499, "Too many partitions (including subpartitions) were defined"));
    }
    if sub && spreads {
        let text = "It is only possible to mix RANGE/LIST partitioning with HASH/KEY partitioning for subpartitioning";
        return Err(error(1500, text));
    }
    if !spreads && written.partitions.is_empty() {
        return Err(error(
            1492,
            format!("For {} partitions each partition must be defined", rule.method.name()),
        ));
    }
    if written.count.is_some_and(|n| !written.partitions.is_empty() && n != written.partitions.len() as u64) {
        return Err(error(1484, "Wrong number of partitions defined, mismatch with previous setting"));
    }
    Ok(())
}

/// Subpartitions of each partition.
fn sub_count(written: &ast::Partitioning<'_>) -> SqlResult<u64> {
    let of = |p: &ast::PartitionDef<'_>| p.subpartitions.len() as u64;
    let named = written.partitions.first().map_or(0, of);
    if named > 0 && written.subpartition.is_none() {
        return Err(error(1482, "Subpartitions can only be hash partitions and by key"));
    }
    for partition in written.partitions {
        if (of(partition) == 0) != (named == 0) {
            let text = "Must define subpartitions on all partitions if on one partition";
            return Err(error(1483, text));
        }
        if of(partition) != named || named > 0 && written.subpartition_count.is_some_and(|n| n != named) {
            return Err(error(1485, "Wrong number of subpartitions defined, mismatch with previous setting"));
        }
    }
    Ok(if named > 0 { named } else { written.subpartition_count.unwrap_or(1) })
}

/// One partition as written, for a table divided as `made` says. Its values are checked for themselves.
pub(super) fn partition_of(
    written: &ast::PartitionDef<'_>,
    made: &Partitioning,
    def: &TableDef,
    cx: &mut DdlContext<'_>,
) -> SqlResult<PartitionDef> {
    let name = written.name.text().into_owned();
    check_name(&name, |_| error(1567, "Incorrect partition name"))?;
    let values = values_of(written, made, def, cx)?;
    let options = options_of(written.options, written.nodegroup, &def.name, cx)?;
    let mut subpartitions = Vec::new();
    for sub in written.subpartitions {
        subpartitions.push(SubpartitionDef {
            name: sub.name.text().into_owned(),
            options: options_of(sub.options, sub.nodegroup, &def.name, cx)?,
            trees: PartTrees::default(),
        });
    }
    Ok(PartitionDef { name, values, options, trees: PartTrees::default(), subpartitions })
}

fn options_of(
    written: &[ast::TableOption<'_>],
    nodegroup: Option<u64>,
    table: &str,
    cx: &mut DdlContext<'_>,
) -> SqlResult<PartitionOptions> {
    use ast::TableOption as O;
    let mut out = PartitionOptions::default();
    let (mut max_rows, mut min_rows) = (None, None);
    for option in written {
        match option {
            O::Engine(name) => super::create::engine(*name, table, cx)?,
            O::Comment(text) => out.comment = super::columns::comment(text),
            O::MaxRows(n) => max_rows = Some(*n),
            O::MinRows(n) => min_rows = Some(*n),
            O::DataDirectory(_) | O::IndexDirectory(_) => {
                let what = if matches!(option, O::DataDirectory(_)) { "DATA" } else { "INDEX" };
                cx.warnings.warn(error(1618, format!("<{what} DIRECTORY> option ignored")));
            }
            _ => {}
        }
    }
    let mut put = |name: &str, value: Option<u64>| {
        if let Some(value) = value.filter(|v| *v > 0) {
            out.others.push((name.to_owned(), value.to_string()));
        }
    };
    put("NODEGROUP", nodegroup);
    put("MAX_ROWS", max_rows);
    put("MIN_ROWS", min_rows);
    Ok(out)
}

/// The values of one partition, each in the form that is kept.
fn values_of(
    written: &ast::PartitionDef<'_>,
    made: &Partitioning,
    def: &TableDef,
    cx: &mut DdlContext<'_>,
) -> SqlResult<PartitionValues> {
    use ast::PartitionValues as V;
    let method = made.rule.method;
    let only = |kind: &str, word: &str| {
        error(1480, format!("Only {kind} PARTITIONING can use VALUES {word} in partition definition"))
    };
    let required = |kind: &str, word: &str| {
        let text = format!(
            "Syntax error: {kind} PARTITIONING requires definition of VALUES {word} for each partition"
        );
        error(1479, text)
    };
    match (&written.values, method) {
        (V::History | V::Current, _) => Err(SqlError::not_supported("PARTITION BY SYSTEM_TIME")),
        (V::None, PartitionMethod::Range) => Err(required("RANGE", "LESS THAN")),
        (V::None, PartitionMethod::List) => Err(required("LIST", "IN")),
        (V::None, _) => Ok(PartitionValues::None),
        (V::Default, PartitionMethod::List) => Ok(PartitionValues::Default),
        (V::Default, _) => Err(only("LIST", "DEFAULT")),
        (V::LessThan(values), PartitionMethod::Range) => {
            let width = width_of(made);
            if values.len() != width && !(width > 1 && values.len() == 1 && values[0].is_none()) {
                return Err(match made.rule.by {
                    PartitionBy::Columns(_) => {
                        error(1653, "Inconsistency in usage of column lists for partitioning")
                    }
                    PartitionBy::Expr(_) => {
                        error(1657, "Cannot have more than one value for this type of RANGE partitioning")
                    }
                });
            }
            let mut row = Vec::with_capacity(width);
            for (i, value) in values.iter().enumerate() {
                row.push(value_text(value.as_ref(), i, written, made, def, cx)?);
            }
            row.resize(width, "MAXVALUE".to_owned());
            if row.iter().any(|v| v == "NULL") {
                return Err(error(1566, "Not allowed to use NULL value in VALUES LESS THAN"));
            }
            Ok(PartitionValues::LessThan(row))
        }
        (V::LessThan(_), _) => Err(only("RANGE", "LESS THAN")),
        (V::In(rows), PartitionMethod::List) => {
            let width = width_of(made);
            let mut out = Vec::with_capacity(rows.len());
            for values in *rows {
                if values.len() != width {
                    return Err(match (width, &made.rule.by) {
                        (1, PartitionBy::Expr(_)) | (1, PartitionBy::Columns(_)) => error(
                            1658,
                            "Row expressions in VALUES IN only allowed for multi-field column partitioning",
                        ),
                        _ => error(1653, "Inconsistency in usage of column lists for partitioning"),
                    });
                }
                let mut row = Vec::with_capacity(width);
                for (i, value) in values.iter().enumerate() {
                    if value.is_none() {
                        return Err(error(1656, "Cannot use MAXVALUE as value in VALUES IN"));
                    }
                    row.push(value_text(value.as_ref(), i, written, made, def, cx)?);
                }
                out.push(row);
            }
            // As MariaDB shows it: NULL first, when there is no column list.
            if matches!(made.rule.by, PartitionBy::Expr(_)) {
                out.sort_by_key(|row| row[0] != "NULL");
            }
            Ok(PartitionValues::In(out))
        }
        (V::In(_), _) => Err(only("LIST", "IN")),
    }
}

fn width_of(made: &Partitioning) -> usize {
    match &made.rule.by {
        PartitionBy::Expr(_) => 1,
        PartitionBy::Columns(names) => names.len(),
    }
}

fn value_text(
    value: Option<&ast::Expr<'_>>,
    at: usize,
    written: &ast::PartitionDef<'_>,
    made: &Partitioning,
    def: &TableDef,
    cx: &mut DdlContext<'_>,
) -> SqlResult<String> {
    let Some(expr) = value else { return Ok("MAXVALUE".to_owned()) };
    let value = partition::constant_of(def, expr, cx.values).map_err(|e| match e {
        SqlError::NotSupported(_) => error(1487, "Expression in RANGE/LIST VALUES must be constant"),
        other => other,
    })?;
    if value.is_null() {
        return Ok("NULL".to_owned());
    }
    let PartitionBy::Columns(names) = &made.rule.by else {
        return match value {
            Value::Int(v) => Ok(v.to_string()),
            Value::UInt(v) => Ok(v.to_string()),
            _ => {
                let name = written.name.text();
                Err(error(1697, format!("VALUES value for partition '{name}' must have type INT")))
            }
        };
    };
    let column = def
        .column(&names[at])
        .ok_or_else(|| error(1488, "Field in list of fields for partition function not found in table"))?;
    let ty = &def.columns[column].ty;
    let wrong = || error(1654, "Partition column values of incorrect type");
    let fits = match ty {
        ColumnType::Int { .. } => matches!(value, Value::Int(_) | Value::UInt(_)),
        _ => matches!(value, Value::Str(_) | Value::Date(_) | Value::DateTime(_) | Value::Time(_)),
    };
    let stored = row_format::store(ty, &value, &mut types::Context::default());
    if !fits || stored.problem.is_some() {
        return Err(wrong());
    }
    let mut text = Vec::new();
    value.write_text(cx.values, &mut text);
    let text = match value.as_str() {
        Some(s) => s.to_utf8_lossy(),
        None => String::from_utf8_lossy(&text).into_owned(),
    };
    Ok(if matches!(ty, ColumnType::Int { .. }) { text } else { catalog::quote_text(&text) })
}

fn check_names(made: &Partitioning) -> SqlResult<()> {
    let mut names: Vec<String> = Vec::new();
    let subs = |p: &PartitionDef| p.subpartitions.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    for name in made.partitions.iter().flat_map(|p| std::iter::once(p.name.clone()).chain(subs(p))) {
        let folded = name.to_lowercase();
        if names.contains(&folded) {
            return Err(error(1517, format!("Duplicate partition name {name}")));
        }
        names.push(folded);
    }
    Ok(())
}

/// RANGE grows; LIST has each value once and one DEFAULT.
fn check_values(made: &Partitioning, def: &TableDef) -> SqlResult<()> {
    let parts: Vec<KeyPart> =
        partition::rule_columns(def, &made.rule)?.into_iter().map(KeyPart::ascending).collect();
    let columns = matches!(made.rule.by, PartitionBy::Columns(_));
    let unsigned = !columns && is_unsigned(made, def)?;
    let mut before: Option<(i128, Vec<u8>)> = None;
    let mut seen: Vec<(i128, Vec<u8>)> = Vec::new();
    let (last, mut defaults) = (made.partitions.len().saturating_sub(1), 0);
    let place = |row: &Vec<String>| -> SqlResult<(i128, Vec<u8>)> {
        if columns {
            return Ok((0, partition::bound_key(def, &parts, row)?));
        }
        let number = match row[0].as_str() {
            "MAXVALUE" => i128::MAX,
            "NULL" => i128::MIN,
            text => text.parse().unwrap_or(0),
        };
        if unsigned && number < 0 && number != i128::MIN {
            return Err(error(1563, "Partition constant is out of partition function domain"));
        }
        Ok((number, Vec::new()))
    };
    for (at, partition) in made.partitions.iter().enumerate() {
        match &partition.values {
            PartitionValues::LessThan(row) => {
                if !columns && at < last && row[0] == "MAXVALUE" {
                    return Err(error(1481, "MAXVALUE can only be used in last partition definition"));
                }
                let now = place(row)?;
                if before.as_ref().is_some_and(|b| *b >= now) {
                    let text = "VALUES LESS THAN value must be strictly increasing for each partition";
                    return Err(error(1493, text));
                }
                before = Some(now);
            }
            PartitionValues::In(rows) => {
                for row in rows {
                    let now = place(row)?;
                    if seen.contains(&now) {
                        return Err(error(1495, "Multiple definition of same constant in list partitioning"));
                    }
                    seen.push(now);
                }
            }
            PartitionValues::Default => defaults += 1,
            PartitionValues::None => {}
        }
    }
    if defaults > 1 {
        return Err(error(4103, "Only one DEFAULT partition allowed"));
    }
    Ok(())
}

fn is_unsigned(made: &Partitioning, def: &TableDef) -> SqlResult<bool> {
    let PartitionBy::Expr(text) = &made.rule.by else { return Ok(false) };
    let found = program::type_of(def, text, Clause::Partition)?;
    Ok(found.unsigned)
}

/// 1503: a unique key could not be checked inside one partition alone.
fn check_unique_keys(made: &Partitioning, def: &TableDef) -> SqlResult<()> {
    let mut needed = partition::rule_columns(def, &made.rule)?;
    if let Some(sub) = &made.sub {
        needed.extend(partition::rule_columns(def, sub)?);
    }
    for index in def.indexes.iter().filter(|i| i.unique && !i.parts.is_empty()) {
        let has = |column: &usize| index.parts.iter().any(|p| p.column == *column && p.prefix.is_none());
        if !needed.iter().all(has) {
            let what = if index.name == catalog::PRIMARY { "PRIMARY KEY" } else { "UNIQUE INDEX" };
            let text = format!("A {what} must include all columns in the table's partitioning function");
            return Err(error(1503, text));
        }
    }
    Ok(())
}

/// A column has another name: rules name it.
pub(super) fn rename_column(def: &mut TableDef, old: &str, new: &str) -> SqlResult<()> {
    let Some(partitioning) = &def.partitioning else { return Ok(()) };
    let mut made = Partitioning::clone(partitioning);
    for rule in std::iter::once(&mut made.rule).chain(&mut made.sub) {
        match &mut rule.by {
            PartitionBy::Expr(text) => *text = program::rename_column(text, old, new)?,
            PartitionBy::Columns(names) => {
                names.iter_mut().filter(|n| catalog::same_name(n, old)).for_each(|n| new.clone_into(n));
            }
        }
    }
    put(def, made);
    Ok(())
}

/// Puts partitions into a definition.
pub(super) fn put(def: &mut TableDef, made: Partitioning) {
    def.partitioning = Some(Arc::new(made));
}
