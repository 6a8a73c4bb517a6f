//! Which parts of a table can hold rows that meet a statement's conditions.
//!
//! The planner keeps, of the conditions on one table, what they say of the columns that decide about the part, by values that are the same
//! for the whole statement ([`Filter`]). Each execution works out the parts from it ([`parts_within`]), so that parameters and the time
//! zone count; the planner does the same with what it knows, for its estimates and for EXPLAIN.
//!
//! # How
//! Conditions on single columns become spans of values, and spans of one column are intersected. Then
//! - all values are tried, where every column has single values;
//! - else RANGE and LIST by one column, or by a function that grows with it, compare the ends of the span with the partitions' values;
//! - RANGE COLUMNS and LIST COLUMNS compare keys, of as many leading columns as have single values and one more;
//! - else the values of a rule by one column are tried, when they are up to 32 neighbouring integers.
//!
//! Every way finds at least the parts that hold such rows. One exception is MariaDB's: `d < '2001-01-01'` does not look into the partition
//! of `YEAR(d) = 2001`, where '2001-00-00' lies.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use catalog::TableHandle;
use row_format::{ColumnType, KeyPart, RowView, key};
use types::{Context, Value};

use super::{MAXVALUE_BYTE, Router, Rule, as_integer, corrupt, number_of, router};
use crate::error::SqlResult;
use crate::eval::Env;
use crate::expr::{CompareOp, Expr, Slot};
use crate::fold::ConstEnv;
use crate::keys;
use crate::plan::Interval;
use crate::range;

/// Rows of values that are tried at most.
const TRIES_MAX: usize = 4096;
/// Neighbouring integers that are taken for single values, as in MariaDB.
const NEIGHBOURS_MAX: i128 = 32;

/// What the conditions on a table say of the columns that decide about the part.
#[derive(Debug, Clone)]
pub enum Filter {
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Column { column: usize, intervals: Vec<Interval> },
}

/// Parts by their place in the definition.
type PartSet = Vec<bool>;

/// The filter of a table's conditions, all of which must hold; `None` when they do not restrict the parts.
pub(crate) fn filter_of<'e>(
    handle: &Arc<TableHandle>,
    slot: Slot,
    conditions: impl Iterator<Item = &'e Expr>,
) -> Option<Filter> {
    let router = router(handle).ok()??;
    let found: Vec<Filter> = conditions.filter_map(|e| of_condition(router, handle, slot, e)).collect();
    (!found.is_empty()).then_some(Filter::All(found))
}

fn of_condition(router: &Router, handle: &Arc<TableHandle>, slot: Slot, e: &Expr) -> Option<Filter> {
    let of = |e: &Expr| of_condition(router, handle, slot, e);
    let different = |compare, left: &Expr, right: &Expr| {
        let side = |op| {
            let (left, right) = (Box::new(left.clone()), Box::new(right.clone()));
            of(&Expr::Compare { op, compare, left, right })
        };
        Some(Filter::Any(vec![side(CompareOp::Lt)?, side(CompareOp::Gt)?]))
    };
    match e {
        Expr::And(list) => {
            let found: Vec<Filter> = list.iter().filter_map(of).collect();
            (!found.is_empty()).then_some(Filter::All(found))
        }
        Expr::Or(list) => list.iter().map(of).collect::<Option<_>>().map(Filter::Any),
        Expr::Compare { op: CompareOp::Ne, compare, left, right } => different(*compare, left, right),
        Expr::In { arg, list, compare, negated: true } => {
            let found: Vec<Filter> = list.iter().filter_map(|e| different(*compare, arg, e)).collect();
            (!found.is_empty()).then_some(Filter::All(found))
        }
        _ => {
            let (column, intervals) = range::intervals_of(e, slot, handle)?;
            router.columns().contains(&column).then_some(Filter::Column { column, intervals })
        }
    }
}

/// The parts as far as they are known when planning; `None` when a value is not known yet.
pub(crate) fn known_parts(handle: &TableHandle, filter: &Filter, context: &Context) -> Option<Arc<[usize]>> {
    if !is_known(handle, filter) {
        return None;
    }
    parts_within(&mut ConstEnv { context: context.clone() }, handle, filter).ok()?
}

fn is_known(handle: &TableHandle, filter: &Filter) -> bool {
    let known = |interval: &Interval, is_zoned: bool| match interval {
        Interval::Eq(e) | Interval::NullSafeEq(e) | Interval::Prefix(e) => e.is_constant() && !is_zoned,
        Interval::Between { low, high } => !is_zoned && low.iter().chain(high).all(|(e, _)| e.is_constant()),
        Interval::Null | Interval::NotNull => true,
    };
    match filter {
        Filter::All(list) | Filter::Any(list) => list.iter().all(|f| is_known(handle, f)),
        Filter::Column { column, intervals } => {
            // The session's time zone is not the planner's to know.
            let is_zoned = matches!(handle.def.columns[*column].ty, ColumnType::Timestamp { .. });
            intervals.iter().all(|interval| known(interval, is_zoned))
        }
    }
}

