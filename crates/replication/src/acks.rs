//! Acknowledgements: a stream of packets on the dump's connection, cut by TCP wherever it likes.
//!
//! Each packet starts at sequence number 0: `0xef | position u64 | file name`. A COM_QUIT is a polite end, as proxies send it. The
//! position is the one that the replica computes ([`crate::replica_position`]): the stream notes it with each event that it wants
//! acknowledged, and an acknowledgement of it covers all that were noted before.

use std::collections::VecDeque;

use base::Lsn;
use event_format::semi_sync::Ack;
use wire::PacketReader;
use wire::command::code;

/// Longest packet that a replica may send here: a file name and nine bytes.
const PACKET_MAX: usize = 1024;

/// What the bytes said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Ack {
        position: u64,
        file: String,
    },
    /// COM_QUIT.
    Quit,
    /// Something else: the connection cannot be followed any more.
    Garbage,
}

/// Cuts a byte stream into acknowledgements.
#[derive(Debug)]
pub struct AckParser(PacketReader);

impl Default for AckParser {
    fn default() -> Self {
        Self(PacketReader::new(PACKET_MAX))
    }
}

impl AckParser {
    /// Room to read into.
    pub fn spare(&mut self) -> &mut [u8] {
        self.0.spare()
    }
    pub fn filled(&mut self, n: usize) {
        self.0.filled(n);
    }
    /// The next message, if it is there whole.
    pub fn take(&mut self) -> Option<Heard> {
        self.0.restart();
        match self.0.poll() {
            Ok(false) => None,
            Err(_) => Some(Heard::Garbage),
            Ok(true) => Some(match self.0.payload() {
                [code::QUIT] => Heard::Quit,
                payload => match Ack::decode(payload) {
                    Ok(ack) => Heard::Ack {
                        position: ack.position,
                        file: String::from_utf8_lossy(ack.file).into_owned(),
                    },
                    Err(_) => Heard::Garbage,
                },
            }),
        }
    }
}

/// What was sent with a wish for acknowledgement and has not been acknowledged: the replica's position in its file, and where
/// the group ends here.
#[derive(Debug, Default)]
pub struct Wanted(VecDeque<(String, u64, Lsn)>);

impl Wanted {
    pub fn note(&mut self, file: &str, position: u64, end: Lsn) {
        self.0.push_back((file.to_owned(), position, end));
    }

    /// The replica has what it says: the newest noted end that this covers. None when it names what was never sent.
    pub fn cover(&mut self, file: &str, position: u64) -> Option<Lsn> {
        let at = self.0.iter().rposition(|(f, p, _)| f == file && *p <= position)?;
        self.0.drain(..=at).next_back().map(|(_, _, end)| end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(payload: &[u8]) -> Vec<u8> {
        let mut out = vec![payload.len() as u8, 0, 0, 0];
        out.extend_from_slice(payload);
        out
    }
    fn ack(position: u64, file: &str) -> Vec<u8> {
        let mut out = Vec::new();
        Ack { position, file: file.as_bytes() }.encode(&mut out);
        packet(&out)
    }
    fn heard(chunks: &[&[u8]]) -> Vec<Heard> {
        let mut parser = AckParser::default();
        let mut out = Vec::new();
        for chunk in chunks {
            let mut rest = *chunk;
            while !rest.is_empty() {
                let spare = parser.spare();
                let n = spare.len().min(rest.len());
                spare[..n].copy_from_slice(&rest[..n]);
                parser.filled(n);
                rest = &rest[n..];
            }
            while let Some(message) = parser.take() {
                let garbage = message == Heard::Garbage;
                out.push(message);
                if garbage {
                    return out;
                }
            }
        }
        out
    }
    fn is(position: u64) -> Heard {
        Heard::Ack { position, file: "000001.seg".into() }
    }

    #[test]
    fn every_cut_of_the_stream_gives_the_same_acknowledgements() {
        let bytes = [ack(250, "000001.seg"), ack(375, "000001.seg"), ack(555, "000001.seg")].concat();
        let all = [is(250), is(375), is(555)];
        assert_eq!(heard(&[&bytes]), all);
        for at in 0..bytes.len() {
            assert_eq!(heard(&[&bytes[..at], &bytes[at..]]), all, "cut at {at}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(heard(&single), all);
    }

    #[test]
    fn a_quit_is_no_error_and_anything_else_is() {
        assert_eq!(heard(&[&ack(4, "000001.seg"), &packet(&[code::QUIT])]), [is(4), Heard::Quit]);
        assert_eq!(heard(&[&packet(b"\x03SELECT 1")]), [Heard::Garbage]);
        assert_eq!(heard(&[&packet(&[0xef, 1, 2])]), [Heard::Garbage]);
        assert_eq!(heard(&[&packet(b"")]), [Heard::Garbage]);
        assert_eq!(heard(&[&[0xff, 0xff, 0xff, 0]]), [Heard::Garbage]);
        assert_eq!(heard(&[&[1, 0, 0, 5, code::QUIT]]), [Heard::Garbage]);
    }

    #[test]
    fn an_acknowledgement_covers_what_was_sent_before() {
        let mut wanted = Wanted::default();
        wanted.note("a", 100, Lsn(10));
        wanted.note("a", 200, Lsn(20));
        wanted.note("b", 50, Lsn(30));
        assert_eq!(wanted.cover("a", 99), None);
        assert_eq!(wanted.cover("a", 250), Some(Lsn(20)));
        assert_eq!(wanted.cover("a", 200), None);
        assert_eq!(wanted.cover("b", 50), Some(Lsn(30)));
    }
}
