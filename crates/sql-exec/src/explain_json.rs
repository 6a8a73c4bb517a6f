//! EXPLAIN FORMAT=JSON: the plan as nested blocks, in MariaDB's names and layout.
//!
//! What MariaDB says beside this (costs, the conditions as text, sort keys) is left out: nothing is said that the plan does not hold.

use sql_plan::expr::Subquery;
use sql_plan::meta::ColumnMeta;
use sql_plan::plan::{
    Access, DeletePlan, GroupPlan, InsertSource, Plan, PlanKind, QueryBody, QueryPlan, SelectPlan, Source,
    TableStep, UpdatePlan,
};
use types::Value;

use crate::analysis::{Analysis, StepCount};
use crate::explain::{Row, collect_subqueries, never, step_row};
use crate::group::comes_grouped;
use crate::sink::{RowSink, SinkClosed};

/// A JSON value that keeps the order of its members.
enum Json {
    Null,
    Number(u64),
    Real(f64),
    Bool(bool),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(&'static str, Self)>),
}

/// The document.
pub fn explain_json(plan: &Plan) -> String {
    document(plan, None)
}

/// Sends the document as the only row.
pub(crate) fn send(
    plan: &Plan,
    analysis: Option<&Analysis>,
    sink: &mut dyn RowSink,
) -> Result<u64, SinkClosed> {
    sink.columns(&[ColumnMeta::text("ANALYZE", 78)])?;
    sink.begin_row();
    sink.value(&Value::utf8(&document(plan, analysis)));
    sink.end_row()?;
    Ok(1)
}

fn document(plan: &Plan, analysis: Option<&Analysis>) -> String {
    let mut walk = Walk { analysis, next_id: 1 };
    let block = match &plan.kind {
        PlanKind::Query(query) => walk.query(query),
        PlanKind::Insert(insert) => match &insert.source {
            InsertSource::Query(query) => walk.query(query),
            _ => walk.table_only(&insert.table.def.name),
        },
        PlanKind::Update(UpdatePlan { select, .. }) | PlanKind::Delete(DeletePlan { select, .. }) => {
            walk.select(select)
        }
        PlanKind::Do(_) => walk.message("No tables used"),
    };
    let mut out = String::new();
    Json::Object(vec![("query_block", block)]).write(0, &mut out);
    out
}

struct Walk<'a> {
    /// ANALYZE: what the steps did.
    analysis: Option<&'a Analysis>,
    next_id: u64,
}

impl Walk<'_> {
    fn take_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    fn message(&mut self, text: &str) -> Json {
        let id = self.take_id();
        let table = Json::Object(vec![("message", Json::Text(text.to_owned()))]);
        Json::Object(vec![("select_id", Json::Number(id)), ("table", table)])
    }

    fn table_only(&mut self, name: &str) -> Json {
        let id = self.take_id();
        let table = Json::Object(vec![("table_name", Json::Text(name.to_owned()))]);
        Json::Object(vec![("select_id", Json::Number(id)), ("table", table)])
    }

    fn query(&mut self, query: &QueryPlan) -> Json {
        match &query.body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(_) | QueryBody::Series(_) => self.message("No tables used"),
            QueryBody::Set(set) => {
                let parts: Vec<&QueryPlan> =
                    std::iter::once(&set.first).chain(set.rest.iter().map(|t| &t.query)).collect();
                self.parts("union_result", "<union", &parts)
            }
            QueryBody::Recursive(r) => {
                let parts: Vec<&QueryPlan> = r.seeds.iter().chain(&r.steps).collect();
                self.parts("recursive_union", "<union", &parts)
            }
        }
    }

    /// The parts of a set operation, each a block of its own.
    fn parts(&mut self, name: &'static str, prefix: &str, parts: &[&QueryPlan]) -> Json {
        let (mut ids, mut blocks) = (Vec::new(), Vec::new());
        for part in parts {
            ids.push(self.next_id.to_string());
            blocks.push(Json::Object(vec![("query_block", self.query(part))]));
        }
        let table = format!("{prefix}{}>", ids.join(","));
        let result = Json::Object(vec![
            ("table_name", Json::Text(table)),
            ("access_type", Json::Text("ALL".into())),
            ("query_specifications", Json::List(blocks)),
        ]);
        Json::Object(vec![(name, result)])
    }

    fn select(&mut self, select: &SelectPlan) -> Json {
        let id = self.take_id();
        let mut members = vec![("select_id", Json::Number(id))];
        let message = never(select).or(select.steps.is_empty().then_some("No tables used"));
        if let Some(text) = message {
            members.push(("table", Json::Object(vec![("message", Json::Text(text.to_owned()))])));
        } else {
            let tables: Vec<Json> =
                select.steps.iter().enumerate().map(|(i, s)| self.step(select, s, i)).collect();
            let mut inner = ("nested_loop", Json::List(tables));
            let gathers = |g: &GroupPlan| !g.keys.is_empty() && !comes_grouped(select, g);
            let groups = select.group.as_ref().is_some_and(gathers);
            if groups || select.distinct {
                inner = ("temporary_table", Json::Object(vec![inner]));
            }
            if !select.order.is_empty() || groups {
                inner = ("filesort", Json::Object(vec![inner]));
            }
            members.push(inner);
        }
        let mut found: Vec<&Subquery> = Vec::new();
        select.own_exprs(&mut |e| collect_subqueries(e, &mut found));
        if !found.is_empty() {
            let blocks = found.iter().map(|s| Json::Object(vec![("query_block", self.query(&s.plan))]));
            members.push(("subqueries", Json::List(blocks.collect())));
        }
        Json::Object(members)
    }

    fn step(&mut self, select: &SelectPlan, step: &TableStep, at: usize) -> Json {
        let row = step_row(0, "", select, step, at);
        let actual = self.analysis.map(|analysis| analysis.of(step));
        let mut members = table_members(row, step, actual);
        if let Source::Derived(query) = &step.source {
            members[0].1 = Json::Text(format!("<derived{}>", self.next_id));
            let block = Json::Object(vec![("query_block", self.query(query))]);
            members.push(("materialized", block));
        }
        let table = ("table", Json::Object(members));
        if matches!(step.access, Access::Hash { .. }) {
            let kind = ("join_type", Json::Text("BNLH".into()));
            let buffer = ("buffer_type", Json::Text("flat".into()));
            return Json::Object(vec![("block-nl-join", Json::Object(vec![table, buffer, kind]))]);
        }
        Json::Object(vec![table])
    }
}

