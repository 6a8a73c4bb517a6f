//! Packets as MariaDB 11.8.9 and its clients sent them, seen by a tap on the loopback. Each is decoded, its fields are checked, and
//! where the encoder has a choice-free form it gives the same bytes back.

use wire::column::ResultHeader;
use wire::command::Command;
use wire::row::{BinaryValue, decode_binary_row, decode_text_row};
use wire::statement::Parameter;
use wire::{
    Capabilities, ColumnDefinition, ColumnFlags, ColumnType, Eof, ErrPacket, Greeting, Login, OkPacket,
    PacketReader, ParameterType, PrepareOk, SessionChange, Status,
};

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).unwrap() as u8;
    hex.as_bytes().chunks(2).map(|p| digit(p[0]) << 4 | digit(p[1])).collect()
}

/// The payloads of a captured stream whose first packet has the given sequence number.
fn payloads(hex: &str, sequence: u8) -> Vec<Vec<u8>> {
    let stream = bytes(hex);
    let mut reader = PacketReader::new(1 << 20);
    reader.set_sequence(sequence);
    reader.spare()[..stream.len()].copy_from_slice(&stream);
    reader.filled(stream.len());
    let mut out = Vec::new();
    while reader.poll().unwrap() {
        out.push(reader.payload().to_vec());
    }
    assert!(!reader.has_more());
    out
}

fn encoded(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out);
    out
}

/// What sysbench's client and the server agreed on.
fn agreed() -> Capabilities {
    Capabilities::SERVER.without(Capabilities::DEPRECATE_EOF)
}

#[test]
fn greeting() {
    let packet = &payloads(
        "6c0000000a31312e382e392d4d6172696144422d302b646562313375312066726f6d2044656269616e2d6c6f6700\
         06000000553b667022535e5f00feff2d0200ff81150000000000003d00000040624d3c2540525c57224262006d79\
         73716c5f6e61746976655f70617373776f726400",
        0,
    )[0];
    let g = Greeting::decode(packet).unwrap();
    assert_eq!(g.version, b"11.8.9-MariaDB-0+deb13u1 from Debian-log");
    assert_eq!((g.connection_id, g.collation, g.status), (6, 45, 2));
    assert_eq!(g.auth_plugin, b"mysql_native_password");
    assert!(g.capabilities.contains(Capabilities::CACHE_METADATA | Capabilities::STMT_BULK_OPERATIONS));
    assert!(!g.capabilities.contains(Capabilities::MYSQL));
    assert_eq!(encoded(|o| g.encode(o)), *packet);
}

#[test]
fn login_of_the_client_library() {
    let packet = &payloads(
        "b00000018ca2bf00000010002d000000000000000000000000000000000000001d000000726f6f7400007362746573\
         74006d7973716c5f6e61746976655f70617373776f7264006c035f6f73054c696e75780c5f636c69656e745f6e616d\
         650a6c69626d617269616462045f7069640532323031300f5f636c69656e745f76657273696f6e06332e332e323009\
         5f706c6174666f726d067838365f36340c5f7365727665725f686f7374093132372e302e302e31",
        1,
    )[0];
    let l = Login::decode(packet).unwrap();
    assert_eq!((l.user, l.auth, l.database), (&b"root"[..], &b""[..], &b"sbtest"[..]));
    assert_eq!((l.collation, l.packet_max, l.auth_plugin), (45, 1 << 20, &b"mysql_native_password"[..]));
    assert!(l.capabilities.contains(Capabilities::CACHE_METADATA | Capabilities::SESSION_TRACK));
    assert!(!l.capabilities.contains(Capabilities::DEPRECATE_EOF));
    assert_eq!(l.attribute_pairs().next(), Some((&b"_os"[..], &b"Linux"[..])));
    assert_eq!(encoded(|o| l.encode(o)), *packet);
}

#[test]
fn ok_with_session_state() {
    let packet = bytes(
        "00000002400000009e000e0a6175746f636f6d6d6974024f4e00110974696d655f7a6f6e650653595354454d001d146\
         368617261637465725f7365745f636c69656e7407757466386d62340021186368617261637465725f7365745f636f6e\
         6e656374696f6e07757466386d6234001e156368617261637465725f7365745f726573756c747307757466386d62340\
         00e0c72656469726563745f75726c00010706736274657374",
    );
    let ok = OkPacket::decode(&packet).unwrap();
    assert_eq!(ok.status, Status::AUTOCOMMIT.with(Status::SESSION_STATE_CHANGED));
    let mut changes = Vec::new();
    let mut r = base::Reader::new(ok.session_state);
    while !r.is_empty() {
        changes.extend(SessionChange::decode(&mut r).unwrap());
    }
    assert_eq!(changes.len(), 7);
    assert_eq!(changes[1], SessionChange::Variable { name: b"time_zone", value: b"SYSTEM" });
    assert_eq!(changes[6], SessionChange::Schema(b"sbtest"));
    let state = encoded(|o| changes.iter().for_each(|c| c.encode(o)));
    assert_eq!(state, ok.session_state);
    assert_eq!(encoded(|o| ok.encode(o, agreed())), packet);
}

#[test]
fn ok_with_info() {
    let packet = bytes(
        "0002000200000028526f7773206d6174636865643a203220204368616e6765643a203220205761726e696e67733a2030",
    );
    let ok = OkPacket::decode(&packet).unwrap();
    assert_eq!((ok.affected_rows, ok.info), (2, &b"Rows matched: 2  Changed: 2  Warnings: 0"[..]));
    assert_eq!(encoded(|o| ok.encode(o, agreed())), packet);
}

