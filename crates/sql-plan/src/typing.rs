//! Static types of operators, and how two types are compared.

use charset::{Charset, Collation};
use row_format::{ColumnType, IntSize};
use types::{FixedKind, Value};

use crate::error::{SqlError, SqlResult};
use crate::expr::{ArithOp, CompareAs, Expr, Typed};
use crate::meta::{Coercibility, ExprType, FieldType, NOT_FIXED_DECIMALS};

/// Most digits of a decimal, and most after its point.
pub const DECIMAL_DIGITS_MAX: u32 = 65;
pub const DECIMAL_SCALE_MAX: u8 = 38;

/// Type of a table column as an expression; `width` is the declared display width of an integer or a YEAR.
pub fn of_column(ty: &ColumnType, nullable: bool, width: Option<u32>) -> ExprType {
    let mut out = match ty {
        ColumnType::Int { size, unsigned } => {
            let (field, default_width) = match (size, unsigned) {
                (IntSize::Tiny, u) => (FieldType::Tiny, 4 - u32::from(*u)),
                (IntSize::Small, u) => (FieldType::Short, 6 - u32::from(*u)),
                (IntSize::Medium, u) => (FieldType::Int24, 9 - u32::from(*u)),
                (IntSize::Int, u) => (FieldType::Long, 11 - u32::from(*u)),
                (IntSize::Big, _) => (FieldType::LongLong, 20),
            };
            let t = ExprType { field, length: width.unwrap_or(default_width), ..ExprType::bigint() };
            if *unsigned { t.unsigned() } else { t }
        }
        ColumnType::Float { unsigned } => real(FieldType::Float, 12, *unsigned),
        ColumnType::Double { unsigned } => real(FieldType::Double, 22, *unsigned),
        ColumnType::Decimal { precision, scale, unsigned } => {
            let t = ExprType::decimal(u32::from(*precision), *scale);
            if *unsigned { ExprType { length: t.length - 1, ..t.unsigned() } } else { t }
        }
        ColumnType::Year => {
            ExprType { field: FieldType::Year, length: width.unwrap_or(4), ..ExprType::bigint() }.unsigned()
        }
        ColumnType::Bit { bits } => {
            ExprType { field: FieldType::Bit, length: u32::from(*bits), ..ExprType::bigint() }.unsigned()
        }
        ColumnType::Date => temporal(FieldType::Date, 0),
        ColumnType::Time { fsp } => temporal(FieldType::Time, *fsp),
        ColumnType::DateTime { fsp } => temporal(FieldType::DateTime, *fsp),
        ColumnType::Timestamp { fsp } => temporal(FieldType::Timestamp, *fsp),
        ColumnType::Char { max_bytes, collation } => {
            let chars = u32::from(*max_bytes) / collation.charset().max_len() as u32;
            ExprType { field: FieldType::String, decimals: 0, ..text(chars, *collation) }
        }
        ColumnType::VarChar { max_bytes, collation } => {
            let chars = u32::from(*max_bytes) / collation.charset().max_len() as u32;
            ExprType { decimals: 0, ..text(chars, *collation) }
        }
        ColumnType::Blob { collation, .. } => {
            let length = u32::try_from(ty.max_bytes()).unwrap_or(u32::MAX);
            ExprType { field: FieldType::Blob, decimals: 0, ..text(length, *collation) }
        }
        ColumnType::Enum { members, collation } => {
            let longest = members.iter().map(|m| m.len()).max().unwrap_or(0) as u32;
            ExprType { field: FieldType::Enum, decimals: 0, ..text(longest, *collation) }
        }
        ColumnType::Set { members, collation } => {
            let all = members.iter().map(|m| m.len() + 1).sum::<usize>().saturating_sub(1) as u32;
            ExprType { field: FieldType::Set, decimals: 0, ..text(all, *collation) }
        }
        ColumnType::Fixed(kind) => fixed(*kind),
    };
    out.nullable = nullable;
    out
}

