//! Any bytes as a row body and as a key, in a layout of every column type.
//!
//! Input: `layout u8 | length of the key u8 | key | body`. Bit `i` of the layout makes every third column from `i` on nullable.
#![no_main]

use std::sync::Arc;

use charset::Collation;
use libfuzzer_sys::fuzz_target;
use row_format::{Column, ColumnType, IntSize, KeyPart, RowLayout, RowView, encode_row, key, row_checksum};

fn types() -> Vec<ColumnType> {
    let text = Collation::by_name("utf8mb4_uca1400_ai_ci").expect("built in");
    let bytes = Collation::by_name("binary").expect("built in");
    let members: Arc<[Box<[u8]>]> = [&b"a"[..], b"bb", b"ccc"].map(Box::from).into();
    let mut types = vec![
        ColumnType::Year,
        ColumnType::Bit { bits: 11 },
        ColumnType::Date,
        ColumnType::Float { unsigned: false },
        ColumnType::Double { unsigned: true },
        ColumnType::Decimal { precision: 20, scale: 7, unsigned: false },
        ColumnType::char(5, text),
        ColumnType::varchar(300, text),
        ColumnType::VarChar { max_bytes: 40, collation: bytes },
        ColumnType::Enum { members: Arc::clone(&members), collation: text },
        ColumnType::Set { members, collation: text },
    ];
    for size in [IntSize::Tiny, IntSize::Small, IntSize::Medium, IntSize::Int, IntSize::Big] {
        types.extend([ColumnType::int(size, false), ColumnType::int(size, true)]);
    }
    for fsp in [0, 3, 6] {
        types.extend([ColumnType::Time { fsp }, ColumnType::DateTime { fsp }, ColumnType::Timestamp { fsp }]);
    }
    for length_bytes in 1..=4 {
        types.push(ColumnType::Blob {
            length_bytes,
            collation: if length_bytes % 2 == 0 { text } else { bytes },
        });
    }
    types
}

fuzz_target!(|data: &[u8]| {
    let [choice, length, rest @ ..] = data else { return };
    let (found, body) = rest.split_at(usize::from(*length).min(rest.len()));
    let mut types = types();
    let count = types.len();
    types.rotate_left(usize::from(*choice >> 3) % count);
    let column = |(i, ty)| Column { ty, nullable: choice >> (i % 3) & 1 != 0 };
    let layout = RowLayout::new(types.into_iter().enumerate().map(column).collect());
    let parts: Vec<KeyPart> = (0..layout.len())
        .map(|column| KeyPart { column, prefix: None, descending: (column + usize::from(*choice)) % 4 == 0 })
        .filter(|part| key::is_reversible(&layout, part))
        .collect();
    let _ = key::decode(&layout, &parts, found);

    let Ok(row) = RowView::new(&layout, body) else { return };
    let _ = row_checksum(&row);
    let mut ignored = Vec::new();
    let _ = key::encode(&layout, &parts, &row, &mut ignored);
    let mut values = Vec::new();
    if row.values(&mut values).is_err() {
        return;
    }
    // What was read can be written, and reads the same.
    let mut again = Vec::new();
    if encode_row(&layout, &values, &mut again).is_err() {
        return;
    }
    let mut reread = Vec::new();
    RowView::new(&layout, &again)
        .expect("a bitmap")
        .values(&mut reread)
        .expect("a row that was just written");
    assert_eq!(format!("{values:?}"), format!("{reread:?}"));
});
