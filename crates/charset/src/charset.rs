//! Character sets: how bytes make characters.

/// A character set MariaDB knows and this build supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Charset {
    /// Bytes without meaning.
    Binary,
    Ascii,
    /// MariaDB's latin1 is cp1252, with the five holes mapped to C1 controls.
    Latin1,
    Utf8mb3,
    Utf8mb4,
}

/// Why text could not be converted: what a strict statement reports and a lax one replaces by `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unconvertible {
    /// Offset of the first byte that is not a character of the source or has no counterpart in the target.
    pub at: usize,
}

/// cp1252's 0x80..0xa0; the rest of the table is the identity.
const LATIN1_HIGH: [u16; 32] = [
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152,
    0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122,
    0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
];

impl Charset {
    pub const ALL: [Self; 5] = [Self::Binary, Self::Ascii, Self::Latin1, Self::Utf8mb3, Self::Utf8mb4];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Ascii => "ascii",
            Self::Latin1 => "latin1",
            Self::Utf8mb3 => "utf8mb3",
            Self::Utf8mb4 => "utf8mb4",
        }
    }

    /// Finds a character set by name, any letter case; `utf8` means utf8mb3, as `old_mode` has it by default.
    pub fn by_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Self::Utf8mb3);
        }
        Self::ALL.into_iter().find(|c| c.name().eq_ignore_ascii_case(name))
    }

    /// Most bytes one character takes.
    pub const fn max_len(self) -> usize {
        match self {
            Self::Binary | Self::Ascii | Self::Latin1 => 1,
            Self::Utf8mb3 => 3,
            Self::Utf8mb4 => 4,
        }
    }

    pub const fn description(self) -> &'static str {
        match self {
            Self::Binary => "Binary pseudo charset",
            Self::Ascii => "US ASCII",
            Self::Latin1 => "cp1252 West European",
            Self::Utf8mb3 | Self::Utf8mb4 => "UTF-8 Unicode",
        }
    }

    /// Decodes the character at the start of `bytes`: code point and length. `None` where the bytes are not a
    /// character, or at the end.
    pub fn decode(self, bytes: &[u8]) -> Option<(u32, usize)> {
        let first = *bytes.first()?;
        match self {
            Self::Binary => Some((u32::from(first), 1)),
            Self::Ascii => (first < 0x80).then_some((u32::from(first), 1)),
            Self::Latin1 => Some((latin1_to_unicode(first), 1)),
            Self::Utf8mb3 | Self::Utf8mb4 if first < 0x80 => Some((u32::from(first), 1)),
            Self::Utf8mb3 => decode_utf8(bytes).filter(|&(_, len)| len < 4),
            Self::Utf8mb4 => decode_utf8(bytes),
        }
    }

    /// Appends a code point; false when the character set does not have it.
    pub fn encode(self, code: u32, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Binary if code < 0x100 => out.push(code as u8),
            Self::Ascii | Self::Utf8mb3 | Self::Utf8mb4 if code < 0x80 => out.push(code as u8),
            Self::Latin1 => match unicode_to_latin1(code) {
                Some(byte) => out.push(byte),
                None => return false,
            },
            Self::Utf8mb3 | Self::Utf8mb4 => {
                if self == Self::Utf8mb3 && code > 0xffff {
                    return false;
                }
                let Some(c) = char::from_u32(code) else { return false };
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Self::Binary | Self::Ascii => return false,
        }
        true
    }

    /// Length of the longest prefix that is whole, valid characters.
    pub fn valid_prefix(self, bytes: &[u8]) -> usize {
        match self {
            Self::Binary | Self::Latin1 => bytes.len(),
            Self::Ascii => bytes.iter().position(|b| *b >= 0x80).unwrap_or(bytes.len()),
            Self::Utf8mb4 => match std::str::from_utf8(bytes) {
                Ok(_) => bytes.len(),
                Err(e) => e.valid_up_to(),
            },
            Self::Utf8mb3 => {
                let whole = Self::Utf8mb4.valid_prefix(bytes);
                bytes[..whole].iter().position(|b| *b >= 0xf0).unwrap_or(whole)
            }
        }
    }

    pub fn is_valid(self, bytes: &[u8]) -> bool {
        self.valid_prefix(bytes) == bytes.len()
    }

    /// Number of characters; a byte that is not part of one counts as one.
    pub fn char_count(self, bytes: &[u8]) -> usize {
        if self.max_len() == 1 {
            return bytes.len();
        }
        if let Ok(text) = std::str::from_utf8(bytes) {
            return text.chars().count();
        }
        let (mut count, mut at) = (0, 0);
        while at < bytes.len() {
            at += self.decode(&bytes[at..]).map_or(1, |(_, len)| len);
            count += 1;
        }
        count
    }

    /// Byte offset of the character number `chars` (from 0); the length when there are fewer.
    pub fn char_offset(self, bytes: &[u8], chars: usize) -> usize {
        if self.max_len() == 1 {
            return chars.min(bytes.len());
        }
        let mut at = 0;
        for _ in 0..chars {
            if at >= bytes.len() {
                break;
            }
            at += self.decode(&bytes[at..]).map_or(1, |(_, len)| len);
        }
        at
    }

    /// Converts text from `self` to `to`, appending to `out`. Characters without a counterpart and broken bytes
    /// become `?`; the first such place is the error, after everything has been converted.
    pub fn convert(self, bytes: &[u8], to: Self, out: &mut Vec<u8>) -> Result<(), Unconvertible> {
        let same = self == to || to == Self::Binary || (self == Self::Utf8mb3 && to == Self::Utf8mb4);
        if self == Self::Binary || same || bytes.is_ascii() {
            out.extend_from_slice(bytes);
            let whole = if self == Self::Binary { to.valid_prefix(bytes) } else { bytes.len() };
            return if whole == bytes.len() { Ok(()) } else { Err(Unconvertible { at: whole }) };
        }
        let (mut at, mut first_bad) = (0, None);
        while at < bytes.len() {
            let (code, len) = self.decode(&bytes[at..]).unwrap_or((u32::MAX, 1));
            if !to.encode(code, out) {
                first_bad.get_or_insert(at);
                out.push(b'?');
            }
            at += len;
        }
        first_bad.map_or(Ok(()), |at| Err(Unconvertible { at }))
    }
}