/// UUID, INET4, INET6: any text beside one keeps its own collation.
pub fn fixed(kind: FixedKind) -> ExprType {
    ExprType {
        field: FieldType::of_fixed(kind),
        decimals: 0,
        ..ExprType::text(kind.text_len(), Collation::LATIN1_SWEDISH_CI, Coercibility::Ignorable)
    }
}

fn text(length: u32, collation: Collation) -> ExprType {
    ExprType::text(length, collation, Coercibility::Implicit)
}

fn real(field: FieldType, length: u32, unsigned: bool) -> ExprType {
    let t = ExprType { field, length, ..ExprType::double() };
    if unsigned { t.unsigned() } else { t }
}

/// A temporal type with `fsp` fraction digits.
pub fn temporal(field: FieldType, fsp: u8) -> ExprType {
    let base = match field {
        FieldType::Date => 10,
        FieldType::Time => 10,
        _ => 19,
    };
    let fraction = if fsp > 0 { u32::from(fsp) + 1 } else { 0 };
    ExprType { field, length: base + fraction, decimals: fsp, ..ExprType::bigint() }
}

/// Type of a literal or folded value.
pub fn of_value(value: &Value) -> ExprType {
    let ty = match value {
        Value::Null => return ExprType::null(),
        Value::Int(v) => {
            let digits = v.unsigned_abs().checked_ilog10().unwrap_or(0) + 1 + u32::from(*v < 0);
            let field = if i32::try_from(*v).is_ok() { FieldType::Long } else { FieldType::LongLong };
            ExprType { field, length: digits, ..ExprType::bigint() }
        }
        Value::UInt(v) => {
            let digits = v.checked_ilog10().unwrap_or(0) + 1;
            ExprType { length: digits, ..ExprType::bigint().unsigned() }
        }
        Value::Float(_) | Value::Double(_) => ExprType::double(),
        Value::Decimal(d) => ExprType::decimal(d.int_digits().max(1) + u32::from(d.scale()), d.scale()),
        Value::Str(s) => {
            let chars = s.charset().char_count(s.bytes()) as u32;
            ExprType::text(chars, s.collation(), Coercibility::Coercible)
        }
        Value::Date(_) => temporal(FieldType::Date, 0),
        Value::Time(t) => temporal(FieldType::Time, t.fsp),
        Value::DateTime(t) => temporal(FieldType::DateTime, t.fsp),
        Value::Timestamp(t) => temporal(FieldType::Timestamp, t.fsp),
        Value::Year(_) => ExprType { field: FieldType::Year, length: 4, ..ExprType::bigint() }.unsigned(),
        Value::Bit { bits, .. } => {
            ExprType { field: FieldType::Bit, length: u32::from(*bits), ..ExprType::bigint() }.unsigned()
        }
        Value::Enum(e) => {
            ExprType { field: FieldType::Enum, ..text(e.text.len() as u32, e.text.collation()) }
        }
        Value::Fixed(v) => fixed(v.kind()),
    };
    ty.not_null()
}

