//! Column definitions: types, attributes and defaults as written, checked and completed.

use catalog::{ColumnDef, DefaultLiteral, DefaultValue, RowTime};
use charset::Collation;
use row_format::{ColumnType, IntSize, Severity, store};
use sql_plan::error::{SqlError, SqlResult};
use sql_syntax::ast::{self, ColumnAttribute as A, DataType as D};
use types::{FixedKind, Value};

use super::database::resolve_collation;
use super::{DdlContext, check_name};

/// Bytes that a row's columns may take, not counting BLOBs.
const ROW_BYTES_MAX: u64 = 65_535;

/// A column with what its attributes say about keys and about other columns.
pub(super) struct NewColumn<'a> {
    pub(super) def: ColumnDef,
    pub(super) primary: bool,
    pub(super) unique: bool,
    /// NULL was written, not only left out.
    pub(super) explicit_null: bool,
    pub(super) rules: ColumnRules<'a>,
    pub(super) references: Option<&'a ast::References<'a>>,
    /// WITH or WITHOUT SYSTEM VERSIONING.
    pub(super) versioned: Option<bool>,
}

/// Expressions of a column as written: they can be looked at when all columns are known.
#[derive(Clone, Copy, Default)]
pub(super) struct ColumnRules<'a> {
    pub(super) default: Option<ast::Expr<'a>>,
    pub(super) generated: Option<ast::Generated<'a>>,
    pub(super) check: Option<&'a ast::CheckDef<'a>>,
}

/// A type with what only SHOW CREATE TABLE needs.
struct Declared {
    ty: ColumnType,
    width: Option<u32>,
    decimals: Option<u8>,
    zerofill: bool,
}

impl Declared {
    fn plain(ty: ColumnType) -> Self {
        Self { ty, width: None, decimals: None, zerofill: false }
    }
}

pub(super) fn column<'a>(
    c: &ast::ColumnDef<'a>,
    table: Collation,
    cx: &mut DdlContext<'_>,
) -> SqlResult<NewColumn<'a>> {
    let name = c.name.text().into_owned();
    check_name(&name, SqlError::IncorrectColumnName)?;
    let collate = c.attributes.iter().rev().find_map(|a| match a {
        A::Collate(ast::DefaultOr::Name(name)) => Some(name.text().into_owned()),
        _ => None,
    });
    let declared = declared(&name, &c.data_type, table, collate.as_deref())?;
    let serial = matches!(c.data_type, D::Serial);
    let mut out = NewColumn {
        def: ColumnDef {
            nullable: !serial,
            width: declared.width,
            decimals: declared.decimals,
            zerofill: declared.zerofill,
            default: DefaultValue::None,
            auto_increment: serial,
            json: matches!(c.data_type, D::Json { .. }),
            ..ColumnDef::new(name.clone(), declared.ty)
        },
        primary: false,
        unique: serial,
        explicit_null: false,
        rules: ColumnRules::default(),
        references: None,
        versioned: None,
    };
    let mut default = None;
    for attribute in c.attributes {
        match attribute {
            A::Null => (out.def.nullable, out.explicit_null) = (true, true),
            A::NotNull => out.def.nullable = false,
            A::Default(e) => default = Some(*e),
            A::OnUpdate(e) => out.def.on_update_now = on_update(&out.def, e)?,
            A::AutoIncrement => out.def.auto_increment = true,
            A::PrimaryKey | A::Key => out.primary = true,
            A::Unique => out.unique = true,
            A::Comment(text) => out.def.comment = comment(text),
            A::Collate(_) | A::ColumnFormat(_) | A::Storage(_) => {}
            A::WithSystemVersioning => out.versioned = Some(true),
            A::WithoutSystemVersioning => out.versioned = Some(false),
            A::RowStart => out.def.row_time = Some(RowTime::Start),
            A::RowEnd => out.def.row_time = Some(RowTime::End),
            A::Invisible => out.def.invisible = true,
            A::SerialDefault => {
                (out.def.auto_increment, out.def.nullable, out.unique) = (true, false, true);
            }
            A::References(references) => out.references = Some(references),
            A::Check(check) => out.rules.check = Some(check),
            A::Generated(generated) => out.rules.generated = Some(*generated),
            A::Compressed { .. } => return Err(SqlError::not_supported("COMPRESSED columns")),
            A::ReferenceSystem(_) | A::Engine(_) => {
                return Err(SqlError::not_supported("this column attribute"));
            }
        }
    }
    if out.primary && !out.explicit_null {
        out.def.nullable = false;
    }
    if out.def.auto_increment {
        if default.is_some() || !matches!(out.def.ty, ColumnType::Int { .. }) {
            let wrong = if default.is_some() {
                SqlError::InvalidDefault(name)
            } else {
                SqlError::Other {
                    errno: 1063,
                    state: *b"42000",
                    text: format!("Incorrect column specifier for column '{name}'"),
                }
            };
            return Err(wrong);
        }
        out.def.nullable = false;
        return Ok(out);
    }
    if out.def.json && out.rules.check.is_none() {
        out.def.check = Some(format!("json_valid({})", catalog::quote_name(&name)));
    }
    if out.def.row_time.is_some() {
        out.def.nullable = false;
        return Ok(out);
    }
    if out.rules.generated.is_some() {
        return Ok(out);
    }
    out.def.default = match default {
        Some(e) if is_computed(&out.def, &e) => {
            out.rules.default = Some(e);
            DefaultValue::None
        }
        Some(e) => default_value(&out.def, &e, cx)?,
        None if out.def.nullable => DefaultValue::Null,
        None => DefaultValue::None,
    };
    if out.def.invisible && !out.def.nullable && default.is_none() {
        return Err(SqlError::Other {
            errno: 4108,
            state: *b"HY000",
            text: format!("Invisible column `{name}` must have a default value"),
        });
    }
    Ok(out)
}

