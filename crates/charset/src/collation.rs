//! The registry of collations and the operations on text that depend on one.

use std::cmp::Ordering;
use std::fmt;

use crate::Charset;
use crate::charset::decode_utf8;
use crate::tables::{self, CaseMap, Table};
use crate::weigh::{self, Bytes, General, Raw, Uca};
use crate::{multi, registry};

/// Whether trailing spaces matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpacePad {
    /// The shorter string is compared as if it were padded with spaces.
    Pad,
    NoPad,
}

/// How characters get their weights.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weights {
    /// The code point (or byte) itself.
    Code,
    /// One weight a byte from a table.
    Bytes(&'static [u8; 256]),
    /// One weight a character, the upper case letter without accents: `*_general_ci`.
    General,
    /// Unicode Collation Algorithm: primary weights, then accents, then case if the collation looks at them.
    Uca { version: UcaVersion, accents: bool, case: bool },
    /// As many bytes as the character has, by the character set's table.
    Chars,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UcaVersion {
    /// `*_unicode_ci`.
    Uca400,
    /// `*_unicode_520_ci`.
    Uca520,
    /// `*_uca1400_*`.
    Uca1400,
    /// `*_<language>_ci`, by the language's place.
    Old(u8),
    /// `*_uca1400_<language>_*`, by the language's place.
    New(u8),
}
use UcaVersion::{New, Old, Uca400, Uca520, Uca1400};

impl UcaVersion {
    pub(crate) fn primary(self) -> &'static Table {
        match self {
            Uca400 => &tables::UCA400,
            Uca520 => &tables::UCA520,
            Uca1400 => &tables::UCA1400[0],
            Old(place) => tables::old_language(usize::from(place)),
            New(place) => tables::new_language(usize::from(place), 0),
        }
    }

    /// Accents (1) or case (2).
    fn further(self, level: usize) -> &'static Table {
        match self {
            New(place) => tables::new_language(usize::from(place), level),
            _ => &tables::UCA1400[level],
        }
    }
}

pub(crate) const fn primary(version: UcaVersion) -> Weights {
    uca(version, false, false)
}

pub(crate) const fn uca(version: UcaVersion, accents: bool, case: bool) -> Weights {
    Weights::Uca { version, accents, case }
}

pub(crate) struct Info {
    pub(crate) id: u16,
    pub(crate) name: &'static str,
    pub(crate) charset: Charset,
    pub(crate) pad: SpacePad,
    pub(crate) weights: Weights,
}

impl Info {
    /// The weights of [`Weights::Chars`].
    fn weighed(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        multi::weigh(self.charset, text, &mut out);
        out
    }
}

/// A collation, by MariaDB's id. Two bytes; every value names a collation that exists.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Collation(pub(crate) u16);

