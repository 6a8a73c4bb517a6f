//! Fixed-point numbers to 65 digits with MariaDB's precision rules.
//!
//! # Layout
//! A big integer in words of nine digits, least significant first; the lowest `ceil(frac / 9)` words are the fraction, so the
//! value is `sum(words[i] * 1e9^i) / 1e9^ceil(frac / 9)`. Nine words, 81 digits.
//!
//! # Invariants
//! D1. Every word is below 1e9; words at and above `len` are zero, and `len` has no leading zero word.
//! D2. Zero is never negative.
//! D3. `scale` digits are shown, `frac` digits are kept, `scale <= frac` or the missing digits are zeros. Division keeps whole
//!     words: `10/3` shows 3.3333, keeps 3.333333333, and `10/3*3` shows 10.0000.

mod arithmetic;
mod text;

use std::cmp::Ordering;

pub use arithmetic::Overflow;
pub use text::Parsed;

pub(crate) const WORDS: usize = 9;
pub(crate) const BASE: u32 = 1_000_000_000;
const POWERS: [u32; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
/// Most digits after the point of a type.
pub const MAX_SCALE: u8 = 38;
/// Most digits of a type.
pub const MAX_PRECISION: u8 = 65;

/// A decimal number.
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    words: [u32; WORDS],
    len: u8,
    frac: u8,
    scale: u8,
    negative: bool,
}

/// What to do with digits that go away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Away from zero when the first lost digit is 5 or more.
    HalfUp,
    /// Towards zero.
    Truncate,
    /// Up to the next larger number.
    Ceiling,
    /// Down to the next smaller number.
    Floor,
}

impl Decimal {
    pub const ZERO: Self = Self { words: [0; WORDS], len: 0, frac: 0, scale: 0, negative: false };

    pub fn from_u64(mut v: u64) -> Self {
        let mut d = Self::ZERO;
        while v > 0 {
            d.words[usize::from(d.len)] = (v % u64::from(BASE)) as u32;
            d.len += 1;
            v /= u64::from(BASE);
        }
        d
    }

    pub fn from_i64(v: i64) -> Self {
        Self { negative: v < 0, ..Self::from_u64(v.unsigned_abs()) }
    }

    /// `coefficient / 10^scale`; the scale is at most 38.
    pub fn from_scaled(coefficient: i64, scale: u8) -> Self {
        let mut d = Self::from_i64(coefficient);
        d.multiply_word(POWERS[usize::from((9 - scale % 9) % 9)]);
        d.frac = scale;
        d.scale = scale;
        d
    }

    pub fn is_negative(&self) -> bool {
        self.negative
    }
    pub fn is_zero(&self) -> bool {
        self.len == 0
    }
    /// Digits shown after the point.
    pub fn scale(&self) -> u8 {
        self.scale
    }
    /// The same number with another number of digits shown; kept digits stay.
    #[must_use]
    pub fn with_scale(mut self, scale: u8) -> Self {
        self.scale = scale.min(MAX_SCALE);
        self
    }

    pub(crate) fn frac_words(&self) -> usize {
        usize::from(self.frac.div_ceil(9))
    }
    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Digits before the point, at least 1.
    pub fn int_digits(&self) -> u32 {
        let top = self.len();
        if top <= self.frac_words() {
            return 1;
        }
        (top - 1 - self.frac_words()) as u32 * 9 + self.words[top - 1].ilog10() + 1
    }

    #[must_use]
    pub fn negate(mut self) -> Self {
        self.negative = !self.negative && !self.is_zero();
        self
    }
    #[must_use]
    pub fn abs(mut self) -> Self {
        self.negative = false;
        self
    }

    fn trim(&mut self) {
        while self.len > 0 && self.words[self.len() - 1] == 0 {
            self.len -= 1;
        }
        self.negative &= self.len > 0;
    }

    /// Multiplies the integer by a small number; the caller knows that it fits.
    fn multiply_word(&mut self, by: u32) {
        let mut carry = 0u64;
        for word in &mut self.words {
            let v = u64::from(*word) * u64::from(by) + carry;
            *word = (v % u64::from(BASE)) as u32;
            carry = v / u64::from(BASE);
        }
        self.len = WORDS as u8;
        self.trim();
    }