/// A DEFAULT that is computed for each row, not kept as a value.
pub(super) fn is_computed(def: &ColumnDef, e: &ast::Expr<'_>) -> bool {
    let literal = |e: &ast::Expr<'_>| matches!(e, ast::Expr::Literal(_));
    match e {
        ast::Expr::Unary { op: ast::UnaryOp::Neg, expr } => !literal(expr),
        ast::Expr::Unary { op: ast::UnaryOp::Binary, expr } => !literal(expr),
        e if is_now(e) => !matches!(def.ty, ColumnType::Timestamp { .. } | ColumnType::DateTime { .. }),
        e => !literal(e),
    }
}

/// A variable of a stored program, a parameter or a function's result.
pub fn variable(name: &str, ty: &D<'_>, collation: Collation) -> SqlResult<ColumnDef> {
    let declared = declared(name, ty, collation, None)?;
    Ok(ColumnDef {
        width: declared.width,
        decimals: declared.decimals,
        zerofill: declared.zerofill,
        ..ColumnDef::new(name, declared.ty)
    })
}

fn on_update(def: &ColumnDef, e: &ast::Expr<'_>) -> SqlResult<bool> {
    let temporal = matches!(def.ty, ColumnType::Timestamp { .. } | ColumnType::DateTime { .. });
    if temporal && is_now(e) { Ok(true) } else { Err(SqlError::InvalidOnUpdate(def.name.clone())) }
}

fn is_now(e: &ast::Expr<'_>) -> bool {
    let ast::Expr::Call(call) = e else { return false };
    ["current_timestamp", "now", "localtime", "localtimestamp"].iter().any(|n| call.name.is(n))
}

/// A DEFAULT clause as the column holds it.
pub(super) fn default_value(
    def: &ColumnDef,
    e: &ast::Expr<'_>,
    cx: &mut DdlContext<'_>,
) -> SqlResult<DefaultValue> {
    let invalid = || SqlError::InvalidDefault(def.name.clone());
    if is_now(e) {
        let temporal = matches!(def.ty, ColumnType::Timestamp { .. } | ColumnType::DateTime { .. });
        return if temporal { Ok(DefaultValue::CurrentTimestamp) } else { Err(invalid()) };
    }
    let value = {
        let context = cx.plan_context();
        let (plan, _) = sql_plan::plan_expr(e, &context)?;
        match &plan.kind {
            sql_plan::plan::PlanKind::Do(exprs) => match exprs.first().and_then(sql_plan::plan::as_const) {
                Some(value) => value.clone(),
                None => return Err(SqlError::not_supported("expressions as DEFAULT")),
            },
            _ => return Err(invalid()),
        }
    };
    if value.is_null() {
        return if def.nullable { Ok(DefaultValue::Null) } else { Err(invalid()) };
    }
    let stored = store(&def.ty, &value, cx.values);
    match stored.problem {
        Some(problem) if problem.severity == Severity::Warning => Err(invalid()),
        _ => Ok(DefaultValue::Literal(DefaultLiteral(stored.value))),
    }
}