/// The parts that can hold rows which a filter lets through; `None` = all.
pub fn parts_within<E: Env + ?Sized>(
    env: &mut E,
    handle: &TableHandle,
    filter: &Filter,
) -> SqlResult<Option<Arc<[usize]>>> {
    let Some(router) = router(handle)? else { return Ok(None) };
    let set = Search { handle, router }.parts(env, filter)?;
    if set.iter().all(|takes| *takes) {
        return Ok(None);
    }
    Ok(Some(set.iter().enumerate().filter(|(_, takes)| **takes).map(|(at, _)| at).collect()))
}

/// The parts of both; `None` = all.
pub fn both(a: &Option<Arc<[usize]>>, b: &Option<Arc<[usize]>>) -> Option<Arc<[usize]>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.iter().copied().filter(|part| b.contains(part)).collect()),
        (one, None) | (None, one) => one.clone(),
    }
}

/// A value and its key in an index over its column alone.
#[derive(Debug, Clone)]
struct Field {
    key: Vec<u8>,
    value: Value,
}

#[derive(Debug, Clone)]
struct Span {
    low: Bound<Field>,
    high: Bound<Field>,
}

impl Span {
    fn point(&self) -> Option<&Value> {
        match (&self.low, &self.high) {
            (Bound::Included(low), Bound::Included(high)) if low.key == high.key => Some(&low.value),
            _ => None,
        }
    }

    fn intersection(&self, other: &Self) -> Option<Self> {
        let later = |a: &Bound<Field>, b: &Bound<Field>| match (a, b) {
            (_, Bound::Unbounded) => true,
            (Bound::Unbounded, _) => false,
            (Bound::Included(a), Bound::Excluded(b)) => a.key > b.key,
            (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
                a.key >= b.key
            }
        };
        let sooner = |a: &Bound<Field>, b: &Bound<Field>| match (a, b) {
            (_, Bound::Unbounded) => true,
            (Bound::Unbounded, _) => false,
            (Bound::Included(a), Bound::Excluded(b)) => a.key < b.key,
            (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => {
                a.key <= b.key
            }
        };
        let low = if later(&self.low, &other.low) { &self.low } else { &other.low };
        let high = if sooner(&self.high, &other.high) { &self.high } else { &other.high };
        let is_empty = match (low, high) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(l), Bound::Included(h)) => l.key > h.key,
            (Bound::Included(l) | Bound::Excluded(l), Bound::Included(h) | Bound::Excluded(h)) => {
                l.key >= h.key
            }
        };
        (!is_empty).then(|| Self { low: low.clone(), high: high.clone() })
    }
}

/// Spans of the columns that are restricted.
type Spans = BTreeMap<usize, Vec<Span>>;

struct Search<'s> {
    handle: &'s TableHandle,
    router: &'s Router,
}

