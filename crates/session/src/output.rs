//! What goes to the client: packets gathered in one buffer, sent with one write per command.
//!
//! A long result is sent whenever the buffer passes [`FLUSH_AT`]; until the first send a result can be taken back and
//! replaced by an error.

use std::sync::Arc;
use std::time::Duration;

use wire::{Capabilities, Eof, ErrPacket, OkPacket, PacketReader, PacketWriter, Status};

use crate::counters::Counter;
use crate::parking::PARK_AFTER;
use crate::registry::Entry;
use crate::transport::Transport;
use client_error::ClientError;

/// A result is sent in pieces of about this size.
const FLUSH_AT: usize = 64 * 1024;

/// The client cannot be reached any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

/// The sending half of a connection.
pub(crate) struct Output {
    writer: PacketWriter,
    transport: Arc<dyn Transport>,
    entry: Arc<Entry>,
    pub capabilities: Capabilities,
    gone: bool,
}

impl Output {
    pub(crate) fn new(transport: Arc<dyn Transport>, entry: Arc<Entry>) -> Self {
        Self {
            writer: PacketWriter::new(),
            transport,
            entry,
            capabilities: Capabilities::default(),
            gone: false,
        }
    }

    /// Turns a connection away before it has said anything; whether it still listens does not matter.
    pub(crate) fn refuse(transport: &dyn Transport, error: &ClientError) {
        let packet =
            ErrPacket { code: error.errno, sqlstate: Some(error.state), message: error.text.as_bytes() };
        let mut writer = PacketWriter::new();
        writer.packet(|p| packet.encode(p));
        let _ = transport.write_all(writer.bytes());
    }

    /// The next packet answers one with number `sequence - 1`.
    pub(crate) fn start(&mut self, sequence: u8) {
        self.writer.set_sequence(sequence);
    }
    /// Same, unless packets wait already that the next one belongs behind.
    pub(crate) fn go_on(&mut self, sequence: u8) {
        if self.writer.is_empty() {
            self.start(sequence);
        }
    }
    pub(crate) fn sequence(&self) -> u8 {
        self.writer.sequence()
    }
    /// What is written from now on goes through `transport`.
    pub(crate) fn set_transport(&mut self, transport: Arc<dyn Transport>) {
        self.transport = transport;
    }
    pub(crate) fn writer(&mut self) -> &mut PacketWriter {
        &mut self.writer
    }
    /// Gives memory back while nothing is gathered.
    pub(crate) fn rest(&mut self) {
        self.writer.rest();
    }
    /// Bytes that have been gathered and not sent.
    pub(crate) fn waiting(&self) -> usize {
        self.writer.len()
    }
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Sends what has been gathered.
    pub(crate) fn flush(&mut self) -> Result<(), Gone> {
        if self.gone {
            self.writer.clear();
            return Err(Gone);
        }
        if self.writer.is_empty() {
            return Ok(());
        }
        self.entry.counters.add(Counter::BytesSent, self.writer.len() as u64);
        let outcome = self.transport.write_all(self.writer.bytes());
        self.writer.clear();
        outcome.map_err(|_| {
            self.gone = true;
            Gone
        })
    }
    /// Sends when much has been gathered.
    #[inline]
    pub(crate) fn flush_if_full(&mut self) -> Result<(), Gone> {
        if self.writer.len() < FLUSH_AT { Ok(()) } else { self.flush() }
    }

    /// LOAD DATA LOCAL: asks for a file and reads it to its end.
    /// The socket's timeout is that of a silent connection, which is too short here.
    pub(crate) fn receive_file(&mut self, path: &[u8], patience: Duration) -> Result<Vec<u8>, Gone> {
        let _ = self.transport.set_read_timeout(patience);
        let outcome = self.receive_packets(path);
        let _ = self.transport.set_read_timeout(PARK_AFTER);
        outcome
    }

    fn receive_packets(&mut self, path: &[u8]) -> Result<Vec<u8>, Gone> {
        self.writer.packet(|p| {
            p.push(0xfb);
            p.extend_from_slice(path);
        });
        self.flush()?;
        let mut reader = PacketReader::new(usize::MAX);
        reader.set_sequence(self.writer.sequence());
        if self.capabilities.contains(Capabilities::COMPRESS) {
            reader.take_any_sequence();
        }
        let mut out = Vec::new();
        loop {
            while !reader.poll().map_err(|_| Gone)? {
                match self.transport.read(reader.spare()) {
                    Ok(n) if n > 0 => {
                        self.entry.counters.add(Counter::BytesReceived, n as u64);
                        reader.filled(n);
                    }
                    _ => {
                        self.gone = true;
                        return Err(Gone);
                    }
                }
            }
            if reader.payload().is_empty() {
                self.writer.set_sequence(reader.sequence());
                return Ok(out);
            }
            out.extend_from_slice(reader.payload());
        }
    }

    pub(crate) fn ok(&mut self, ok: &OkPacket<'_>) {
        let caps = self.capabilities;
        self.writer.packet(|p| ok.encode(p, caps));
    }
    pub(crate) fn error(&mut self, error: &ClientError) {
        let packet =
            ErrPacket { code: error.errno, sqlstate: Some(error.state), message: error.text.as_bytes() };
        self.writer.packet(|p| packet.encode(p));
    }
    /// After column definitions, for clients without DEPRECATE_EOF.
    pub(crate) fn eof_after_columns(&mut self, status: Status, warnings: u16) {
        if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            self.eof(status, warnings);
        }
    }
    pub(crate) fn eof(&mut self, status: Status, warnings: u16) {
        self.writer.packet(|p| Eof { warnings, status }.encode(p));
    }
    /// After the last row.
    pub(crate) fn end_of_rows(&mut self, ok: &OkPacket<'_>) {
        let caps = self.capabilities;
        if caps.contains(Capabilities::DEPRECATE_EOF) {
            self.writer.packet(|p| ok.encode_end(p, caps));
        } else {
            self.eof(ok.status, ok.warnings);
        }
    }
}
