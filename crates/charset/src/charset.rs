//! Character sets: how bytes make characters.

use crate::tables::{self, EightBit};
use crate::{multi, wide};

macro_rules! charsets {
    ($($name:ident = $text:literal $width:literal $default:literal $bin:literal $description:literal;)*) => {
        /// A character set that MariaDB knows, in the order in which it lists them.
        ///
        /// `Binary` is bytes without meaning; `Latin1` is cp1252, with the five holes mapped to C1 controls.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Charset { $($name),* }

        pub(crate) static FACTS: &[crate::charset::Facts] = &[$(crate::charset::Facts {
            name: $text, max_len: $width, default: $default, bin: $bin, description: $description,
        }),*];

        impl Charset {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }
    };
}
pub use crate::listing::Charset;
pub(crate) use charsets;

/// What is known of a character set without its tables.
pub(crate) struct Facts {
    pub(crate) name: &'static str,
    pub(crate) max_len: usize,
    /// Ids of its default collation and of `_bin`.
    pub(crate) default: u16,
    pub(crate) bin: u16,
    pub(crate) description: &'static str,
}

/// How the bytes of a character set are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Binary,
    Ascii,
    Latin1,
    Utf8mb3,
    Utf8mb4,
    /// One byte a character, by a table.
    Eight(&'static EightBit),
    /// One, two or three bytes, by a table.
    Multi,
    /// Unicode in units of two or four bytes.
    Wide,
}

