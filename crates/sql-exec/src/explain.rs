//! EXPLAIN: a plan as MariaDB's table.
//!
//! One row a table, in join order; a row for each further query block. What a column says follows the plan that is really run:
//! a hash join is shown as one, not as the block nested loop that MariaDB would choose.

use catalog::TableHandle;
use charset::Collation;
use row_format::ColumnType;
use sql_plan::expr::{CompareOp, Expr, SubqueryKind};
use sql_plan::meta::{Coercibility, ColumnMeta, ExprType};
use sql_plan::plan::{
    Access, DeletePlan, GroupPlan, InsertSource, Plan, PlanKind, QueryBody, QueryPlan, SelectPlan, Source,
    TableStep, UpdatePlan,
};
use types::Value;

use crate::analysis::{Analysis, StepCount};
use crate::group::comes_grouped;
use crate::sink::{RowSink, SinkClosed};

/// The most characters that the column `partitions` is announced with.
const MAX_PARTITIONS_LENGTH: u32 = 8192 * 64;

/// One row of EXPLAIN.
#[derive(Debug, Default)]
pub(crate) struct Row {
    id: Option<u64>,
    select_type: &'static str,
    pub(crate) table: Option<String>,
    /// Of a partitioned table: the names of the parts that are read.
    pub(crate) partitions: Option<String>,
    pub(crate) kind: Option<&'static str>,
    pub(crate) possible_keys: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) key_len: Option<String>,
    pub(crate) reference: Option<String>,
    pub(crate) rows: Option<u64>,
    /// ANALYZE: what the step did.
    pub(crate) actual: Option<StepCount>,
    extra: String,
}

/// Which columns EXPLAIN has besides the usual ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainColumns {
    Usual,
    /// EXTENDED: `filtered`.
    Filtered,
    /// PARTITIONS: `partitions`.
    Partitions,
}

/// The columns of EXPLAIN.
pub fn columns(with: ExplainColumns) -> Vec<ColumnMeta> {
    let text = |name: &str, length: u32| {
        ColumnMeta::plain(name, ExprType::text(length, Collation::UTF8MB3_GENERAL_CI, Coercibility::Implicit))
    };
    let mut out = vec![
        ColumnMeta::plain("id", ExprType { length: 3, ..ExprType::bigint() }),
        text("select_type", 19),
        text("table", 64),
        text("type", 10),
        text("possible_keys", 4096),
        text("key", 64),
        text("key_len", 393),
        text("ref", 2048),
        text("rows", 64),
    ];
    if with == ExplainColumns::Partitions {
        out.insert(3, text("partitions", MAX_PARTITIONS_LENGTH));
    }
    if with == ExplainColumns::Filtered {
        out.push(ColumnMeta::plain("filtered", ExprType { length: 4, decimals: 2, ..ExprType::double() }));
    }
    out.push(text("Extra", 255));
    out
}

/// The columns of ANALYZE.
fn analyze_columns() -> Vec<ColumnMeta> {
    let number =
        |name: &str| ColumnMeta::plain(name, ExprType { length: 4, decimals: 2, ..ExprType::double() });
    let mut out = columns(ExplainColumns::Filtered);
    out.insert(9, number("r_rows"));
    out.insert(11, number("r_filtered"));
    out
}

/// Sends the plan's table.
pub fn explain(plan: &Plan, with: ExplainColumns, sink: &mut dyn RowSink) -> Result<u64, SinkClosed> {
    send_rows(plan, with, None, sink)
}

