//! Bodies, splices and keys of small tables.

use charset::Collation;
use row_format::*;
use types::Value;

fn layout() -> RowLayout {
    let col = |ty, nullable| Column { ty, nullable };
    RowLayout::new(vec![
        col(ColumnType::int(IntSize::Int, false), false),
        col(ColumnType::varchar(20, Collation::UTF8MB4_GENERAL_CI), true),
        col(ColumnType::int(IntSize::Big, true), true),
    ])
}

fn body(layout: &RowLayout, values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_row(layout, values, &mut out).unwrap();
    out
}

#[test]
fn a_row_is_packed_as_in_a_rows_event() {
    let layout = layout();
    let row = body(&layout, &[Value::Int(-2), Value::str(b"ab", Collation::UTF8MB4_GENERAL_CI), Value::Null]);
    assert_eq!(row, [0xfc, 0xfe, 0xff, 0xff, 0xff, 2, b'a', b'b']);
    let view = RowView::new(&layout, &row).unwrap();
    assert!(matches!(view.value(0), Ok(Value::Int(-2))));
    assert_eq!(view.column(1), Ok(Some(&b"ab"[..])));
    assert!(view.is_null(2));
    assert!(RowView::new(&layout, &row[..6]).unwrap().column(1).is_err());
}

#[test]
fn a_walk_through_the_columns_finds_what_each_alone_finds() {
    let layout = layout();
    let text = |s: &str| Value::str(s.as_bytes(), Collation::UTF8MB4_GENERAL_CI);
    for row in [
        [Value::Int(1), text("some"), Value::UInt(5)],
        [Value::Int(1), Value::Null, Value::UInt(5)],
        [Value::Int(1), text(""), Value::Null],
    ] {
        let row = body(&layout, &row);
        let view = RowView::new(&layout, &row).unwrap();
        for order in [&[0, 1, 2][..], &[2, 1, 0], &[1, 1, 2, 0, 2], &[2, 2]] {
            let mut place = Place::default();
            for &i in order {
                assert_eq!(view.column_after(i, &mut place), view.column(i), "column {i} of {order:?}");
            }
        }
    }
}

#[test]
fn splices_go_both_ways() {
    let layout = layout();
    let text = |s: &str| Value::str(s.as_bytes(), Collation::UTF8MB4_GENERAL_CI);
    let old = body(&layout, &[Value::Int(7), text("hello"), Value::UInt(5)]);
    for new in [
        [Value::Int(7), text("hallo there"), Value::UInt(5)],
        [Value::Int(8), Value::Null, Value::UInt(u64::MAX)],
        [Value::Int(7), text(""), Value::Null],
        [Value::Int(7), text("hello"), Value::UInt(5)],
    ] {
        let new = body(&layout, &new);
        let splices = diff(&layout, &old, &new).unwrap();
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        apply_forward(&old, &splices, &mut forward).unwrap();
        apply_backward(&new, &splices, &mut backward).unwrap();
        assert_eq!((forward, backward), (new.clone(), old.clone()));
        assert_eq!(splices.is_empty(), old == new);
    }
}

#[test]
fn keys_order_as_values() {
    let layout = layout();
    let parts = [KeyPart::ascending(1), KeyPart { descending: true, ..KeyPart::ascending(0) }];
    let key = |name: Option<&str>, n: i64| {
        let name = name.map_or(Value::Null, |s| Value::str(s.as_bytes(), Collation::UTF8MB4_GENERAL_CI));
        let mut out = Vec::new();
        key::encode_values(&layout, &parts, &[name, Value::Int(n)], &mut out).unwrap();
        out
    };
    let ascending = [
        (None, 1),
        (Some(""), 1),
        (Some("a\t"), 1),
        (Some("a"), 5),
        (Some("A "), -5),
        (Some("a  b"), 3),
        (Some("a b"), 3),
        (Some("ab"), 3),
    ];
    for pair in ascending.windows(2) {
        assert!(key(pair[0].0, pair[0].1) < key(pair[1].0, pair[1].1), "{pair:?}");
    }
    assert_eq!(key(Some("ab"), 3), key(Some("AB  "), 3));
}