impl Search<'_> {
    fn parts<E: Env + ?Sized>(&self, env: &mut E, filter: &Filter) -> SqlResult<PartSet> {
        if let Filter::Any(list) = filter {
            let mut set = self.no_parts();
            for side in list {
                let side = self.parts(env, side)?;
                set.iter_mut().zip(side).for_each(|(into, takes)| *into |= takes);
            }
            return Ok(set);
        }
        let mut spans = Spans::new();
        let mut set: PartSet = self.no_parts().iter().map(|_| true).collect();
        self.gather(env, filter, &mut spans, &mut set)?;
        if spans.values().any(Vec::is_empty) {
            return Ok(self.no_parts());
        }
        let found = self.parts_of_spans(&spans);
        set.iter_mut().zip(found).for_each(|(into, takes)| *into &= takes);
        Ok(set)
    }

    fn no_parts(&self) -> PartSet {
        vec![false; self.handle.table.partitions().len()]
    }

    /// Conditions that all hold: those on one column each meet in `spans`, the others in `set`.
    fn gather<E: Env + ?Sized>(
        &self,
        env: &mut E,
        filter: &Filter,
        spans: &mut Spans,
        set: &mut PartSet,
    ) -> SqlResult<()> {
        match filter {
            Filter::All(list) => list.iter().try_for_each(|f| self.gather(env, f, spans, set)),
            Filter::Column { column, intervals } => {
                if let Some(found) = self.spans(env, *column, intervals)? {
                    meet(spans, *column, found);
                }
                Ok(())
            }
            Filter::Any(list) => {
                // `<>` and the like: several spans of one column.
                let mut found = Vec::new();
                for side in list {
                    match side {
                        Filter::Column { column, intervals } => {
                            found.push((*column, self.spans(env, *column, intervals)?));
                        }
                        _ => found.push((usize::MAX, None)),
                    }
                }
                let column = found[0].0;
                if found.iter().all(|(c, spans)| *c == column && spans.is_some()) {
                    meet(spans, column, found.into_iter().filter_map(|(_, s)| s).flatten().collect());
                } else {
                    let other = self.parts(env, filter)?;
                    set.iter_mut().zip(other).for_each(|(into, takes)| *into &= takes);
                }
                Ok(())
            }
        }
    }

    /// `None` when the intervals do not say how the values compare with the column's.
    fn spans<E: Env + ?Sized>(
        &self,
        env: &mut E,
        column: usize,
        intervals: &[Interval],
    ) -> SqlResult<Option<Vec<Span>>> {
        let def = &self.handle.def.columns[column];
        let field = |value: Value| -> Option<Field> {
            let (spec, mut key) = (self.handle.table.spec(), Vec::new());
            let part = KeyPart::ascending(column);
            let values = std::slice::from_ref(&value);
            key::encode_values(&spec.layout, std::slice::from_ref(&part), values, &mut key).ok()?;
            Some(Field { key, value })
        };
        let bound = |bound: Bound<Value>| -> Option<Bound<Field>> {
            Some(match bound {
                Bound::Included(value) => Bound::Included(field(value)?),
                Bound::Excluded(value) => Bound::Excluded(field(value)?),
                Bound::Unbounded => Bound::Unbounded,
            })
        };
        let mut out = Vec::with_capacity(intervals.len());
        for interval in intervals {
            let Some(found) = keys::value_bounds(env, &def.ty, def.nullable, interval)? else {
                return Ok(None);
            };
            let Some((low, high)) = found else { continue };
            let low = match low {
                // NULL lies below all values, and is none of them.
                Bound::Unbounded if def.nullable => Bound::Excluded(Value::Null),
                low => low,
            };
            let (Some(low), Some(high)) = (bound(low), bound(high)) else { return Ok(None) };
            out.push(Span { low, high });
        }
        Ok(Some(out))
    }

    fn parts_of_spans(&self, spans: &Spans) -> PartSet {
        let router = self.router;
        let (count, each) = (self.handle.table.partitions().len(), router.per_partition);
        let partitions = self.places(&router.rule, &router.rule_columns, count / each, spans);
        let subs = match &router.sub {
            Some(sub) => self.places(sub, &router.sub_columns, each, spans),
            None => vec![true; each],
        };
        (0..count).map(|at| partitions[at / each] && subs[at % each]).collect()
    }

    /// Places of a rule: partitions, or subpartitions of a partition.
    fn places(&self, rule: &Rule, columns: &[usize], count: usize, spans: &Spans) -> PartSet {
        if let Some(rows) = self.rows_to_try(rule, columns, spans, false) {
            return self.places_of_rows(rule, columns, count, &rows);
        }
        let mut set = vec![false; count];
        let known = match (rule, columns) {
            (Rule::RangeOf { expr, .. } | Rule::ListOf { expr, .. }, [column]) => match spans.get(column) {
                Some(list) => list.iter().all(|s| self.add_growing(rule, expr, *column, s, &mut set)),
                None => false,
            },
            (Rule::RangeColumns { parts, .. } | Rule::ListColumns { parts, .. }, _) => {
                add_keys(rule, parts, spans, &mut set)
            }
            _ => false,
        };
        if known {
            return set;
        }
        match self.rows_to_try(rule, columns, spans, true) {
            Some(rows) => self.places_of_rows(rule, columns, count, &rows),
            None => vec![true; count],
        }
    }

    fn places_of_rows(&self, rule: &Rule, columns: &[usize], count: usize, rows: &[Vec<Value>]) -> PartSet {
        let mut set = vec![false; count];
        for row in rows {
            match self.with_row(columns, row, |view| Ok(rule.partition_of(view)?.ok())) {
                Ok(Some(at)) => set[at] = true,
                Ok(None) => {}
                // What cannot be worked out here is left to the conditions.
                Err(_) => return vec![true; count],
            }
        }
        set
    }

    /// Every row of values that the spans allow, when they are few. `walk`: neighbouring integers, too.
    fn rows_to_try(
        &self,
        rule: &Rule,
        columns: &[usize],
        spans: &Spans,
        walk: bool,
    ) -> Option<Vec<Vec<Value>>> {
        let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
        for column in columns {
            let ty = &self.handle.def.columns[*column].ty;
            let by_expression =
                matches!(rule, Rule::RangeOf { .. } | Rule::ListOf { .. } | Rule::Hash { .. });
            let mut values = Vec::new();
            for span in spans.get(column)? {
                match (span.point(), columns) {
                    // Equal texts, and the two zeros, need not have equal values or hashes.
                    (Some(_), _) if by_expression && ty.collation().is_some() => return None,
                    (Some(Value::Double(v)), _) if *v == 0.0 => return None,
                    (Some(Value::Float(v)), _) if *v == 0.0 => return None,
                    (Some(value), _) => values.push(value.clone()),
                    (None, [_]) if walk => values.extend(neighbours(ty, span)?),
                    _ => return None,
                }
            }
            if rows.len().saturating_mul(values.len()) > TRIES_MAX {
                return None;
            }
            rows = rows
                .iter()
                .flat_map(|row| values.iter().map(|v| row.iter().chain([v]).cloned().collect()))
                .collect();
        }
        Some(rows)
    }

    fn with_row<T>(
        &self,
        columns: &[usize],
        values: &[Value],
        read: impl FnOnce(&RowView<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let layout = &self.handle.table.spec().layout;
        let mut row = vec![Value::Null; layout.columns().len()];
        for (column, value) in columns.iter().zip(values) {
            row[*column] = value.clone();
        }
        let mut body = Vec::new();
        row_format::encode_row(layout, &row, &mut body)
            .map_err(|_| crate::error::SqlError::not_supported("this value in a partitioning column"))?;
        read(&RowView::new(layout, &body).map_err(corrupt)?)
    }

    /// RANGE and LIST by a value that grows with one column. False when it is not known to grow.
    fn add_growing(&self, rule: &Rule, expr: &Expr, column: usize, span: &Span, set: &mut PartSet) -> bool {
        let Some(growth) = Growth::of(expr, &self.handle.def.columns[column].ty) else { return false };
        let number = |v: &Value| {
            let found = self.with_row(&[column], std::slice::from_ref(v), |view| number_of(expr, view));
            found.ok().flatten()
        };
        let low = match &span.low {
            Bound::Unbounded => None,
            Bound::Included(f) => number(&f.value),
            Bound::Excluded(f) if growth == Growth::Itself => number(&f.value).map(|v| v + 1),
            Bound::Excluded(f) => number(&f.value),
        };
        let high = match &span.high {
            Bound::Unbounded => None,
            Bound::Excluded(f) if growth.begins_with(&f.value) => number(&f.value).map(|v| v - 1),
            Bound::Included(f) | Bound::Excluded(f) => number(&f.value),
        };
        let is_null = span.point().is_some_and(Value::is_null);
        let has_null = is_null || growth == Growth::Days;
        match rule {
            Rule::RangeOf { .. } if is_null => set[0] = true,
            Rule::RangeOf { bounds, .. } => {
                set[0] |= has_null;
                let first = low.map_or(0, |v| bounds.partition_point(|b| *b <= v));
                let last = high.map_or(bounds.len(), |v| bounds.partition_point(|b| *b <= v));
                (first..=last).filter(|at| *at < bounds.len()).for_each(|at| set[at] = true);
            }
            Rule::ListOf { values, null, default, .. } => {
                let within =
                    |v: i128| !is_null && low.is_none_or(|low| low <= v) && high.is_none_or(|high| v <= high);
                values.iter().filter(|(v, _)| within(*v)).for_each(|(_, at)| set[*at] = true);
                let others = null.filter(|_| has_null).into_iter().chain(*default);
                others.for_each(|at| set[at] = true);
            }
            _ => return false,
        }
        true
    }
}