/// Type of `left op right`.
pub fn of_arith(op: ArithOp, left: &ExprType, right: &ExprType, div_increment: u8) -> ExprType {
    use ArithOp::*;
    let nullable = left.nullable || right.nullable || matches!(op, Div | IntDiv | Mod);
    let unsigned = left.unsigned || right.unsigned;
    let number = |t: &ExprType| if t.field == FieldType::Null { ExprType::bigint() } else { *t };
    let (l, r) = (number(left), number(right));
    let ints = is_exact_int(&l) && is_exact_int(&r);
    let exact = is_exact(&l) && is_exact(&r);
    let ty = match op {
        BitAnd | BitOr | BitXor | ShiftLeft | ShiftRight => ExprType::bigint().unsigned(),
        IntDiv => {
            let t = ExprType { length: l.length.min(21), ..ExprType::bigint() };
            if unsigned { t.unsigned() } else { t }
        }
        _ if !exact => real_of(op, &l, &r, div_increment),
        Div => {
            let ((p1, s1), (_, s2)) = (l.precision(), r.precision());
            let scale = (s1 + div_increment).min(DECIMAL_SCALE_MAX);
            let digits = p1 - u32::from(s1) + u32::from(s2) + u32::from(scale);
            ExprType::decimal(digits.min(DECIMAL_DIGITS_MAX), scale)
        }
        Mod if ints => {
            let t = ExprType { length: l.length.max(r.length), ..ExprType::bigint() };
            if l.unsigned { t.unsigned() } else { t }
        }
        _ if ints => {
            let ((p1, _), (p2, _)) = (l.precision(), r.precision());
            let digits = if op == Mul { p1 + p2 } else { p1.max(p2) + 1 };
            let t = ExprType { length: digits.min(20) + 1, ..ExprType::bigint() };
            if unsigned { t.unsigned() } else { t }
        }
        Mul => {
            let ((p1, s1), (p2, s2)) = (l.precision(), r.precision());
            ExprType::decimal((p1 + p2).min(DECIMAL_DIGITS_MAX), (s1 + s2).min(DECIMAL_SCALE_MAX))
        }
        Add | Sub | Mod => {
            let ((p1, s1), (p2, s2)) = (l.precision(), r.precision());
            let scale = s1.max(s2);
            let whole = (p1 - u32::from(s1)).max(p2 - u32::from(s2)) + u32::from(op != Mod);
            ExprType::decimal((whole + u32::from(scale)).min(DECIMAL_DIGITS_MAX), scale)
        }
    };
    ty.nullable(nullable)
}

/// A DOUBLE of as many decimals as the operands show, when all of them have a number of their own.
fn real_of(op: ArithOp, l: &ExprType, r: &ExprType, div_increment: u8) -> ExprType {
    // A text has as many as it likes.
    let of = |t: &ExprType| if is_exact(t) || t.field.is_real() { t.decimals } else { NOT_FIXED_DECIMALS };
    let decimals = of(l).max(of(r));
    let more = if op == ArithOp::Div { div_increment } else { 0 };
    ExprType::double().with_decimals(decimals.saturating_add(more))
}

fn is_exact_int(t: &ExprType) -> bool {
    t.field.is_integer()
}

fn is_exact(t: &ExprType) -> bool {
    t.field.is_integer() || t.field == FieldType::Decimal || t.field.is_temporal()
}

/// A parameter whose type only its value will show; variables of stored programs have one.
fn is_untyped(t: &Typed) -> bool {
    matches!(t.expr, Expr::Param(_)) && t.ty.coercibility == Coercibility::Coercible
}

/// How values are sorted and grouped: as they are compared, but columns of ENUM and SET by their numbers. What functions make of
/// them is text.
pub fn sort_as(typed: &Typed, operation: &str) -> SqlResult<CompareAs> {
    match typed.ty.field {
        FieldType::Enum | FieldType::Set if matches!(typed.expr, Expr::Column(_)) => Ok(CompareAs::Int),
        _ => compare_as(typed, typed, operation),
    }
}

/// How values of two static types are compared.
pub fn compare_as(left: &Typed, right: &Typed, operation: &str) -> SqlResult<CompareAs> {
    let (l, r) = (&left.ty, &right.ty);
    let param = is_untyped(left) || is_untyped(right);
    let texts = |t: &ExprType| t.field.is_text() || t.field == FieldType::Null;
    if param {
        let other = if is_untyped(left) { r } else { l };
        let collation = if other.field.is_text() && !is_untyped(right) || l.field.is_text() {
            other.collation
        } else {
            l.collation
        };
        return Ok(CompareAs::Any(collation));
    }
    if let Some(kind) = l.field.fixed().or(r.field.fixed()) {
        let fits = |t: &ExprType| texts(t) && t.field.fixed().is_none_or(|k| k == kind);
        if !fits(l) || !fits(r) {
            return Err(SqlError::IllegalParameterTypes {
                left: l.field.name(),
                right: r.field.name(),
                operation: operation.to_owned(),
            });
        }
        return Ok(CompareAs::Fixed(kind));
    }
    if texts(l) && texts(r) {
        return Ok(CompareAs::Text(aggregate_collation(l, r, operation)?.0));
    }
    if l.field.is_integer()
        && r.field.is_integer()
        && l.field != FieldType::Year
        && r.field != FieldType::Year
    {
        return Ok(CompareAs::Int);
    }
    if l.field.is_temporal() || r.field.is_temporal() {
        return Ok(CompareAs::Temporal);
    }
    if l.field == FieldType::Null || r.field == FieldType::Null {
        return Ok(CompareAs::Any(Collation::BINARY));
    }
    let exact = |t: &ExprType| t.field.is_integer() || t.field == FieldType::Decimal;
    Ok(if exact(l) && exact(r) { CompareAs::Decimal } else { CompareAs::Double })
}

