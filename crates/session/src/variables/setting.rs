//! One value of a system variable: conversions from SQL values and from option texts, and its text.

use std::borrow::Cow;
use std::sync::Arc;

use charset::{Charset, Collation};
use client_error::{ClientError, connection as error};

use super::table::NULL;
use super::{Kind, Variable};

/// A value that fits its variable.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    Null,
    Bool(bool),
    UInt(u64),
    Int(i64),
    Double(f64),
    Text(Arc<str>),
    /// Position in the list of an `Enum`.
    Enum(u16),
    /// Members of a `Set` or `Flags`.
    Bits(u64),
    Charset(Charset),
    Collation(Collation),
}

/// What SET was given, after evaluation.
#[derive(Debug, Clone, PartialEq)]
pub enum Given<'a> {
    Null,
    Int(i64),
    UInt(u64),
    /// A decimal or double.
    Real(f64),
    Text(Cow<'a, str>),
}

/// Why a value does not fit.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// 1231
    Value(String),
    /// 1232
    Type,
    /// One that has its own number.
    Other(ClientError),
}

impl Refusal {
    pub fn into_error(self, name: &str) -> ClientError {
        match self {
            Self::Value(value) => error::wrong_value(name, &value),
            Self::Type => error::wrong_type(name),
            Self::Other(e) => e,
        }
    }
}

impl Given<'_> {
    fn refused(&self) -> Refusal {
        Refusal::Value(self.text())
    }
    /// As messages quote it.
    pub fn text(&self) -> String {
        match self {
            Self::Null => "NULL".into(),
            Self::Int(v) => v.to_string(),
            Self::UInt(v) => v.to_string(),
            Self::Real(v) => v.to_string(),
            Self::Text(t) => t.to_string(),
        }
    }
    fn as_text(&self) -> Option<&str> {
        if let Self::Text(t) = self { Some(t) } else { None }
    }
    fn as_index(&self) -> Option<u64> {
        match self {
            Self::Int(v) => u64::try_from(*v).ok(),
            Self::UInt(v) => Some(*v),
            _ => None,
        }
    }
}

impl Setting {
    /// The default in the table.
    pub fn parse_default(v: &Variable) -> Option<Self> {
        if v.default == NULL {
            return Some(Self::Null);
        }
        Self::parse_option(v, v.default).ok()
    }

    /// From the text of an option or of a configuration file: numbers may have the suffixes K, M, G, T, P, E.
    pub fn parse_option(v: &Variable, text: &str) -> Result<Self, Refusal> {
        let given = match v.kind {
            Kind::UInt { .. } => Given::UInt(parse_size(text).ok_or_else(|| Refusal::Value(text.into()))?),
            Kind::Int { .. } => Given::Int(match text.strip_prefix('-') {
                Some(rest) => -(parse_size(rest).ok_or_else(|| Refusal::Value(text.into()))? as i64),
                None => parse_size(text).ok_or_else(|| Refusal::Value(text.into()))? as i64,
            }),
            Kind::Double { .. } => Given::Real(text.trim().parse().map_err(|_| Refusal::Value(text.into()))?),
            Kind::Bool if text.is_empty() => Given::Int(1),
            Kind::Bool | Kind::Enum(_) if text.parse::<u64>().is_ok() => {
                Given::UInt(text.parse().map_err(|_| Refusal::Value(text.into()))?)
            }
            _ => Given::Text(Cow::Borrowed(text)),
        };
        Self::convert(v, &given, None).map(|(setting, _)| setting)
    }

