//! Any bytes from the other end of a connection: packets, log-in, commands and their parameters; and a server's replies.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::column::ResultHeader;
use wire::reply::SessionChange;
use wire::row::decode_text_row;
use wire::{
    AuthSwitch, Capabilities, ColumnDefinition, Command, Eof, ErrPacket, Greeting, Login, OkPacket,
    PacketReader, PrepareOk,
};

/// Reads the stream in pieces of `piece` bytes and gives each payload to `take`.
fn packets(mut stream: &[u8], piece: usize, mut take: impl FnMut(&[u8])) {
    let mut reader = PacketReader::new(1 << 16);
    loop {
        match reader.poll() {
            Err(_) => return,
            Ok(true) => {
                take(reader.payload());
                reader.restart();
            }
            Ok(false) if stream.is_empty() => return,
            Ok(false) => {
                let spare = reader.spare();
                let n = spare.len().min(piece).min(stream.len());
                spare[..n].copy_from_slice(&stream[..n]);
                stream = &stream[n..];
                reader.filled(n);
            }
        }
    }
}

fn from_client(payload: &[u8], caps: Capabilities, parameters: usize) {
    let _ = Login::decode(payload);
    match Command::decode(payload, caps) {
        Ok(Command::StmtExecute(execute)) => {
            let _ = execute.parameters(parameters, &mut Vec::new(), |i| i % 5 == 4, |_| ());
        }
        Ok(Command::StmtBulkExecute(bulk)) => {
            let mut types = Vec::new();
            let Ok(mut rows) = bulk.rows(parameters, &mut types) else { return };
            while let Ok(true) = rows.next(&types, |_| ()) {}
        }
        _ => {}
    }
}

fn from_server(payload: &[u8], caps: Capabilities, columns: usize) {
    let (_, _) = (Greeting::decode(payload), AuthSwitch::decode(payload));
    let (_, _) = (Eof::decode(payload), ErrPacket::decode(payload));
    let (_, _) = (PrepareOk::decode(payload), ResultHeader::decode(payload, caps));
    let (_, _) = (ColumnDefinition::decode(payload, caps), decode_text_row(payload, columns));
    if let Ok(ok) = OkPacket::decode(payload) {
        let mut state = base::Reader::new(ok.session_state);
        while !state.is_empty() && SessionChange::decode(&mut state).is_ok() {}
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((head, bytes)) = data.split_first_chunk::<10>() else { return };
    let caps = Capabilities(u64::from_le_bytes(head[..8].try_into().expect("8 bytes")));
    let count = usize::from(head[8]);
    from_client(bytes, caps, count);
    from_server(bytes, caps, count);
    packets(bytes, usize::from(head[9]) + 1, |payload| from_client(payload, caps, count));
});