/// Which collation two texts are compared or joined with.
pub fn aggregate_collation(
    left: &ExprType,
    right: &ExprType,
    operation: &str,
) -> SqlResult<(Collation, Coercibility)> {
    let (a, b) = (left, right);
    if !a.field.is_text() && !b.field.is_text() {
        return Ok((b.collation, Coercibility::Numeric));
    }
    if !a.field.is_text() || a.coercibility > b.coercibility && b.field.is_text() {
        return Ok((b.collation, b.coercibility));
    }
    if !b.field.is_text() || a.coercibility < b.coercibility || a.collation == b.collation {
        return Ok((a.collation, a.coercibility));
    }
    let (ca, cb) = (a.collation, b.collation);
    if ca.charset() != cb.charset() {
        // The wider character set takes the narrower one in.
        for (wide, narrow) in [(a, b), (b, a)] {
            if wide.collation.is_binary() || is_superset(wide.collation.charset(), narrow.collation.charset())
            {
                return Ok((wide.collation, wide.coercibility));
            }
        }
    }
    if a.coercibility != Coercibility::Explicit && ca.charset() == cb.charset() {
        if ca.is_bin() != cb.is_bin() {
            return Ok((if ca.is_bin() { ca } else { cb }, a.coercibility));
        }
        if a.coercibility == Coercibility::Coercible {
            return Ok((ca, a.coercibility));
        }
    }
    let show = |t: &ExprType| format!("({},{})", t.collation.name(), coercibility_name(t.coercibility));
    Err(SqlError::IllegalMixOfCollations { first: show(a), second: show(b), operation: operation.to_owned() })
}

fn coercibility_name(c: Coercibility) -> &'static str {
    match c {
        Coercibility::Explicit => "EXPLICIT",
        Coercibility::None => "NONE",
        Coercibility::Implicit => "IMPLICIT",
        Coercibility::SysConst => "SYSCONST",
        Coercibility::Coercible => "COERCIBLE",
        Coercibility::Numeric => "NUMERIC",
        Coercibility::Ignorable => "IGNORABLE",
    }
}

fn is_superset(wide: Charset, narrow: Charset) -> bool {
    let rank = |c: Charset| match c {
        Charset::Ascii => 0,
        Charset::Utf8mb3 | Charset::Ucs2 => 2,
        Charset::Utf8mb4 | Charset::Utf16 | Charset::Utf16le | Charset::Utf32 => 3,
        Charset::Binary => 4,
        _ => 1,
    };
    rank(wide) > rank(narrow)
}

