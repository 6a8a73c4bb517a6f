//! Which part of a partitioned table a row lies in.
//!
//! The definition keeps expressions and values as text; a [`Router`] is made of them once for each version of a table and kept with the
//! table's handle. It reads nothing but the row: what would depend on the session is refused when the table is made.
//!
//! # How rows are compared with values
//! RANGE and LIST over an expression compare integers. RANGE COLUMNS and LIST COLUMNS compare keys: the columns are encoded as an index
//! over them would be, and so are the values, so that a comparison is one of bytes and collations are honoured. MAXVALUE is a byte
//! above all that a column's key may begin with.

pub mod prune;

use std::sync::Arc;

use catalog::partition::{PartitionBy, PartitionMethod, PartitionRule, PartitionValues, Partitioning};
use catalog::{PRIMARY, TableDef, TableHandle};
use charset::{Collation, KeyHash};
use row_format::{ColumnType, KeyPart, RowLayout, RowView, key};
use types::{Context, Fixed, Value};

use crate::error::{Clause, SqlError, SqlResult};
use crate::eval::Env;
use crate::expr::{ColumnRef, Expr, SessionValue, Subquery};
use crate::fold::ConstEnv;
use crate::program::{expr_of_text, over_columns};

/// Above every byte that the key of a column begins with.
const MAXVALUE_BYTE: u8 = 0xff;

/// No partition takes the row: what error 1526 says of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoPartition(pub String);

impl From<NoPartition> for SqlError {
    fn from(none: NoPartition) -> Self {
        Self::Other {
            errno: 1526,
            state: *b"HY000",
            text: format!("Table has no partition for value {}", none.0),
        }
    }
}

#[derive(Debug)]
enum Rule {
    RangeOf { expr: Expr, bounds: Vec<i128> },
    ListOf { expr: Expr, values: Vec<(i128, usize)>, null: Option<usize>, default: Option<usize> },
    RangeColumns { parts: Vec<KeyPart>, bounds: Vec<Vec<u8>> },
    ListColumns { parts: Vec<KeyPart>, keys: Vec<(Vec<u8>, usize)>, default: Option<usize> },
    Hash { expr: Expr, linear: bool, count: u64 },
    Key { columns: Vec<usize>, old: bool, linear: bool, count: u64 },
}

/// Finds the part of a row.
#[derive(Debug)]
pub struct Router {
    rule: Rule,
    sub: Option<Rule>,
    per_partition: usize,
    rule_columns: Vec<usize>,
    sub_columns: Vec<usize>,
    columns: Vec<usize>,
}

/// The router of a table; `None` when it is not partitioned.
pub fn router(handle: &TableHandle) -> SqlResult<Option<&Router>> {
    let Some(partitioning) = &handle.def.partitioning else { return Ok(None) };
    if let Some(known) = handle.router.get() {
        return Ok(known.downcast_ref());
    }
    let made = Router::new(&handle.def, partitioning)?;
    Ok(handle.router.get_or_init(|| Arc::new(made)).downcast_ref())
}

/// 1747.
pub(crate) fn not_partitioned() -> SqlError {
    let text = "PARTITION () clause on non partitioned table".to_owned();
    SqlError::Other { errno: 1747, state: *b"HY000", text }
}