/// Sends the plan's table, with what its steps did when it has been run.
pub(crate) fn send_rows(
    plan: &Plan,
    with: ExplainColumns,
    analysis: Option<&Analysis>,
    sink: &mut dyn RowSink,
) -> Result<u64, SinkClosed> {
    let mut walk = Walk { analysis, rows: Vec::new(), next_id: 0 };
    match &plan.kind {
        PlanKind::Query(query) => walk.query(query, "SIMPLE", true),
        PlanKind::Insert(insert) => {
            walk.next_id = 2;
            walk.rows.push(Row {
                id: Some(1),
                select_type: "INSERT",
                table: Some(insert.table.def.name.clone()),
                kind: Some("ALL"),
                ..Row::default()
            });
            if let InsertSource::Query(query) = &insert.source {
                walk.next_id = 1;
                walk.rows.clear();
                walk.query(query, "SIMPLE", true);
            }
        }
        PlanKind::Update(UpdatePlan { select, buffered, .. }) => {
            walk.change(select, *buffered && select.steps.len() == 1 && select.order.is_empty())
        }
        PlanKind::Delete(DeletePlan { select, .. }) => walk.change(select, false),
        PlanKind::Do(_) => {}
    }
    match analysis {
        Some(_) => sink.columns(&analyze_columns())?,
        None => sink.columns(&columns(with))?,
    }
    let count = walk.rows.len() as u64;
    for row in walk.rows {
        send(row, with, analysis.is_some(), sink)?;
    }
    Ok(count)
}

fn send(row: Row, with: ExplainColumns, analyzed: bool, sink: &mut dyn RowSink) -> Result<(), SinkClosed> {
    let text = |t: Option<String>| t.map_or(Value::Null, |t| Value::utf8(&t));
    sink.begin_row();
    sink.value(&row.id.map_or(Value::Null, |v| Value::Int(v as i64)));
    sink.value(&Value::utf8(row.select_type));
    let no_table = row.table.is_none();
    sink.value(&text(row.table));
    if with == ExplainColumns::Partitions {
        sink.value(&text(row.partitions));
    }
    sink.value(&row.kind.map_or(Value::Null, Value::utf8));
    sink.value(&text(row.possible_keys));
    sink.value(&text(row.key));
    sink.value(&text(row.key_len));
    sink.value(&text(row.reference));
    sink.value(&row.rows.map_or(Value::Null, |v| Value::utf8(&v.to_string())));
    let number = |v: Option<f64>| v.map_or(Value::Null, Value::Double);
    if analyzed {
        sink.value(&number(row.actual.and_then(StepCount::rows)));
    }
    if with == ExplainColumns::Filtered {
        sink.value(&row.rows.map_or(Value::Null, |_| Value::Double(100.0)));
    }
    if analyzed {
        sink.value(&number(row.actual.and_then(StepCount::filtered)));
    }
    let no_extra = row.extra.is_empty() && (no_table || row.select_type == "INSERT");
    sink.value(&if no_extra { Value::Null } else { Value::utf8(&row.extra) });
    sink.end_row()
}

struct Walk<'a> {
    analysis: Option<&'a Analysis>,
    rows: Vec<Row>,
    next_id: u64,
}

