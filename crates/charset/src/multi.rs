//! The character sets of East Asia: one, two or three bytes a character.
//!
//! # Layout of a file in `data`
//! Lists, each a u32 length and pairs of u16, little-endian, sorted: code and code point; code point and code, where that is
//! not the first list read backwards (code 0: none); code and weight; code and upper case; code and lower case, where they are
//! not the code itself. A code is its bytes, one or two; of three the first (0x8f) is left out and the top bit of the second
//! is clear. `gen/charsets.py` makes them.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::Charset;
use crate::charset::NOWHERE;

pub(crate) struct Table {
    /// By code; 0 = none.
    points: Box<[u16]>,
    /// By code point; 0 = none.
    codes: Box<[u16]>,
    weights: Box<[u16]>,
    upper: HashMap<u16, u16>,
    lower: HashMap<u16, u16>,
}

impl Table {
    fn load(bytes: &[u8]) -> Self {
        let mut at = 0;
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let mut list = || {
            let len = usize::from(u16_at(at)) | usize::from(u16_at(at + 2)) << 16;
            let from = at + 4;
            at = from + len * 4;
            (0..len).map(|i| (u16_at(from + i * 4), u16_at(from + i * 4 + 2))).collect::<Vec<_>>()
        };
        let none = || vec![0u16; 0x1_0000].into_boxed_slice();
        let (mut points, mut codes) = (none(), none());
        for (code, point) in list().into_iter().rev() {
            points[usize::from(code)] = point;
            codes[usize::from(point)] = code;
        }
        for (point, code) in list() {
            codes[usize::from(point)] = code;
        }
        let mut weights: Box<[u16]> = (0..=u16::MAX).collect();
        for (code, weight) in list() {
            weights[usize::from(code)] = weight;
        }
        let (upper, lower) = (list().into_iter().collect(), list().into_iter().collect());
        Self { points, codes, weights, upper, lower }
    }
}

macro_rules! tables {
    ($($charset:ident $name:ident $file:literal;)*) => {
        $(static $name: LazyLock<Table> = LazyLock::new(|| Table::load(include_bytes!(concat!("../data/", $file))));)*
        /// The table of one of these character sets.
        pub(crate) fn table(charset: Charset) -> &'static Table {
            match charset {
                $(Charset::$charset => &$name,)*
                _ => unreachable!("{charset:?} has no codes of several bytes"),
            }
        }
    };
}

tables! {
    Big5 BIG5 "big5.bin";
    Ujis UJIS "ujis.bin";
    Sjis SJIS "sjis.bin";
    Euckr EUCKR "euckr.bin";
    Gb2312 GB2312 "gb2312.bin";
    Gbk GBK "gbk.bin";
    Cp932 CP932 "cp932.bin";
    Eucjpms EUCJPMS "eucjpms.bin";
}

/// The length of the character at the start of `bytes`, `None` where there is none.
fn length(charset: Charset, bytes: &[u8]) -> Option<usize> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some(1);
    }
    let second = bytes.get(1).copied();
    let pair = |trail: bool| trail.then_some(2);
    match charset {
        Charset::Sjis | Charset::Cp932 => match first {
            0xa1..=0xdf => Some(1),
            0x81..=0x9f | 0xe0..=0xfc => pair(matches!(second?, 0x40..=0x7e | 0x80..=0xfc)),
            _ => None,
        },
        Charset::Ujis | Charset::Eucjpms => match first {
            0x8e => pair(matches!(second?, 0xa1..=0xdf)),
            0x8f => (second? >= 0xa1 && second? < 0xff && matches!(*bytes.get(2)?, 0xa1..=0xfe)).then_some(3),
            0xa1..=0xfe => pair(matches!(second?, 0xa1..=0xfe)),
            _ => None,
        },
        Charset::Euckr => match first {
            0x81..=0xfe => pair(matches!(second?, 0x41..=0x5a | 0x61..=0x7a | 0x81..=0xfe)),
            _ => None,
        },
        Charset::Gb2312 => match first {
            0xa1..=0xf7 => pair(matches!(second?, 0xa1..=0xfe)),
            _ => None,
        },
        Charset::Gbk => match first {
            0x81..=0xfe => pair(matches!(second?, 0x40..=0x7e | 0x80..=0xfe)),
            _ => None,
        },
        _ => match first {
            0xa1..=0xf9 => pair(matches!(second?, 0x40..=0x7e | 0xa1..=0xfe)),
            _ => None,
        },
    }
}

fn code_of(character: &[u8]) -> u16 {
    match *character {
        [a] => u16::from(a),
        [a, b] => u16::from_be_bytes([a, b]),
        [_, b, c] => u16::from_be_bytes([b & 0x7f, c]),
        _ => 0,
    }
}

fn put(code: u16, out: &mut Vec<u8>) {
    match code.to_be_bytes() {
        [0, low] => out.push(low),
        [high @ 0..0x80, low] => out.extend([0x8f, high | 0x80, low]),
        pair => out.extend(pair),
    }
}

pub(crate) fn decode(charset: Charset, bytes: &[u8]) -> Option<(u32, usize)> {
    let len = length(charset, bytes)?;
    let code = code_of(&bytes[..len]);
    let point = table(charset).points[usize::from(code)];
    Some((if point == 0 && code != 0 { NOWHERE + u32::from(code) } else { u32::from(point) }, len))
}

pub(crate) fn encode(charset: Charset, point: u32, out: &mut Vec<u8>) -> bool {
    let Ok(point) = u16::try_from(point) else { return false };
    let code = table(charset).codes[usize::from(point)];
    if code == 0 && point != 0 {
        return false;
    }
    put(code, out);
    true
}

/// Appends the text with each character replaced by what `change` says for its code.
fn map(charset: Charset, text: &[u8], out: &mut Vec<u8>, change: impl Fn(u16) -> u16) {
    let mut at = 0;
    while at < text.len() {
        match length(charset, &text[at..]) {
            Some(len) => {
                put(change(code_of(&text[at..at + len])), out);
                at += len;
            }
            None => {
                out.push(text[at]);
                at += 1;
            }
        }
    }
}

/// Appends the weights of a text: as many bytes as the character has.
pub(crate) fn weigh(charset: Charset, text: &[u8], out: &mut Vec<u8>) {
    let weights = &table(charset).weights;
    map(charset, text, out, |code| weights[usize::from(code)]);
}

pub(crate) fn change_case(charset: Charset, text: &[u8], out: &mut Vec<u8>, upper: bool) {
    let table = table(charset);
    let cases = if upper { &table.upper } else { &table.lower };
    map(charset, text, out, |code| cases.get(&code).copied().unwrap_or(code));
}
