//! Static types of arguments and results.

use charset::Collation;
use types::{Class, Value};

/// `decimals` of doubles whose number of digits is not fixed.
pub const NOT_FIXED: u8 = 39;

/// A static type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Type {
    pub class: Class,
    /// Characters of a text, digits of a number.
    pub length: u32,
    /// Digits after the point, or of a temporal value's fraction.
    pub decimals: u8,
    pub unsigned: bool,
    pub nullable: bool,
    /// Of texts.
    pub collation: Collation,
}

/// An argument: its type, and its value when it is a constant.
#[derive(Debug, Clone, Copy)]
pub struct Arg<'a> {
    pub ty: Type,
    pub constant: Option<&'a Value>,
}

impl Type {
    const fn new(class: Class, length: u32, decimals: u8) -> Self {
        Self { class, length, decimals, unsigned: false, nullable: true, collation: Collation::BINARY }
    }
    pub const fn int(digits: u32) -> Self {
        Self::new(Class::Int, digits, 0)
    }
    pub const fn bigint() -> Self {
        Self::int(20)
    }
    pub const fn double() -> Self {
        Self::new(Class::Double, 23, NOT_FIXED)
    }
    pub const fn decimal(precision: u32, scale: u8) -> Self {
        Self::new(Class::Decimal, precision, scale)
    }
    pub const fn text(chars: u32, collation: Collation) -> Self {
        let mut ty = Self::new(Class::Str, chars, 0);
        ty.collation = collation;
        ty
    }
    pub const fn date() -> Self {
        Self::new(Class::Date, 10, 0)
    }
    pub const fn time(fsp: u8) -> Self {
        Self::new(Class::Time, 10, fsp)
    }
    pub const fn datetime(fsp: u8) -> Self {
        Self::new(Class::DateTime, 19, fsp)
    }
    #[must_use]
    pub const fn unsigned(mut self) -> Self {
        self.unsigned = true;
        self
    }
    #[must_use]
    pub const fn not_null(mut self) -> Self {
        self.nullable = false;
        self
    }
}

impl Arg<'_> {
    /// The constant as an integer.
    pub(crate) fn constant_int(&self) -> Option<i64> {
        match self.constant? {
            Value::Int(v) => Some(*v),
            Value::UInt(v) => i64::try_from(*v).ok(),
            Value::Decimal(d) => d.to_i64().ok(),
            _ => None,
        }
    }
    pub(crate) fn text_chars(&self) -> u32 {
        match self.ty.class {
            Class::Str => self.ty.length,
            Class::Double => 23,
            Class::Int | Class::Decimal => self.ty.length.saturating_add(2),
            _ => self.ty.length.saturating_add(u32::from(self.ty.decimals) + 1),
        }
    }
    /// Fraction digits of the argument read as a temporal value.
    pub(crate) fn fsp(&self) -> u8 {
        match self.ty.class {
            Class::Date | Class::Int | Class::Null => 0,
            Class::Decimal | Class::Time | Class::DateTime => self.ty.decimals.min(6),
            // A text's fraction is known when it is a constant.
            Class::Str | Class::Double => match self.constant {
                Some(Value::Str(s)) => {
                    let text = s.bytes();
                    let point = text.iter().rposition(|b| *b == b'.');
                    point.map_or(0, |p| {
                        text[p + 1..].iter().take_while(|b| b.is_ascii_digit()).count().min(6) as u8
                    })
                }
                _ => 6,
            },
        }
    }
}

/// Rules of the registry.
pub(crate) mod rule {
    use super::{Arg, Type};
    use charset::Collation;
    use types::Class;

