//! Key ranges of an access: expressions evaluated, brought to the columns' types, and encoded.
//!
//! A value that its column cannot hold exactly is a position between values: `id > 1.5` starts after 1, `id = 1.5` finds
//! nothing, `id < 1e30` has no end. A value whose comparison is not the index order at all (a number against a text column)
//! makes the access unusable: the whole index is read and the conditions are checked row by row.
//!
//! The executor builds the keys of each execution here, and the planner those of constants, to ask how many rows they hold.

use std::ops::Bound;

use catalog::TableHandle;
use row_format::{Column, ColumnType, IntSize, KeyPart, key};
use storage::row::KeyRange;
use types::{Context, Value};

use crate::error::SqlResult;
use crate::eval::Env;
use crate::expr::Expr;
use crate::like;
use crate::ops;
use crate::plan::{Interval, PartRange};

/// Where a value stands among the values of a column.
enum Place {
    Value(Value),
    Below,
    Above,
    /// After this value and before the next one.
    After(Value),
    Null,
    Unusable,
}

/// The outcome of building a point key.
#[derive(Debug)]
pub enum PointKey {
    /// The key is in the caller's buffer.
    Ready,
    /// Nothing can match.
    Nothing,
    Unusable,
}

/// Ranges in key order.
#[derive(Debug)]
pub enum Ranges {
    List(Vec<KeyRange>),
    Unusable,
}

/// Encodes the full key of a unique index into `out`.
pub fn point_key<E: Env + ?Sized>(
    env: &mut E,
    table: &TableHandle,
    index: usize,
    exprs: &[Expr],
    out: &mut Vec<u8>,
) -> SqlResult<PointKey> {
    out.clear();
    let spec = table.table.spec();
    let layout = &spec.layout;
    for (part, e) in spec.indexes[index].parts.iter().zip(exprs) {
        let value = e.eval(env)?;
        let ty = &layout.column(part.column).ty;
        match place(ty, value, env.context()) {
            Place::Value(value) => put(table, part, &value, out),
            Place::Below | Place::Above | Place::After(_) | Place::Null => return Ok(PointKey::Nothing),
            Place::Unusable => return Ok(PointKey::Unusable),
        }
    }
    Ok(PointKey::Ready)
}

/// The key ranges of a range access, in key order and without overlap.
pub fn ranges<E: Env + ?Sized>(
    env: &mut E,
    table: &TableHandle,
    index: usize,
    parts: &[PartRange],
) -> SqlResult<Ranges> {
    let spec = table.table.spec();
    let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
    let mut out = Vec::new();
    for (i, (range, part)) in parts.iter().zip(&spec.indexes[index].parts).enumerate() {
        if part.descending {
            return Ok(Ranges::Unusable);
        }
        if !range.is_points() || i + 1 == parts.len() {
            for interval in &range.intervals {
                let Some(found) = interval_bounds(env, table, part, interval)? else {
                    return Ok(Ranges::Unusable);
                };
                let Some((low, high)) = found else { continue };
                for prefix in &prefixes {
                    out.push(KeyRange {
                        lower: under(prefix, &low, table, part),
                        upper: under_end(prefix, &high),
                    });
                }
            }
            break;
        }
        let mut next = Vec::with_capacity(prefixes.len() * range.intervals.len());
        for interval in &range.intervals {
            let Some(found) = interval_bounds(env, table, part, interval)? else {
                return Ok(Ranges::Unusable);
            };
            let Some((Bound::Included(field), _)) = found else { continue };
            next.extend(prefixes.iter().map(|p| [p.as_slice(), &field].concat()));
        }
        prefixes = next;
    }
    Ok(Ranges::List(merge(out)))
}

/// Bounds of one part's field. `None` = the access cannot be used, `Some(None)` = empty.
#[expect(clippy::type_complexity, reason = "two layers of absence, named in the comment")]
fn interval_bounds<E: Env + ?Sized>(
    env: &mut E,
    table: &TableHandle,
    part: &KeyPart,
    interval: &Interval,
) -> SqlResult<Option<Option<(Bound<Vec<u8>>, Bound<Vec<u8>>)>>> {
    let column = &table.def.columns[part.column];
    let field = |value: &Value| {
        let mut out = Vec::new();
        put(table, part, value, &mut out);
        out
    };
    if let Interval::Prefix(e) = interval {
        return prefix_interval(env, &column.ty, part, e, &field);
    }
    let found = value_bounds(env, &column.ty, column.nullable, interval)?;
    Ok(found.map(|bounds| bounds.map(|(low, high)| (low.map(|v| field(&v)), high.map(|v| field(&v))))))
}