    /// Rounds to `scale` digits after the point (negative: before it) and drops the rest.
    #[must_use]
    pub fn round(&self, scale: i32, how: Rounding) -> Self {
        let keep_scale = scale.clamp(0, i32::from(MAX_SCALE)) as u8;
        let mut d = *self;
        d.scale = keep_scale;
        if scale >= i32::from(self.frac) {
            return d.grow_frac(keep_scale);
        }
        // `cut` decimal digits of the integer `words` go away: whole words first, then digits of one word.
        let cut = self.frac_words() as i32 * 9 - scale;
        let (cut_words, cut_digits) = ((cut / 9) as usize, (cut % 9) as usize);
        if cut_words > WORDS || cut_words > self.len() {
            d.words = [0; WORDS];
            d.len = 0;
            d.frac = keep_scale;
            let away = !self.is_zero() && Self::rounds_away(how, self.negative, 0, true);
            d.negative = self.negative && away;
            return if away { d.add_unit(self.frac_words(), scale) } else { d };
        }
        let lost_low = self.words[..cut_words.min(WORDS)].iter().any(|w| *w != 0);
        let word = self.words.get(cut_words).copied().unwrap_or(0);
        let lost_part = word % POWERS[cut_digits];
        let first_lost = match cut_digits {
            0 => cut_words.checked_sub(1).map_or(0, |i| self.words[i] / POWERS[8]),
            n => lost_part / POWERS[n - 1],
        };
        let away = Self::rounds_away(how, self.negative, first_lost, lost_low || lost_part != 0);
        d.words[..cut_words.min(WORDS)].fill(0);
        if let Some(w) = d.words.get_mut(cut_words) {
            *w -= lost_part;
        }
        let rounded = if away { d.add_unit(self.frac_words(), scale) } else { d };
        rounded.drop_frac(keep_scale)
    }

    fn rounds_away(how: Rounding, negative: bool, first_lost: u32, lost: bool) -> bool {
        match how {
            Rounding::HalfUp => first_lost >= 5,
            Rounding::Truncate => false,
            Rounding::Ceiling => lost && !negative,
            Rounding::Floor => lost && negative,
        }
    }

    /// Adds one unit of the digit `scale` places after the point, away from zero, with `frac_words` fraction words.
    fn add_unit(mut self, frac_words: usize, scale: i32) -> Self {
        let place = frac_words as i32 * 9 - scale;
        let (mut at, digit) = ((place / 9) as usize, (place % 9) as usize);
        let mut carry = POWERS[digit];
        while carry > 0 && at < WORDS {
            let v = self.words[at] + carry;
            self.words[at] = v % BASE;
            carry = v / BASE;
            at += 1;
        }
        self.len = WORDS as u8;
        self.trim();
        self
    }

    /// Fewer fraction digits; the digits that go are zeros.
    fn drop_frac(mut self, frac: u8) -> Self {
        let gone = self.frac_words() - usize::from(frac.div_ceil(9)).min(self.frac_words());
        self.words.copy_within(gone.., 0);
        self.words[WORDS - gone..].fill(0);
        self.len = WORDS as u8;
        self.frac = frac;
        self.trim();
        self
    }

    /// More fraction digits, as far as the words allow.
    fn grow_frac(mut self, frac: u8) -> Self {
        let more = usize::from(frac.div_ceil(9)).saturating_sub(self.frac_words());
        if self.len() + more > WORDS {
            return self;
        }
        self.words.copy_within(..WORDS - more, more);
        self.words[..more].fill(0);
        if self.len > 0 {
            self.len += more as u8;
        }
        self.frac = self.frac.max(frac);
        self
    }

