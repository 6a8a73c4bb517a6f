//! No input panics a decoder (W1).

use proptest::prelude::*;
use wire::statement::{BulkExecute, Execute};
use wire::{
    AuthSwitch, Capabilities, ChangeUser, ColumnDefinition, ColumnType, Command, Eof, ErrPacket, Greeting,
    Login, OkPacket, PacketReader, ParameterType, PrepareOk,
};

fn decode_everything(bytes: &[u8], caps: Capabilities, count: usize) {
    let _ = Greeting::decode(bytes);
    let _ = AuthSwitch::decode(bytes);
    let _ = ChangeUser::decode(bytes, caps);
    if let Ok(login) = Login::decode(bytes) {
        let _ = login.attribute_pairs().count();
    }
    let _ = OkPacket::decode(bytes);
    let _ = Eof::decode(bytes);
    let _ = ErrPacket::decode(bytes);
    let _ = PrepareOk::decode(bytes);
    let _ = ColumnDefinition::decode(bytes, caps);
    let _ = wire::column::ResultHeader::decode(bytes, caps);
    let _ = wire::row::decode_text_row(bytes, count);
    let types: Vec<_> =
        (0..count).map(|i| (ColumnType::from_u8(i as u8).unwrap_or(ColumnType::Blob), true)).collect();
    let _ = wire::row::decode_binary_row(bytes, &types);
    let _ = Command::decode(bytes, caps);
    let remembered: Vec<_> = types.iter().map(|(t, u)| ParameterType::new(*t, *u)).collect();
    if let Ok(e) = Execute::decode(bytes) {
        let _ = e.parameters(count, &mut remembered.clone(), |i| i % 7 == 3, |_| ());
        let _ = e.parameters(count, &mut Vec::new(), |_| false, |_| ());
    }
    if let Ok(b) = BulkExecute::decode(bytes) {
        let mut types = remembered;
        if let Ok(mut rows) = b.rows(count, &mut types) {
            while let Ok(true) = rows.next(&types, |_| ()) {}
        }
    }
}

fn read_all(bytes: &[u8]) {
    let mut reader = PacketReader::new(4096);
    let mut rest = bytes;
    loop {
        match reader.poll() {
            Err(_) => return,
            Ok(true) => decode_everything(reader.payload(), Capabilities::SERVER, 3),
            Ok(false) if rest.is_empty() => return,
            Ok(false) => {
                let spare = reader.spare();
                let n = spare.len().min(rest.len()).min(7);
                spare[..n].copy_from_slice(&rest[..n]);
                reader.filled(n);
                rest = &rest[n..];
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn random_payloads(bytes in proptest::collection::vec(any::<u8>(), 0..200), caps in any::<u64>(), count in 0usize..40) {
        decode_everything(&bytes, Capabilities(caps), count);
    }

    #[test]
    fn small_alphabets_reach_deeper(
        bytes in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(4), Just(11), Just(0xfa), Just(0xfc), Just(0xfe)], 0..80),
        count in 0usize..12,
    ) {
        decode_everything(&bytes, Capabilities(u64::MAX), count);
        decode_everything(&bytes, Capabilities(0x200), count);
    }

    #[test]
    fn random_streams(bytes in proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(2), any::<u8>()], 0..300)) {
        read_all(&bytes);
    }
}
