//! Streams of weights, and what is made of two or one of them: an order, a sort key, a hash.
//!
//! # Invariants
//! W1. `compare(a, b)` and the memcmp order of `key(a)`, `key(b)` agree, since both read the same streams with the same rule
//!     for the end.

use std::cmp::Ordering;

use crate::charset::decode_utf8;
use crate::tables::{Found, SLOW, Table};

/// Weights of a text, one after the other.
pub(crate) trait Weights {
    fn next(&mut self) -> Option<u32>;
    /// Appends the weight so that memcmp order is the order of weights and no weight's bytes are a prefix of another's.
    fn put(weight: u32, out: &mut Vec<u8>);
}

/// One weight a byte, by table.
pub(crate) struct Bytes<'a> {
    pub(crate) text: std::slice::Iter<'a, u8>,
    pub(crate) table: &'static [u8; 256],
}

impl Weights for Bytes<'_> {
    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.text.next().map(|b| u32::from(self.table[usize::from(*b)]))
    }
    fn put(weight: u32, out: &mut Vec<u8>) {
        out.push(weight as u8);
    }
}

/// The bytes themselves; for UTF-8 their order is that of code points.
pub(crate) struct Raw<'a>(pub(crate) std::slice::Iter<'a, u8>);

impl Weights for Raw<'_> {
    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.0.next().map(|b| u32::from(*b))
    }
    fn put(weight: u32, out: &mut Vec<u8>) {
        out.push(weight as u8);
    }
}

/// One weight a character of UTF-8.
pub(crate) struct General<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) at: usize,
    pub(crate) table: &'static Table,
}

/// Weight of a byte that is no character: after everything.
const BROKEN: u32 = 0xffff;

impl Weights for General<'_> {
    #[inline]
    fn next(&mut self) -> Option<u32> {
        let first = *self.text.get(self.at)?;
        if first < 0x80 {
            self.at += 1;
            return Some(u32::from(self.table.ascii[usize::from(first)]));
        }
        let Some((code, len)) = decode_utf8(&self.text[self.at..]) else {
            self.at += 1;
            return Some(BROKEN);
        };
        self.at += len;
        Some(self.table.first(code))
    }
    fn put(weight: u32, out: &mut Vec<u8>) {
        put_u16(weight, out);
    }
}

/// One level of the Unicode Collation Algorithm over UTF-8.
pub(crate) struct Uca<'a> {
    text: &'a [u8],
    at: usize,
    table: &'static Table,
    /// Weights of the last character that have not been handed out.
    rest: &'static [u16],
    implicit: Option<u16>,
    primary: bool,
}

impl<'a> Uca<'a> {
    pub(crate) fn new(text: &'a [u8], table: &'static Table, primary: bool) -> Self {
        Self { text, at: 0, table, rest: &[], implicit: None, primary }
    }

    /// An ASCII character of one weight that begins no contraction, the usual case.
    #[inline]
    fn plain(&mut self) -> Option<u32> {
        let first = usize::from(*self.text.get(self.at)?);
        let weight = *self.table.plain.get(first)?;
        if weight == SLOW || !self.rest.is_empty() || self.implicit.is_some() {
            return None;
        }
        self.at += 1;
        Some(u32::from(weight))
    }

    #[cold]
    fn pending(&mut self) -> u32 {
        if let Some((weight, rest)) = self.rest.split_first() {
            self.rest = rest;
            return u32::from(*weight);
        }
        self.implicit.take().map_or(BROKEN, u32::from)
    }

    /// Weighs the character at `at`; `None` when it has no weight.
    fn slow(&mut self) -> Option<u32> {
        let Some((code, len)) = decode_utf8(&self.text[self.at..]) else {
            self.at += 1;
            return self.primary.then_some(BROKEN);
        };
        let mut found = self.table.single(code);
        let mut taken = len;
        if self.table.is_head(code) {
            let second = decode_utf8(&self.text[self.at + len..]);
            let third = second.and_then(|(_, n)| decode_utf8(&self.text[self.at + len + n..]));
            let code_of = |c: Option<(u32, usize)>| c.map_or((0, 0), |c| c);
            let ((c2, n2), (c3, n3)) = (code_of(second), code_of(third));
            if let Some((weights, chars)) = self.table.contraction([code, c2, c3]) {
                found = weights;
                taken = len + n2 + if chars == 3 { n3 } else { 0 };
            }
        }
        self.at += taken;
        match found {
            Found::One(weight) => Some(weight),
            Found::Implicit(first, second) => {
                self.implicit = Some(second);
                Some(u32::from(first))
            }
            Found::List { start, len } => {
                let (first, rest) = self.table.list(start, len).split_first()?;
                self.rest = rest;
                Some(u32::from(*first))
            }
        }
    }
}

