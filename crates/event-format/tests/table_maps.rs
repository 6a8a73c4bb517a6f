//! TABLE_MAP as servers wrote it for tables with `binlog_row_metadata=FULL`: the same bytes come from our definitions.

use charset::Collation;
use event_format::{Event, EventKind, Key, MapColumn, MetadataLevel, TableDescription, TableMap};
use row_format::{ColumnType, IntSize};

const UCA: Collation = Collation::UTF8MB4_UCA1400_AI_CI;
const LATIN1: Collation = Collation::LATIN1_SWEDISH_CI;
const ASCII: Collation = Collation::ASCII_GENERAL_CI;

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).unwrap() as u8;
    hex.as_bytes().chunks(2).map(|p| digit(p[0]) << 4 | digit(p[1])).collect()
}

fn list(members: &[&str]) -> std::sync::Arc<[Box<[u8]>]> {
    members.iter().map(|m| m.as_bytes().into()).collect()
}

struct Table {
    columns: Vec<(&'static str, ColumnType, bool)>,
    key: Vec<Key>,
}

impl Table {
    /// Columns that can be NULL, no primary key.
    fn of(columns: Vec<(&'static str, ColumnType)>) -> Self {
        Self { columns: columns.into_iter().map(|(name, ty)| (name, ty, true)).collect(), key: Vec::new() }
    }
    fn describe(&self, level: MetadataLevel) -> TableDescription {
        let columns: Vec<_> = self
            .columns
            .iter()
            .map(|(name, ty, nullable)| MapColumn { ty, nullable: *nullable, name: name.as_bytes() })
            .collect();
        TableDescription::new(&columns, &self.key, level)
    }
    #[track_caller]
    fn is(&self, captured: &str) {
        let captured = bytes(captured);
        let Ok(Event::TableMap(map)) = Event::decode(EventKind::TABLE_MAP, &captured) else {
            panic!("no table map")
        };
        let ours = self.describe(MetadataLevel::Full);
        assert_eq!(ours.event(map.table_id, map.database, map.table), map);
        let mut again = Vec::new();
        Event::TableMap(map).encode(&mut again);
        assert_eq!(again, captured);
    }
}

fn short(collation: Collation) -> ColumnType {
    ColumnType::varchar(5, collation)
}

#[test]
fn character_sets_are_said_in_the_shorter_of_two_ways() {
    let text = |names: &[(&'static str, Collation)]| {
        Table::of(names.iter().map(|(name, collation)| (*name, short(*collation))).collect())
    };
    text(&[("a", LATIN1), ("b", UCA)])
        .is("1d0000000000010001640002703100020f0f040500140003030408fc0009040401610162");
    text(&[("a", LATIN1), ("b", UCA), ("c", UCA)])
        .is("1e0000000000010001640002703200030f0f0f06050014001400070205fc000900080406016101620163");
    text(&[("a", LATIN1), ("b", UCA), ("c", UCA), ("d", ASCII)]).is(
        "1f0000000000010001640002703300040f0f0f0f0805001400140005000f030808fc0009fc00090b04080161016201630164",
    );
    text(&[("a", LATIN1), ("b", UCA), ("c", UCA), ("d", UCA), ("e", ASCII)]).is(
        "210000000000010001640002703500050f0f0f0f0f0a050014001400140005001f0207fc00090008040b040a01610162016301640165",
    );
}

#[test]
fn signs_members_and_a_key_with_a_prefix() {
    let int = |size, unsigned| ColumnType::int(size, unsigned);
    let mut table = Table::of(vec![
        ("a", ColumnType::varchar(50, UCA)),
        ("b", int(IntSize::Int, false)),
        ("e", ColumnType::Enum { members: list(&["a", "\u{fc}"]), collation: LATIN1 }),
        ("f", ColumnType::Enum { members: list(&["x"]), collation: UCA }),
        ("s", ColumnType::Set { members: list(&["q", "w"]), collation: ASCII }),
        ("k", ColumnType::Year),
        ("bi", ColumnType::Bit { bits: 3 }),
        ("ti", int(IntSize::Tiny, false)),
        ("bo", int(IntSize::Tiny, false)),
        ("dc", ColumnType::Decimal { precision: 5, scale: 2, unsigned: true }),
        ("fu", ColumnType::Float { unsigned: true }),
    ]);
    // The server keeps the members in the column's own character set.
    table.columns[2].1 = ColumnType::Enum {
        members: [Box::from(&b"a"[..]), Box::from(&b"\xfc"[..])].into(),
        collation: LATIN1,
    };
    for not_null in [0, 1, 5] {
        table.columns[not_null].2 = false;
    }
    table.key = vec![Key { column: 1, prefix: 0 }, Key { column: 0, prefix: 3 }];
    table.is(concat!(
        "2200000000000100016400027036000b0f03fefefe0d100101f6040dc800f701f701f8010300050204dc0701014c0203fc0009041b",
        "01610162016501660173016b02626902746902626f0264630266750b0508fc00090b05050201710177060802016101fc010178090401000003"
    ));
}

#[test]
fn a_whole_key_and_temporal_columns() {
    let bin = Collation::UTF8MB4_BIN;
    let mut table = Table::of(vec![
        ("a", ColumnType::int(IntSize::Int, false)),
        ("b", ColumnType::varchar(20, bin)),
        ("c", ColumnType::varchar(300, bin)),
        ("n", ColumnType::Decimal { precision: 10, scale: 2, unsigned: false }),
    ]);
    (table.columns[0].2, table.columns[2].2) = (false, false);
    table.key = vec![Key { column: 0, prefix: 0 }];
    table.is(
        "2900000000000100016400037031330004030f0ff6065000b0040a020a01010002012e0408016101620163016e080100",
    );

    let listed = |members| ColumnType::Enum { members: list(members), collation: LATIN1 };
    Table::of(vec![
        ("e1", listed(&["a"])),
        ("e2", listed(&["b", "c"])),
        ("s", ColumnType::Set { members: list(&["d"]), collation: LATIN1 }),
        ("t1", ColumnType::Timestamp { fsp: 6 }),
        ("t2", ColumnType::Time { fsp: 2 }),
    ])
    .is("2a00000000000100016400037031340005fefefe111308f701f701f80106021f040e02653102653201730274310274320a0108050301016406080101610201620163");
}

#[test]
fn what_was_written_is_read_again() {
    let text = "2200000000000100016400027036000b0f03fefefe0d100101f6040dc800f701f701f8010300050204dc0701014c0203fc0009041b01610162016501660173016b02626902746902626f0264630266750b0508fc00090b05050201710177060802016101fc010178090401000003";
    let captured = bytes(text);
    let Ok(Event::TableMap(map)) = Event::decode(EventKind::TABLE_MAP, &captured) else {
        panic!("no table map")
    };
    let (columns, said) = (map.columns().unwrap(), map.optional_metadata().unwrap());
    let unsigned = said.unsigned(&columns).unwrap();
    assert_eq!(
        unsigned,
        [false, false, false, false, false, true, false, false, false, true, true],
        "YEAR, DECIMAL UNSIGNED and FLOAT UNSIGNED"
    );
    assert_eq!(said.names, ["a", "b", "e", "f", "s", "k", "bi", "ti", "bo", "dc", "fu"].map(str::as_bytes));
    assert_eq!(said.enum_members, [vec![&b"a"[..], b"\xfc"], vec![b"x"]]);
    assert_eq!(said.set_members, [vec![&b"q"[..], b"w"]]);
    assert_eq!(said.primary_key, [Key { column: 1, prefix: 0 }, Key { column: 0, prefix: 3 }]);
    let collations = said.collations(&columns);
    assert_eq!(collations[..5], [Some(2304), None, Some(8), Some(2304), Some(11)]);
}

#[test]
fn no_log_says_nothing_and_minimal_only_signs_and_character_sets() {
    let table = Table::of(vec![("a", ColumnType::int(IntSize::Int, true)), ("b", short(UCA))]);
    let optional = |level| {
        let description = table.describe(level);
        description.event(1, b"d", b"t").optional.to_vec()
    };
    assert_eq!(optional(MetadataLevel::NoLog), []);
    assert_eq!(optional(MetadataLevel::Minimal), [1, 1, 0x80, 2, 3, 0xfc, 0, 9]);
    assert_eq!(TableMap::EXACT_LENGTHS, 1);
}