fn table_members(row: Row, step: &TableStep, actual: Option<StepCount>) -> Vec<(&'static str, Json)> {
    let list = |text: &str| Json::List(text.split(',').map(|t| Json::Text(t.to_owned())).collect());
    let mut members = vec![("table_name", Json::Text(row.table.unwrap_or_default()))];
    if let Some(partitions) = &row.partitions {
        members.push(("partitions", list(partitions)));
    }
    members.push(("access_type", Json::Text(row.kind.unwrap_or("ALL").to_owned())));
    if let Some(keys) = &row.possible_keys {
        members.push(("possible_keys", list(keys)));
    }
    if let (Some(key), Source::Table(handle)) = (row.key, &step.source) {
        let parts = used_parts(&step.access);
        let index = step.access.index().and_then(|i| handle.def.indexes.get(i));
        let names = index.into_iter().flat_map(|i| i.parts.iter().take(parts));
        let names = names.map(|p| Json::Text(handle.def.columns[p.column].name.clone())).collect();
        members.push(("key", Json::Text(key)));
        members.push(("key_length", Json::Text(row.key_len.unwrap_or_default())));
        members.push(("used_key_parts", Json::List(names)));
    }
    if let Some(reference) = &row.reference {
        members.push(("ref", list(reference)));
    }
    let real = |v: Option<f64>| v.map_or(Json::Null, |v| Json::Real((v * 100.0).round() / 100.0));
    if let Some(actual) = actual {
        members.push(("r_loops", Json::Number(actual.loops)));
    }
    members.push(("rows", Json::Number(row.rows.unwrap_or(1))));
    if let Some(actual) = actual {
        members.push(("r_rows", real(actual.rows())));
    }
    members.push(("filtered", Json::Number(100)));
    if let Some(actual) = actual {
        members.push(("r_filtered", real(actual.filtered())));
    }
    if step.info.covering {
        members.push(("using_index", Json::Bool(true)));
    }
    members
}

/// How many parts of its index an access uses; all of them for a whole index.
fn used_parts(access: &Access) -> usize {
    match access {
        Access::Point { key, .. } => key.len(),
        Access::Range { parts, .. } => parts.len(),
        _ => usize::MAX,
    }
}

impl Json {
    fn write(&self, depth: usize, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Real(v) => out.push_str(&v.to_string()),
            Self::Number(v) => out.push_str(&v.to_string()),
            Self::Bool(v) => out.push_str(&v.to_string()),
            Self::Text(text) => write_text(text, out),
            Self::List(items) if items.iter().all(|i| matches!(i, Self::Text(_))) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    item.write(depth, out);
                }
                out.push(']');
            }
            Self::List(items) => write_block(depth, ('[', ']'), items.iter().map(|i| (None, i)), out),
            Self::Object(members) => {
                write_block(depth, ('{', '}'), members.iter().map(|(name, v)| (Some(*name), v)), out);
            }
        }
    }
}

/// Members one below the other, two blanks further in.
fn write_block<'j>(
    depth: usize,
    (open, close): (char, char),
    members: impl Iterator<Item = (Option<&'static str>, &'j Json)>,
    out: &mut String,
) {
    out.push(open);
    for (i, (name, value)) in members.enumerate() {
        out.push_str(if i > 0 { ",\n" } else { "\n" });
        out.push_str(&"  ".repeat(depth + 1));
        if let Some(name) = name {
            write_text(name, out);
            out.push_str(": ");
        }
        value.write(depth + 1, out);
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(close);
}

fn write_text(text: &str, out: &mut String) {
    let mut bytes = Vec::new();
    functions::json::write_string(&mut bytes, text.as_bytes());
    out.push_str(&String::from_utf8_lossy(&bytes));
}