impl Weights for Uca<'_> {
    #[inline]
    fn next(&mut self) -> Option<u32> {
        if let Some(weight) = self.plain() {
            return Some(weight);
        }
        if !self.rest.is_empty() || self.implicit.is_some() {
            return Some(self.pending());
        }
        loop {
            let first = *self.text.get(self.at)?;
            if first < 0x80 {
                let weight = self.table.ascii[usize::from(first)];
                let plain = !self.table.ascii_head[usize::from(first)]
                    || self.text.get(self.at + 1).is_none_or(|next| *next < 0x80);
                if weight != SLOW && plain {
                    self.at += 1;
                    if weight != 0 {
                        return Some(u32::from(weight));
                    }
                    continue;
                }
            }
            if let Some(weight) = self.slow() {
                return Some(weight);
            }
        }
    }
    fn put(weight: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&(weight as u16).to_be_bytes());
    }
}

/// Compares the ASCII characters both texts begin with by a table of weights. The order if that decides, else the offset from
/// which the streams must go on (one character before the first that needs them, since it may begin a contraction).
#[inline]
pub(crate) fn compare_ascii(a: &[u8], b: &[u8], ascii: &[u16; 128]) -> Result<Ordering, usize> {
    let common = a.len().min(b.len());
    for i in 0..common {
        let (x, y) = (a[i], b[i]);
        if x == y && x < 0x80 {
            continue;
        }
        if (x | y) >= 0x80 {
            return Err(i.saturating_sub(1));
        }
        let (v, w) = (ascii[usize::from(x)], ascii[usize::from(y)]);
        if v == w && v != SLOW {
            continue;
        }
        let special = |weight: u16| weight == SLOW || weight == 0;
        let next = |text: &[u8]| text.get(i + 1).is_some_and(|n| *n >= 0x80);
        if special(v) || special(w) || next(a) || next(b) {
            return Err(i.saturating_sub(1));
        }
        return Ok(v.cmp(&w));
    }
    if a.len() == b.len() { Ok(Ordering::Equal) } else { Err(common.saturating_sub(1)) }
}

/// Order-preserving form of a 16-bit weight: UTF-8's bit layout without its exclusions.
fn put_u16(w: u32, out: &mut Vec<u8>) {
    let low = (w & 0x3f) as u8 | 0x80;
    match w {
        0..0x80 => out.push(w as u8),
        0x80..0x800 => out.extend_from_slice(&[(w >> 6) as u8 | 0xc0, low]),
        _ => out.extend_from_slice(&[(w >> 12) as u8 | 0xe0, (w >> 6 & 0x3f) as u8 | 0x80, low]),
    }
}

/// Compares two streams; `space` is the weight the shorter one goes on with, none = it ends before everything.
#[inline]
pub(crate) fn compare<W: Weights>(mut a: W, mut b: W, space: Option<u32>) -> Ordering {
    loop {
        match (a.next(), b.next()) {
            (Some(x), Some(y)) if x == y => {}
            (Some(x), Some(y)) => return x.cmp(&y),
            (None, None) => return Ordering::Equal,
            (Some(x), None) => return rest(x, a, space),
            (None, Some(y)) => return rest(y, b, space).reverse(),
        }
    }
}

/// Order of `first` and what follows it against the end of a string.
fn rest<W: Weights>(first: u32, mut more: W, space: Option<u32>) -> Ordering {
    let Some(space) = space else { return Ordering::Greater };
    let mut weight = first;
    loop {
        if weight != space {
            return weight.cmp(&space);
        }
        match more.next() {
            Some(next) => weight = next,
            None => return Ordering::Equal,
        }
    }
}

/// Appends the stream's sort key (the crate's page draws it).
pub(crate) fn key<W: Weights>(weights: W, space: Option<u32>, out: &mut Vec<u8>) {
    stem::<W>(weights, space, out);
    match space {
        Some(space) => {
            W::put(space, out);
            out.push(1);
        }
        None => out.extend_from_slice(&[0, 0]),
    }
}

/// The key without its end: what the key of each longer stream begins with.
pub(crate) fn stem<W: Weights>(mut weights: W, space: Option<u32>, out: &mut Vec<u8>) {
    let Some(space) = space else {
        while let Some(weight) = weights.next() {
            W::put(weight, out);
            if weight == 0 {
                out.push(0xff);
            }
        }
        return;
    };
    let mut spaces = 0u32;
    while let Some(weight) = weights.next() {
        if weight == space {
            spaces += 1;
            continue;
        }
        for _ in 0..spaces {
            W::put(space, out);
            out.push(if weight < space { 0 } else { 2 });
        }
        spaces = 0;
        W::put(weight, out);
    }
}