/// The stored type of a type as written.
fn declared(name: &str, ty: &D<'_>, table: Collation, collate: Option<&str>) -> SqlResult<Declared> {
    let fsp = |p: Option<u64>| -> SqlResult<u8> {
        match p {
            None => Ok(0),
            Some(p @ 0..=6) => Ok(p as u8),
            Some(_) => Err(SqlError::PrecisionTooBig { column: name.to_owned(), max: 6 }),
        }
    };
    let text = |charset: &ast::CharsetSpec<'_>| charset_of(charset, table, collate);
    Ok(match ty {
        D::Int { size, width, sign } => int(name, *size, *width, *sign)?,
        D::Serial => Declared::plain(ColumnType::int(IntSize::Big, true)),
        D::Decimal { precision, scale, sign } => decimal(name, *precision, *scale, *sign)?,
        D::Float { precision, scale, sign } => float(name, *precision, *scale, *sign)?,
        D::Double { precision, scale, sign } => Declared {
            ty: ColumnType::Double { unsigned: sign.unsigned || sign.zerofill },
            width: precision.map(|p| p as u32),
            decimals: scale.map(|s| s as u8),
            zerofill: sign.zerofill,
        },
        D::Bit { width } => match width.unwrap_or(1) {
            0 => Declared::plain(ColumnType::Bit { bits: 1 }),
            bits @ 1..=64 => Declared::plain(ColumnType::Bit { bits: bits as u8 }),
            _ => return Err(SqlError::DisplayWidth { column: name.to_owned(), max: 64 }),
        },
        D::Char { length, charset, national } => {
            let collation = if *national { Collation::UTF8MB3_GENERAL_CI } else { text(charset)? };
            char_type(name, length.unwrap_or(1), collation)?
        }
        D::Varchar { length, charset, national } => {
            let collation = if *national { Collation::UTF8MB3_GENERAL_CI } else { text(charset)? };
            varchar(name, length.unwrap_or(1), collation)?
        }
        D::Binary { length } => char_type(name, length.unwrap_or(1), Collation::BINARY)?,
        D::Varbinary { length } => varchar(name, length.unwrap_or(1), Collation::BINARY)?,
        D::Text { size, length, charset } => blob(*size, *length, text(charset)?),
        D::Blob { size, length } => blob(*size, *length, Collation::BINARY),
        D::Enum { values, charset } => {
            let members = values.iter().map(|v| Box::from(*v)).collect();
            Declared::plain(ColumnType::Enum { members, collation: text(charset)? })
        }
        D::Set { values, charset } => {
            let members = values.iter().map(|v| Box::from(*v)).collect();
            Declared::plain(ColumnType::Set { members, collation: text(charset)? })
        }
        D::Date => Declared::plain(ColumnType::Date),
        D::Time { precision } => Declared::plain(ColumnType::Time { fsp: fsp(*precision)? }),
        D::DateTime { precision } => Declared::plain(ColumnType::DateTime { fsp: fsp(*precision)? }),
        D::Timestamp { precision } => Declared::plain(ColumnType::Timestamp { fsp: fsp(*precision)? }),
        // YEAR(2) shows two digits of what YEAR(4) holds.
        D::Year { width } => {
            Declared { width: width.filter(|w| *w == 2).map(|_| 2), ..Declared::plain(ColumnType::Year) }
        }
        D::Json { .. } => {
            Declared::plain(ColumnType::Blob { length_bytes: 4, collation: Collation::UTF8MB4_BIN })
        }
        D::Uuid => Declared::plain(ColumnType::Fixed(FixedKind::Uuid)),
        D::Inet4 => Declared::plain(ColumnType::Fixed(FixedKind::Inet4)),
        D::Inet6 => Declared::plain(ColumnType::Fixed(FixedKind::Inet6)),
        D::Geometry { .. } | D::Vector { .. } => {
            return Err(SqlError::not_supported("this column type"));
        }
        D::Named { name, .. } => {
            return Err(SqlError::Other {
                errno: 4161,
                state: *b"HY000",
                text: format!("Unknown data type: '{name}'"),
            });
        }
    })
}

fn charset_of(spec: &ast::CharsetSpec<'_>, table: Collation, collate: Option<&str>) -> SqlResult<Collation> {
    let charset = spec.charset.map(|c| c.text().into_owned());
    let collation = spec.collation.map(|c| c.text().into_owned());
    let found = resolve_collation(charset.as_deref(), collation.as_deref().or(collate), table)?;
    Ok(if spec.binary && collation.is_none() && collate.is_none() {
        Collation::bin_of(found.charset())
    } else {
        found
    })
}

fn int(name: &str, size: ast::IntSize, width: Option<u64>, sign: ast::Sign) -> SqlResult<Declared> {
    let size = match size {
        ast::IntSize::Tiny => IntSize::Tiny,
        ast::IntSize::Small => IntSize::Small,
        ast::IntSize::Medium => IntSize::Medium,
        ast::IntSize::Normal => IntSize::Int,
        ast::IntSize::Big => IntSize::Big,
    };
    if width.is_some_and(|w| w > 255) {
        return Err(SqlError::DisplayWidth { column: name.to_owned(), max: 255 });
    }
    Ok(Declared {
        ty: ColumnType::int(size, sign.unsigned || sign.zerofill),
        width: width.filter(|w| *w > 0).map(|w| w as u32),
        decimals: None,
        zerofill: sign.zerofill,
    })
}

