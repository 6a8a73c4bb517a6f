//! Packets: how payloads of any length travel, and their sequence numbers.
//!
//! # Layout
//! `payload length u24 | sequence u8 | payload`. A payload of 0xffffff bytes or more is cut into full chunks of 0xffffff
//! and a last, shorter (possibly empty) chunk. Sequence numbers go up by one per chunk, wrap at 256, and start at 0 with
//! every command.
//!
//! # Use
//! Reader: `poll()`; on `false` read from the socket into `spare()`, tell `filled(n)`, poll again; on `true` use `payload()`.
//! Writer: `begin()`, append to `payload()`, `end()`, ...; send `bytes()`; `clear()`. One buffer, one write per reply.

use std::fmt;

/// Longest chunk.
pub const CHUNK_MAX: usize = 0xff_ffff;
/// Bytes of a packet header.
pub const HEADER: usize = 4;
/// What an idle reader keeps.
const READ_BUFFER: usize = 16 * 1024;

/// Why the peer's packets cannot be followed any more; the connection must be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameError {
    /// MariaDB's ER_NET_PACKETS_OUT_OF_ORDER.
    Sequence { expected: u8, found: u8 },
    /// MariaDB's ER_NET_PACKET_TOO_LARGE.
    TooLarge { length: usize, max: usize },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequence { expected, found } => write!(f, "packet {found} came where {expected} was due"),
            Self::TooLarge { length, max } => {
                write!(f, "a packet of {length} bytes is over the limit of {max}")
            }
        }
    }
}

impl std::error::Error for FrameError {}

/// Cuts a byte stream into payloads.
#[derive(Debug)]
pub struct PacketReader {
    /// `buffer[start..end]` has been received and not consumed.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The current payload when it came in several chunks.
    joined: Vec<u8>,
    joining: bool,
    /// Where the current payload is in `buffer`, unless `joined` holds it.
    current: std::ops::Range<usize>,
    sequence: u8,
    payload_max: usize,
    /// Sequence numbers are taken as they come.
    any_sequence: bool,
}

impl PacketReader {
    pub fn new(payload_max: usize) -> Self {
        Self {
            buffer: vec![0; READ_BUFFER],
            start: 0,
            end: 0,
            joined: Vec::new(),
            joining: false,
            current: 0..0,
            sequence: 0,
            payload_max,
            any_sequence: false,
        }
    }

    /// From now on the sequence numbers of the peer are taken as they come: the compressed protocol has others around them.
    pub fn take_any_sequence(&mut self) {
        self.any_sequence = true;
    }

    /// Gives the buffers back while nothing is in them.
    pub fn rest(&mut self) {
        if self.start == self.end && !self.joining {
            (self.buffer, self.joined) = (Vec::new(), Vec::new());
            (self.start, self.end, self.current) = (0, 0, 0..0);
        }
    }

    /// Takes out what has been received beyond the current payload: another protocol begins there.
    pub fn take_rest(&mut self) -> Vec<u8> {
        let rest = self.buffer[self.start..self.end].to_vec();
        self.end = self.start;
        rest
    }

    /// Changes the limit (`max_allowed_packet`) for payloads that are not complete yet.
    pub fn set_payload_max(&mut self, max: usize) {
        self.payload_max = max;
    }

    /// A command is due: the next packet has sequence number 0.
    pub fn restart(&mut self) {
        self.sequence = 0;
    }

    /// Sequence number of the packet that is due, which is also that of the reply's first packet.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    /// The peer's next packet will have this number (after a reply of our own in the middle of an exchange).
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// True when a whole payload is there ([`Self::payload`]); false when more bytes are needed.
    pub fn poll(&mut self) -> Result<bool, FrameError> {
        if !self.joining && !self.joined.is_empty() {
            self.joined = Vec::new();
        }
        loop {
            let have = self.end - self.start;
            if have < HEADER {
                return Ok(false);
            }
            let h = &self.buffer[self.start..self.start + HEADER];
            let length = usize::from(h[0]) | usize::from(h[1]) << 8 | usize::from(h[2]) << 16;
            let total = self.joined.len() + length;
            if self.any_sequence {
                self.sequence = h[3];
            }
            if h[3] != self.sequence {
                return Err(FrameError::Sequence { expected: self.sequence, found: h[3] });
            }
            if total > self.payload_max {
                return Err(FrameError::TooLarge { length: total, max: self.payload_max });
            }
            if have < HEADER + length {
                return Ok(false);
            }
            let body = self.start + HEADER..self.start + HEADER + length;
            self.start = body.end;
            self.sequence = self.sequence.wrapping_add(1);
            if length < CHUNK_MAX && !self.joining {
                self.current = body;
                return Ok(true);
            }
            self.joined.extend_from_slice(&self.buffer[body]);
            self.joining = length == CHUNK_MAX;
            if !self.joining {
                self.current = 0..0;
                // An empty total cannot be: at least one full chunk came before.
                return Ok(true);
            }
        }
    }

