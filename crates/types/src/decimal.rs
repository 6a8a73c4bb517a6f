//! Fixed-point numbers to 65 digits with MariaDB's precision rules.
//!
//! # Layout
//! A big integer in words of nine digits, least significant first; the lowest `frac_words` words are the fraction, so the
//! value is `sum(words[i] * 1e9^i) / 1e9^frac_words`. Nine words, 81 digits.
//!
//! # Invariants
//! D1. Every word is below 1e9; words at and above `len` are zero; `len` has no leading zero word beyond `frac_words`.
//! D2. Zero is never negative.
//! D3. `scale` digits are shown. Division keeps whole words, so more may be stored: `10/3*3` shows 10.0000.

pub(crate) const WORDS: usize = 9;

/// A decimal number.
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    words: [u32; WORDS],
    len: u8,
    frac_words: u8,
    scale: u8,
    negative: bool,
}
impl Decimal {
    pub const ZERO: Self = Self { words: [0; WORDS], len: 0, frac_words: 0, scale: 0, negative: false };
    pub fn is_negative(&self) -> bool {
        self.negative
    }
    pub fn is_zero(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }
    /// Digits shown after the point.
    pub fn scale(&self) -> u8 {
        self.scale
    }
    pub fn from_u64(mut v: u64) -> Self {
        let mut d = Self::ZERO;
        while v > 0 {
            d.words[usize::from(d.len)] = (v % 1_000_000_000) as u32;
            d.len += 1;
            v /= 1_000_000_000;
        }
        d
    }
    pub fn from_i64(v: i64) -> Self {
        Self { negative: v < 0, ..Self::from_u64(v.unsigned_abs()) }
    }
    /// Digits kept after the point, at least [`Decimal::scale`].
    pub fn stored_scale(&self) -> u8 {
        self.frac_words * 9
    }
}