/// The type that holds values of both: CASE, IF, COALESCE, UNION.
pub fn unify(left: &ExprType, right: &ExprType, operation: &str) -> SqlResult<ExprType> {
    let nullable = left.nullable || right.nullable;
    let (l, r) = (left, right);
    let ty = match (l.field, r.field) {
        (a, b) if a == b && a.fixed().is_some() => *l,
        (FieldType::Null, _) => *r,
        (_, FieldType::Null) => *l,
        (a, b) if a == b && a.is_temporal() => {
            ExprType { length: l.length.max(r.length), decimals: l.decimals.max(r.decimals), ..*l }
        }
        (a, b) if a.is_integer() && b.is_integer() => {
            let field = if width(a) >= width(b) { a } else { b };
            let mixed = l.unsigned != r.unsigned;
            let field = if mixed && width(field) < 8 { FieldType::LongLong } else { field };
            ExprType { field, length: l.length.max(r.length), unsigned: l.unsigned && r.unsigned, ..*l }
        }
        (a, b) if a.is_numeric() && b.is_numeric() => {
            if a.is_real() || b.is_real() {
                ExprType::double().with_decimals(l.decimals.max(r.decimals))
            } else {
                let ((p1, s1), (p2, s2)) = (l.precision(), r.precision());
                let scale = s1.max(s2);
                let whole = (p1 - u32::from(s1)).max(p2 - u32::from(s2));
                ExprType::decimal((whole + u32::from(scale)).min(DECIMAL_DIGITS_MAX), scale)
            }
        }
        (a, b) if a.is_temporal() && b.is_temporal() && a != FieldType::Time && b != FieldType::Time => {
            temporal(FieldType::DateTime, l.decimals.max(r.decimals))
        }
        (a, b) => {
            let (collation, coercibility) = aggregate_collation(l, r, operation)?;
            let blob = a == FieldType::Blob || b == FieldType::Blob;
            ExprType {
                field: if blob { FieldType::Blob } else { FieldType::VarString },
                decimals: NOT_FIXED_DECIMALS,
                ..ExprType::text(l.length.max(r.length), collation, coercibility)
            }
        }
    };
    Ok(ty.nullable(nullable))
}

fn width(field: FieldType) -> u8 {
    match field {
        FieldType::Tiny => 1,
        FieldType::Short | FieldType::Year => 2,
        FieldType::Int24 => 3,
        FieldType::Long => 4,
        _ => 8,
    }
}

/// Protocol flags of a table's column.
pub fn column_flags(def: &catalog::TableDef, column: usize) -> u16 {
    use crate::meta::flags;
    let c = &def.columns[column];
    let mut out = 0;
    if !c.nullable {
        out |= flags::NOT_NULL;
    }
    if !c.nullable && c.default == catalog::DefaultValue::None && !c.auto_increment {
        out |= flags::NO_DEFAULT_VALUE;
    }
    for (i, index) in def.indexes.iter().enumerate() {
        let Some(at) = index.parts.iter().position(|p| p.column == column) else { continue };
        if i == 0 {
            out |= flags::PRI_KEY;
        } else if at == 0 {
            out |=
                if index.unique && index.parts.len() == 1 { flags::UNIQUE_KEY } else { flags::MULTIPLE_KEY };
        }
    }
    if c.auto_increment {
        out |= flags::AUTO_INCREMENT;
    }
    if c.zerofill {
        out |= flags::ZEROFILL;
    }
    if c.on_update_now {
        out |= flags::ON_UPDATE_NOW;
    }
    match &c.ty {
        ColumnType::Fixed(_) => {}
        ColumnType::Int { unsigned, .. }
        | ColumnType::Decimal { unsigned, .. }
        | ColumnType::Float { unsigned }
        | ColumnType::Double { unsigned } => {
            out |= flags::NUM;
            out |= if *unsigned { flags::UNSIGNED } else { 0 };
        }
        ColumnType::Year => out |= flags::NUM | flags::UNSIGNED | flags::ZEROFILL,
        ColumnType::Bit { .. } => out |= flags::UNSIGNED,
        ColumnType::Timestamp { .. } => out |= flags::TIMESTAMP | flags::BINARY,
        ColumnType::Date | ColumnType::Time { .. } | ColumnType::DateTime { .. } => out |= flags::BINARY,
        ColumnType::Blob { collation, .. } => {
            out |= flags::BLOB | if collation.is_bin() { flags::BINARY } else { 0 };
        }
        ColumnType::Char { collation, .. } | ColumnType::VarChar { collation, .. } => {
            out |= if collation.is_bin() { flags::BINARY } else { 0 };
        }
        ColumnType::Enum { .. } => out |= flags::ENUM,
        ColumnType::Set { .. } => out |= flags::SET,
    }
    out
}