    /// From a SQL value. `current` is the value before, which flags change in part. The second result is true when the value was
    /// moved into the variable's range.
    pub fn convert(v: &Variable, given: &Given<'_>, current: Option<&Self>) -> Result<(Self, bool), Refusal> {
        let exact = |s| Ok((s, false));
        match v.kind {
            Kind::Bool => convert_bool(given).map(|b| (Self::Bool(b), false)),
            Kind::UInt { min, max, block } => {
                let (value, moved) = match given {
                    Given::Int(x) => (u64::try_from(*x).unwrap_or(0), *x < 0),
                    Given::UInt(x) => (*x, false),
                    _ => return Err(Refusal::Type),
                };
                let fitted = value.min(max) / block * block;
                let fitted = fitted.max(min);
                Ok((Self::UInt(fitted), moved || fitted != value))
            }
            Kind::Int { min, max, block } => {
                let value = match given {
                    Given::Int(x) => *x,
                    Given::UInt(x) => i64::try_from(*x).unwrap_or(i64::MAX),
                    _ => return Err(Refusal::Type),
                };
                let fitted = (value.clamp(min, max) / block as i64 * block as i64).max(min);
                Ok((Self::Int(fitted), fitted != value))
            }
            Kind::Double { min, max } => {
                let value = match given {
                    Given::Int(x) => *x as f64,
                    Given::UInt(x) => *x as f64,
                    Given::Real(x) => *x,
                    _ => return Err(Refusal::Type),
                };
                let fitted = value.clamp(min, max);
                Ok((Self::Double(fitted), fitted != value))
            }
            Kind::Enum(names) => {
                let at = match given {
                    Given::Text(t) => names.iter().position(|n| n.eq_ignore_ascii_case(t)),
                    Given::Null => None,
                    Given::Real(_) => return Err(Refusal::Type),
                    other => other.as_index().map(|i| i as usize).filter(|i| *i < names.len()),
                };
                at.map(|i| (Self::Enum(i as u16), false)).ok_or_else(|| given.refused())
            }
            Kind::Set(names) => exact(Self::Bits(convert_set(names, given)?)),
            Kind::Flags(names) => {
                let before = if let Some(Self::Bits(bits)) = current { *bits } else { 0 };
                let default = default_flags(v, names);
                exact(Self::Bits(convert_flags(names, given, before, default)?))
            }
            Kind::Text => match given {
                Given::Text(t) => exact(Self::Text(Arc::from(t.as_ref()))),
                Given::Null => exact(Self::Null),
                _ => Err(Refusal::Type),
            },
            Kind::Charset => convert_charset(given).map(|s| (s, false)),
            Kind::Collation => convert_collation(given).map(|s| (s, false)),
            Kind::TimeZone => match given {
                Given::Text(t) => exact(Self::Text(Arc::from(t.as_ref()))),
                Given::Null => Err(given.refused()),
                _ => Err(Refusal::Type),
            },
        }
    }

    /// As SHOW VARIABLES and `SELECT @@x` print it; None for NULL.
    pub fn text(&self, v: &Variable) -> Option<Cow<'_, str>> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(on) => Cow::Borrowed(if *on { "ON" } else { "OFF" }),
            Self::UInt(x) => Cow::Owned(x.to_string()),
            Self::Int(x) => Cow::Owned(x.to_string()),
            Self::Double(x) => Cow::Owned(format!("{x:.6}")),
            Self::Text(t) => Cow::Borrowed(t),
            Self::Enum(i) => match v.kind {
                Kind::Enum(names) => Cow::Borrowed(names.get(usize::from(*i)).copied().unwrap_or("")),
                _ => Cow::Owned(i.to_string()),
            },
            Self::Bits(bits) => match v.kind {
                Kind::Flags(names) => Cow::Owned(flags_text(names, *bits)),
                Kind::Set(names) => Cow::Owned(set_text(names, *bits)),
                _ => Cow::Owned(bits.to_string()),
            },
            Self::Charset(c) => Cow::Borrowed(c.name()),
            Self::Collation(c) => Cow::Borrowed(c.name()),
        })
    }

    pub fn as_u64(&self) -> u64 {
        match self {
            Self::UInt(v) | Self::Bits(v) => *v,
            Self::Int(v) => (*v).max(0) as u64,
            Self::Bool(b) => u64::from(*b),
            Self::Enum(i) => u64::from(*i),
            Self::Double(d) => *d as u64,
            _ => 0,
        }
    }
    pub fn as_bool(&self) -> bool {
        self.as_u64() != 0
    }
    pub fn as_f64(&self) -> f64 {
        if let Self::Double(d) = self { *d } else { self.as_u64() as f64 }
    }
    pub fn as_str(&self) -> &str {
        if let Self::Text(t) = self { t } else { "" }
    }
    pub fn as_charset(&self) -> Option<Charset> {
        if let Self::Charset(c) = self { Some(*c) } else { None }
    }
    pub fn as_collation(&self) -> Option<Collation> {
        if let Self::Collation(c) = self { Some(*c) } else { None }
    }
}

fn convert_bool(given: &Given<'_>) -> Result<bool, Refusal> {
    match given {
        Given::Int(0) | Given::UInt(0) => Ok(false),
        Given::Int(1) | Given::UInt(1) => Ok(true),
        Given::Text(t) if t.eq_ignore_ascii_case("on") || t.eq_ignore_ascii_case("true") => Ok(true),
        Given::Text(t) if t.eq_ignore_ascii_case("off") || t.eq_ignore_ascii_case("false") => Ok(false),
        Given::Real(_) => Err(Refusal::Type),
        other => Err(other.refused()),
    }
}