macro_rules! collations {
    ($($const_name:ident = $id:literal $name:literal $charset:ident $pad:ident $weights:expr;)*) => {
        /// Those that the code names.
        pub(crate) static NAMED: &[Info] = &[$(Info {
            id: $id, name: $name, charset: Charset::$charset, pad: SpacePad::$pad, weights: $weights,
        }),*];
        impl Collation {
            $(#[doc = $name] pub const $const_name: Self = Self($id);)*
        }
    };
}

collations! {
    LATIN1_GERMAN1_CI = 5 "latin1_german1_ci" Latin1 Pad Weights::Bytes(tables::latin1(3));
    LATIN1_SWEDISH_CI = 8 "latin1_swedish_ci" Latin1 Pad Weights::Bytes(tables::latin1(0));
    ASCII_GENERAL_CI = 11 "ascii_general_ci" Ascii Pad Weights::Bytes(&tables::ASCII_UPPER);
    LATIN1_DANISH_CI = 15 "latin1_danish_ci" Latin1 Pad Weights::Bytes(tables::latin1(4));
    UTF8MB3_GENERAL_CI = 33 "utf8mb3_general_ci" Utf8mb3 Pad Weights::General;
    UTF8MB4_GENERAL_CI = 45 "utf8mb4_general_ci" Utf8mb4 Pad Weights::General;
    UTF8MB4_BIN = 46 "utf8mb4_bin" Utf8mb4 Pad Weights::Code;
    LATIN1_BIN = 47 "latin1_bin" Latin1 Pad Weights::Code;
    LATIN1_GENERAL_CI = 48 "latin1_general_ci" Latin1 Pad Weights::Bytes(tables::latin1(1));
    LATIN1_GENERAL_CS = 49 "latin1_general_cs" Latin1 Pad Weights::Bytes(tables::latin1(2));
    BINARY = 63 "binary" Binary NoPad Weights::Code;
    ASCII_BIN = 65 "ascii_bin" Ascii Pad Weights::Code;
    UTF8MB3_BIN = 83 "utf8mb3_bin" Utf8mb3 Pad Weights::Code;
    LATIN1_SPANISH_CI = 94 "latin1_spanish_ci" Latin1 Pad Weights::Bytes(tables::latin1(5));
    UTF8MB3_UNICODE_CI = 192 "utf8mb3_unicode_ci" Utf8mb3 Pad primary(Uca400);
    UTF8MB3_UNICODE_520_CI = 214 "utf8mb3_unicode_520_ci" Utf8mb3 Pad primary(Uca520);
    UTF8MB4_UNICODE_CI = 224 "utf8mb4_unicode_ci" Utf8mb4 Pad primary(Uca400);
    UTF8MB4_UNICODE_520_CI = 246 "utf8mb4_unicode_520_ci" Utf8mb4 Pad primary(Uca520);
    LATIN1_SWEDISH_NOPAD_CI = 1032 "latin1_swedish_nopad_ci" Latin1 NoPad Weights::Bytes(tables::latin1(0));
    ASCII_GENERAL_NOPAD_CI = 1035 "ascii_general_nopad_ci" Ascii NoPad Weights::Bytes(&tables::ASCII_UPPER);
    UTF8MB3_GENERAL_NOPAD_CI = 1057 "utf8mb3_general_nopad_ci" Utf8mb3 NoPad Weights::General;
    UTF8MB4_GENERAL_NOPAD_CI = 1069 "utf8mb4_general_nopad_ci" Utf8mb4 NoPad Weights::General;
    UTF8MB4_NOPAD_BIN = 1070 "utf8mb4_nopad_bin" Utf8mb4 NoPad Weights::Code;
    LATIN1_NOPAD_BIN = 1071 "latin1_nopad_bin" Latin1 NoPad Weights::Code;
    ASCII_NOPAD_BIN = 1089 "ascii_nopad_bin" Ascii NoPad Weights::Code;
    UTF8MB3_NOPAD_BIN = 1107 "utf8mb3_nopad_bin" Utf8mb3 NoPad Weights::Code;
    UTF8MB3_UNICODE_NOPAD_CI = 1216 "utf8mb3_unicode_nopad_ci" Utf8mb3 NoPad primary(Uca400);
    UTF8MB3_UNICODE_520_NOPAD_CI = 1238 "utf8mb3_unicode_520_nopad_ci" Utf8mb3 NoPad primary(Uca520);
    UTF8MB4_UNICODE_NOPAD_CI = 1248 "utf8mb4_unicode_nopad_ci" Utf8mb4 NoPad primary(Uca400);
    UTF8MB4_UNICODE_520_NOPAD_CI = 1270 "utf8mb4_unicode_520_nopad_ci" Utf8mb4 NoPad primary(Uca520);
    UTF8MB3_UCA1400_AI_CI = 2048 "utf8mb3_uca1400_ai_ci" Utf8mb3 Pad primary(Uca1400);
    UTF8MB3_UCA1400_AI_CS = 2049 "utf8mb3_uca1400_ai_cs" Utf8mb3 Pad uca(Uca1400, false, true);
    UTF8MB3_UCA1400_AS_CI = 2050 "utf8mb3_uca1400_as_ci" Utf8mb3 Pad uca(Uca1400, true, false);
    UTF8MB3_UCA1400_AS_CS = 2051 "utf8mb3_uca1400_as_cs" Utf8mb3 Pad uca(Uca1400, true, true);
    UTF8MB3_UCA1400_NOPAD_AI_CI = 2052 "utf8mb3_uca1400_nopad_ai_ci" Utf8mb3 NoPad primary(Uca1400);
    UTF8MB3_UCA1400_NOPAD_AI_CS = 2053 "utf8mb3_uca1400_nopad_ai_cs" Utf8mb3 NoPad uca(Uca1400, false, true);
    UTF8MB3_UCA1400_NOPAD_AS_CI = 2054 "utf8mb3_uca1400_nopad_as_ci" Utf8mb3 NoPad uca(Uca1400, true, false);
    UTF8MB3_UCA1400_NOPAD_AS_CS = 2055 "utf8mb3_uca1400_nopad_as_cs" Utf8mb3 NoPad uca(Uca1400, true, true);
    UTF8MB4_UCA1400_AI_CI = 2304 "utf8mb4_uca1400_ai_ci" Utf8mb4 Pad primary(Uca1400);
    UTF8MB4_UCA1400_AI_CS = 2305 "utf8mb4_uca1400_ai_cs" Utf8mb4 Pad uca(Uca1400, false, true);
    UTF8MB4_UCA1400_AS_CI = 2306 "utf8mb4_uca1400_as_ci" Utf8mb4 Pad uca(Uca1400, true, false);
    UTF8MB4_UCA1400_AS_CS = 2307 "utf8mb4_uca1400_as_cs" Utf8mb4 Pad uca(Uca1400, true, true);
    UTF8MB4_UCA1400_NOPAD_AI_CI = 2308 "utf8mb4_uca1400_nopad_ai_ci" Utf8mb4 NoPad primary(Uca1400);
    UTF8MB4_UCA1400_NOPAD_AI_CS = 2309 "utf8mb4_uca1400_nopad_ai_cs" Utf8mb4 NoPad uca(Uca1400, false, true);
    UTF8MB4_UCA1400_NOPAD_AS_CI = 2310 "utf8mb4_uca1400_nopad_as_ci" Utf8mb4 NoPad uca(Uca1400, true, false);
    UTF8MB4_UCA1400_NOPAD_AS_CS = 2311 "utf8mb4_uca1400_nopad_as_cs" Utf8mb4 NoPad uca(Uca1400, true, true);
}

impl Collation {
    pub fn by_id(id: u16) -> Option<Self> {
        registry::place(id).map(|_| Self(id))
    }

    /// Finds a collation by its full name, any letter case. `utf8_...` means `utf8mb3_...`.
    pub fn by_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let full = match lower.strip_prefix("utf8_") {
            Some(rest) => format!("utf8mb3_{rest}"),
            None => lower,
        };
        registry::all().iter().find(|i| i.name == full).map(|i| Self(i.id))
    }

    /// The collation a character set has when none is named (11.8: uca1400_ai_ci for the Unicode ones).
    pub fn default_of(charset: Charset) -> Self {
        Self(charset.default_id())
    }

    /// The `_bin` collation of a character set.
    pub fn bin_of(charset: Charset) -> Self {
        Self(charset.bin_id())
    }

    pub fn all() -> impl Iterator<Item = Self> {
        registry::all().iter().map(|i| Self(i.id))
    }

    pub(crate) fn info(self) -> &'static Info {
        registry::of(self.0)
    }

    /// `uca1400_...` of one of the collations that every Unicode character set has.
    pub fn contextual_name(self) -> Option<&'static str> {
        self.name().split_once('_').map(|(_, short)| short).filter(|short| short.starts_with("uca1400_"))
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
        let info = self.info();
        let pad = info.pad == SpacePad::Pad;
        if info.charset.is_wide() {
            return self.in_utf8().compare(&self.utf8(a), &self.utf8(b));
        }
        match info.weights {
            Weights::Chars => {
                let (a, b) = (info.weighed(a), info.weighed(b));
                weigh::compare(Raw(a.iter()), Raw(b.iter()), pad.then_some(0x20))
            }
            Weights::Code if !pad => a.cmp(b),
            Weights::Code => {
                let common = a.len().min(b.len());
                a[..common].cmp(&b[..common]).then_with(|| {
                    weigh::compare(Raw(a[common..].iter()), Raw(b[common..].iter()), Some(0x20))
                })
            }
            Weights::Bytes(table) => {
                let space = pad.then(|| u32::from(table[0x20]));
                weigh::compare(bytes(a, table), bytes(b, table), space)
            }
            Weights::General => match weigh::compare_ascii(a, b, &tables::GENERAL.ascii) {
                Ok(order) => order,
                Err(at) => weigh::compare(general(&a[at..]), general(&b[at..]), pad.then_some(0x20)),
            },
            Weights::Uca { version, accents: false, case: false } => {
                let table = version.primary();
                match weigh::compare_ascii(a, b, &table.ascii) {
                    Ok(order) => order,
                    Err(at) => compare_level(&a[at..], &b[at..], table, true, pad),
                }
            }
            Weights::Uca { accents, case, version } => {
                if a == b {
                    return Ordering::Equal;
                }
                for table in levels(version, accents, case) {
                    let first = std::ptr::eq(table, version.primary());
                    match compare_level(a, b, table, first, pad || !first) {
                        Ordering::Equal => {}
                        unequal => return unequal,
                    }
                }
                Ordering::Equal
            }
        }
    }

    pub fn equal(self, a: &[u8], b: &[u8]) -> bool {
        a == b || self.compare(a, b) == Ordering::Equal
    }

    /// Equality that does not forget trailing spaces: LIKE, INSTR and FIND_IN_SET.
    pub fn compare_exactly(self, a: &[u8], b: &[u8]) -> bool {
        if a == b {
            return true;
        }
        let info = self.info();
        if info.charset.is_wide() {
            return self.in_utf8().compare_exactly(&self.utf8(a), &self.utf8(b));
        }
        match info.weights {
            Weights::Code => false,
            Weights::Chars => info.weighed(a) == info.weighed(b),
            Weights::Bytes(table) => weigh::compare(bytes(a, table), bytes(b, table), None).is_eq(),
            Weights::General => weigh::compare(general(a), general(b), None).is_eq(),
            Weights::Uca { accents, case, version } => levels(version, accents, case).all(|table| {
                let first = std::ptr::eq(table, version.primary());
                let space = level_space(table, !first);
                weigh::compare(Uca::new(a, table, first), Uca::new(b, table, first), space).is_eq()
            }),
        }
    }

    /// Appends the memcmp-ordered, self-terminating key of `text` (see the crate's page).
    pub fn sort_key(self, text: &[u8], out: &mut Vec<u8>) {
        let info = self.info();
        let pad = info.pad == SpacePad::Pad;
        if info.charset.is_wide() {
            return self.in_utf8().sort_key(&self.utf8(text), out);
        }
        out.reserve(text.len() * 2 + 4);
        match info.weights {
            Weights::Chars => weigh::key(Raw(info.weighed(text).iter()), pad.then_some(0x20), out),
            Weights::Code => weigh::key(Raw(text.iter()), pad.then_some(0x20), out),
            Weights::Bytes(table) => {
                weigh::key(bytes(text, table), pad.then(|| u32::from(table[0x20])), out);
            }
            Weights::General => weigh::key(general(text), pad.then_some(0x20), out),
            Weights::Uca { accents, case, version } => {
                for table in levels(version, accents, case) {
                    let first = std::ptr::eq(table, version.primary());
                    weigh::key(Uca::new(text, table, first), level_space(table, pad || !first), out);
                }
            }
        }
    }

    /// How many bytes of `text`'s [`Collation::sort_key`] the key of each text that goes on from it begins with, by what comes behind may
    /// not change any more: not the end of the key, not a space at the end, not the start of what may be a contraction.
    pub fn common_key_len(self, text: &[u8]) -> usize {
        let info = self.info();
        if info.charset.is_wide() {
            return self.in_utf8().common_key_len(&self.utf8(text));
        }
        let pad = info.pad == SpacePad::Pad;
        let mut out = Vec::with_capacity(text.len() * 2);
        match info.weights {
            Weights::Chars => weigh::stem(Raw(info.weighed(text).iter()), pad.then_some(0x20), &mut out),
            Weights::Code => weigh::stem(Raw(text.iter()), pad.then_some(0x20), &mut out),
            Weights::Bytes(table) => {
                weigh::stem(bytes(text, table), pad.then(|| u32::from(table[0x20])), &mut out);
            }
            Weights::General => weigh::stem(general(text), pad.then_some(0x20), &mut out),
            Weights::Uca { version, .. } => {
                // The further levels come behind the first.
                let table = version.primary();
                let settled = &text[..settled(info.charset, table, text)];
                weigh::stem(Uca::new(settled, table, true), level_space(table, pad), &mut out);
            }
        }
        out.len()
    }

    /// The text of a key that [`Collation::sort_key`] made, where the key keeps it: `binary` and the NO PAD `_bin` collations.
    /// Gives the number of key bytes read; `None` when the key does not keep the text or is broken.
    pub fn text_of_key(self, key: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        if !self.key_keeps_text() {
            return None;
        }
        let mut at = 0;
        loop {
            let zero = key[at..].iter().position(|b| *b == 0)? + at;
            out.extend_from_slice(&key[at..zero]);
            at = zero + 2;
            match key.get(zero + 1)? {
                0 => return Some(at),
                0xff => out.push(0),
                _ => return None,
            }
        }
    }

    /// True if [`Collation::text_of_key`] gives the text back.
    pub fn key_keeps_text(self) -> bool {
        let info = self.info();
        info.weights == Weights::Code && info.pad == SpacePad::NoPad && !info.charset.is_wide()
    }

    /// The collation of utf8mb4 with the same weights.
    fn in_utf8(self) -> Self {
        registry::in_utf8(self.0)
    }

    fn utf8(self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() * 2);
        // Broken characters are alike, whatever their bytes.
        let _lossy = self.charset().convert(text, Charset::Utf8mb4, &mut out);
        out
    }

    /// Feeds a hash that is equal for equal strings.
    pub fn hash(self, text: &[u8], state: &mut impl std::hash::Hasher) {
        if self.is_binary() {
            return state.write(text);
        }
        let mut key = Vec::with_capacity(text.len() * 3 + 4);
        self.sort_key(text, &mut key);
        state.write(&key);
    }

    /// Appends `text` in upper case.
    pub fn upper(self, text: &[u8], out: &mut Vec<u8>) {
        self.change_case(text, out, true);
    }

    /// Appends `text` in lower case.
    pub fn lower(self, text: &[u8], out: &mut Vec<u8>) {
        self.change_case(text, out, false);
    }

    fn change_case(self, text: &[u8], out: &mut Vec<u8>, upper: bool) {
        let info = self.info();
        match info.charset {
            Charset::Binary => out.extend_from_slice(text),
            Charset::Ascii => out.extend(text.iter().map(|b| ascii_case(*b, upper))),
            Charset::Latin1 => {
                let table = tables::latin1(if upper { 6 } else { 7 });
                out.extend(text.iter().map(|b| table[usize::from(*b)]));
            }
            charset if charset.is_wide() => {
                let mut changed = Vec::with_capacity(text.len() * 2);
                self.in_utf8().change_case(&self.utf8(text), &mut changed, upper);
                let _lossy = Charset::Utf8mb4.convert(&changed, charset, out);
            }
            charset if !charset.is_utf8() && charset.max_len() > 1 => {
                multi::change_case(charset, text, out, upper);
            }
            charset if !charset.is_utf8() => {
                let table = tables::eight_bit(charset);
                out.extend(text.iter().map(|b| table.change_case(*b, upper)));
            }
            _ => {
                let newest = matches!(info.weights, Weights::Uca { version: Uca1400 | New(_), .. });
                let map: &CaseMap = match (newest, upper) {
                    (true, true) => &tables::UCA1400_UPPER,
                    (true, false) => &tables::UCA1400_LOWER,
                    (false, true) => &tables::GENERAL_UPPER,
                    (false, false) => &tables::GENERAL_LOWER,
                };
                utf8_case(text, out, upper, map, registry::is_turkish(info.weights));
            }
        }
    }
}