    /// The payload that [`Self::poll`] completed; valid until the next call of `poll`, `spare` or `filled`.
    pub fn payload(&self) -> &[u8] {
        if self.joined.is_empty() { &self.buffer[self.current.clone()] } else { &self.joined }
    }

    /// Room to read into: at least one byte, and enough for the rest of the packet under way when its length is known.
    pub fn spare(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.buffer.is_empty() || self.buffer.len() > READ_BUFFER * 4 {
                self.buffer = vec![0; READ_BUFFER];
            }
        }
        let need = self.missing();
        if self.buffer.len() - self.end < need {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.buffer.len() - self.end < need {
                // Grown step by step, so that a header that promises much costs nothing until the bytes come.
                let step = need.min((self.buffer.len()).max(READ_BUFFER));
                self.buffer.resize(self.end + step, 0);
            }
        }
        &mut self.buffer[self.end..]
    }

    /// `n` bytes were read into [`Self::spare`].
    pub fn filled(&mut self, n: usize) {
        self.end += n;
        debug_assert!(self.end <= self.buffer.len());
    }

    /// True when bytes beyond the current payload have been received already.
    pub fn has_more(&self) -> bool {
        self.end > self.start
    }

    /// Bytes of the packet under way that have not come yet, at least 1.
    fn missing(&self) -> usize {
        let have = self.end - self.start;
        if have < HEADER {
            return HEADER - have;
        }
        let h = &self.buffer[self.start..self.start + HEADER];
        let length = usize::from(h[0]) | usize::from(h[1]) << 8 | usize::from(h[2]) << 16;
        (HEADER + length).saturating_sub(have).max(1)
    }
}

/// Builds the packets of a reply in one buffer.
#[derive(Debug, Default)]
pub struct PacketWriter {
    out: Vec<u8>,
    sequence: u8,
    /// Where the header of the packet under way stands.
    open: usize,
}

impl PacketWriter {
    pub fn new() -> Self {
        Self { out: Vec::with_capacity(4096), sequence: 0, open: 0 }
    }
    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }
    /// Number of the next packet.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }
    /// Opens a packet; what follows in [`Self::payload`] belongs to it until [`Self::end`].
    pub fn begin(&mut self) {
        self.open = self.out.len();
        self.out.extend_from_slice(&[0; HEADER]);
    }
    /// Where the packet under way is built: append only.
    pub fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }
    /// Closes the packet: fills its header, cuts it when it is long.
    pub fn end(&mut self) {
        let length = self.out.len() - self.open - HEADER;
        if length < CHUNK_MAX {
            let header = header(length, self.sequence);
            self.out[self.open..self.open + HEADER].copy_from_slice(&header);
            self.sequence = self.sequence.wrapping_add(1);
        } else {
            self.split(length);
        }
        self.open = self.out.len();
    }
    /// Takes back everything since [`Self::begin`].
    pub fn abandon(&mut self) {
        self.out.truncate(self.open);
    }
    /// Forgets the packets after `length` bytes of the buffer, the next packet has number `sequence`: a result that turned
    /// into an error before it was sent.
    pub fn rewind(&mut self, length: usize, sequence: u8) {
        self.out.truncate(length);
        self.open = self.out.len();
        self.sequence = sequence;
    }
    /// One whole packet.
    pub fn packet(&mut self, build: impl FnOnce(&mut Vec<u8>)) {
        self.begin();
        build(&mut self.out);
        self.end();
    }
    /// Everything closed so far, ready to send.
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }
    pub fn len(&self) -> usize {
        self.out.len()
    }
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }
    /// The bytes have been sent.
    pub fn clear(&mut self) {
        self.out.clear();
        self.open = 0;
        if self.out.capacity() > 1024 * 1024 {
            self.out = Vec::with_capacity(4096);
        }
    }

    /// Gives the buffer back while nothing is in it.
    pub fn rest(&mut self) {
        if self.out.is_empty() {
            self.out = Vec::new();
        }
    }

    /// Moves chunk bodies up from the last to the first, each behind a header of its own.
    fn split(&mut self, length: usize) {
        let chunks = length / CHUNK_MAX + 1;
        let body = self.open + HEADER;
        self.out.resize(body + length + (chunks - 1) * HEADER, 0);
        for i in (0..chunks).rev() {
            let from = body + i * CHUNK_MAX;
            let len = if i + 1 == chunks { length % CHUNK_MAX } else { CHUNK_MAX };
            let to = from + i * HEADER;
            self.out.copy_within(from..from + len, to);
            let header = header(len, self.sequence.wrapping_add(i as u8));
            self.out[to - HEADER..to].copy_from_slice(&header);
        }
        self.sequence = self.sequence.wrapping_add(chunks as u8);
    }
}