/// MySQL's combination modes, which stand for several bits.
const COMBINATIONS: &[(&str, &[&str])] = &[
    ("ANSI", &["REAL_AS_FLOAT", "PIPES_AS_CONCAT", "ANSI_QUOTES", "IGNORE_SPACE", "ANSI"]),
    (
        "TRADITIONAL",
        &[
            "STRICT_TRANS_TABLES",
            "STRICT_ALL_TABLES",
            "NO_ZERO_IN_DATE",
            "NO_ZERO_DATE",
            "ERROR_FOR_DIVISION_BY_ZERO",
            "TRADITIONAL",
            "NO_AUTO_CREATE_USER",
        ],
    ),
];

fn convert_set(names: &[&str], given: &Given<'_>) -> Result<u64, Refusal> {
    let Some(text) = given.as_text() else {
        let all = if names.len() >= 64 { u64::MAX } else { (1 << names.len()) - 1 };
        return given.as_index().filter(|bits| *bits <= all).ok_or_else(|| match given {
            Given::Real(_) => Refusal::Type,
            other => other.refused(),
        });
    };
    let position = |word: &str| names.iter().position(|n| n.eq_ignore_ascii_case(word));
    let mut bits = 0;
    for word in text.split(',').map(str::trim_end).filter(|w| !w.is_empty()) {
        let at = match word.parse::<usize>() {
            Ok(number) => Some(number).filter(|n| *n < names.len()),
            Err(_) => position(word),
        };
        bits |= 1 << at.ok_or_else(|| Refusal::Value(word.into()))?;
    }
    for (name, members) in COMBINATIONS {
        if position(name).is_some_and(|at| bits >> at & 1 == 1) {
            for at in members.iter().filter_map(|m| position(m)) {
                bits |= 1 << at;
            }
        }
    }
    Ok(bits)
}

fn set_text(names: &[&str], bits: u64) -> String {
    let on: Vec<_> = names.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, n)| *n).collect();
    on.join(",")
}

fn convert_flags(names: &[&str], given: &Given<'_>, before: u64, default: u64) -> Result<u64, Refusal> {
    let Some(text) = given.as_text() else { return Err(given.refused()) };
    let mut bits = before;
    for item in text.split(',').filter(|w| !w.trim().is_empty()) {
        let item = item.trim();
        if item.eq_ignore_ascii_case("default") {
            bits = default;
            continue;
        }
        let refused = || Refusal::Value(item.into());
        let (name, value) = item.split_once('=').ok_or_else(refused)?;
        let at = names.iter().position(|n| n.eq_ignore_ascii_case(name.trim())).ok_or_else(refused)?;
        let on = match value.trim().to_ascii_lowercase().as_str() {
            "on" => true,
            "off" => false,
            "default" => default >> at & 1 == 1,
            _ => return Err(refused()),
        };
        bits = if on { bits | 1 << at } else { bits & !(1 << at) };
    }
    Ok(bits)
}

fn default_flags(v: &Variable, names: &[&str]) -> u64 {
    let mut bits = 0;
    for item in v.default.split(',') {
        if let Some((name, "on")) = item.split_once('=')
            && let Some(at) = names.iter().position(|n| *n == name)
        {
            bits |= 1 << at;
        }
    }
    bits
}

fn flags_text(names: &[&str], bits: u64) -> String {
    let items: Vec<_> = names
        .iter()
        .enumerate()
        .filter(|(_, n)| **n != "default")
        .map(|(i, n)| format!("{n}={}", if bits >> i & 1 == 1 { "on" } else { "off" }))
        .collect();
    items.join(",")
}

fn convert_charset(given: &Given<'_>) -> Result<Setting, Refusal> {
    match given {
        Given::Text(t) => {
            Charset::by_name(t).map(Setting::Charset).ok_or_else(|| Refusal::Other(error::unknown_charset(t)))
        }
        Given::Null => Ok(Setting::Null),
        Given::Real(_) => Err(Refusal::Type),
        other => other
            .as_index()
            .and_then(|id| Collation::by_id(u16::try_from(id).ok()?))
            .map(|c| Setting::Charset(c.charset()))
            .ok_or_else(|| Refusal::Other(error::unknown_charset(&other.text()))),
    }
}

