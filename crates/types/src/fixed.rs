//! UUID, INET4 and INET6: values of a fixed number of bytes with a text of their own.
//!
//! A UUID of versions 1 to 5 is kept in key order: its node first, its time last, so that values of one machine stand together
//! and sort by time. Other UUIDs, and addresses, are kept as they are read.

use std::fmt::Write as _;

/// Which of the types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FixedKind {
    Uuid,
    Inet4,
    Inet6,
}

impl FixedKind {
    pub const fn len(self) -> usize {
        match self {
            Self::Inet4 => 4,
            Self::Uuid | Self::Inet6 => 16,
        }
    }
    pub const fn is_empty(self) -> bool {
        false
    }
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uuid => "uuid",
            Self::Inet4 => "inet4",
            Self::Inet6 => "inet6",
        }
    }
    /// Characters of the longest text.
    pub const fn text_len(self) -> u32 {
        match self {
            Self::Uuid => 36,
            Self::Inet4 => 15,
            Self::Inet6 => 39,
        }
    }
}

/// A value: its bytes as they read from the left, the unused ones zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fixed {
    kind: FixedKind,
    bytes: [u8; 16],
}

impl Fixed {
    /// All bytes zero: what a NOT NULL column holds when nothing else is known.
    pub const fn zero(kind: FixedKind) -> Self {
        Self { kind, bytes: [0; 16] }
    }

    pub const fn kind(&self) -> FixedKind {
        self.kind
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.kind.len()]
    }

    /// Of as many bytes as the type has.
    pub fn from_bytes(kind: FixedKind, bytes: &[u8]) -> Option<Self> {
        let mut out = Self::zero(kind);
        (bytes.len() == kind.len()).then(|| out.bytes[..bytes.len()].copy_from_slice(bytes))?;
        Some(out)
    }

    /// From the text that a user writes.
    pub fn parse(kind: FixedKind, text: &[u8]) -> Option<Self> {
        match kind {
            FixedKind::Uuid => parse_uuid(text).map(|bytes| Self { kind, bytes }),
            FixedKind::Inet4 => Self::from_bytes(kind, &parse_inet4(text)?),
            FixedKind::Inet6 => parse_inet6(text).map(|bytes| Self { kind, bytes }),
        }
    }

    /// The bytes as rows and keys hold them: they sort by memcmp.
    pub fn stored(&self) -> [u8; 16] {
        let b = &self.bytes;
        let by_time = self.kind == FixedKind::Uuid && b[8] & 0x80 != 0 && b[6] >= 0x10 && b[6] < 0x60;
        if by_time { reversed(b) } else { *b }
    }

    /// Reads [`Self::stored`] back.
    pub fn from_stored(kind: FixedKind, stored: &[u8]) -> Option<Self> {
        let mut out = Self::from_bytes(kind, stored)?;
        let s = out.bytes;
        if kind == FixedKind::Uuid && s[6] & 0x80 != 0 && s[8] >= 0x10 && s[8] < 0x60 {
            out.bytes = reversed_back(&s);
        }
        Some(out)
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        match self.kind {
            FixedKind::Uuid => write_uuid(&self.bytes, out),
            FixedKind::Inet4 => write_inet4(&self.bytes[..4], out),
            FixedKind::Inet6 => write_inet6(&self.bytes, out),
        }
    }
}

impl PartialOrd for Fixed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Fixed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.kind, self.stored()).cmp(&(other.kind, other.stored()))
    }
}

/// The five groups of a UUID from right to left.
fn reversed(b: &[u8; 16]) -> [u8; 16] {
    let mut out = [0; 16];
    out[..6].copy_from_slice(&b[10..]);
    out[6..8].copy_from_slice(&b[8..10]);
    out[8..10].copy_from_slice(&b[6..8]);
    out[10..12].copy_from_slice(&b[4..6]);
    out[12..].copy_from_slice(&b[..4]);
    out
}

fn reversed_back(s: &[u8; 16]) -> [u8; 16] {
    let mut out = [0; 16];
    out[10..].copy_from_slice(&s[..6]);
    out[8..10].copy_from_slice(&s[6..8]);
    out[6..8].copy_from_slice(&s[8..10]);
    out[4..6].copy_from_slice(&s[10..12]);
    out[..4].copy_from_slice(&s[12..]);
    out
}

/// 32 hexadecimal digits, hyphens anywhere between them.
fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let mut out = [0u8; 16];
    let mut digits = 0;
    for &byte in text.trim_ascii_end() {
        if byte == b'-' && digits > 0 {
            continue;
        }
        let digit = char::from(byte).to_digit(16)? as u8;
        *out.get_mut(digits / 2)? |= if digits % 2 == 0 { digit << 4 } else { digit };
        digits += 1;
    }
    (digits == 32 && !text.trim_ascii_end().ends_with(b"-")).then_some(out)
}

