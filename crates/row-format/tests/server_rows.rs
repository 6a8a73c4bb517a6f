//! Rows that MariaDB 11.8 wrote to its binlog: decoded, shown, encoded again and summed as the server does
//! (`gen/rows.py` makes the fixture).

mod specs;

use charset::Collation;
use jiff::tz::TimeZone;
use row_format::*;
use specs::{column_type, unhex};
use types::{Context, Value};

struct Golden {
    line: String,
    layout: RowLayout,
    types: Vec<u8>,
    metadata: Vec<u8>,
    row: Vec<u8>,
    checksum: u32,
    texts: Vec<Option<Vec<u8>>>,
}

fn golden() -> Vec<Golden> {
    let parse = |line: &str| {
        let f: Vec<&str> = line.split('\t').collect();
        let nullable = f[1] == "1";
        let column = |spec| Column { ty: column_type(spec), nullable };
        Golden {
            line: line.into(),
            layout: RowLayout::new(f[0].split('|').map(column).collect()),
            types: unhex(f[2]),
            metadata: unhex(f[3]),
            row: unhex(f[4]),
            checksum: f[5].parse().unwrap(),
            texts: f[6].split(' ').map(|t| (t != "-").then(|| unhex(t))).collect(),
        }
    };
    include_str!("fixtures/rows.tsv").lines().map(parse).collect()
}

#[test]
fn rows_read_as_the_server_shows_them() {
    for g in golden() {
        let view = RowView::new(&g.layout, &g.row).unwrap();
        for (i, text) in g.texts.iter().enumerate() {
            let mut shown = Vec::new();
            let value = view.value(i).unwrap();
            let found = value.write_text(&Context::default(), &mut shown).then_some(shown);
            assert_eq!(&found, text, "{}: {value:?}", g.line);
        }
    }
}

#[test]
fn rows_are_written_as_the_server_writes_them() {
    for g in golden() {
        let mut values = Vec::new();
        RowView::new(&g.layout, &g.row).unwrap().values(&mut values).unwrap();
        let mut row = Vec::new();
        encode_row(&g.layout, &values, &mut row).unwrap();
        assert_eq!(row, g.row, "{}", g.line);
    }
}

#[test]
fn texts_are_stored_as_the_server_stores_them() {
    for g in golden() {
        let mut ctx = Context { sql_mode: types::SqlMode(0), ..Context::default() };
        let store_one = |(column, text): (&Column, &Option<Vec<u8>>)| {
            let Some(text) = text else { return Value::Null };
            let collation = column.ty.collation().unwrap_or(Collation::UTF8MB4_GENERAL_CI);
            let collation =
                if matches!(column.ty, ColumnType::Bit { .. }) { Collation::BINARY } else { collation };
            let stored = store(&column.ty, &Value::str(text, collation), &mut ctx);
            assert_eq!(stored.problem, None, "{}", g.line);
            stored.value
        };
        let values: Vec<Value> = g.layout.columns().iter().zip(&g.texts).map(store_one).collect();
        let mut row = Vec::new();
        encode_row(&g.layout, &values, &mut row).unwrap();
        // Six digits of a FLOAT's text do not always give the same float.
        if !g.line.starts_with("float") {
            assert_eq!(row, g.row, "{}", g.line);
        }
    }
}

#[test]
fn table_maps_describe_columns_as_the_server_does() {
    for g in golden() {
        let (mut types, mut metadata) = (Vec::new(), Vec::new());
        for column in g.layout.columns() {
            types.push(column.ty.binlog_type());
            column.ty.binlog_metadata(&mut metadata);
        }
        assert_eq!((types, metadata), (g.types, g.metadata), "{}", g.line);
    }
}

#[test]
fn rows_sum_to_the_server_s_checksum() {
    for g in golden() {
        let view = RowView::new(&g.layout, &g.row).unwrap();
        assert_eq!(row_checksum(&view, |_| false).unwrap(), g.checksum, "{}", g.line);
    }
}

#[test]
fn the_text_protocol_shows_the_same_bytes() {
    for g in golden() {
        let view = RowView::new(&g.layout, &g.row).unwrap();
        for (i, text) in g.texts.iter().enumerate() {
            let Some(bytes) = view.column(i).unwrap() else { continue };
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            protocol::put_text(&g.layout.column(i).ty, bytes, &TimeZone::UTC, &mut found);
            protocol::put_string(text.as_ref().unwrap(), &mut expected);
            assert_eq!(found, expected, "{}", g.line);
        }
    }
}

#[test]
fn a_cut_row_is_corruption_and_never_a_panic() {
    for g in golden() {
        for len in 0..g.row.len() {
            if let Ok(view) = RowView::new(&g.layout, &g.row[..len]) {
                let mut values = Vec::new();
                assert!(view.values(&mut values).is_err(), "{} at {len}", g.line);
            }
        }
    }
}

/// The collation to compare a column's values in.
fn collation_of(ty: &ColumnType) -> Collation {
    ty.collation().unwrap_or(Collation::BINARY)
}

#[test]
fn keys_of_a_column_order_as_its_values_and_come_back() {
    let goldens = golden();
    for a in goldens.iter().filter(|g| g.layout.len() == 1) {
        let ty = &a.layout.column(0).ty;
        let value = |g: &Golden| RowView::new(&g.layout, &g.row).unwrap().value(0).unwrap();
        let numbers = |v: Value| match v {
            // Members sort by number.
            Value::Enum(e) => Value::UInt(e.number),
            other => other,
        };
        for b in goldens.iter().filter(|b| b.layout == a.layout) {
            for descending in [false, true] {
                let part = KeyPart { column: 0, prefix: None, descending };
                let key = |g: &Golden| {
                    let mut out = Vec::new();
                    let view = RowView::new(&g.layout, &g.row).unwrap();
                    key::encode(&g.layout, &[part], &view, &mut out).unwrap();
                    out
                };
                let mut ctx = Context::default();
                let (x, y) = (numbers(value(a)), numbers(value(b)));
                let order = match (x.is_null(), y.is_null()) {
                    (true, true) => std::cmp::Ordering::Equal,
                    (true, false) => std::cmp::Ordering::Less,
                    (false, true) => std::cmp::Ordering::Greater,
                    _ => types::compare(&x, &y, collation_of(ty), &mut ctx).unwrap(),
                };
                let order = if descending { order.reverse() } else { order };
                assert_eq!(key(a).cmp(&key(b)), order, "{} and {}", a.line, b.line);
                if key::is_reversible(&a.layout, &part) {
                    let back = key::decode(&a.layout, &[part], &key(a)).unwrap();
                    let mut row = Vec::new();
                    encode_row(&a.layout, &back, &mut row).unwrap();
                    assert_eq!(row, a.row, "{}", a.line);
                }
            }
        }
    }
}