fn decimal(name: &str, precision: Option<u64>, scale: Option<u64>, sign: ast::Sign) -> SqlResult<Declared> {
    let column = name.to_owned();
    let (precision, scale) = (precision.unwrap_or(10), scale.unwrap_or(0));
    if scale > 38 {
        return Err(SqlError::ScaleTooBig { column, max: 38 });
    }
    if precision > 65 {
        return Err(SqlError::PrecisionTooBig { column, max: 65 });
    }
    let precision = if precision == 0 { 10 } else { precision };
    if scale > precision {
        return Err(SqlError::ScaleOverPrecision(column));
    }
    Ok(Declared {
        ty: ColumnType::Decimal {
            precision: precision as u8,
            scale: scale as u8,
            unsigned: sign.unsigned || sign.zerofill,
        },
        width: None,
        decimals: None,
        zerofill: sign.zerofill,
    })
}

/// A comment as it is kept: in utf8mb3.
pub(super) fn comment(text: &[u8]) -> String {
    let kept = |c: char| if c > '\u{ffff}' { '?' } else { c };
    String::from_utf8_lossy(text).chars().map(kept).collect()
}

fn float(name: &str, precision: Option<u64>, scale: Option<u64>, sign: ast::Sign) -> SqlResult<Declared> {
    let unsigned = sign.unsigned || sign.zerofill;
    let ty = match (precision, scale) {
        (Some(p), None) if p > 53 => {
            return Err(SqlError::Other {
                errno: 1063,
                state: *b"42000",
                text: format!("Incorrect column specifier for column '{name}'"),
            });
        }
        (Some(p), None) if p > 24 => ColumnType::Double { unsigned },
        _ => ColumnType::Float { unsigned },
    };
    let shown = scale.is_some();
    Ok(Declared {
        ty,
        width: precision.filter(|_| shown).map(|p| p as u32),
        decimals: scale.map(|s| s as u8),
        zerofill: sign.zerofill,
    })
}

fn char_type(name: &str, length: u64, collation: Collation) -> SqlResult<Declared> {
    if length > 255 {
        return Err(SqlError::ColumnTooLong { column: name.to_owned(), max: 255 });
    }
    Ok(Declared::plain(ColumnType::char(length as u16, collation)))
}

fn varchar(name: &str, length: u64, collation: Collation) -> SqlResult<Declared> {
    let widest = collation.charset().max_len() as u64;
    let max = ROW_BYTES_MAX / widest;
    if length > max {
        return Err(SqlError::ColumnTooLong { column: name.to_owned(), max: max as u32 });
    }
    Ok(Declared::plain(ColumnType::varchar(length as u16, collation)))
}

fn blob(size: ast::BlobSize, length: Option<u64>, collation: Collation) -> Declared {
    let length_bytes = match (size, length) {
        (ast::BlobSize::Tiny, _) => 1,
        (ast::BlobSize::Medium, _) => 3,
        (ast::BlobSize::Long, _) => 4,
        (ast::BlobSize::Normal, None) => 2,
        (ast::BlobSize::Normal, Some(n)) => match n * collation.charset().max_len() as u64 {
            0..=0xff => 1,
            0x100..=0xffff => 2,
            0x1_0000..=0xff_ffff => 3,
            _ => 4,
        },
    };
    Declared::plain(ColumnType::Blob { length_bytes, collation })
}

/// Columns together must fit a row.
pub(super) fn check_row_size(columns: &[ColumnDef]) -> SqlResult<()> {
    let bytes: u64 = columns
        .iter()
        .map(|c| match &c.ty {
            ColumnType::Blob { .. } => 9 + 1,
            other => other.max_bytes() + other.length_bytes() as u64,
        })
        .sum();
    let nulls = columns.iter().filter(|c| c.nullable).count().div_ceil(8) as u64;
    if bytes + nulls > ROW_BYTES_MAX { Err(SqlError::RowSizeTooLarge) } else { Ok(()) }
}

/// The value that existing rows get in a new column without a DEFAULT clause.
pub(super) fn value_for_existing(def: &ColumnDef, cx: &mut DdlContext<'_>) -> Value {
    match &def.default {
        DefaultValue::Literal(literal) => literal.0.clone(),
        DefaultValue::CurrentTimestamp => crate::store::now_for(&def.ty, cx.values),
        // Computed for each row when it is copied.
        DefaultValue::Null | DefaultValue::Expression(_) => Value::Null,
        DefaultValue::None if def.nullable => Value::Null,
        DefaultValue::None => crate::store::implicit_default(&def.ty),
    }
}
