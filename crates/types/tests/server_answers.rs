//! Every expression of the fixtures has the value MariaDB 11.8 gave (`gen/cases.py` makes them).

use charset::Collation;
use types::number::Integer;
use types::temporal::MICROS_PER_SECOND;
use types::*;

/// Lines of a fixture that do not agree.
fn check(name: &str, mut run: impl FnMut(&[&str]) -> String) {
    let path = format!("{}/tests/fixtures/{name}.tsv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut wrong = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let (expected, fields) = fields.split_last().unwrap();
        let found = run(fields);
        // A zero keeps no sign here; the server shows one after `-1 % 0.5`.
        let same_zero = *expected == format!("-{found}") && found.bytes().all(|b| matches!(b, b'0' | b'.'));
        if found != *expected && !same_zero {
            wrong.push(format!("{line}   <- found {found}"));
        }
    }
    let shown = wrong[..wrong.len().min(40)].join("\n");
    assert!(wrong.is_empty(), "{} of {} differ:\n{shown}", wrong.len(), text.lines().count());
}

fn literal(text: &str) -> Value {
    match text.strip_prefix('\'') {
        Some(rest) => Value::utf8(&rest[..rest.len() - 1]),
        None => literal_number(text.as_bytes())
            .or_else(|| {
                let mut ctx = Context::default();
                let v = literal_number(text.strip_prefix('-')?.as_bytes())?;
                ops::neg(&v, &mut ctx).ok()
            })
            .unwrap(),
    }
}

fn text(v: &Value) -> String {
    let mut out = Vec::new();
    if !v.write_text(&Context::default(), &mut out) {
        return "NULL".into();
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn arithmetic_and_comparison() {
    check("arithmetic", |f| {
        let (a, b, mut ctx) = (literal(f[1]), literal(f[2]), Context::default());
        let result = match f[0] {
            "+" => ops::add(&a, &b, &mut ctx),
            "-" => ops::sub(&a, &b, &mut ctx),
            "*" => ops::mul(&a, &b, &mut ctx),
            "/" => ops::div(&a, &b, &mut ctx),
            "div" => ops::int_div(&a, &b, &mut ctx),
            "%" => ops::rem(&a, &b, &mut ctx),
            _ => Ok(compare(&a, &b, Collation::UTF8MB4_UCA1400_AI_CI, &mut ctx)
                .map_or(Value::Null, |o| Value::Int(o as i64))),
        };
        result.map_or("ERROR".into(), |v| text(&v))
    });
}

#[test]
fn rounding() {
    check("rounding", |f| {
        let Value::Decimal(d) = literal(f[1]) else { panic!("{f:?}") };
        let how = if f[0] == "round" { Rounding::HalfUp } else { Rounding::Truncate };
        let scale: i32 = f[2].parse().unwrap();
        d.round(scale, how).with_scale(scale.clamp(0, 38) as u8).to_string()
    });
}

#[test]
fn temporal_values_of_texts_and_numbers() {
    check("temporal", |f| {
        let v = if f[0] == "text" { Value::utf8(f[2]) } else { literal(f[2]) };
        let mut ctx = Context::default();
        let result = match f[1] {
            "datetime(6)" => v.to_datetime(&mut ctx).map(|d| Value::DateTime(d.with_fsp(6))),
            "datetime" => v.to_datetime(&mut ctx).and_then(|d| d.cut(0, false)).map(Value::DateTime),
            "date" => v.to_date(&mut ctx).map(Value::Date),
            "time(6)" => v.to_time(&mut ctx).map(|t| Value::Time(t.with_fsp(6))),
            _ => v.to_time(&mut ctx).map(|t| Value::Time(t.cut(2, false))),
        };
        text(&result.unwrap_or(Value::Null))
    });
}

#[test]
fn intervals() {
    check("intervals", |f| {
        let unit = IntervalUnit::by_name(f[1]).unwrap();
        let mut ctx = Context::default();
        let from = Value::utf8(f[2]).to_datetime(&mut ctx).unwrap();
        if f[0] == "diff" {
            let to = Value::utf8(f[3]).to_datetime(&mut ctx).unwrap();
            return from.difference(to, unit).to_string();
        }
        let interval = interval_of(&Value::utf8(f[3]), unit, &mut ctx);
        let sum = interval.and_then(|i| from.plus(i)).map(|d| Value::DateTime(d.with_fsp(6)));
        text(&sum.unwrap_or(Value::Null))
    });
}

#[test]
fn moments_and_local_times() {
    let berlin = jiff::tz::TimeZone::get("Europe/Berlin").unwrap();
    let local = |h, m| DateTime::new(Date::new(2024, 3, 31), h, m, 0, 0);
    let at = |d| temporal::timestamp_of(d, &berlin).unwrap();
    // 02:00 to 03:00 did not exist; all of it is 01:00 UTC.
    assert_eq!(at(local(1, 59)).0.seconds + 60, at(local(2, 30)).0.seconds);
    assert_eq!((at(local(2, 0)).1, at(local(3, 0))), (true, (at(local(2, 30)).0, false)));
    let back = temporal::datetime_of(at(local(12, 34)).0, &berlin);
    assert_eq!(back, local(12, 34));
    let utc = jiff::tz::TimeZone::UTC;
    let last = DateTime::new(Date::new(2106, 2, 7), 6, 28, 15, 0);
    assert_eq!(temporal::timestamp_of(last, &utc).unwrap().0.seconds, u64::from(u32::MAX));
    let after = last.plus(Interval { months: 0, micros: i128::from(MICROS_PER_SECOND) }).unwrap();
    assert_eq!(temporal::timestamp_of(after, &utc), None);
    assert_eq!(temporal::timestamp_of(DateTime::default(), &utc).unwrap().0.seconds, 0);
}

#[test]
fn integers_of_values() {
    let mut ctx = Context::default();
    for (v, n) in [
        (literal("2.5"), 3),
        (literal("-2.5"), -3),
        (literal("2.5e0"), 2),
        (Value::utf8("12.9"), 12),
        (Value::utf8("x"), 0),
        (Value::Date(Date::new(2024, 1, 2)), 20_240_102),
    ] {
        assert_eq!(v.to_integer(&mut ctx), Some(Integer::Signed(n)), "{v:?}");
    }
    assert_eq!(ctx.warnings.len(), 2);
}
