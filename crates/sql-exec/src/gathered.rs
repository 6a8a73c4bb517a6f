//! What aggregates gather inside the groups: DISTINCT's values, and the texts of GROUP_CONCAT, JSON_ARRAYAGG and JSON_OBJECTAGG.
//!
//! All groups of a round share one set for DISTINCT (`distinct`), whose keys name group and aggregate, and one room for texts. A
//! value that DISTINCT knows nothing of is put aside and fed to its group when all rows are in. Texts that find no room go to a
//! file by group and aggregate (`keyed_rows`) and come back when their group is finished, one group after the other.
//!
//! An aggregate never keeps much more than the `group_concat_max_len` bytes that its result can have: now and then its rows are
//! brought into their order and those that the result cannot reach are given up.

use sql_plan::error::{SqlError, SqlResult};
use sql_plan::expr::CompareAs;
use sql_plan::ops;
use sql_plan::plan::{Aggregate, AggregateKind, SortKey};
use types::{Context, Value};

use crate::distinct::{Admitted, Distinct, Rest};
use crate::exec::Exec;
use crate::group::Accumulator;
use crate::keyed_rows::{Keyed, KeyedRows, KeyedStore};
use crate::select::order;
use crate::spill::{Row, Space, weight};

/// Texts are looked through for what the result cannot reach when they are so many bytes more than it can have.
const SLACK: usize = 64 * 1024;

/// The texts of one aggregate in one group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    /// Sort keys and text of each row.
    rows: Vec<(Vec<Value>, Vec<u8>)>,
    bytes: usize,
    /// LIMIT: rows to leave out, rows to take.
    limit: Option<(u64, u64)>,
    /// Bytes at which rows are given up.
    most: usize,
}

/// One row's part in one aggregate of one group.
pub(crate) struct Member {
    pub(crate) group: usize,
    pub(crate) aggregate: usize,
    pub(crate) values: Vec<Value>,
    pub(crate) keys: Vec<Value>,
}

/// A text on disk: its sort keys, then the text.
struct TextRow(Row);

impl Keyed for TextRow {
    fn weight(&self) -> usize {
        weight(&self.0)
    }
    fn into_row(self, mut front: Row) -> Row {
        front.extend(self.0);
        front
    }
}

/// What the groups of one round gather.
pub(crate) struct Gathered {
    space: Space,
    sorting: Space,
    seen: Option<Distinct>,
    rest: Option<Rest>,
    /// Bytes of all texts in memory.
    bytes: usize,
    texts: Option<KeyedStore<TextRow>>,
    on_disk: Option<KeyedRows<TextRow>>,
}

/// Whether an aggregate keeps a text of each row.
pub(crate) fn gathers(aggregate: &Aggregate) -> bool {
    use AggregateKind as K;
    matches!(aggregate.kind, K::GroupConcat | K::JsonArrayAgg | K::JsonObjectAgg)
}

fn place_key(group: usize, aggregate: usize) -> Vec<u8> {
    let mut key = (group as u64).to_be_bytes().to_vec();
    key.extend_from_slice(&(aggregate as u16).to_be_bytes());
    key
}

impl Gathered {
    pub(crate) fn new(space: Space, sorting: Space) -> Self {
        Self { space, sorting, seen: None, rest: None, bytes: 0, texts: None, on_disk: None }
    }

    pub(crate) fn sorting(&self) -> &Space {
        &self.sorting
    }

    /// Whether DISTINCT sees a value for the first time; one that it cannot say anything of comes again later.
    pub(crate) fn is_new(
        &mut self,
        aggregate: &Aggregate,
        member: &Member,
        cx: &mut Context,
    ) -> SqlResult<bool> {
        let mut key = place_key(member.group, member.aggregate);
        for (value, arg) in member.values.iter().zip(&aggregate.args) {
            ops::hash_key(value, CompareAs::Any(arg.ty.collation), cx, &mut key);
        }
        let seen = self.seen.get_or_insert_with(|| Distinct::new(self.space.clone()));
        if !seen.is_full() {
            return Ok(seen.admit(key) == Admitted::New);
        }
        if seen.admit(key.clone()) == Admitted::NoRoom {
            let mut row = vec![Value::Int(member.group as i64), Value::Int(member.aggregate as i64)];
            row.push(Value::Int(member.values.len() as i64));
            row.extend(member.values.iter().chain(&member.keys).cloned());
            seen.put_aside(&key, &row)?;
        }
        Ok(false)
    }

