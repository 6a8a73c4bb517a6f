//! The registry of collations and the operations on text that depend on one.

use std::cmp::Ordering;
use std::fmt;

use crate::Charset;

/// Whether trailing spaces matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpacePad {
    /// The shorter string is compared as if it were padded with spaces.
    Pad,
    NoPad,
}

/// How characters get their weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Weights {
    /// The code point (or byte) itself.
    Code,
    /// The simple upper case letter without accents: `*_general_ci`.
    General,
    /// One weight a byte from a table.
    Latin1Swedish,
    Latin1General,
    AsciiGeneral,
    /// Unicode Collation Algorithm 4.0.0, primary weights: `*_unicode_ci`.
    Uca400,
    /// Unicode Collation Algorithm 5.2.0: `*_unicode_520_ci`.
    Uca520,
    /// Unicode Collation Algorithm 14.0.0; secondary weights (accents), tertiary weights (case).
    Uca1400 {
        accents: bool,
        case: bool,
    },
}

pub(crate) struct Info {
    pub(crate) id: u16,
    pub(crate) name: &'static str,
    pub(crate) charset: Charset,
    pub(crate) pad: SpacePad,
    pub(crate) weights: Weights,
}

/// A collation, by MariaDB's id. Two bytes; every value names a collation that exists.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Collation(u16);