/// The parts that `PARTITION (...)` names, in their order; `None` when nothing was written.
pub(crate) fn selected(
    handle: &TableHandle,
    names: &[sql_syntax::ast::Ident<'_>],
) -> SqlResult<Option<Arc<[usize]>>> {
    if names.is_empty() {
        return Ok(None);
    }
    let partitioning = handle.def.partitioning.as_ref().ok_or_else(not_partitioned)?;
    let mut parts = Vec::new();
    for name in names {
        let name = name.text();
        let found = partitioning.parts_of(&name).ok_or_else(|| SqlError::Other {
            errno: 1735,
            state: *b"HY000",
            text: format!("Unknown partition '{name}' in table '{}'", handle.name()),
        })?;
        parts.extend(found);
    }
    parts.sort_unstable();
    parts.dedup();
    Ok(Some(parts.into()))
}

impl Router {
    /// # Errors
    /// A definition that cannot be read; one of a user's was checked before.
    pub fn new(def: &TableDef, partitioning: &Partitioning) -> SqlResult<Self> {
        let rule = Rule::new(def, &partitioning.rule, partitioning.partitions.len(), Some(partitioning))?;
        let per_partition = partitioning.parts_per_partition();
        let sub =
            partitioning.sub.as_ref().map(|sub| Rule::new(def, sub, per_partition, None)).transpose()?;
        let own = rule_columns(def, &partitioning.rule)?;
        let of_sub = partitioning.sub.as_ref().map(|sub| rule_columns(def, sub)).transpose()?;
        let sub_columns = of_sub.unwrap_or_default();
        let columns = own.iter().chain(&sub_columns).copied().collect();
        Ok(Self { rule, sub, per_partition, rule_columns: own, sub_columns, columns })
    }

    /// Columns that decide.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The part that a row belongs into.
    pub fn part_of(&self, layout: &RowLayout, body: &[u8]) -> SqlResult<usize> {
        let view = RowView::new(layout, body).map_err(corrupt)?;
        let partition = self.rule.partition_of(&view)??;
        let sub = match &self.sub {
            Some(sub) => sub.partition_of(&view)??,
            None => 0,
        };
        Ok(partition * self.per_partition + sub)
    }
}

fn corrupt(found: base::Corruption) -> SqlError {
    SqlError::Corrupt { table: String::new(), detail: found.to_string() }
}

/// Columns that a rule reads.
pub fn rule_columns(def: &TableDef, rule: &PartitionRule) -> SqlResult<Vec<usize>> {
    match &rule.by {
        PartitionBy::Expr(text) => crate::program::columns_read(def, text, Clause::Partition),
        PartitionBy::Columns(names) if names.is_empty() => Ok(key_columns(def)),
        PartitionBy::Columns(names) => Ok(names.iter().filter_map(|n| def.column(n)).collect()),
    }
}

/// KEY (): the primary key, else the first unique key of columns that are never NULL.
pub fn key_columns(def: &TableDef) -> Vec<usize> {
    let never_null = |i: &&catalog::IndexDef| {
        i.unique && !i.parts.is_empty() && i.parts.iter().all(|p| !def.columns[p.column].nullable)
    };
    let primary = def.indexes.iter().find(|i| i.name == PRIMARY);
    let index = primary.or_else(|| def.indexes.iter().find(never_null));
    index.map(|i| i.parts.iter().map(|p| p.column).collect()).unwrap_or_default()
}

impl Rule {
    fn new(
        def: &TableDef,
        rule: &PartitionRule,
        count: usize,
        partitions: Option<&Partitioning>,
    ) -> SqlResult<Self> {
        let partitions = partitions.map_or(&[][..], |p| &p.partitions);
        let default = partitions.iter().position(|p| p.values == PartitionValues::Default);
        let parts = || -> SqlResult<Vec<KeyPart>> {
            Ok(rule_columns(def, rule)?.into_iter().map(KeyPart::ascending).collect())
        };
        Ok(match (&rule.by, rule.method) {
            (PartitionBy::Expr(text), PartitionMethod::Range) => {
                let bounds = partitions.iter().map(|p| match &p.values {
                    PartitionValues::LessThan(v) if v[0] != "MAXVALUE" => integer(&v[0]),
                    _ => Ok(i128::MAX),
                });
                let bounds = bounds.collect::<SqlResult<_>>()?;
                Self::RangeOf { expr: expr_of_text(def, text, Clause::Partition)?.expr, bounds }
            }
            (PartitionBy::Expr(text), PartitionMethod::List) => {
                let (mut values, mut null) = (Vec::new(), None);
                for (at, partition) in partitions.iter().enumerate() {
                    let PartitionValues::In(rows) = &partition.values else { continue };
                    for row in rows {
                        if row[0] == "NULL" {
                            null = Some(at);
                        } else {
                            values.push((integer(&row[0])?, at));
                        }
                    }
                }
                values.sort_unstable();
                Self::ListOf { expr: expr_of_text(def, text, Clause::Partition)?.expr, values, null, default }
            }
            (PartitionBy::Expr(text), _) => {
                let linear = matches!(rule.method, PartitionMethod::Hash { linear: true });
                let expr = expr_of_text(def, text, Clause::Partition)?.expr;
                Self::Hash { expr, linear, count: count as u64 }
            }
            (PartitionBy::Columns(_), PartitionMethod::Range) => {
                let parts = parts()?;
                let bounds = partitions.iter().map(|p| match &p.values {
                    PartitionValues::LessThan(values) => bound_key(def, &parts, values),
                    _ => Ok(vec![MAXVALUE_BYTE]),
                });
                let bounds = bounds.collect::<SqlResult<_>>()?;
                Self::RangeColumns { parts, bounds }
            }
            (PartitionBy::Columns(_), PartitionMethod::List) => {
                let (parts, mut keys) = (parts()?, Vec::new());
                for (at, partition) in partitions.iter().enumerate() {
                    let PartitionValues::In(rows) = &partition.values else { continue };
                    for row in rows {
                        keys.push((bound_key(def, &parts, row)?, at));
                    }
                }
                keys.sort_unstable();
                Self::ListColumns { parts, keys, default }
            }
            (PartitionBy::Columns(_), method) => {
                let (linear, old) = match method {
                    PartitionMethod::Key { linear, algorithm } => (linear, algorithm == 1),
                    _ => (false, false),
                };
                Self::Key { columns: rule_columns(def, rule)?, old, linear, count: count as u64 }
            }
        })
    }

    fn partition_of(&self, row: &RowView<'_>) -> SqlResult<Result<usize, NoPartition>> {
        let none = |value: &str| Err(NoPartition(value.to_owned()));
        Ok(match self {
            Self::RangeOf { expr, bounds } => match number_of(expr, row)? {
                None => Ok(0),
                Some(value) => match bounds.partition_point(|bound| *bound <= value) {
                    // The last one is MAXVALUE when it says so.
                    at if at == bounds.len() => none(&value.to_string()),
                    at => Ok(at),
                },
            },
            Self::ListOf { expr, values, null, default } => {
                let value = number_of(expr, row)?;
                let found = match value {
                    None => *null,
                    Some(v) => {
                        values.binary_search_by_key(&v, |(known, _)| *known).ok().map(|at| values[at].1)
                    }
                };
                match found.or(*default) {
                    Some(at) => Ok(at),
                    None => none(&value.map_or("NULL".to_owned(), |v| v.to_string())),
                }
            }
            Self::RangeColumns { parts, bounds } => {
                let key = key_of(parts, row)?;
                match bounds.partition_point(|bound| bound[..] <= key[..]) {
                    at if at == bounds.len() => none("from column_list"),
                    at => Ok(at),
                }
            }
            Self::ListColumns { parts, keys, default } => {
                let key = key_of(parts, row)?;
                let found = keys.binary_search_by(|(known, _)| known.cmp(&key)).ok().map(|at| keys[at].1);
                match found.or(*default) {
                    Some(at) => Ok(at),
                    None => none("from column_list"),
                }
            }
            Self::Hash { expr, linear, count } => {
                // As in MariaDB: NULL is the smallest number.
                let value = number_of(expr, row)?.map_or(i64::MIN, |v| v as i64);
                Ok(match linear {
                    true => linear_part(value as u64, *count),
                    false => (value % *count as i64).unsigned_abs() as usize,
                })
            }
            Self::Key { columns, old, linear, count } => {
                let hash = u64::from(key_hash(columns, *old, row)?);
                Ok(if *linear { linear_part(hash, *count) } else { (hash % count) as usize })
            }
        })
    }
}

/// LINEAR: the low bits, with one bit less for those that have no partition.
fn linear_part(value: u64, count: u64) -> usize {
    let mask = count.next_power_of_two() - 1;
    let part = value & mask;
    (if part >= count { part & (mask >> 1) } else { part }) as usize
}

fn key_of(parts: &[KeyPart], row: &RowView<'_>) -> SqlResult<Vec<u8>> {
    let mut out = Vec::new();
    key::encode(row.layout(), parts, row, &mut out).map_err(corrupt)?;
    Ok(out)
}

/// MariaDB's hash of the columns' storage. `old`: ALGORITHM = 1, which takes numbers for bytes; 2 takes them for latin1 text.
fn key_hash(columns: &[usize], old: bool, row: &RowView<'_>) -> SqlResult<u32> {
    let mut hash = KeyHash::default();
    for column in columns {
        let Some(bytes) = row.column(*column).map_err(corrupt)? else {
            hash.add_null();
            continue;
        };
        match &row.layout().column(*column).ty {
            ColumnType::VarChar { collation, .. } => hash.add_text(*collation, bytes),
            ColumnType::Char { max_bytes, collation } if collation.is_binary() => {
                hash.add_bytes(bytes);
                hash.add_bytes(&vec![0; usize::from(*max_bytes).saturating_sub(bytes.len())]);
            }
            ColumnType::Char { max_bytes, collation } => {
                let mut full = bytes.to_vec();
                full.resize(full.len().max(usize::from(*max_bytes)), b' ');
                hash.add_text(*collation, &full);
            }
            ColumnType::Bit { .. } => {
                hash.add_bytes(&vec![0; 8usize.saturating_sub(bytes.len())]);
                hash.add_bytes(bytes);
            }
            // As written, not as sorted.
            ColumnType::Fixed(kind) => match Fixed::from_stored(*kind, bytes) {
                Some(value) => hash.add_bytes(value.bytes()),
                None => hash.add_bytes(bytes),
            },
            ColumnType::Enum { .. }
            | ColumnType::Set { .. }
            | ColumnType::Date
            | ColumnType::Time { .. }
            | ColumnType::DateTime { .. }
            | ColumnType::Timestamp { .. } => {
                hash.add_bytes(bytes);
            }
            _ if old => hash.add_bytes(bytes),
            _ => hash.add_text(Collation::LATIN1_SWEDISH_CI, bytes),
        }
    }
    Ok(hash.value())
}

/// The integer that an expression makes of a row; `None` = NULL.
fn number_of(expr: &Expr, row: &RowView<'_>) -> SqlResult<Option<i128>> {
    let value = match expr {
        Expr::Column(c) => row.value(usize::from(c.column)).map_err(corrupt)?,
        _ => expr.eval(&mut RowEnv { row, context: Context::default() })?,
    };
    Ok(as_integer(&value))
}

fn as_integer(value: &Value) -> Option<i128> {
    match value {
        Value::Null => None,
        Value::Int(v) => Some(i128::from(*v)),
        Value::UInt(v) => Some(i128::from(*v)),
        other => match crate::ops::cast(other, crate::expr::CastTo::Signed, &mut Context::default()).ok()? {
            Value::Int(v) => Some(i128::from(v)),
            Value::UInt(v) => Some(i128::from(v)),
            _ => None,
        },
    }
}

fn integer(text: &str) -> SqlResult<i128> {
    text.parse()
        .map_err(|_| SqlError::Corrupt { table: String::new(), detail: format!("partition value {text}") })
}

/// A literal of the definition, or of a statement that makes one, evaluated.
pub fn constant(def: &TableDef, text: &str) -> SqlResult<Value> {
    let typed = expr_of_text(def, text, Clause::Partition)?;
    typed.expr.eval(&mut ConstEnv { context: Context::default() })
}

/// An expression of a statement that makes partitions, evaluated: it has constants only.
pub fn constant_of(def: &TableDef, expr: &sql_syntax::ast::Expr<'_>, context: &Context) -> SqlResult<Value> {
    let typed = over_columns(def, expr, Clause::Partition)?;
    typed.expr.eval(&mut ConstEnv { context: context.clone() })
}

/// The key of a row of values: of as many columns as stand before MAXVALUE.
pub fn bound_key(def: &TableDef, parts: &[KeyPart], values: &[String]) -> SqlResult<Vec<u8>> {
    let layout = def.layout();
    let mut out = Vec::new();
    for (part, text) in parts.iter().zip(values) {
        if text == "MAXVALUE" {
            out.push(MAXVALUE_BYTE);
            break;
        }
        let value = match text.as_str() {
            "NULL" => Value::Null,
            text => constant(def, text)?,
        };
        let stored = row_format::store(&layout.column(part.column).ty, &value, &mut Context::default());
        key::encode_values(&layout, std::slice::from_ref(part), &[stored.value], &mut out).map_err(|e| {
            SqlError::Corrupt { table: def.full_name(), detail: format!("partition value {}", e.found) }
        })?;
    }
    Ok(out)
}

/// Nothing but the row.
struct RowEnv<'r, 'v> {
    row: &'r RowView<'v>,
    context: Context,
}

fn not_of_row() -> SqlError {
    SqlError::not_supported("a partitioning expression that reads more than its row")
}

impl Env for RowEnv<'_, '_> {
    fn column(&mut self, column: ColumnRef) -> SqlResult<Value> {
        self.row.value(usize::from(column.column)).map_err(corrupt)
    }
    fn param(&self, _: u16) -> Value {
        Value::Null
    }
    fn context(&mut self) -> &mut Context {
        &mut self.context
    }
    fn subquery(&mut self, _: &Subquery) -> SqlResult<Value> {
        Err(not_of_row())
    }
    fn insert_value(&mut self, _: u16) -> SqlResult<Value> {
        Err(not_of_row())
    }
    fn user_variable(&mut self, _: &str) -> Value {
        Value::Null
    }
    fn set_user_variable(&mut self, _: &str, _: &Value) {}
    fn system_variable(&mut self, _: &str, _: bool) -> SqlResult<Value> {
        Err(not_of_row())
    }
    fn session_value(&mut self, _: SessionValue, _: &[Value]) -> SqlResult<Value> {
        Err(not_of_row())
    }
}