pub(crate) fn latin1_to_unicode(byte: u8) -> u32 {
    match byte {
        0x80..=0x9f => u32::from(LATIN1_HIGH[usize::from(byte) - 0x80]),
        _ => u32::from(byte),
    }
}

fn unicode_to_latin1(code: u32) -> Option<u8> {
    match code {
        0..0x80 | 0xa0..0x100 => Some(code as u8),
        _ => LATIN1_HIGH.iter().position(|c| u32::from(*c) == code).map(|i| 0x80 + i as u8),
    }
}

/// Strict UTF-8: no surrogates, no overlong forms, at most U+10FFFF.
pub(crate) fn decode_utf8(bytes: &[u8]) -> Option<(u32, usize)> {
    let cont = |i: usize| bytes.get(i).filter(|b| **b & 0xc0 == 0x80).map(|b| u32::from(b & 0x3f));
    let first = u32::from(*bytes.first()?);
    match first {
        0..0x80 => Some((first, 1)),
        0xc2..0xe0 => Some(((first & 0x1f) << 6 | cont(1)?, 2)),
        0xe0..0xf0 => {
            let code = (first & 0xf) << 12 | cont(1)? << 6 | cont(2)?;
            (code >= 0x800 && !(0xd800..0xe000).contains(&code)).then_some((code, 3))
        }
        0xf0..0xf5 => {
            let code = (first & 7) << 18 | cont(1)? << 12 | cont(2)? << 6 | cont(3)?;
            (0x10000..0x110000).contains(&code).then_some((code, 4))
        }
        _ => None,
    }
}