macro_rules! collations {
    ($($const_name:ident = $id:literal $name:literal $charset:ident $pad:ident $weights:expr;)*) => {
        pub(crate) static INFO: &[Info] = &[$(Info {
            id: $id, name: $name, charset: Charset::$charset, pad: SpacePad::$pad, weights: $weights,
        }),*];
        impl Collation {
            $(#[doc = $name] pub const $const_name: Self = Self($id);)*
        }
    };
}

collations! {
    LATIN1_SWEDISH_CI = 8 "latin1_swedish_ci" Latin1 Pad Weights::Latin1Swedish;
    ASCII_GENERAL_CI = 11 "ascii_general_ci" Ascii Pad Weights::AsciiGeneral;
    UTF8MB3_GENERAL_CI = 33 "utf8mb3_general_ci" Utf8mb3 Pad Weights::General;
    UTF8MB4_GENERAL_CI = 45 "utf8mb4_general_ci" Utf8mb4 Pad Weights::General;
    UTF8MB4_BIN = 46 "utf8mb4_bin" Utf8mb4 Pad Weights::Code;
    LATIN1_BIN = 47 "latin1_bin" Latin1 Pad Weights::Code;
    LATIN1_GENERAL_CI = 48 "latin1_general_ci" Latin1 Pad Weights::Latin1General;
    BINARY = 63 "binary" Binary NoPad Weights::Code;
    ASCII_BIN = 65 "ascii_bin" Ascii Pad Weights::Code;
    UTF8MB3_BIN = 83 "utf8mb3_bin" Utf8mb3 Pad Weights::Code;
    UTF8MB3_UNICODE_CI = 192 "utf8mb3_unicode_ci" Utf8mb3 Pad Weights::Uca400;
    UTF8MB3_UNICODE_520_CI = 214 "utf8mb3_unicode_520_ci" Utf8mb3 Pad Weights::Uca520;
    UTF8MB4_UNICODE_CI = 224 "utf8mb4_unicode_ci" Utf8mb4 Pad Weights::Uca400;
    UTF8MB4_UNICODE_520_CI = 246 "utf8mb4_unicode_520_ci" Utf8mb4 Pad Weights::Uca520;
    LATIN1_SWEDISH_NOPAD_CI = 1032 "latin1_swedish_nopad_ci" Latin1 NoPad Weights::Latin1Swedish;
    ASCII_GENERAL_NOPAD_CI = 1035 "ascii_general_nopad_ci" Ascii NoPad Weights::AsciiGeneral;
    UTF8MB3_GENERAL_NOPAD_CI = 1057 "utf8mb3_general_nopad_ci" Utf8mb3 NoPad Weights::General;
    UTF8MB4_GENERAL_NOPAD_CI = 1069 "utf8mb4_general_nopad_ci" Utf8mb4 NoPad Weights::General;
    UTF8MB4_NOPAD_BIN = 1070 "utf8mb4_nopad_bin" Utf8mb4 NoPad Weights::Code;
    LATIN1_NOPAD_BIN = 1071 "latin1_nopad_bin" Latin1 NoPad Weights::Code;
    ASCII_NOPAD_BIN = 1089 "ascii_nopad_bin" Ascii NoPad Weights::Code;
    UTF8MB3_NOPAD_BIN = 1107 "utf8mb3_nopad_bin" Utf8mb3 NoPad Weights::Code;
    UTF8MB3_UNICODE_NOPAD_CI = 1216 "utf8mb3_unicode_nopad_ci" Utf8mb3 NoPad Weights::Uca400;
    UTF8MB4_UNICODE_NOPAD_CI = 1248 "utf8mb4_unicode_nopad_ci" Utf8mb4 NoPad Weights::Uca400;
    UTF8MB3_UCA1400_AI_CI = 2048 "utf8mb3_uca1400_ai_ci" Utf8mb3 Pad Weights::Uca1400 { accents: false, case: false };
    UTF8MB4_UCA1400_AI_CI = 2304 "utf8mb4_uca1400_ai_ci" Utf8mb4 Pad Weights::Uca1400 { accents: false, case: false };
    UTF8MB4_UCA1400_AI_CS = 2305 "utf8mb4_uca1400_ai_cs" Utf8mb4 Pad Weights::Uca1400 { accents: false, case: true };
    UTF8MB4_UCA1400_AS_CI = 2306 "utf8mb4_uca1400_as_ci" Utf8mb4 Pad Weights::Uca1400 { accents: true, case: false };
    UTF8MB4_UCA1400_AS_CS = 2307 "utf8mb4_uca1400_as_cs" Utf8mb4 Pad Weights::Uca1400 { accents: true, case: true };
    UTF8MB4_UCA1400_NOPAD_AI_CI = 2308 "utf8mb4_uca1400_nopad_ai_ci" Utf8mb4 NoPad Weights::Uca1400 { accents: false, case: false };
    UTF8MB4_UCA1400_NOPAD_AI_CS = 2309 "utf8mb4_uca1400_nopad_ai_cs" Utf8mb4 NoPad Weights::Uca1400 { accents: false, case: true };
    UTF8MB4_UCA1400_NOPAD_AS_CI = 2310 "utf8mb4_uca1400_nopad_as_ci" Utf8mb4 NoPad Weights::Uca1400 { accents: true, case: false };
    UTF8MB4_UCA1400_NOPAD_AS_CS = 2311 "utf8mb4_uca1400_nopad_as_cs" Utf8mb4 NoPad Weights::Uca1400 { accents: true, case: true };
}

impl Collation {
    pub fn by_id(id: u16) -> Option<Self> {
        INFO.iter().any(|i| i.id == id).then_some(Self(id))
    }

    /// Finds a collation by its full name, any letter case. `utf8_...` means `utf8mb3_...`.
    pub fn by_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let full = match lower.strip_prefix("utf8_") {
            Some(rest) => format!("utf8mb3_{rest}"),
            None => lower,
        };
        INFO.iter().find(|i| i.name == full).map(|i| Self(i.id))
    }

    /// The collation a character set has when none is named (11.8: uca1400_ai_ci for the Unicode ones).
    pub const fn default_of(charset: Charset) -> Self {
        match charset {
            Charset::Binary => Self::BINARY,
            Charset::Ascii => Self::ASCII_GENERAL_CI,
            Charset::Latin1 => Self::LATIN1_SWEDISH_CI,
            Charset::Utf8mb3 => Self::UTF8MB3_UCA1400_AI_CI,
            Charset::Utf8mb4 => Self::UTF8MB4_UCA1400_AI_CI,
        }
    }

    /// The `_bin` collation of a character set.
    pub const fn bin_of(charset: Charset) -> Self {
        match charset {
            Charset::Binary => Self::BINARY,
            Charset::Ascii => Self::ASCII_BIN,
            Charset::Latin1 => Self::LATIN1_BIN,
            Charset::Utf8mb3 => Self::UTF8MB3_BIN,
            Charset::Utf8mb4 => Self::UTF8MB4_BIN,
        }
    }

    pub fn all() -> impl Iterator<Item = Self> {
        INFO.iter().map(|i| Self(i.id))
    }

    pub(crate) fn info(self) -> &'static Info {
        // The list is short and sorted; ids are checked when a Collation is made.
        let at = INFO.binary_search_by_key(&self.0, |i| i.id).expect("a Collation exists in the registry");
        &INFO[at]
    }

    pub const fn id(self) -> u16 {
        self.0
    }
    pub fn name(self) -> &'static str {
        self.info().name
    }
    pub fn charset(self) -> Charset {
        self.info().charset
    }
    pub fn pad(self) -> SpacePad {
        self.info().pad
    }
    /// True for `binary` only: bytes, not text.
    pub const fn is_binary(self) -> bool {
        self.0 == Self::BINARY.0
    }
    /// True when equal strings have equal characters: `binary` and the `_bin` collations.
    pub fn is_bin(self) -> bool {
        self.info().weights == Weights::Code
    }

    /// Compares two strings in this collation.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        if self.is_binary() {
            return a.cmp(b);
        }
        let (mut left, mut right) = (Vec::new(), Vec::new());
        self.sort_key(a, &mut left);
        self.sort_key(b, &mut right);
        left.cmp(&right)
    }

    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        self.compare(a, b) == Ordering::Equal
    }

    /// Appends the memcmp-ordered, self-terminating key of `text` (see the crate's page).
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        let info = self.info();
        let text = match info.pad {
            SpacePad::Pad => trim_spaces(text),
            SpacePad::NoPad => text,
        };
        let mut at = 0;
        while at < text.len() {
            let (code, len) = info.charset.decode(&text[at..]).unwrap_or((0x10ffff, 1));
            let weight = match info.weights {
                Weights::Code => code,
                _ if code < 0x80 => u32::from((code as u8).to_ascii_uppercase()),
                _ => code,
            };
            at += len;
            put_weight(weight, out);
            if info.pad == SpacePad::Pad && weight == 0x20 {
                out.push(after_spaces(&text[at..]));
            } else if info.pad == SpacePad::NoPad && weight == 0 {
                out.push(0xff);
            }
        }
        match info.pad {
            SpacePad::Pad => out.extend_from_slice(&[0x20, 1]),
            SpacePad::NoPad => out.extend_from_slice(&[0, 0]),
        }
    }

    /// A hash that is equal for equal strings.
    pub fn hash(self, text: &[u8], state: &mut impl std::hash::Hasher) {
        let mut key = Vec::new();
        self.sort_key(text, &mut key);
        state.write(&key);
    }

    /// Appends `text` in upper case.
    pub fn upper(self, text: &[u8], out: &mut Vec<u8>) {
        if self.is_binary() {
            out.extend_from_slice(text);
        } else {
            out.extend(text.iter().map(u8::to_ascii_uppercase));
        }
    }

    /// Appends `text` in lower case.
    pub fn lower(self, text: &[u8], out: &mut Vec<u8>) {
        if self.is_binary() {
            out.extend_from_slice(text);
        } else {
            out.extend(text.iter().map(u8::to_ascii_lowercase));
        }
    }
}

impl fmt::Debug for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn trim_spaces(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|b| *b != b' ').map_or(0, |i| i + 1);
    &text[..end]
}

fn after_spaces(rest: &[u8]) -> u8 {
    match rest.iter().find(|b| **b != b' ') {
        None => 1,
        Some(b) if *b < b' ' => 0,
        Some(_) => 2,
    }
}

/// Order-preserving form of a weight: UTF-8's bit layout without its exclusions.
fn put_weight(w: u32, out: &mut Vec<u8>) {
    let tail = |shift: u32| (w >> shift & 0x3f) as u8 | 0x80;
    match w {
        0..0x80 => out.push(w as u8),
        0x80..0x800 => out.extend_from_slice(&[(w >> 6) as u8 | 0xc0, tail(0)]),
        0x800..0x10000 => out.extend_from_slice(&[(w >> 12) as u8 | 0xe0, tail(6), tail(0)]),
        _ => out.extend_from_slice(&[(w >> 18) as u8 | 0xf0, tail(12), tail(6), tail(0)]),
    }
}