    /// The values that were put aside and are new, when all rows are in.
    pub(crate) fn next_distinct(&mut self) -> SqlResult<Option<Member>> {
        if let Some(seen) = self.seen.take() {
            self.rest = Some(seen.rest()?);
        }
        let Some(rest) = &mut self.rest else { return Ok(None) };
        let Some(mut row) = rest.next()? else { return Ok(None) };
        let number = |v: &Value| if let Value::Int(n) = v { *n as usize } else { 0 };
        let (group, aggregate, args) = (number(&row[0]), number(&row[1]), number(&row[2]));
        let keys = row.split_off(3 + args);
        Ok(Some(Member { group, aggregate, values: row.split_off(3), keys }))
    }

    pub(crate) fn finish(&mut self, cx: &mut Context) -> SqlResult<()> {
        self.rest = None;
        self.on_disk = self.texts.take().map(|texts| texts.finish(cx)).transpose()?;
        Ok(())
    }

    pub(crate) fn on_disk(&self) -> bool {
        self.on_disk.is_some()
    }
}

impl Exec<'_, '_> {
    /// Adds a row to an aggregate that has DISTINCT or gathers texts.
    pub(crate) fn admit_member(
        &mut self,
        aggregate: &Aggregate,
        member: Member,
        acc: &mut Accumulator,
        gathered: &mut Gathered,
    ) -> SqlResult<()> {
        if !gathers(aggregate) {
            return self.feed(aggregate, &member.values, acc);
        }
        let text = member_text(aggregate, &member.values, self.cx.values);
        if gathered.bytes <= gathered.space.bytes && gathered.texts.is_none() {
            let before = acc.texts.bytes;
            self.add_text(aggregate, acc, member.keys, text)?;
            gathered.bytes = (gathered.bytes + acc.texts.bytes).saturating_sub(before);
            return Ok(());
        }
        let Gathered { space, sorting, texts, .. } = gathered;
        let texts = texts.get_or_insert_with(|| KeyedStore::new(Space { bytes: 0, ..space.clone() }));
        let mut row = member.keys;
        row.push(Value::str(&text, charset::Collation::BINARY));
        let key = place_key(member.group, member.aggregate);
        texts.add(key, TextRow(row), || sorting.clone(), self.cx.values)
    }

    /// The texts of one aggregate of one group that are on disk.
    pub(crate) fn take_texts(
        &mut self,
        aggregate: &Aggregate,
        acc: &mut Accumulator,
        gathered: &Gathered,
        (group, number): (usize, usize),
    ) -> SqlResult<()> {
        let Some(rows) = gathered.on_disk.as_ref().filter(|_| gathers(aggregate)) else { return Ok(()) };
        let Some(mut probe) = rows.on_disk(&place_key(group, number)) else { return Ok(()) };
        while let Some(mut keys) = probe.next()? {
            self.count_row()?;
            if let Some(Value::Str(text)) = keys.pop() {
                self.add_text(aggregate, acc, keys, text.bytes().to_vec())?;
            }
        }
        Ok(())
    }

    pub(crate) fn add_text(
        &mut self,
        aggregate: &Aggregate,
        acc: &mut Accumulator,
        keys: Vec<Value>,
        text: Vec<u8>,
    ) -> SqlResult<()> {
        let longest = usize::try_from(self.cx.settings.group_concat_max_len).unwrap_or(usize::MAX);
        if acc.texts.most == 0 {
            acc.texts.most = longest.saturating_mul(2).saturating_add(SLACK);
            if aggregate.limit.count.is_some() {
                let limit = self.limit(&aggregate.limit)?;
                acc.texts.limit = Some((limit.offset, limit.count));
            }
        }
        acc.texts.bytes += size_of::<(Vec<Value>, Vec<u8>)>() + text.len();
        if !keys.is_empty() {
            acc.texts.bytes += weight(&keys);
        }
        acc.texts.rows.push((keys, text));
        if acc.texts.bytes > acc.texts.most {
            acc.texts.give_up(aggregate, longest, self.cx.values);
        }
        Ok(())
    }

