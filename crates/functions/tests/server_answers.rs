//! Every call of the fixture has the value MariaDB 11.8 gave (`gen/calls.py` makes it).

use std::collections::BTreeMap;

use functions::{Arg, NOT_FIXED, Type, find, unit_number};
use types::*;

fn literal(text: &str, ctx: &mut Context) -> Value {
    let quoted = |t: &str| t.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')).map(str::to_owned);
    if text == "NULL" {
        return Value::Null;
    }
    if let Some(unit) = text.strip_prefix("U:") {
        return Value::Int(unit_number(IntervalUnit::by_name(unit).unwrap()));
    }
    if let Some(s) = quoted(text) {
        return Value::utf8(&s);
    }
    if let Some((kind, rest)) =
        ["date", "time'", "timestamp"].iter().find_map(|k| Some((*k, text.strip_prefix(k)?)))
    {
        let s = rest.trim_matches('\'');
        let v = Value::utf8(s);
        return match kind {
            "date" => Value::Date(v.to_date(ctx).unwrap()),
            "time'" => Value::Time(v.to_time(ctx).unwrap()),
            _ => Value::DateTime(v.to_datetime(ctx).unwrap()),
        };
    }
    match text.strip_prefix('-') {
        Some(rest) => ops::neg(&literal_number(rest.as_bytes()).unwrap(), ctx).unwrap(),
        None => literal_number(text.as_bytes()).unwrap(),
    }
}

fn type_of(v: &Value) -> Type {
    match v {
        Value::Null => Type { class: Class::Null, length: 0, ..Type::bigint() },
        Value::Decimal(d) => Type::decimal(d.int_digits() + u32::from(d.scale()), d.scale()),
        Value::Double(_) => Type::double(),
        Value::Str(s) => Type::text(s.charset().char_count(s.bytes()) as u32, s.collation()),
        Value::Date(_) => Type::date(),
        Value::Time(t) => Type::time(t.fsp),
        Value::DateTime(d) => Type::datetime(d.fsp),
        Value::UInt(_) => Type::bigint().unsigned(),
        _ => Type::bigint(),
    }
}

/// The result as the static type shows it.
fn shown(v: &Value, ty: Type, ctx: &Context) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    match v {
        Value::Double(d) if ty.class == Class::Double && ty.decimals < NOT_FIXED => {
            number::write_f64_fixed(*d, ty.decimals, &mut out);
        }
        Value::Str(s) if !s.collation().is_binary() => {
            s.charset().convert(s.bytes(), charset::Charset::Utf8mb4, &mut out).unwrap();
        }
        other => {
            if !other.write_text(ctx, &mut out) {
                return None;
            }
        }
    }
    Some(out)
}

#[test]
fn calls_have_the_server_s_values() {
    let text = include_str!("fixtures/calls.tsv");
    let mut wrong: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let (expected, rest) = fields.split_last().unwrap();
        let (name, args) = rest.split_first().unwrap();
        let mut ctx = Context { sql_mode: SqlMode::DEFAULT, ..Context::default() };
        let values: Vec<Value> = args.iter().map(|a| literal(a, &mut ctx)).collect();
        let function = find(name).unwrap_or_else(|| panic!("{name} exists"));
        assert!(function.accepts(values.len()), "{line}");
        let typed: Vec<Arg<'_>> = values.iter().map(|v| Arg { ty: type_of(v), constant: Some(v) }).collect();
        let ty = function.result_type(&typed);
        let found = match function.call(&values, &mut ctx) {
            Err(_) => "ERROR".to_owned(),
            Ok(v) => match shown(&v, ty, &ctx) {
                None => "NULL".to_owned(),
                Some(bytes) => bytes.iter().map(|b| format!("{b:02X}")).collect(),
            },
        };
        if found != *expected && !close(&found, expected) {
            let readable = |h: &str| {
                let bytes: Option<Vec<u8>> =
                    (0..h.len() / 2).map(|i| u8::from_str_radix(&h[2 * i..2 * i + 2], 16).ok()).collect();
                bytes.map_or(h.to_owned(), |b| String::from_utf8_lossy(&b).into_owned())
            };
            wrong.entry(name).or_default().push(format!(
                "{name}({}) = {} <- found {}",
                args.join(", "),
                readable(expected),
                readable(&found)
            ));
        }
    }
    let total: usize = wrong.values().map(Vec::len).sum();
    let lines: Vec<String> = wrong.into_values().flat_map(|v| v.into_iter().take(12)).collect();
    assert!(lines.is_empty(), "{total} of {} calls differ:\n{}", text.lines().count(), lines.join("\n"));
}

fn number_is_zero(hex: &str) -> bool {
    hex.as_bytes().chunks(2).all(|c| c == b"30" || c == b"2E")
}

/// Doubles of transcendental functions may differ in their last digit.
fn close(a: &str, b: &str) -> bool {
    let number = |h: &str| -> Option<f64> {
        let bytes: Option<Vec<u8>> =
            (0..h.len() / 2).map(|i| u8::from_str_radix(h.get(2 * i..2 * i + 2)?, 16).ok()).collect();
        let text = String::from_utf8(bytes?).ok()?;
        (text.len() > 14).then(|| text.parse().ok()).flatten()
    };
    // A decimal zero keeps no sign.
    if b == format!("2D{a}") && number_is_zero(a) {
        return true;
    }
    match (number(a), number(b)) {
        (Some(x), Some(y)) => (x - y).abs() <= x.abs() * 4e-16,
        _ => false,
    }
}

#[test]
fn seeded_random_numbers_are_the_server_s() {
    let mut ctx = Context::default();
    let mut rand = |seed: i64| match find("rand").unwrap().call(&[Value::Int(seed)], &mut ctx) {
        Ok(Value::Double(v)) => v,
        other => panic!("{other:?}"),
    };
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} {b}");
    close(rand(1), 0.405_403_537_121_977_24);
    close(rand(1), 0.871_614_180_385_707_1);
    close(rand(3), 0.905_769_755_976_060_1);
}

#[test]
fn what_has_no_fixed_answer_has_the_right_shape() {
    let mut ctx = Context { now_micros: 1_700_000_000_123_456, ..Context::default() };
    let mut text = |name: &str, args: &[Value]| {
        let v = find(name).unwrap().call(args, &mut ctx).unwrap();
        let mut out = Vec::new();
        v.write_text(&Context::default(), &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(text("now", &[]), "2023-11-14 22:13:20");
    assert_eq!(text("now", &[Value::Int(6)]), "2023-11-14 22:13:20.123456");
    assert_eq!(text("curdate", &[]), "2023-11-14");
    assert_eq!(text("utc_time", &[Value::Int(2)]), "22:13:20.12");
    assert_eq!(text("unix_timestamp", &[]), "1700000000");
    let (a, b) = (text("uuid", &[]), text("uuid", &[]));
    assert_eq!((a.len(), &a[14..15]), (36, "1"));
    assert_ne!(a, b);
    assert_eq!(text("sleep", &[Value::Int(0)]), "0");
}