impl Walk<'_> {
    fn query(&mut self, query: &QueryPlan, select_type: &'static str, top: bool) {
        match &query.body {
            QueryBody::Select(select) => {
                let nested = has_subquery(select);
                let kind = if top && nested { "PRIMARY" } else { select_type };
                self.select(select, kind);
            }
            QueryBody::Set(set) => {
                let first_id = self.next_id.max(1);
                self.query(&set.first, if top { "PRIMARY" } else { select_type }, top);
                if let Some(row) = self.rows.iter_mut().find(|r| r.id == Some(first_id) && top) {
                    row.select_type = "PRIMARY";
                }
                let mut ids = vec![first_id.to_string()];
                for term in &set.rest {
                    ids.push(self.next_id.max(1).to_string());
                    let kind = match term.op {
                        sql_plan::plan::SetOp::Union => "UNION",
                        sql_plan::plan::SetOp::Except => "EXCEPT",
                        sql_plan::plan::SetOp::Intersect => "INTERSECT",
                    };
                    self.query(&term.query, kind, false);
                }
                if !set.rest.is_empty() {
                    self.rows.push(Row {
                        select_type: "UNION RESULT",
                        table: Some(format!("<union{}>", ids.join(","))),
                        kind: Some("ALL"),
                        extra: if set.order.is_empty() { String::new() } else { "Using filesort".to_owned() },
                        ..Row::default()
                    });
                }
            }
            QueryBody::Recursive(recursive) => {
                for seed in &recursive.seeds {
                    self.query(seed, select_type, false);
                }
                for step in &recursive.steps {
                    self.query(step, "RECURSIVE UNION", false);
                }
            }
            QueryBody::Values(_) | QueryBody::Series(_) => {
                let id = self.take_id();
                self.rows.push(Row {
                    id: Some(id),
                    select_type,
                    extra: "No tables used".into(),
                    ..Row::default()
                });
            }
        }
    }

    fn take_id(&mut self) -> u64 {
        self.next_id = self.next_id.max(1) + 1;
        self.next_id - 1
    }

    fn change(&mut self, select: &SelectPlan, buffered: bool) {
        if reads_no_part(select) && select.never.is_none() {
            let extra = "No matching rows after partition pruning".to_owned();
            self.rows.push(Row { id: Some(1), select_type: "SIMPLE", extra, ..Row::default() });
            return;
        }
        self.select(select, if has_subquery(select) { "PRIMARY" } else { "SIMPLE" });
        if let Some(row) = self.rows.first_mut() {
            if row.kind == Some("const") || row.kind == Some("ref") {
                // A change finds its row by the range method.
                row.kind = Some("range");
                row.reference = None;
                row.extra = "Using where".to_owned();
            }
            if buffered {
                row.extra = join_extra(&row.extra, "Using buffer");
            }
        }
    }

    fn select(&mut self, select: &SelectPlan, select_type: &'static str) {
        let id = self.take_id();
        let never = never(select);
        if let Some(never) = never {
            self.rows.push(Row { id: Some(id), select_type, extra: never.to_owned(), ..Row::default() });
        } else if select.steps.is_empty() {
            self.rows.push(Row {
                id: Some(id),
                select_type,
                extra: "No tables used".to_owned(),
                ..Row::default()
            });
        }
        let first = self.rows.len();
        if never.is_none() {
            for (i, step) in select.steps.iter().enumerate() {
                let row = step_row(id, select_type, select, step, i);
                let actual = self.analysis.map(|analysis| analysis.of(step));
                self.rows.push(Row { actual, ..row });
            }
        }
        for (i, step) in select.steps.iter().enumerate() {
            if let Source::Derived(query) = &step.source {
                let derived_id = self.next_id;
                if let Some(row) = self.rows.get_mut(first + i).filter(|_| never.is_none()) {
                    row.table = Some(format!("<derived{derived_id}>"));
                }
                self.query(query, "DERIVED", false);
            }
        }
        let mut subqueries: Vec<&sql_plan::expr::Subquery> = Vec::new();
        select.own_exprs(&mut |e| collect_subqueries(e, &mut subqueries));
        for subquery in subqueries {
            let kind = match (&subquery.kind, subquery.correlated) {
                (_, true) => "DEPENDENT SUBQUERY",
                // The rows are kept, and looked up by key.
                (SubqueryKind::Compare { op: CompareOp::Eq, all: false, .. }, false) => "MATERIALIZED",
                (
                    SubqueryKind::Scalar
                    | SubqueryKind::Exists
                    | SubqueryKind::Compare { .. }
                    | SubqueryKind::Row { .. },
                    false,
                ) => "SUBQUERY",
            };
            self.query(&subquery.plan, kind, false);
        }
    }
}

/// Why a query has no rows, whatever its tables hold.
pub(crate) fn never(select: &SelectPlan) -> Option<&'static str> {
    let pruned = "Impossible WHERE noticed after reading const tables";
    select.never.or_else(|| reads_no_part(select).then_some(pruned))
}