fn parse_inet4(text: &[u8]) -> Option<[u8; 4]> {
    let mut out = [0u8; 4];
    let mut parts = text.split(|b| *b == b'.');
    for slot in &mut out {
        let part = parts.next().filter(|p| (1..=3).contains(&p.len()))?;
        let digits = part.iter().all(u8::is_ascii_digit).then_some(part)?;
        let value = digits.iter().fold(0u16, |n, d| n * 10 + u16::from(d - b'0'));
        *slot = u8::try_from(value).ok()?;
    }
    parts.next().is_none().then_some(out)
}

fn parse_inet6(text: &[u8]) -> Option<[u8; 16]> {
    let text = std::str::from_utf8(text).ok()?;
    let parsed: std::net::Ipv6Addr = text.parse().ok()?;
    Some(parsed.octets())
}

fn write_uuid(b: &[u8; 16], out: &mut Vec<u8>) {
    for (i, byte) in b.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend([byte >> 4, byte & 15].map(|n| b"0123456789abcdef"[usize::from(n)]));
    }
}

fn write_inet4(b: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{}.{}.{}.{}", b[0], b[1], b[2], b[3]).as_bytes());
}

/// The longest run of zero groups becomes `::`; addresses that hold an IPv4 address show it with dots.
fn write_inet6(b: &[u8; 16], out: &mut Vec<u8>) {
    let mut groups = [0u16; 8];
    for (i, group) in groups.iter_mut().enumerate() {
        *group = u16::from_be_bytes([b[2 * i], b[2 * i + 1]]);
    }
    let (at, len) = longest_zeros(&groups);
    let mut text = String::new();
    let mut i = 0;
    while i < 8 {
        if len > 0 && i == at {
            text.push_str(if i == 0 { "::" } else { ":" });
            i += len;
            continue;
        }
        if i == 6 && at == 0 && (len == 6 || len == 5 && groups[5] == 0xffff) {
            let mut dots = Vec::new();
            write_inet4(&b[12..], &mut dots);
            text.push_str(&String::from_utf8_lossy(&dots));
            break;
        }
        // Writing to a String cannot fail.
        let _infallible = write!(text, "{:x}", groups[i]);
        if i < 7 {
            text.push(':');
        }
        i += 1;
    }
    out.extend_from_slice(text.as_bytes());
}

fn longest_zeros(groups: &[u16; 8]) -> (usize, usize) {
    let (mut best, mut i) = ((0, 0), 0);
    while i < 8 {
        let len = groups[i..].iter().take_while(|g| **g == 0).count();
        if len > best.1 {
            best = (i, len);
        }
        i += len.max(1);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(kind: FixedKind, text: &str) -> Option<String> {
        let value = Fixed::parse(kind, text.as_bytes())?;
        assert_eq!(Fixed::from_stored(kind, &value.stored()[..kind.len()]), Some(value));
        let mut out = Vec::new();
        value.write(&mut out);
        String::from_utf8(out).ok()
    }

    #[test]
    fn addresses_are_shown_as_the_server_shows_them() {
        for (text, shown) in [
            ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
            ("::1.2.3.4", "::1.2.3.4"),
            ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
            ("0:0:1::", "0:0:1::"),
            ("::12", "::12"),
            ("::1:2", "::0.1.0.2"),
            ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
            ("1:2:3:4:5:6:0:8", "1:2:3:4:5:6::8"),
            ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7::"),
            ("::", "::"),
            ("2001:DB8::1", "2001:db8::1"),
        ] {
            assert_eq!(round(FixedKind::Inet6, text).as_deref(), Some(shown));
        }
        for wrong in ["12345::", " ::1", "::1.2.3.400", "zz", ""] {
            assert_eq!(round(FixedKind::Inet6, wrong), None);
        }
        assert_eq!(round(FixedKind::Inet4, "01.2.3.4").as_deref(), Some("1.2.3.4"));
        for wrong in ["1.2.3", "1.2.3.256", "1.2.3.4.5", "1.2.3.a"] {
            assert_eq!(round(FixedKind::Inet4, wrong), None);
        }
    }

    #[test]
    fn uuids_sort_by_node_and_time() {
        let uuid = |text: &str| Fixed::parse(FixedKind::Uuid, text.as_bytes()).expect("a uuid");
        let sorted = [
            "00000000-0000-0000-0000-000000000000",
            "00000000-0000-7000-8000-ffffffffffff",
            "f0000001-0000-4000-8000-000000000001",
            "00000001-0000-4000-8000-000000000002",
            "12345678-1234-6234-9234-123456789012",
            "50000001-0000-1000-0000-800000000001",
            "50000001-0000-1000-8000-800000000001",
            "ffffffff-ffff-7fff-8fff-000000000001",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ];
        assert!(sorted.windows(2).all(|w| uuid(w[0]) < uuid(w[1])));
        for text in sorted {
            assert_eq!(round(FixedKind::Uuid, text).as_deref(), Some(text));
        }
        assert_eq!(uuid("12345678-12346234-92341234-56789012"), uuid("12345678123462349234123456789012"));
        for wrong in ["", "1", "{12345678-1234-6234-9234-123456789012}", "12345678123462349234123456789012-"]
        {
            assert_eq!(round(FixedKind::Uuid, wrong), None);
        }
    }
}