    pub(crate) type Rule = fn(&[Arg<'_>]) -> Type;

    /// Texts are never longer than this for a client.
    const LONGEST: u32 = 16 << 20;

    /// The collation of the first text among the arguments, of the connection's kind when there is none.
    pub(crate) fn collation(args: &[Arg<'_>]) -> Collation {
        let texts = || args.iter().filter(|a| a.ty.class == Class::Str).map(|a| a.ty.collation);
        if texts().any(Collation::is_binary) {
            return Collation::BINARY;
        }
        let widest = texts().max_by_key(|c| c.charset().max_len());
        match (texts().next(), widest) {
            (Some(first), Some(widest)) if first.charset() == widest.charset() => first,
            (_, Some(widest)) => widest,
            _ => Collation::UTF8MB4_UCA1400_AI_CI,
        }
    }

    pub(crate) fn int(_: &[Arg<'_>]) -> Type {
        Type::int(10)
    }
    pub(crate) fn int_not_null(_: &[Arg<'_>]) -> Type {
        Type::int(10).not_null()
    }
    pub(crate) fn bigint(_: &[Arg<'_>]) -> Type {
        Type::bigint()
    }
    pub(crate) fn json(args: &[Arg<'_>]) -> Type {
        let collation = collation(args);
        let wide = collation.charset().max_len() == 4 && !collation.is_binary();
        Type::text(LONGEST, if wide { collation } else { crate::json::COLLATION })
    }
    pub(crate) fn last(args: &[Arg<'_>]) -> Type {
        args[args.len() - 1].ty
    }
    pub(crate) fn ubigint(_: &[Arg<'_>]) -> Type {
        Type::bigint().unsigned()
    }
    pub(crate) fn double(_: &[Arg<'_>]) -> Type {
        Type::double()
    }
    pub(crate) fn pi(_: &[Arg<'_>]) -> Type {
        Type { decimals: 6, length: 8, ..Type::double().not_null() }
    }
    pub(crate) fn date(_: &[Arg<'_>]) -> Type {
        Type::date()
    }
    pub(crate) fn binary(args: &[Arg<'_>]) -> Type {
        Type::text(args.first().map_or(64, |a| a.text_chars()), Collation::BINARY)
    }

    /// A text no longer than the first argument.
    pub(crate) fn like_first(args: &[Arg<'_>]) -> Type {
        Type::text(args[0].text_chars(), collation(args))
    }
    /// A text of the summed length.
    pub(crate) fn sum_of_texts(args: &[Arg<'_>]) -> Type {
        let chars = args.iter().fold(0u32, |n, a| n.saturating_add(a.text_chars()));
        Type::text(chars.min(LONGEST), collation(args))
    }
    pub(crate) fn long_text(args: &[Arg<'_>]) -> Type {
        Type::text(LONGEST, collation(args))
    }
    /// A text of digits, letters and marks only.
    pub(crate) fn ascii<const N: u32>(_: &[Arg<'_>]) -> Type {
        Type::text(N, Collation::UTF8MB4_UCA1400_AI_CI)
    }
    pub(crate) fn hex(args: &[Arg<'_>]) -> Type {
        let chars = args[0].text_chars().saturating_mul(2 * args[0].ty.collation.charset().max_len() as u32);
        Type::text(chars.clamp(16, LONGEST), Collation::UTF8MB4_UCA1400_AI_CI)
    }

    /// An exact integer of an exact number, a double of a double.
    pub(crate) fn whole(args: &[Arg<'_>]) -> Type {
        let arg = args[0].ty;
        match arg.class {
            Class::Int => Type { nullable: true, ..arg },
            Class::Decimal if arg.length - u32::from(arg.decimals).min(arg.length) < 19 => Type::bigint(),
            Class::Decimal => Type::decimal(arg.length - u32::from(arg.decimals), 0),
            Class::Double | Class::Str => Type { decimals: 0, ..Type::double() },
            _ => Type::bigint(),
        }
    }
    /// A number of the argument's own kind.
    pub(crate) fn same_number(args: &[Arg<'_>]) -> Type {
        let arg = args[0].ty;
        match arg.class {
            Class::Int | Class::Decimal | Class::Double => Type { nullable: true, ..arg },
            Class::Str => Type::double(),
            _ if arg.decimals > 0 => Type::decimal(14 + u32::from(arg.decimals), arg.decimals),
            _ => Type::bigint(),
        }
    }
    /// ROUND and TRUNCATE: the digits asked for, when they are a constant.
    pub(crate) fn rounded(args: &[Arg<'_>]) -> Type {
        let number = same_number(args);
        let digits = match args.get(1) {
            None => Some(0),
            Some(arg) => arg.constant_int(),
        };
        match (number.class, digits) {
            // What a whole number of 19 digits rounds to may have one more.
            (Class::Int, Some(n)) if n < 0 && number.length >= 19 => Type::decimal(20, 0),
            (Class::Int, Some(_) | None) => number,
            (Class::Decimal, Some(n)) => {
                let scale = n.clamp(0, 38) as u8;
                let int = number.length.saturating_sub(u32::from(number.decimals)).max(1) + 1;
                Type::decimal((int + u32::from(scale)).min(65), scale)
            }
            (Class::Double, Some(n)) if (0..31).contains(&n) => Type { decimals: n as u8, ..Type::double() },
            (Class::Double, Some(n)) if n < 0 => Type { decimals: 0, ..Type::double() },
            _ => number,
        }
    }
    /// GREATEST and LEAST.
    pub(crate) fn extreme(args: &[Arg<'_>]) -> Type {
        let mut ty = args[0].ty;
        for other in args[1..].iter().map(|a| a.ty) {
            ty = wider(ty, other);
        }
        ty.nullable = true;
        if ty.class == Class::Str { sum_of_texts(args) } else { ty }
    }

    fn wider(a: Type, b: Type) -> Type {
        let decimals = a.decimals.max(b.decimals);
        let length = a.length.max(b.length);
        match (a.class, b.class) {
            (x, y) if x == y => Type { decimals, length, unsigned: a.unsigned && b.unsigned, ..a },
            (Class::Null, _) => b,
            (_, Class::Null) => a,
            (Class::Str, y) | (y, Class::Str) if !y.is_temporal() => Type::double(),
            (x, y) if x.is_temporal() || y.is_temporal() => Type::datetime(decimals.min(6)),
            (Class::Double, _) | (_, Class::Double) => Type::double(),
            _ => Type::decimal(length + u32::from(decimals), decimals),
        }
    }

    /// `NOW([fsp])`.
    pub(crate) fn now(args: &[Arg<'_>]) -> Type {
        Type::datetime(asked_fsp(args)).not_null()
    }
    pub(crate) fn now_time(args: &[Arg<'_>]) -> Type {
        Type::time(asked_fsp(args)).not_null()
    }
    fn asked_fsp(args: &[Arg<'_>]) -> u8 {
        args.first().and_then(|a| a.constant_int()).unwrap_or(0).clamp(0, 6) as u8
    }
    /// A time with the first argument's fraction.
    pub(crate) fn time_of(args: &[Arg<'_>]) -> Type {
        Type::time(args.iter().map(Arg::fsp).max().unwrap_or(0))
    }
    pub(crate) fn datetime_of(args: &[Arg<'_>]) -> Type {
        Type::datetime(args.iter().map(Arg::fsp).max().unwrap_or(0))
    }
    /// UNIX_TIMESTAMP, TIME_TO_SEC: whole or with the fraction's digits.
    pub(crate) fn seconds_of(args: &[Arg<'_>]) -> Type {
        match args.first().map_or(0, Arg::fsp) {
            0 => Type::bigint(),
            fsp => Type::decimal(11 + u32::from(fsp), fsp),
        }
    }
    /// FROM_UNIXTIME: a datetime, or a text with a format.
    pub(crate) fn from_unixtime(args: &[Arg<'_>]) -> Type {
        if args.len() > 1 { ascii::<80>(args) } else { Type::datetime(args[0].fsp()) }
    }
    /// DATE_ADD: a DATE stays one for units of days and more; a text stays a text.
    pub(crate) fn date_add(args: &[Arg<'_>]) -> Type {
        let unit = args.get(2).and_then(|a| a.constant).and_then(crate::calendar::unit_of);
        let fsp = match unit {
            Some(u) if u.has_microseconds() => 6,
            Some(types::IntervalUnit::Second) => args[0].fsp().max(args[1].fsp()),
            _ => args[0].fsp(),
        };
        match (args[0].ty.class, unit) {
            (Class::Date, Some(u)) if u.is_date() => Type::date(),
            (Class::Time, _) => Type::time(fsp),
            (Class::Date | Class::DateTime, _) => Type::datetime(fsp),
            _ => Type::text(26, Collation::UTF8MB4_UCA1400_AI_CI),
        }
    }
    /// TIMESTAMPADD(unit, n, date).
    pub(crate) fn timestamp_add(args: &[Arg<'_>]) -> Type {
        date_add(&[args[2], args[1], args[0]])
    }
    /// ADDTIME, SUBTIME: of the first argument's kind; a text stays one.
    pub(crate) fn add_time(args: &[Arg<'_>]) -> Type {
        let fsp = args.iter().map(Arg::fsp).max().unwrap_or(0);
        match args[0].ty.class {
            Class::Date | Class::DateTime => Type::datetime(fsp),
            Class::Str => Type::text(26, Collation::UTF8MB4_UCA1400_AI_CI),
            _ => Type::time(fsp),
        }
    }
    pub(crate) fn second(args: &[Arg<'_>]) -> Type {
        args[1].ty
    }
    /// STR_TO_DATE: by the format when it is a constant.
    pub(crate) fn str_to_date(args: &[Arg<'_>]) -> Type {
        match args[1].constant.and_then(types::Value::as_str).map(|f| crate::date_parse::kind_of(f.bytes())) {
            Some(crate::date_parse::Kind::Date) => Type::date(),
            Some(crate::date_parse::Kind::Time { fsp }) => Type::time(fsp),
            Some(crate::date_parse::Kind::DateTime { fsp }) => Type::datetime(fsp),
            None => Type::datetime(6),
        }
    }
    /// The first of two arguments' types that matters: ELT, MAKE_SET.
    pub(crate) fn longest_text(args: &[Arg<'_>]) -> Type {
        let rest = args.get(1..).unwrap_or(args);
        let chars = rest.iter().map(Arg::text_chars).max().unwrap_or(0);
        Type::text(chars.min(LONGEST), collation(rest))
    }
}