/// The conditions leave no part of a table without whose rows there is no result.
fn reads_no_part(select: &SelectPlan) -> bool {
    let mut outer = 0;
    select.steps.iter().enumerate().any(|(at, step)| {
        outer = outer.max(step.outer_end.map_or(0, |end| end + 1));
        at >= outer && step.info.known_parts.as_ref().is_some_and(|parts| parts.is_empty())
    })
}

/// The names of the parts that a step reads, between commas; `None` of other tables.
fn partitions_read(handle: &TableHandle, step: &TableStep) -> Option<String> {
    let partitioning = handle.def.partitioning.as_ref()?;
    let names = partitioning.partitions.iter().flat_map(|p| match p.subpartitions.as_slice() {
        [] => vec![p.name.clone()],
        subs => subs.iter().map(|s| format!("{}_{}", p.name, s.name)).collect(),
    });
    let read = |at: &usize| step.info.known_parts.as_ref().is_none_or(|parts| parts.contains(at));
    let names: Vec<String> = names.enumerate().filter(|(at, _)| read(at)).map(|(_, name)| name).collect();
    Some(names.join(","))
}

pub(crate) fn collect_subqueries<'e>(e: &'e Expr, out: &mut Vec<&'e sql_plan::expr::Subquery>) {
    if let Expr::Subquery(subquery) = e {
        if !out.iter().any(|s| s.id == subquery.id) {
            out.push(subquery);
        }
        return;
    }
    e.children(&mut |c| collect_subqueries(c, out));
}

fn has_subquery(select: &SelectPlan) -> bool {
    let mut found = Vec::new();
    select.own_exprs(&mut |e| collect_subqueries(e, &mut found));
    !found.is_empty() || select.steps.iter().any(|s| matches!(s.source, Source::Derived(_)))
}

fn join_extra(a: &str, b: &str) -> String {
    if a.is_empty() { b.to_owned() } else { format!("{a}; {b}") }
}

pub(crate) fn step_row(
    id: u64,
    select_type: &'static str,
    select: &SelectPlan,
    step: &TableStep,
    at: usize,
) -> Row {
    let mut row = Row {
        id: Some(id),
        select_type,
        table: Some(step.alias.clone()),
        rows: Some(step.info.examined.max(1)),
        ..Row::default()
    };
    if let Source::Table(handle) = &step.source {
        describe_access(&mut row, handle, select, &step.access);
        row.partitions = partitions_read(handle, step);
        let names: Vec<&str> =
            step.info.possible_keys.iter().map(|i| handle.def.indexes[*i].name.as_str()).collect();
        row.possible_keys = (!names.is_empty()).then(|| names.join(","));
    } else {
        row.kind = Some("ALL");
    }
    if at == 0 && select.ordered_by_index {
        if let (Source::Table(handle), Access::Scan { .. }) = (&step.source, &step.access) {
            row.kind = Some("index");
            row.key = Some(handle.def.indexes[0].name.clone());
            row.key_len = Some(key_length(handle, 0, handle.def.indexes[0].parts.len()).to_string());
        }
        let limit = select.limit.count.as_ref().and_then(sql_plan::plan::as_const);
        if let (Some(Value::Int(n)), Some("index")) = (limit, row.kind) {
            row.rows = row.rows.map(|r| r.min(*n as u64));
        }
    }
    let constant = row.kind == Some("const");
    let hash_filter = matches!(step.access, Access::Hash { filter: Some(_), .. });
    let filters = hash_filter
        || step.on.is_some()
        || step.ends.iter().any(|e| e.after.is_some())
        || (row.kind == Some("range") && step.covered.is_some());
    let mut extra = String::new();
    if filters && !constant {
        extra = join_extra(&extra, "Using where");
    }
    if step.info.covering {
        extra = join_extra(&extra, "Using index");
    }
    if at == 0 {
        let gathers = |g: &GroupPlan| !g.keys.is_empty() && !comes_grouped(select, g);
        let groups = select.group.as_ref().is_some_and(gathers);
        if groups || select.distinct && !constant {
            extra = join_extra(&extra, "Using temporary");
        }
        if !select.order.is_empty() && !constant || groups && select.order.is_empty() {
            extra = join_extra(&extra, "Using filesort");
        }
    }
    if matches!(step.access, Access::Hash { .. }) {
        extra = join_extra(&extra, "Using join buffer (flat, BNLH join)");
    }
    row.extra = extra;
    row
}