/// Bounds of a column's values; without a lower one NULLs are left out. `None` = not to be told, `Some(None)` = empty.
#[expect(clippy::type_complexity, reason = "as `interval_bounds`")]
pub(crate) fn value_bounds<E: Env + ?Sized>(
    env: &mut E,
    ty: &ColumnType,
    nullable: bool,
    interval: &Interval,
) -> SqlResult<Option<Option<(Bound<Value>, Bound<Value>)>>> {
    let point = |value: Value| Some(Some((Bound::Included(value.clone()), Bound::Included(value))));
    Ok(match interval {
        Interval::Eq(e) | Interval::NullSafeEq(e) => match place(ty, e.eval(env)?, env.context()) {
            Place::Value(value) => point(value),
            Place::Null if matches!(interval, Interval::NullSafeEq(_)) => point(Value::Null),
            Place::Unusable => None,
            _ => Some(None),
        },
        Interval::Null if !nullable => Some(None),
        Interval::Null => point(Value::Null),
        Interval::NotNull => Some(Some((Bound::Unbounded, Bound::Unbounded))),
        // The values that begin with a text are no interval of values.
        Interval::Prefix(_) => None,
        Interval::Between { low, high } => {
            let lower = match low {
                None => Bound::Unbounded,
                Some((e, included)) => match place(ty, e.eval(env)?, env.context()) {
                    Place::Value(v) if *included => Bound::Included(v),
                    Place::Value(v) | Place::After(v) => Bound::Excluded(v),
                    Place::Below => Bound::Unbounded,
                    Place::Above | Place::Null => return Ok(Some(None)),
                    Place::Unusable => return Ok(None),
                },
            };
            let upper = match high {
                None => Bound::Unbounded,
                Some((e, included)) => match place(ty, e.eval(env)?, env.context()) {
                    Place::Value(v) if !included => Bound::Excluded(v),
                    Place::Value(v) | Place::After(v) => Bound::Included(v),
                    Place::Above => Bound::Unbounded,
                    Place::Below | Place::Null => return Ok(Some(None)),
                    Place::Unusable => return Ok(None),
                },
            };
            Some(Some((lower, upper)))
        }
    })
}

#[expect(clippy::type_complexity, reason = "as `interval`")]
fn prefix_interval<E: Env + ?Sized>(
    env: &mut E,
    ty: &ColumnType,
    part: &KeyPart,
    e: &Expr,
    field: &dyn Fn(&Value) -> Vec<u8>,
) -> SqlResult<Option<Option<(Bound<Vec<u8>>, Bound<Vec<u8>>)>>> {
    let Value::Str(pattern) = e.eval(env)? else { return Ok(None) };
    let Some(collation) = ty.collation() else { return Ok(None) };
    let Some(text) = like::literal_prefix(collation, pattern.bytes()) else { return Ok(None) };
    let text = match part.prefix {
        Some(chars) => &text[..collation.charset().char_offset(&text, usize::from(chars))],
        None => &text[..],
    };
    let mut key = Vec::new();
    collation.sort_key(text, &mut key);
    let common = collation.common_key_len(text);
    if common == 0 {
        return Ok(None);
    }
    // Whatever the field has before the key (NULL or not) is common, too.
    let mut lower = field(&Value::str(text, collation));
    lower.truncate(lower.len().saturating_sub(key.len() - common));
    Ok(Some(Some((Bound::Included(lower.clone()), Bound::Included(lower)))))
}

/// Appends a part's field; a prefix part is cut by the encoder.
fn put(table: &TableHandle, part: &KeyPart, value: &Value, out: &mut Vec<u8>) {
    let spec = table.table.spec();
    if put_int(spec.layout.column(part.column), part, value, out) {
        return;
    }
    // `place` has brought the value to the column's type, so it can be encoded.
    let encoded =
        key::encode_values(&spec.layout, std::slice::from_ref(part), std::slice::from_ref(value), out);
    debug_assert!(encoded.is_ok(), "{encoded:?}");
}

