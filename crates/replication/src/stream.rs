//! The packets of a dump: `0x00 | [0xef | acknowledgement wanted] | event`, cut at 16 MiB like every payload.
//!
//! # Invariants
//! P1. Sequence numbers go on from the command's; behind an event whose acknowledgement is wanted they start again at 1, whenever
//!     the acknowledgement comes (observed: the replica counts so).
//! P2. An event of any length costs [`GATHER`] bytes at most beside itself.

use std::io;

use client_error::ClientError;
use wire::packet::{CHUNK_MAX, HEADER};

use wire::{Eof, ErrPacket, PacketWriter, Status};

use crate::source::Turn;

/// The connection of a dump.
pub trait Line: Send + Sync {
    /// Sends all of it or fails.
    fn send(&self, bytes: &[u8]) -> io::Result<()>;
    /// Sends what goes without a wait for the peer; how much that was, 0 where it cannot be known.
    fn send_now(&self, _: &[u8]) -> io::Result<usize> {
        Ok(0)
    }
    /// At least one byte, 0 at the end of the stream; `WouldBlock` or `TimedOut` when the line's read timeout passed.
    fn receive(&self, buf: &mut [u8]) -> io::Result<usize>;
}

/// Events are gathered up to this size.
const GATHER: usize = 64 * 1024;
/// Bytes that an idle stream keeps.
const KEPT: usize = 32 * 1024;

/// The sending side of one dump.
pub struct EventStream<'a> {
    line: &'a dyn Line,
    buffer: Vec<u8>,
    sequence: u8,
    semi_sync: bool,
    sent: u64,
    turn: Option<&'a dyn Turn>,
}

impl<'a> EventStream<'a> {
    /// The stream answers a command, so its first packet has number 1.
    pub fn new(line: &'a dyn Line, semi_sync: bool) -> Self {
        Self { line, buffer: Vec::new(), sequence: 1, semi_sync, sent: 0, turn: None }
    }

    /// Passes this turn on before it waits for a peer that does not read.
    pub fn by_turns(self, turn: &'a dyn Turn) -> Self {
        Self { turn: Some(turn), ..self }
    }

    /// One event. `wants_ack` counts on a semi-synchronous stream only.
    pub fn event(&mut self, event: &[u8], wants_ack: bool) -> io::Result<()> {
        let wants_ack = wants_ack && self.semi_sync;
        if !self.semi_sync && self.buffer.len() + HEADER + 1 + event.len() < GATHER {
            // The common case, as the loop below would do it.
            let [a, b, c, _] = (1 + event.len() as u32).to_le_bytes();
            self.buffer.reserve(HEADER + 1 + event.len());
            self.buffer.extend_from_slice(&[a, b, c, self.sequence, 0]);
            self.buffer.extend_from_slice(event);
            self.sequence = self.sequence.wrapping_add(1);
            return Ok(());
        }
        let mut head = [0; 3];
        let mut head_len = 1;
        if self.semi_sync {
            head[1..].copy_from_slice(&event_format::semi_sync::prefix(wants_ack));
            head_len = 3;
        }
        let mut rest = event;
        let mut left = head_len + event.len();
        let mut head = &head[..head_len];
        loop {
            let chunk = left.min(CHUNK_MAX);
            self.put_header(chunk);
            self.buffer.extend_from_slice(head);
            let (part, behind) = rest.split_at(chunk - head.len());
            self.put(part)?;
            rest = behind;
            head = &[];
            left -= chunk;
            if chunk < CHUNK_MAX {
                break;
            }
        }
        if wants_ack {
            self.sequence = 1;
        }
        Ok(())
    }

    fn put_header(&mut self, length: usize) {
        let bytes = (length as u32).to_le_bytes();
        let header: [u8; HEADER] = [bytes[0], bytes[1], bytes[2], self.sequence];
        self.buffer.extend_from_slice(&header);
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// P2: what is long goes out from where it stands.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.buffer.len() + bytes.len() < GATHER {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush()?;
        if bytes.len() < GATHER {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.send(bytes)
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sent += bytes.len() as u64;
        let Some(turn) = self.turn else { return self.line.send(bytes) };
        let sent = self.line.send_now(bytes)?;
        if sent == bytes.len() {
            return Ok(());
        }
        turn.pass();
        self.line.send(&bytes[sent..])
    }

    /// Sends what was gathered.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let outcome = self.send(&buffer);
        buffer.clear();
        self.buffer = buffer;
        outcome
    }

    /// Before a wait: sends, and keeps room for a few small groups.
    pub fn rest(&mut self) -> io::Result<()> {
        self.flush()?;
        self.buffer.shrink_to(KEPT);
        Ok(())
    }