fn meet(spans: &mut Spans, column: usize, found: Vec<Span>) {
    let Some(known) = spans.get_mut(&column) else {
        spans.insert(column, found);
        return;
    };
    // Long lists of both are not worth it: one of them alone holds, too.
    if known.len().saturating_mul(found.len()) <= TRIES_MAX {
        *known = known.iter().flat_map(|a| found.iter().filter_map(|b| a.intersection(b))).collect();
    }
}

/// The integers of a short span.
fn neighbours(ty: &ColumnType, span: &Span) -> Option<Vec<Value>> {
    let ColumnType::Int { unsigned, .. } = ty else { return None };
    let low = match &span.low {
        Bound::Included(f) => as_integer(&f.value)?,
        Bound::Excluded(f) => as_integer(&f.value)? + 1,
        Bound::Unbounded => return None,
    };
    let high = match &span.high {
        Bound::Included(f) => as_integer(&f.value)?,
        Bound::Excluded(f) => as_integer(&f.value)? - 1,
        Bound::Unbounded => return None,
    };
    let value = |v: i128| if *unsigned { Value::UInt(v as u64) } else { Value::Int(v as i64) };
    (high - low < NEIGHBOURS_MAX).then(|| (low..=high).map(value).collect())
}

/// How the number that RANGE or LIST is by grows with a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// The column, an integer.
    Itself,
    Years,
    /// TO_DAYS, TO_SECONDS: NULL for dates that have no day.
    Days,
    Seconds,
}