fn describe_access(row: &mut Row, handle: &TableHandle, select: &SelectPlan, access: &Access) {
    let key = |row: &mut Row, index: usize, parts: usize| {
        row.key = Some(handle.def.indexes[index].name.clone());
        row.key_len = Some(key_length(handle, index, parts).to_string());
    };
    match access {
        Access::Scan { descending } => {
            // Rows wanted in key order are an index scan; otherwise the clustered index is "the table".
            if *descending {
                row.kind = Some("index");
                key(row, 0, handle.def.indexes[0].parts.len());
            } else {
                row.kind = Some("ALL");
            }
        }
        Access::Index { index, .. } => {
            row.kind = Some("index");
            key(row, *index, handle.def.indexes[*index].parts.len());
        }
        Access::Point { index, key: exprs, constant } => {
            row.kind = Some(if *constant { "const" } else { "eq_ref" });
            key(row, *index, exprs.len());
            row.reference = Some(references(exprs, select));
            row.rows = Some(1);
        }
        Access::Range { index, parts, .. } => {
            let points: Vec<Expr> = parts
                .iter()
                .filter_map(|p| match p.intervals.as_slice() {
                    [sql_plan::plan::Interval::Eq(e)] => Some(e.clone()),
                    _ => None,
                })
                .collect();
            if points.len() == parts.len() {
                row.kind = Some("ref");
                row.reference = Some(references(&points, select));
            } else {
                row.kind = Some("range");
            }
            key(row, *index, parts.len());
        }
        Access::Hash { inner, .. } => {
            describe_access(row, handle, select, inner);
            row.kind = Some(if row.kind == Some("index") { "hash_index" } else { "hash_ALL" });
        }
        Access::Rows => row.kind = Some("ALL"),
    }
}

fn references(exprs: &[Expr], select: &SelectPlan) -> String {
    let names: Vec<String> = exprs
        .iter()
        .map(|e| match e {
            Expr::Column(c) => column_name(c.slot, usize::from(c.column), select),
            Expr::Subquery(_) => "const".to_owned(),
            e if e.is_fixed() => "const".to_owned(),
            _ => "func".to_owned(),
        })
        .collect();
    names.join(",")
}

/// `schema.alias.column`; a column of an outer block is a function of its row.
fn column_name(slot: sql_plan::expr::Slot, column: usize, select: &SelectPlan) -> String {
    let step = select.steps.iter().find(|s| s.slot == slot);
    match step.map(|s| (&s.source, &s.alias)) {
        Some((Source::Table(handle), alias)) => {
            format!("{}.{alias}.{}", handle.def.schema, handle.def.columns[column].name)
        }
        Some((_, alias)) => alias.clone(),
        None => "func".to_owned(),
    }
}

/// Bytes of the leading parts of a key, as MariaDB counts them: one more for a nullable part, two for a variable length.
fn key_length(handle: &TableHandle, index: usize, parts: usize) -> u64 {
    let def = &handle.def;
    def.indexes[index]
        .parts
        .iter()
        .take(parts)
        .map(|p| {
            let column = &def.columns[p.column];
            let widest = column.ty.collation().map_or(1, |c| c.charset().max_len() as u64);
            let bytes = p.prefix.map_or(column.ty.max_bytes(), |n| u64::from(n) * widest);
            let variable = matches!(column.ty, ColumnType::VarChar { .. } | ColumnType::Blob { .. });
            bytes + u64::from(column.nullable) + if variable { 2 } else { 0 }
        })
        .sum()
}