    /// The end of the log for a client that does not wait, and the end of UNTIL.
    pub fn end(&mut self) -> io::Result<()> {
        let mut out = PacketWriter::new();
        out.set_sequence(self.sequence);
        out.packet(|p| Eof { warnings: 0, status: Status(Status::AUTOCOMMIT.0) }.encode(p));
        self.buffer.extend_from_slice(out.bytes());
        self.flush()
    }

    pub fn error(&mut self, error: &ClientError) -> io::Result<()> {
        let packet =
            ErrPacket { code: error.errno, sqlstate: Some(error.state), message: error.text.as_bytes() };
        let mut out = PacketWriter::new();
        out.set_sequence(self.sequence);
        out.packet(|p| packet.encode(p));
        self.buffer.extend_from_slice(out.bytes());
        self.flush()
    }

    /// Bytes sent so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use wire::PacketReader;

    #[derive(Default)]
    struct Memory(Mutex<Vec<u8>>);
    impl Line for Memory {
        fn send(&self, bytes: &[u8]) -> io::Result<()> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(())
        }
        fn receive(&self, _: &mut [u8]) -> io::Result<usize> {
            Ok(0)
        }
    }

    fn payloads(memory: &Memory, sequence: u8) -> Vec<Vec<u8>> {
        let bytes = memory.0.lock().unwrap();
        let mut reader = PacketReader::new(1 << 30);
        reader.set_sequence(sequence);
        let mut out = Vec::new();
        let mut rest = &bytes[..];
        loop {
            while reader.poll().unwrap() {
                out.push(reader.payload().to_vec());
            }
            if rest.is_empty() {
                return out;
            }
            let spare = reader.spare();
            let n = spare.len().min(rest.len());
            spare[..n].copy_from_slice(&rest[..n]);
            rest = &rest[n..];
            reader.filled(n);
        }
    }

    #[test]
    fn events_of_any_length_come_out_whole() {
        let lengths = [0, 5, GATHER - 1, GATHER, CHUNK_MAX - 2, CHUNK_MAX - 1, CHUNK_MAX, 2 * CHUNK_MAX + 7];
        let events: Vec<Vec<u8>> = lengths.iter().map(|n| vec![*n as u8 | 1; *n]).collect();
        let memory = Memory::default();
        let mut stream = EventStream::new(&memory, false);
        for event in &events {
            stream.event(event, true).unwrap();
        }
        stream.end().unwrap();
        let got = payloads(&memory, 1);
        for (event, payload) in events.iter().zip(&got) {
            assert!(payload[0] == 0 && payload[1..] == event[..], "{} bytes", event.len());
        }
        assert_eq!(got[events.len()], [0xfe, 0, 0, 2, 0]);
        assert_eq!(stream.sent(), memory.0.lock().unwrap().len() as u64);
    }

    #[test]
    fn a_semi_synchronous_stream_counts_anew_behind_a_wanted_acknowledgement() {
        let memory = Memory::default();
        let mut stream = EventStream::new(&memory, true);
        stream.event(b"ab", false).unwrap();
        stream.event(b"c", true).unwrap();
        stream.event(b"d", false).unwrap();
        stream.flush().unwrap();
        let bytes = memory.0.lock().unwrap().clone();
        assert_eq!(
            bytes,
            [5, 0, 0, 1, 0, 0xef, 0, b'a', b'b', 4, 0, 0, 2, 0, 0xef, 1, b'c', 4, 0, 0, 1, 0, 0xef, 0, b'd']
        );
    }

    /// Takes so many bytes at once; notes what happens in which order.
    struct Narrow(usize, Mutex<Vec<String>>);
    impl Narrow {
        fn note(&self, what: String) {
            self.1.lock().unwrap().push(what);
        }
    }
    impl Line for Narrow {
        fn send(&self, bytes: &[u8]) -> io::Result<()> {
            self.note(format!("waited for {}", bytes.len()));
            Ok(())
        }
        fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len().min(self.0))
        }
        fn receive(&self, _: &mut [u8]) -> io::Result<usize> {
            Ok(0)
        }
    }
    impl Turn for Narrow {
        fn pass(&self) {
            self.note("passed".into());
        }
        fn hurry(&self) {}
    }

    #[test]
    fn a_turn_is_passed_on_before_a_wait_for_the_peer_and_only_then() {
        let line = Narrow(12, Mutex::default());
        let mut stream = EventStream::new(&line, false).by_turns(&line);
        stream.event(b"1234567", false).unwrap();
        stream.flush().unwrap();
        assert!(line.1.lock().unwrap().is_empty(), "it went at once");
        stream.event(b"12345678901", false).unwrap();
        stream.flush().unwrap();
        assert_eq!(*line.1.lock().unwrap(), ["passed", "waited for 4"]);
        assert_eq!(stream.sent(), 12 + 16);
    }
}