    /// The text of GROUP_CONCAT, JSON_ARRAYAGG or JSON_OBJECTAGG.
    pub(crate) fn group_concat(&mut self, aggregate: &Aggregate, mut texts: Texts) -> Value {
        if texts.rows.is_empty() {
            return Value::Null;
        }
        texts.sort(&aggregate.order, self.cx.values);
        let (offset, count) = texts.bounds();
        let texts = texts.rows.into_iter().skip(offset).take(count);
        let (open, close, between): (&[u8], &[u8], &[u8]) = match aggregate.kind {
            AggregateKind::JsonArrayAgg => (b"[", b"]", b","),
            AggregateKind::JsonObjectAgg => (b"{", b"}", b", "),
            _ => (b"", b"", b","),
        };
        let separator = aggregate.separator.as_deref().unwrap_or(between);
        let max = usize::try_from(self.cx.settings.group_concat_max_len).unwrap_or(usize::MAX);
        let mut out = open.to_vec();
        for (i, (_, text)) in texts.enumerate() {
            if i > 0 {
                out.extend_from_slice(separator);
            }
            out.extend_from_slice(&text);
            if out.len() > max {
                let whole = aggregate.ty.collation.charset().valid_prefix(&out[..max]);
                out.truncate(whole);
                self.cx.warnings.warn(SqlError::GroupConcatCut { row: i as u64 + 1 });
                return Value::str(&out, aggregate.ty.collation);
            }
        }
        out.extend_from_slice(close);
        Value::str(&out, aggregate.ty.collation)
    }
}

impl Texts {
    /// Rows to leave out, rows to take.
    fn bounds(&self) -> (usize, usize) {
        let (offset, count) = self.limit.unwrap_or((0, u64::MAX));
        (usize::try_from(offset).unwrap_or(usize::MAX), usize::try_from(count).unwrap_or(usize::MAX))
    }

    fn sort(&mut self, keys: &[SortKey], cx: &mut Context) {
        if !keys.is_empty() {
            self.rows.sort_by(|a, b| order(keys, &a.0, &b.0, cx));
        }
    }

    /// Gives up the rows behind those that fill the result.
    fn give_up(&mut self, aggregate: &Aggregate, longest: usize, cx: &mut Context) {
        self.sort(&aggregate.order, cx);
        let (offset, count) = self.bounds();
        // Between two texts of JSON_ARRAYAGG stands one byte, of JSON_OBJECTAGG two.
        let between = aggregate.separator.as_ref().map_or(1, |s| s.len());
        let mut room = longest.saturating_add(between);
        let mut keep = offset;
        for (_, text) in self.rows.iter().skip(offset).take(count) {
            keep += 1;
            // The row that does not fit any more is still there: the result is cut in it.
            if text.len() + between > room {
                break;
            }
            room -= text.len() + between;
        }
        self.rows.truncate(keep);
        let row = size_of::<(Vec<Value>, Vec<u8>)>();
        let of_keys = |keys: &[Value]| if keys.is_empty() { 0 } else { weight(keys) };
        self.bytes = self.rows.iter().map(|(keys, text)| row + of_keys(keys) + text.len()).sum();
        // What is left may be needed: it is not looked through for each further row.
        self.most = self.most.max(self.bytes.saturating_mul(2));
    }
}

/// What a row adds to the text: the joined values, an element of JSON_ARRAYAGG, or `"key":value` of JSON_OBJECTAGG; the planner has
/// made JSON of the value.
pub(crate) fn member_text(aggregate: &Aggregate, values: &[Value], cx: &mut Context) -> Vec<u8> {
    let mut out = Vec::new();
    let collation = aggregate.ty.collation;
    match aggregate.kind {
        AggregateKind::JsonArrayAgg | AggregateKind::JsonObjectAgg => {
            if aggregate.kind == AggregateKind::JsonObjectAgg {
                let key = ops::to_text(&values[0], collation, cx);
                functions::json::write_string(&mut out, key.bytes());
                out.push(b':');
            }
            out.extend_from_slice(ops::to_text(&values[values.len() - 1], collation, cx).bytes());
        }
        _ => {
            for value in values {
                out.extend_from_slice(ops::to_text(value, collation, cx).bytes());
            }
        }
    }
    out
}