/// The commonest key by far, without the encoder's scratch memory: big-endian, the sign bit flipped. False for other types.
fn put_int(column: &Column, part: &KeyPart, value: &Value, out: &mut Vec<u8>) -> bool {
    let bits = match value {
        Value::Int(v) => *v as u64,
        Value::UInt(v) => *v,
        _ => return false,
    };
    let ColumnType::Int { size, unsigned } = &column.ty else { return false };
    if part.descending {
        return false;
    }
    if column.nullable {
        out.push(1);
    }
    let at = out.len();
    out.extend_from_slice(&bits.to_be_bytes()[8 - size.bytes()..]);
    if !unsigned {
        out[at] ^= 0x80;
    }
    true
}

/// The lower bound below a prefix. Without one, NULLs are left out.
fn under(prefix: &[u8], low: &Bound<Vec<u8>>, table: &TableHandle, part: &KeyPart) -> Bound<Vec<u8>> {
    match low {
        Bound::Included(f) => Bound::Included([prefix, f].concat()),
        Bound::Excluded(f) => Bound::Excluded([prefix, f].concat()),
        Bound::Unbounded if table.def.columns[part.column].nullable => {
            Bound::Included([prefix, &[1]].concat())
        }
        Bound::Unbounded if prefix.is_empty() => Bound::Unbounded,
        Bound::Unbounded => Bound::Included(prefix.to_vec()),
    }
}

fn under_end(prefix: &[u8], high: &Bound<Vec<u8>>) -> Bound<Vec<u8>> {
    match high {
        Bound::Included(f) => Bound::Included([prefix, f].concat()),
        Bound::Excluded(f) => Bound::Excluded([prefix, f].concat()),
        Bound::Unbounded if prefix.is_empty() => Bound::Unbounded,
        Bound::Unbounded => Bound::Included(prefix.to_vec()),
    }
}

/// Sorts ranges and joins those that meet, so that no row comes twice.
fn merge(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    if ranges.len() < 2 {
        return ranges;
    }
    ranges.sort_by(|a, b| start(&a.lower).cmp(&start(&b.lower)));
    let mut out: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match out.last_mut() {
            Some(last) if meets(&last.upper, &range.lower) => {
                if ends_later(&range.upper, &last.upper) {
                    last.upper = range.upper;
                }
            }
            _ => out.push(range),
        }
    }
    out
}

fn start(bound: &Bound<Vec<u8>>) -> (&[u8], bool) {
    match bound {
        Bound::Unbounded => (&[], false),
        Bound::Included(k) => (k, false),
        Bound::Excluded(k) => (k, true),
    }
}

/// Whether a range that starts at `lower` overlaps one that ends at `upper`. An included bound takes in all it begins.
fn meets(upper: &Bound<Vec<u8>>, lower: &Bound<Vec<u8>>) -> bool {
    match (upper, lower) {
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => true,
        (Bound::Included(u), Bound::Included(l) | Bound::Excluded(l)) => l <= u || l.starts_with(u),
        (Bound::Excluded(u), Bound::Included(l) | Bound::Excluded(l)) => l < u,
    }
}

fn ends_later(a: &Bound<Vec<u8>>, b: &Bound<Vec<u8>>) -> bool {
    match (a, b) {
        (_, Bound::Unbounded) => false,
        (Bound::Unbounded, _) => true,
        (Bound::Included(a), Bound::Included(b)) => {
            a > b && !a.starts_with(b) || b.starts_with(a) && a.len() < b.len()
        }
        (Bound::Excluded(a), Bound::Excluded(b)) => a > b,
        (Bound::Included(a), Bound::Excluded(b)) => a >= b || b.starts_with(a),
        (Bound::Excluded(a), Bound::Included(b)) => a > b && !a.starts_with(b),
    }
}

fn place(ty: &ColumnType, value: Value, cx: &mut Context) -> Place {
    match (ty, value) {
        (_, Value::Null) => Place::Null,
        (ColumnType::Int { size, unsigned }, value) => place_int(*size, *unsigned, value, cx),
        (
            ColumnType::Char { collation, .. }
            | ColumnType::VarChar { collation, .. }
            | ColumnType::Blob { collation, .. },
            Value::Str(s),
        ) => {
            if s.charset() != collation.charset() && !collation.is_binary() && !s.bytes().is_ascii() {
                let converted = s.convert(*collation);
                return if converted.len() as u64 <= ty.max_bytes() {
                    Place::Value(Value::Str(converted))
                } else {
                    Place::Unusable
                };
            }
            if s.len() as u64 > ty.max_bytes() {
                return Place::Unusable;
            }
            Place::Value(Value::Str(s.with_collation(*collation)))
        }
        (ty, value) => match ops::exact(ty, &value, cx) {
            Some(value) => Place::Value(value),
            None => Place::Unusable,
        },
    }
}