fn ascii_case(byte: u8, upper: bool) -> u8 {
    if upper { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() }
}

fn utf8_case(text: &[u8], out: &mut Vec<u8>, upper: bool, map: &CaseMap, turkish: bool) {
    let mut at = 0;
    while at < text.len() {
        if turkish && text[at] == if upper { b'i' } else { b'I' } {
            Charset::Utf8mb4.encode(if upper { 0x130 } else { 0x131 }, out);
            at += 1;
            continue;
        }
        if text[at] < 0x80 {
            out.push(ascii_case(text[at], upper));
            at += 1;
            continue;
        }
        match decode_utf8(&text[at..]) {
            None => {
                out.push(text[at]);
                at += 1;
            }
            Some((code, len)) => {
                // Every case pair of the tables is a code point of UTF-8.
                Charset::Utf8mb4.encode(map.map(code), out);
                at += len;
            }
        }
    }
}

fn bytes<'a>(text: &'a [u8], table: &'static [u8; 256]) -> Bytes<'a> {
    Bytes { text: text.iter(), table }
}

pub(crate) fn general(text: &[u8]) -> General<'_> {
    General { text, at: 0, table: &tables::GENERAL }
}

fn compare_level(a: &[u8], b: &[u8], table: &'static Table, first: bool, pad: bool) -> Ordering {
    weigh::compare(Uca::new(a, table, first), Uca::new(b, table, first), level_space(table, pad))
}

/// What a level's shorter stream goes on with. Accents and case are padded in NO PAD collations too, as observed: under
/// `nopad_ai_cs` a letter equals itself followed by a combining mark.
/// Bytes of `text` without the characters at its end that may belong to a contraction with what follows.
fn settled(charset: Charset, table: &Table, text: &[u8]) -> usize {
    let mut chars = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let (code, len) = charset.decode(&text[at..]).unwrap_or((u32::MAX, 1));
        chars.push((at, code));
        at += len;
    }
    let last_two: Vec<u32> = chars.iter().rev().take(2).rev().map(|c| c.1).collect();
    let open = (0..last_two.len()).find(|i| table.may_go_on(&last_two[*i..]));
    open.map_or(text.len(), |i| chars[chars.len() - last_two.len() + i].0)
}

fn level_space(table: &Table, pad: bool) -> Option<u32> {
    pad.then_some(u32::from(table.space))
}

/// The tables of the levels a collation compares, in order.
fn levels(version: UcaVersion, accents: bool, case: bool) -> impl Iterator<Item = &'static Table> {
    let second = accents.then(|| version.further(1));
    let third = case.then(|| version.further(2));
    std::iter::once(version.primary()).chain(second).chain(third)
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