    /// Compares all kept digits.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (negative, _) => {
                let order = self.compare_magnitude(other);
                if negative { order.reverse() } else { order }
            }
        }
    }

    fn compare_magnitude(&self, other: &Self) -> Ordering {
        let (f, g) = (self.frac_words() as isize, other.frac_words() as isize);
        let top = (self.len() as isize - f).max(other.len() as isize - g);
        let at =
            |d: &Self, i: isize| usize::try_from(i).ok().and_then(|i| d.words.get(i)).copied().unwrap_or(0);
        for place in (-f.max(g)..top).rev() {
            match at(self, place + f).cmp(&at(other, place + g)) {
                Ordering::Equal => {}
                unequal => return unequal,
            }
        }
        Ordering::Equal
    }

    /// The nearest integer (half away from zero); `Err` holds the closest limit when it does not fit.
    pub fn to_i64(&self) -> Result<i64, i64> {
        let magnitude = self.round(0, Rounding::HalfUp).magnitude();
        match (self.negative, magnitude) {
            (false, m) => m.and_then(|m| i64::try_from(m).ok()).ok_or(i64::MAX),
            (true, m) => m.and_then(|m| 0i64.checked_sub_unsigned(m)).ok_or(i64::MIN),
        }
    }

    pub fn to_u64(&self) -> Result<u64, u64> {
        match (self.negative, self.round(0, Rounding::HalfUp)) {
            (true, rounded) if !rounded.is_zero() => Err(0),
            (_, rounded) => rounded.magnitude().ok_or(u64::MAX),
        }
    }

    fn magnitude(&self) -> Option<u64> {
        let words = &self.words[self.frac_words()..];
        if words.get(3..).is_some_and(|high| high.iter().any(|w| *w != 0)) {
            return None;
        }
        let v = words.iter().take(3).rev().fold(0u128, |n, w| n * u128::from(BASE) + u128::from(*w));
        u64::try_from(v).ok()
    }

    /// Largest number of a type: all nines.
    pub fn largest(precision: u8, scale: u8, negative: bool) -> Self {
        let mut d = Self { frac: scale, scale, negative, ..Self::ZERO };
        let (frac_words, int) = (d.frac_words(), usize::from(precision - scale));
        let mut set = |i: usize, v: u32| {
            if let Some(w) = d.words.get_mut(i) {
                *w = v;
            }
        };
        for i in 0..frac_words {
            set(i, BASE - 1);
        }
        if !scale.is_multiple_of(9) {
            set(0, BASE - POWERS[usize::from(9 - scale % 9)]);
        }
        for i in 0..int / 9 {
            set(frac_words + i, BASE - 1);
        }
        set(frac_words + int / 9, POWERS[int % 9] - 1);
        d.len = WORDS as u8;
        d.trim();
        d
    }

    /// Rounded to a type's scale; `Err` holds the type's limit when the number is too large.
    pub fn fit(&self, precision: u8, scale: u8) -> Result<Self, Self> {
        let rounded = self.round(i32::from(scale), Rounding::HalfUp);
        let too_large = !rounded.is_zero()
            && rounded.len() > rounded.frac_words()
            && rounded.int_digits() > u32::from(precision - scale);
        if too_large { Err(Self::largest(precision, scale, self.negative)) } else { Ok(rounded) }
    }

    /// Digit groups for packing: word `i` places after (negative: before) the point, 0 where there is none.
    fn word(&self, place: isize) -> u32 {
        let at = self.frac_words() as isize - 1 - place;
        usize::try_from(at).ok().and_then(|i| self.words.get(i)).copied().unwrap_or(0)
    }

    /// Appends MariaDB's binary form, memcmp-ordered: nine digits in four bytes, big-endian, rests in fewer; the sign is in
    /// the top bit and negative numbers are inverted. The number must fit (see [`Decimal::fit`]).
    pub fn pack(&self, precision: u8, scale: u8, out: &mut Vec<u8>) {
        let start = out.len();
        let (int, frac) = (usize::from(precision - scale), usize::from(scale));
        let mut put = |v: u32, digits: usize| {
            let bytes = digits.div_ceil(2).min(4);
            out.extend_from_slice(&v.to_be_bytes()[4 - bytes..]);
        };
        let whole = int / 9;
        put(self.word(-(whole as isize) - 1), int % 9);
        for i in (1..=whole as isize).rev() {
            put(self.word(-i), 9);
        }
        for i in 0..frac / 9 {
            put(self.word(i as isize), 9);
        }
        put(self.word((frac / 9) as isize) / POWERS[9 - frac % 9], frac % 9);
        if self.negative {
            for byte in &mut out[start..] {
                *byte = !*byte;
            }
        }
        if let Some(first) = out.get_mut(start) {
            *first ^= 0x80;
        }
    }

    /// Reads what [`Decimal::pack`] wrote; `None` when the bytes are not digits.
    pub fn unpack(bytes: &[u8], precision: u8, scale: u8) -> Option<Self> {
        let (int, frac) = (usize::from(precision - scale), usize::from(scale));
        let mut d = Self { frac: scale, scale, ..Self::ZERO };
        d.negative = bytes.first()? & 0x80 == 0;
        let mut at = 0;
        let negative = d.negative;
        let mut take = |digits: usize| -> Option<u32> {
            let len = digits.div_ceil(2).min(4);
            let mut v = 0;
            for i in at..at + len {
                let byte = if i == 0 { bytes[0] ^ 0x80 } else { *bytes.get(i)? };
                v = v << 8 | u32::from(if negative { !byte } else { byte });
            }
            at += len;
            (v < POWERS[digits]).then_some(v)
        };
        let frac_words = d.frac_words();
        let whole = int / 9;
        let first = take(int % 9)?;
        if first != 0 {
            *d.words.get_mut(frac_words + whole)? = first;
        }
        for i in (0..whole).rev() {
            let v = take(9)?;
            *d.words.get_mut(frac_words + i)? = v;
        }
        for i in 0..frac / 9 {
            d.words[frac_words - 1 - i] = take(9)?;
        }
        if frac % 9 != 0 {
            d.words[0] = take(frac % 9)? * POWERS[9 - frac % 9];
        }
        d.len = WORDS as u8;
        d.trim();
        Some(d)
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other) == Ordering::Equal
    }
}