fn place_int(size: IntSize, unsigned: bool, value: Value, cx: &mut Context) -> Place {
    let wide: i128 = match value {
        Value::Int(v) => i128::from(v),
        Value::UInt(v) => i128::from(v),
        Value::Str(_) | Value::Double(_) | Value::Float(_) | Value::Decimal(_) => {
            let Some(v) = ops::plain_number(&value, cx) else { return Place::Unusable };
            let floor = v.floor();
            if floor.abs() >= 9e15 {
                return if v > 1e20 {
                    Place::Above
                } else if v < -1e20 {
                    Place::Below
                } else {
                    Place::Unusable
                };
            }
            if floor != v {
                return match place_int(size, unsigned, Value::Int(floor as i64), cx) {
                    Place::Value(v) => Place::After(v),
                    other => other,
                };
            }
            floor as i128
        }
        _ => return Place::Unusable,
    };
    if unsigned {
        if wide < 0 {
            return Place::Below;
        }
        if wide > i128::from(size.max_unsigned()) {
            return Place::Above;
        }
        return Place::Value(Value::UInt(wide as u64));
    }
    if wide < i128::from(size.min_signed()) {
        return Place::Below;
    }
    if wide > i128::from(size.max_signed()) {
        return Place::Above;
    }
    Place::Value(Value::Int(wide as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(k: &[u8]) -> KeyRange {
        KeyRange::prefix(k)
    }

    #[test]
    fn equal_points_are_read_once() {
        assert_eq!(merge(vec![point(b"b"), point(b"a"), point(b"b")]), vec![point(b"a"), point(b"b")]);
    }

    #[test]
    fn ranges_that_meet_become_one() {
        let r = |a: &[u8], b: &[u8]| KeyRange {
            lower: Bound::Included(a.to_vec()),
            upper: Bound::Included(b.to_vec()),
        };
        assert_eq!(merge(vec![r(b"c", b"f"), r(b"a", b"d")]), vec![r(b"a", b"f")]);
        assert_eq!(merge(vec![r(b"a", b"z"), r(b"b", b"c")]), vec![r(b"a", b"z")]);
        assert_eq!(merge(vec![r(b"a", b"b"), r(b"d", b"e")]), vec![r(b"a", b"b"), r(b"d", b"e")]);
    }

    #[test]
    fn an_included_prefix_takes_in_longer_keys() {
        let r = KeyRange { lower: Bound::Included(b"ab".to_vec()), upper: Bound::Unbounded };
        assert_eq!(merge(vec![point(b"a"), r]).len(), 1);
    }

    /// The short way of integers gives the encoder's bytes.
    #[test]
    fn integer_keys_are_the_encoders() {
        use row_format::RowLayout;
        for (size, unsigned, v) in
            [(IntSize::Int, false, -5i64), (IntSize::Big, true, 7), (IntSize::Medium, false, 300)]
        {
            for nullable in [false, true] {
                let layout = RowLayout::new(vec![Column { ty: ColumnType::int(size, unsigned), nullable }]);
                let value = if unsigned { Value::UInt(v as u64) } else { Value::Int(v) };
                let (mut expected, mut found) = (Vec::new(), Vec::new());
                key::encode_values(
                    &layout,
                    &[KeyPart::ascending(0)],
                    std::slice::from_ref(&value),
                    &mut expected,
                )
                .unwrap();
                assert!(put_int(layout.column(0), &KeyPart::ascending(0), &value, &mut found));
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn numbers_between_integers_have_a_place() {
        let mut cx = Context::default();
        assert!(matches!(
            place_int(IntSize::Int, false, Value::Int(5), &mut cx),
            Place::Value(Value::Int(5))
        ));
        assert!(matches!(
            place_int(IntSize::Int, false, Value::Double(1.5), &mut cx),
            Place::After(Value::Int(1))
        ));
        assert!(matches!(place_int(IntSize::Tiny, false, Value::Int(200), &mut cx), Place::Above));
        assert!(matches!(place_int(IntSize::Tiny, true, Value::Int(-1), &mut cx), Place::Below));
    }
}