fn header(length: usize, sequence: u8) -> [u8; HEADER] {
    let l = (length as u32).to_le_bytes();
    [l[0], l[1], l[2], sequence]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(reader: &mut PacketReader, mut bytes: &[u8], step: usize) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        loop {
            while reader.poll().unwrap() {
                out.push(reader.payload().to_vec());
            }
            if bytes.is_empty() {
                return out;
            }
            let spare = reader.spare();
            let n = step.min(spare.len()).min(bytes.len());
            spare[..n].copy_from_slice(&bytes[..n]);
            reader.filled(n);
            bytes = &bytes[n..];
        }
    }

    #[test]
    fn payloads_around_the_chunk_size_survive_the_trip() {
        for len in [0, 1, 250, CHUNK_MAX - 1, CHUNK_MAX, CHUNK_MAX + 1, 2 * CHUNK_MAX, 2 * CHUNK_MAX + 5] {
            let payload: Vec<u8> = (0..len).map(|i| (i * 7 + i / 251) as u8).collect();
            let mut w = PacketWriter::new();
            w.packet(|p| p.extend_from_slice(b"before"));
            w.packet(|p| p.extend_from_slice(&payload));
            w.packet(|p| p.extend_from_slice(b"after"));
            let mut r = PacketReader::new(64 << 20);
            let got = feed(&mut r, w.bytes(), 100_000);
            assert_eq!(got.len(), 3, "{len}");
            assert!(got[1] == payload, "{len}");
            assert_eq!(got[2], b"after");
            assert_eq!(r.sequence(), w.sequence());
        }
    }

    #[test]
    fn a_stream_cut_at_every_byte_gives_the_same_packets() {
        let mut w = PacketWriter::new();
        for i in 0..300usize {
            w.packet(|p| p.extend(std::iter::repeat_n(i as u8, i * 3 % 1000)));
        }
        for step in [1, 3, 4096] {
            let got = feed(&mut PacketReader::new(1 << 20), w.bytes(), step);
            assert_eq!(got.len(), 300);
            assert!(
                got.iter()
                    .enumerate()
                    .all(|(i, p)| p.len() == i * 3 % 1000 && p.iter().all(|b| *b == i as u8))
            );
        }
    }

    #[test]
    fn buffers_that_were_given_back_are_made_anew() {
        let mut w = PacketWriter::new();
        w.packet(|p| p.extend_from_slice(b"one"));
        let mut r = PacketReader::new(100);
        assert_eq!(feed(&mut r, w.bytes(), 100), [b"one".to_vec()]);
        r.rest();
        r.restart();
        assert_eq!(feed(&mut r, w.bytes(), 3), [b"one".to_vec()]);
        // In the middle of a packet nothing is given back.
        r.restart();
        assert_eq!(feed(&mut r, &w.bytes()[..5], 100).len(), 0);
        r.rest();
        assert_eq!(feed(&mut r, &w.bytes()[5..], 100), [b"one".to_vec()]);
    }

    #[test]
    fn a_wrong_sequence_number_is_refused() {
        let mut r = PacketReader::new(100);
        r.spare()[..5].copy_from_slice(&[1, 0, 0, 3, 14]);
        r.filled(5);
        assert_eq!(r.poll(), Err(FrameError::Sequence { expected: 0, found: 3 }));
    }

    #[test]
    fn a_packet_over_the_limit_is_refused_by_its_header() {
        let mut r = PacketReader::new(100);
        r.spare()[..4].copy_from_slice(&[101, 0, 0, 0]);
        r.filled(4);
        assert_eq!(r.poll(), Err(FrameError::TooLarge { length: 101, max: 100 }));
    }

    #[test]
    fn a_promised_length_allocates_nothing_before_the_bytes_come() {
        let mut r = PacketReader::new(1 << 30);
        r.spare()[..4].copy_from_slice(&[0xfe, 0xff, 0xff, 0]);
        r.filled(4);
        assert_eq!(r.poll(), Ok(false));
        assert!(r.spare().len() <= 4 * READ_BUFFER);
    }

    #[test]
    fn a_reply_taken_back_leaves_no_trace() {
        let mut w = PacketWriter::new();
        w.set_sequence(1);
        w.packet(|p| p.push(1));
        let (len, sequence) = (w.len(), w.sequence());
        w.packet(|p| p.push(2));
        w.begin();
        w.payload().push(3);
        w.rewind(len, sequence);
        w.packet(|p| p.push(4));
        assert_eq!(w.bytes(), [1, 0, 0, 1, 1, 1, 0, 0, 2, 4]);
    }
}