fn convert_collation(given: &Given<'_>) -> Result<Setting, Refusal> {
    match given {
        Given::Text(t) => Collation::by_name(t)
            .map(Setting::Collation)
            .ok_or_else(|| Refusal::Other(error::unknown_collation(t))),
        Given::Null => Err(given.refused()),
        Given::Real(_) => Err(Refusal::Type),
        other => other
            .as_index()
            .and_then(|id| Collation::by_id(u16::try_from(id).ok()?))
            .map(Setting::Collation)
            .ok_or_else(|| Refusal::Other(error::unknown_collation(&other.text()))),
    }
}

/// `10`, `16K`, `2G`: what options and configuration files accept for sizes.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..split].parse().ok()?;
    let shift = match &text[split..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        "t" | "T" => 40,
        "p" | "P" => 50,
        "e" | "E" => 60,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::super::Var;
    use super::*;

    fn set(var: Var, given: Given<'_>) -> Result<(Setting, bool), Refusal> {
        Setting::convert(var.def(), &given, None)
    }
    fn text(s: &str) -> Given<'_> {
        Given::Text(Cow::Borrowed(s))
    }

    #[test]
    fn booleans_take_what_mariadb_takes() {
        assert_eq!(set(Var::AUTOCOMMIT, text("off")), Ok((Setting::Bool(false), false)));
        assert_eq!(set(Var::AUTOCOMMIT, Given::Int(2)), Err(Refusal::Value("2".into())));
        assert_eq!(set(Var::AUTOCOMMIT, Given::Null), Err(Refusal::Value("NULL".into())));
        assert_eq!(set(Var::AUTOCOMMIT, Given::Real(1.5)), Err(Refusal::Type));
    }

    #[test]
    fn numbers_are_moved_into_their_range() {
        assert_eq!(set(Var::WAIT_TIMEOUT, Given::Int(-5)), Ok((Setting::UInt(1), true)));
        assert_eq!(set(Var::WAIT_TIMEOUT, Given::Int(50)), Ok((Setting::UInt(50), false)));
        assert_eq!(set(Var::WAIT_TIMEOUT, text("50")), Err(Refusal::Type));
        assert_eq!(set(Var::MAX_ALLOWED_PACKET, Given::Int(5000)), Ok((Setting::UInt(4096), true)));
    }

    #[test]
    fn enums_and_sets_go_by_name_or_number() {
        let iso = Var::TRANSACTION_ISOLATION;
        assert_eq!(set(iso, text("read-committed")), Ok((Setting::Enum(1), false)));
        assert_eq!(set(iso, Given::Int(3)), Ok((Setting::Enum(3), false)));
        assert_eq!(set(iso, Given::Int(9)), Err(Refusal::Value("9".into())));
        let (mode, _) = set(Var::SQL_MODE, text("ansi_quotes,,STRICT_ALL_TABLES")).unwrap();
        assert_eq!(mode.text(Var::SQL_MODE.def()).as_deref(), Some("ANSI_QUOTES,STRICT_ALL_TABLES"));
        assert_eq!(set(Var::SQL_MODE, text("foo")), Err(Refusal::Value("foo".into())));
        let (ansi, _) = set(Var::SQL_MODE, text("ANSI")).unwrap();
        assert_eq!(
            ansi.text(Var::SQL_MODE.def()).as_deref(),
            Some("REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI")
        );
    }

    #[test]
    fn the_default_sql_mode_has_the_bits_that_values_look_at() {
        let mode = Setting::parse_default(Var::SQL_MODE.def()).unwrap();
        assert_eq!(mode.as_u64(), types::SqlMode::DEFAULT.0);
    }

    #[test]
    fn flags_change_one_by_one() {
        let var = Var::OPTIMIZER_SWITCH.def();
        let before = Setting::parse_default(var).unwrap();
        let (after, _) = Setting::convert(var, &text("index_merge=off"), Some(&before)).unwrap();
        let shown = after.text(var).unwrap();
        assert!(shown.starts_with("index_merge=off,index_merge_union=on"), "{shown}");
        assert_eq!(
            Setting::convert(var, &text("bogus=on"), Some(&before)),
            Err(Refusal::Value("bogus=on".into()))
        );
        let (back, _) = Setting::convert(var, &text("default"), Some(&after)).unwrap();
        assert_eq!(back, before);
    }

    #[test]
    fn sizes_have_suffixes() {
        assert_eq!(parse_size("2G"), Some(2 << 30));
        assert_eq!(parse_size("16k"), Some(16384));
        assert_eq!(parse_size("5X"), None);
        assert_eq!(parse_size("99999999999E"), None);
    }
}