/// Code points of bytes that are a character of the set, but none of Unicode: no other set has them.
pub(crate) const NOWHERE: u32 = 0x11_0000;

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
    fn facts(self) -> &'static Facts {
        &crate::listing::FACTS[self as usize]
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Binary => Kind::Binary,
            Self::Ascii => Kind::Ascii,
            Self::Latin1 => Kind::Latin1,
            Self::Utf8mb3 => Kind::Utf8mb3,
            Self::Utf8mb4 => Kind::Utf8mb4,
            _ if self.is_wide() => Kind::Wide,
            _ if self.max_len() > 1 => Kind::Multi,
            _ => Kind::Eight(tables::eight_bit(self)),
        }
    }

    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Finds a character set by name, any letter case; `utf8` means utf8mb3, as `old_mode` has it by default.
    pub fn by_name(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("utf8") {
            return Some(Self::Utf8mb3);
        }
        Self::ALL.iter().copied().find(|c| c.name().eq_ignore_ascii_case(name))
    }

    /// Most bytes one character takes.
    pub fn max_len(self) -> usize {
        match self {
            Self::Utf8mb4 => 4,
            Self::Latin1 | Self::Binary => 1,
            _ => self.facts().max_len,
        }
    }

    /// Fewest bytes one character takes.
    pub fn min_len(self) -> usize {
        match self {
            Self::Ucs2 | Self::Utf16 | Self::Utf16le => 2,
            Self::Utf32 => 4,
            _ => 1,
        }
    }

    /// Units of two or four bytes, zero bytes within: no character set of a client.
    pub fn is_wide(self) -> bool {
        matches!(self, Self::Ucs2 | Self::Utf16 | Self::Utf16le | Self::Utf32)
    }

    /// UTF-8 of at most four or three bytes, ASCII in one.
    pub fn is_utf8(self) -> bool {
        matches!(self, Self::Utf8mb4 | Self::Utf8mb3)
    }

    /// All of Unicode, or its first plane.
    pub fn is_unicode(self) -> bool {
        self.is_utf8() || self.is_wide()
    }

    /// True if the bytes below 0x80 are ASCII's characters wherever a character begins.
    pub fn has_ascii(self) -> bool {
        self != Self::Swe7 && !self.is_wide()
    }

    pub fn description(self) -> &'static str {
        self.facts().description
    }

    pub(crate) fn default_id(self) -> u16 {
        self.facts().default
    }
    pub(crate) fn bin_id(self) -> u16 {
        self.facts().bin
    }

    /// Decodes the character at the start of `bytes`: code point and length. `None` where the bytes are not a
    /// character, or at the end. What has no code point gets one of its own from [`NOWHERE`] on.
    pub fn decode(self, bytes: &[u8]) -> Option<(u32, usize)> {
        let first = *bytes.first()?;
        match self.kind() {
            Kind::Binary => Some((u32::from(first), 1)),
            Kind::Ascii => (first < 0x80).then_some((u32::from(first), 1)),
            Kind::Latin1 => Some((latin1_to_unicode(first), 1)),
            Kind::Utf8mb3 | Kind::Utf8mb4 if first < 0x80 => Some((u32::from(first), 1)),
            Kind::Utf8mb3 => decode_utf8(bytes).filter(|&(_, len)| len < 4),
            Kind::Utf8mb4 => decode_utf8(bytes),
            Kind::Eight(table) => Some((table.code(first), 1)),
            Kind::Multi => multi::decode(self, bytes),
            Kind::Wide => wide::decode(self, bytes),
        }
    }

    /// Appends a code point; false when the character set does not have it.
    pub fn encode(self, code: u32, out: &mut Vec<u8>) -> bool {
        match self.kind() {
            Kind::Binary if code < 0x100 => out.push(code as u8),
            Kind::Ascii | Kind::Utf8mb3 | Kind::Utf8mb4 if code < 0x80 => out.push(code as u8),
            Kind::Latin1 => match unicode_to_latin1(code) {
                Some(byte) => out.push(byte),
                None => return false,
            },
            Kind::Eight(table) => match table.byte(code) {
                Some(byte) => out.push(byte),
                None => return false,
            },
            Kind::Multi => return multi::encode(self, code, out),
            Kind::Wide => return wide::encode(self, code, out),
            Kind::Utf8mb3 | Kind::Utf8mb4 => {
                if self == Self::Utf8mb3 && code > 0xffff {
                    return false;
                }
                let Some(c) = char::from_u32(code) else { return false };
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Kind::Binary | Kind::Ascii => return false,
        }
        true
    }

    /// Length of the longest prefix that is whole, valid characters.
    pub fn valid_prefix(self, bytes: &[u8]) -> usize {
        match self.kind() {
            Kind::Binary | Kind::Latin1 | Kind::Eight(_) => bytes.len(),
            Kind::Ascii => bytes.iter().position(|b| *b >= 0x80).unwrap_or(bytes.len()),
            Kind::Utf8mb4 => match std::str::from_utf8(bytes) {
                Ok(_) => bytes.len(),
                Err(e) => e.valid_up_to(),
            },
            Kind::Utf8mb3 => {
                let whole = Self::Utf8mb4.valid_prefix(bytes);
                bytes[..whole].iter().position(|b| *b >= 0xf0).unwrap_or(whole)
            }
            Kind::Multi | Kind::Wide => {
                let mut at = 0;
                while let Some((_, len)) = self.decode(&bytes[at..]) {
                    at += len;
                }
                at
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
        if self.is_utf8()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
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
        if self.max_len() == 1 || self.has_ascii() && bytes.is_ascii() {
            return chars.min(bytes.len());
        }
        // A character is at least one byte, and so is what is none.
        if bytes.len() <= chars {
            return bytes.len();
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

    /// The text without the spaces at its end.
    pub fn trim_end(self, text: &[u8]) -> &[u8] {
        let mut space = Vec::with_capacity(4);
        if !self.is_wide() {
            let end = text.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
            return &text[..end];
        }
        self.encode(u32::from(b' '), &mut space);
        let mut rest = text;
        while rest.len().is_multiple_of(space.len())
            && let Some(shorter) = rest.strip_suffix(space.as_slice())
        {
            rest = shorter;
        }
        rest
    }

    /// Converts text from `self` to `to`, appending to `out`. Characters without a counterpart and broken bytes
    /// become `?`; the first such place is the error, after everything has been converted.
    pub fn convert(self, bytes: &[u8], to: Self, out: &mut Vec<u8>) -> Result<(), Unconvertible> {
        if self == Self::Binary && to.is_wide() {
            // Bytes are a number: its first unit is filled up with zeros.
            let missing = bytes.len().next_multiple_of(to.min_len()) - bytes.len();
            out.resize(out.len() + missing, 0);
        }
        let same = self == to || to == Self::Binary || (self == Self::Utf8mb3 && to == Self::Utf8mb4);
        // Shift-JIS reads 0x5c as a backslash and writes the wide one.
        let ascii = self.has_ascii() && to.has_ascii() && to != Self::Sjis && bytes.is_ascii();
        if self == Self::Binary || same || ascii {
            out.extend_from_slice(bytes);
            let whole = if self == Self::Binary { to.valid_prefix(bytes) } else { bytes.len() };
            return if whole == bytes.len() || to.is_wide() {
                Ok(())
            } else {
                Err(Unconvertible { at: whole })
            };
        }
        let (mut at, mut first_bad) = (0, None);
        while at < bytes.len() {
            let (code, len) = self.decode(&bytes[at..]).unwrap_or((u32::MAX, 1));
            if !to.encode(code, out) {
                first_bad.get_or_insert(at);
                to.encode(u32::from(b'?'), out);
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