impl Growth {
    fn of(expr: &Expr, ty: &ColumnType) -> Option<Self> {
        let (name, args) = match expr {
            Expr::Column(_) => return matches!(ty, ColumnType::Int { .. }).then_some(Self::Itself),
            Expr::Call { function, args } => (function.name(), args),
            _ => return None,
        };
        if !matches!(args.as_slice(), [Expr::Column(_)]) {
            return None;
        }
        match (name.to_ascii_uppercase().as_str(), ty) {
            ("YEAR", ColumnType::Date | ColumnType::DateTime { .. }) => Some(Self::Years),
            ("TO_DAYS" | "TO_SECONDS", ColumnType::Date | ColumnType::DateTime { .. }) => Some(Self::Days),
            ("UNIX_TIMESTAMP", ColumnType::Timestamp { .. }) => Some(Self::Seconds),
            _ => None,
        }
    }

    /// Whether all below this value has a smaller number.
    fn begins_with(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Itself, _) => true,
            (Self::Years, Value::Date(d)) => (d.month, d.day) == (1, 1),
            (Self::Years, Value::DateTime(t)) => {
                (t.date.month, t.date.day) == (1, 1) && (t.hour, t.minute, t.second, t.micros) == (0, 0, 0, 0)
            }
            (Self::Days, Value::Date(_)) => true,
            // Of TO_SECONDS it would be enough that there are no microseconds.
            (Self::Days, Value::DateTime(t)) => (t.hour, t.minute, t.second, t.micros) == (0, 0, 0, 0),
            (Self::Seconds, Value::Timestamp(t)) => t.micros == 0,
            _ => false,
        }
    }
}

/// RANGE COLUMNS and LIST COLUMNS: the keys from a first to before a last one. False when the first column is free.
fn add_keys(rule: &Rule, parts: &[KeyPart], spans: &Spans, set: &mut PartSet) -> bool {
    let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
    let above = |prefix: &[u8], field: &[u8]| [prefix, field, &[MAXVALUE_BYTE]].concat();
    let mut ranges: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let list = match spans.get(&part.column) {
            Some(list) if prefixes.len().saturating_mul(list.len()) <= TRIES_MAX => list,
            _ if at == 0 => return false,
            _ => break,
        };
        if list.iter().any(|s| s.point().is_none()) {
            for (prefix, span) in prefixes.iter().flat_map(|p| list.iter().map(move |s| (p, s))) {
                let low = match &span.low {
                    Bound::Unbounded => prefix.clone(),
                    Bound::Included(f) => [&prefix[..], &f.key].concat(),
                    Bound::Excluded(f) => above(prefix, &f.key),
                };
                let high = match &span.high {
                    Bound::Unbounded => above(prefix, &[]),
                    Bound::Included(f) => above(prefix, &f.key),
                    Bound::Excluded(f) => [&prefix[..], &f.key].concat(),
                };
                ranges.push((low, high));
            }
            prefixes.clear();
            break;
        }
        let fields = || {
            list.iter().filter_map(|s| match &s.low {
                Bound::Included(f) => Some(&f.key),
                _ => None,
            })
        };
        prefixes = prefixes.iter().flat_map(|p| fields().map(|f| [&p[..], f].concat())).collect();
    }
    ranges.extend(prefixes.into_iter().map(|p| (p.clone(), above(&p, &[]))));
    for (low, high) in ranges {
        match rule {
            Rule::RangeColumns { bounds, .. } => {
                let first = bounds.partition_point(|b| *b <= low);
                let last = bounds.partition_point(|b| *b < high);
                (first..=last).filter(|at| *at < bounds.len()).for_each(|at| set[at] = true);
            }
            Rule::ListColumns { keys, default, .. } => {
                let within = keys.iter().filter(|(k, _)| *k >= low && *k < high);
                within.map(|(_, at)| *at).chain(*default).for_each(|at| set[at] = true);
            }
            _ => return false,
        }
    }
    true
}
