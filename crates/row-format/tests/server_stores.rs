//! Values stored into columns as MariaDB 11.8 stores them: what is kept, and what is said (`gen/stores.py` makes the fixture).

mod specs;

use charset::Collation;
use row_format::*;
use specs::{column_type, unhex};
use types::{Context, SqlMode, Value, Warning, literal_number, ops};

fn literal(text: &str, ctx: &mut Context) -> Value {
    let inner = |prefix: &str| text.strip_prefix(prefix).and_then(|t| t.strip_suffix('\''));
    if text == "NULL" {
        Value::Null
    } else if let Some(s) = inner("'") {
        Value::utf8(s)
    } else if let Some(hex) = inner("x'") {
        Value::str(&unhex(hex), Collation::BINARY)
    } else if let Some(s) = inner("date'") {
        Value::Date(Value::utf8(s).to_date(ctx).unwrap())
    } else if let Some(s) = inner("timestamp'") {
        Value::DateTime(Value::utf8(s).to_datetime(ctx).unwrap())
    } else if let Some(s) = inner("time'") {
        Value::Time(Value::utf8(s).to_time(ctx).unwrap())
    } else if let Some(rest) = text.strip_prefix('-') {
        ops::neg(&literal_number(rest.as_bytes()).unwrap(), ctx).unwrap()
    } else {
        literal_number(text.as_bytes()).unwrap()
    }
}

fn code(warning: &Warning) -> u16 {
    match warning {
        Warning::Truncated => 1265,
        Warning::OutOfRange => 1264,
        Warning::IncorrectForColumn { .. } => 1366,
        Warning::IncorrectValue { .. } => 1292,
        Warning::TooLong => 1406,
        other => panic!("{other:?}"),
    }
}

#[test]
fn stores_keep_and_say_what_the_server_keeps_and_says() {
    let mut wrong = Vec::new();
    let text = include_str!("fixtures/stores.tsv");
    for line in text.lines() {
        let f: Vec<&str> = line.split('\t').collect();
        let ty = column_type(f[0]);
        let mut ctx =
            Context { sql_mode: SqlMode(0), now_micros: 1_700_000_000_000_000, ..Context::default() };
        let value = literal(f[1], &mut ctx);
        // A TIME becomes a datetime of the day the fixture was made on.
        if matches!(value, Value::Time(_))
            && !matches!(ty, ColumnType::Time { .. } | ColumnType::Date)
            && ty.collation().is_none()
            && f[0].contains("time")
        {
            continue;
        }
        if matches!(value, Value::Time(_)) && ty == ColumnType::Date {
            continue;
        }
        let stored = store(&ty, &value, &mut ctx);
        let mut packed = Vec::new();
        if !stored.value.is_null() {
            encode_column(&ty, &stored.value, &mut packed).unwrap_or_else(|()| panic!("{line}: {stored:?}"));
        }
        let mut shown = Vec::new();
        let found = if stored.value.is_null() {
            "-".to_owned()
        } else {
            decode(&ty, &packed[ty.length_bytes()..]).unwrap().write_text(&ctx, &mut shown);
            shown.iter().map(|b| format!("{b:02X}")).collect()
        };
        let (warned, strict) = match &stored.problem {
            None => ("-".to_owned(), 0),
            Some(p) => match p.severity {
                Severity::Note => (format!("Note:{}", code(&p.warning)), 0),
                Severity::Warning => (format!("Warning:{}", code(&p.warning)), code(&p.error)),
            },
        };
        let strict = strict.to_string();
        if (found.as_str(), warned.as_str(), strict.as_str()) != (f[2], f[3], f[4]) {
            wrong.push(format!("{line}  <- found {found} {warned} {strict}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), text.lines().count(), wrong.join("\n"));
}