#[test]
fn error() {
    let packet =
        bytes("ff1e04233432533232556e6b6e6f776e20636f6c756d6e20276e6f70652720696e202753454c45435427");
    let e = ErrPacket::decode(&packet).unwrap();
    assert_eq!(
        (e.code, e.sqlstate, e.message),
        (1054, Some(*b"42S22"), &b"Unknown column 'nope' in 'SELECT'"[..])
    );
    assert_eq!(encoded(|o| e.encode(o)), packet);
}

#[test]
fn text_result() {
    let header = bytes("0501");
    let expected = ResultHeader { columns: 5, definitions_follow: true };
    assert_eq!(ResultHeader::decode(&header, agreed()), Ok(expected));
    let definitions = [
        ("036465660000000161000c3f0001000000038100000000", ColumnType::Long, 129, 63, 1, 0),
        ("036465660000000162000ce00004000000fd0100270000", ColumnType::VarString, 1, 224, 4, 39),
        ("036465660000000163000c3f0000000000068000000000", ColumnType::Null, 128, 63, 0, 0),
        ("036465660000000164000c3f0005000000f68100020000", ColumnType::NewDecimal, 129, 63, 5, 2),
        ("036465660000000165000c3f00170000000c8000030000", ColumnType::DateTime, 128, 63, 23, 3),
    ];
    for (hex, column_type, flags, collation, length, decimals) in definitions {
        let packet = bytes(hex);
        let c = ColumnDefinition::decode(&packet, agreed()).unwrap();
        assert_eq!((c.column_type, c.flags, c.collation), (column_type, ColumnFlags(flags), collation));
        assert_eq!((c.length, c.decimals), (length, decimals));
        assert_eq!(encoded(|o| c.encode(o, agreed())), packet);
    }
    let row = bytes("01310178fb04312e353017323032342d30312d30322030333a30343a30352e363738");
    let values = decode_text_row(&row, 5).unwrap();
    let expected: [Option<&[u8]>; 5] =
        [Some(b"1"), Some(b"x"), None, Some(b"1.50"), Some(b"2024-01-02 03:04:05.678")];
    assert_eq!(values, expected);
    let eof = bytes("fe00000200");
    assert_eq!(Eof::decode(&eof), Ok(Eof { warnings: 0, status: Status::AUTOCOMMIT }));
}

#[test]
fn prepare_and_execute() {
    let answer = payloads(
        "0c0000010003000000010001000000001800000203646566000000013f00000c3f000000000006800000000005000003\
         fe000002002d00000403646566067362746573740773627465737431077362746573743101630163000ce000e0010000\
         fe010000000005000005fe00000200",
        1,
    );
    // sysbench's client wants extended metadata, too.
    let agreed = || agreed() | Capabilities::EXTENDED_METADATA;
    let ok = PrepareOk::decode(&answer[0]).unwrap();
    assert_eq!((ok.statement_id, ok.columns, ok.parameters), (3, 1, 1));
    assert_eq!(encoded(|o| ok.encode(o)), answer[0]);
    assert_eq!(encoded(|o| ColumnDefinition::PARAMETER.encode(o, agreed())), answer[1]);
    let c = ColumnDefinition::decode(&answer[3], agreed()).unwrap();
    assert_eq!((c.schema, c.table, c.name), (&b"sbtest"[..], &b"sbtest1"[..], &b"c"[..]));
    assert_eq!((c.column_type, c.length), (ColumnType::String, 480));

    let command = &payloads("1600000017030000000001000000000108002900000000000000", 0)[0];
    let Ok(Command::StmtExecute(execute)) = Command::decode(command, agreed()) else { panic!("{command:?}") };
    let mut types = Vec::new();
    let mut values = Vec::new();
    execute.parameters(1, &mut types, |_| false, |p| values.push(p)).unwrap();
    assert_eq!(types, [ParameterType::new(ColumnType::LongLong, false)]);
    assert_eq!(values, [Parameter::Value(BinaryValue::Int(41))]);
    // The next execute sends no types.
    let again = &payloads("140000001703000000000100000000003200000000000000", 0)[0];
    let Ok(Command::StmtExecute(execute)) = Command::decode(again, agreed()) else { panic!("{again:?}") };
    values.clear();
    execute.parameters(1, &mut types, |_| false, |p| values.push(p)).unwrap();
    assert_eq!(values, [Parameter::Value(BinaryValue::Int(50))]);
}

#[test]
fn binary_result_without_definitions() {
    let answer = payloads(
        "02000001010005000002fe000003007a00000300007737393233363235363831392d32343630313336343334352d3038\
         3632373232343830322d36303636333139303138322d36363637323133343531362d33363631333030373232312d3736\
         3539373837333935332d35323130363232323237352d30383437393236333638302d3937333035393632393339050000\
         04fe00000300",
        1,
    );
    let header = ResultHeader::decode(&answer[0], agreed()).unwrap();
    assert_eq!(header, ResultHeader { columns: 1, definitions_follow: false });
    // The end of the definitions is there even when they are not.
    assert!(Eof::decode(&answer[1]).is_ok());
    let row = decode_binary_row(&answer[2], &[(ColumnType::String, false)]).unwrap();
    assert!(
        matches!(row[0], BinaryValue::Bytes(b) if b.starts_with(b"79236256819-24601364345-") && b.len() == 119)
    );
    assert!(Eof::decode(&answer[3]).unwrap().status.contains(Status::IN_TRANS));
}
