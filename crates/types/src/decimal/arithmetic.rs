//! Sum, product, quotient and remainder.

use std::cmp::Ordering;

use super::{BASE, Decimal, MAX_SCALE, WORDS};

/// Room for a product, or for a dividend shifted up for its quotient's digits.
const WIDE: usize = 32;

/// The result has more digits than a decimal holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow;

impl Decimal {
    /// Adds in place where that is only a matter of words: the same sign, the same words of fraction, room for a carry. `false`:
    /// nothing was done.
    pub fn accumulate(&mut self, other: &Self) -> bool {
        let top = self.len().max(other.len());
        let same = self.frac_words() == other.frac_words();
        if !same || top >= WORDS || self.is_zero() || self.negative != other.negative {
            return false;
        }
        let mut carry = 0;
        for (word, more) in self.words[..top].iter_mut().zip(&other.words[..top]) {
            let v = *word + more + carry;
            carry = u32::from(v >= BASE);
            *word = if carry == 1 { v - BASE } else { v };
        }
        self.words[top] = carry;
        self.len = (top + carry as usize) as u8;
        self.frac = self.frac.max(other.frac);
        self.scale = self.scale.max(other.scale);
        true
    }

    /// Sum; `None` when it has more than 81 digits.
    pub fn add(&self, other: &Self) -> Option<Self> {
        if self.len <= 2 && other.len <= 2 && self.frac_words() == other.frac_words() {
            let sum = self.small() + other.small();
            let frac = self.frac.max(other.frac);
            return Some(Self::from_small(sum, frac, self.scale.max(other.scale)));
        }
        let frac = self.frac.max(other.frac);
        let scale = self.scale.max(other.scale);
        let (mut a, mut b) = (self.align(frac), other.align(frac));
        if a.frac_words() != b.frac_words() {
            // One of them has no room for the other's fraction: its low digits go.
            let common = a.frac_words().min(b.frac_words()) as u8 * 9;
            (a, b) = (a.cut_frac(common), b.cut_frac(common));
        }
        let mut sum = if a.negative == b.negative {
            let mut carry = 0;
            for i in 0..WORDS {
                let v = a.words[i] + b.words[i] + carry;
                (a.words[i], carry) = if v >= BASE { (v - BASE, 1) } else { (v, 0) };
            }
            if carry != 0 {
                return None;
            }
            a
        } else {
            match a.compare_magnitude(&b) {
                Ordering::Less => b.minus_smaller(&a),
                _ => a.minus_smaller(&b),
            }
        };
        sum.len = WORDS as u8;
        sum.scale = scale;
        sum.trim();
        Some(sum)
    }

    pub fn sub(&self, other: &Self) -> Option<Self> {
        self.add(&other.negate())
    }

    /// The integer of at most two words.
    fn small(&self) -> i64 {
        let v = i64::from(self.words[1]) * i64::from(BASE) + i64::from(self.words[0]);
        if self.negative { -v } else { v }
    }

    /// The inverse of [`Decimal::small`], for sums of two of them.
    fn from_small(v: i64, frac: u8, scale: u8) -> Self {
        let (high, low) = (v.unsigned_abs() / u64::from(BASE), (v.unsigned_abs() % u64::from(BASE)) as u32);
        let mut d = Self { frac, scale, negative: v < 0, ..Self::ZERO };
        d.words[0] = low;
        d.words[1] = (high % u64::from(BASE)) as u32;
        d.words[2] = (high / u64::from(BASE)) as u32;
        d.len = (0..3).rev().find(|i| d.words[usize::from(*i)] != 0).map_or(0, |i| i + 1);
        d
    }

    fn align(&self, frac: u8) -> Self {
        if frac > self.frac { self.grow_frac(frac) } else { *self }
    }

    fn cut_frac(&self, frac: u8) -> Self {
        if frac >= self.frac {
            return *self;
        }
        self.drop_frac(frac)
    }

    /// `self - other` for magnitudes with `self >= other` and equal fractions.
    fn minus_smaller(mut self, other: &Self) -> Self {
        let mut borrow = 0;
        for i in 0..WORDS {
            let take = other.words[i] + borrow;
            (self.words[i], borrow) = if self.words[i] >= take {
                (self.words[i] - take, 0)
            } else {
                (self.words[i] + BASE - take, 1)
            };
        }
        self
    }

    /// Product; `None` when it has more than 81 digits before the point.
    pub fn mul(&self, other: &Self) -> Option<Self> {
        let mut wide = [0u32; WIDE];
        for (i, a) in self.words[..self.len()].iter().enumerate() {
            let mut carry = 0u64;
            for (j, b) in other.words[..other.len()].iter().enumerate() {
                let v = u64::from(wide[i + j]) + u64::from(*a) * u64::from(*b) + carry;
                wide[i + j] = (v % u64::from(BASE)) as u32;
                carry = v / u64::from(BASE);
            }
            wide[i + other.len()] = carry as u32;
        }
        let frac = (self.frac + other.frac).min(WORDS as u8 * 9);
        Self::from_wide(
            &wide,
            self.frac_words() + other.frac_words(),
            frac,
            (self.scale + other.scale).min(MAX_SCALE),
            self.negative != other.negative,
        )
    }

    /// Quotient with `increment` more digits than the dividend shows (`div_precision_increment`).
    /// `Ok(None)` for division by zero, `Err` when the quotient has more than 81 digits before the point.
    pub fn div(&self, other: &Self, increment: u8) -> Result<Option<Self>, Overflow> {
        if other.is_zero() {
            return Ok(None);
        }
        let slack =
            self.frac_words() * 9 - usize::from(self.frac) + other.frac_words() * 9 - usize::from(other.frac);
        let more = usize::from(increment).saturating_sub(slack);
        let frac_words = (self.frac_words() + other.frac_words() + more.div_ceil(9)).min(WORDS + 4);
        // quotient * 1e9^frac_words = self / other * 1e9^(frac_words + other's words - self's words).
        let up = frac_words + other.frac_words() - self.frac_words();
        let mut dividend = [0u32; WIDE];
        dividend[up..up + self.len()].copy_from_slice(&self.words[..self.len()]);
        let (quotient, _) = divide(&dividend, &other.words[..other.len()]);
        let scale = (self.scale + increment).min(MAX_SCALE);
        let frac = frac_words as u8 * 9;
        Self::from_wide(&quotient, frac_words, frac, scale, self.negative != other.negative)
            .map(Some)
            .ok_or(Overflow)
    }

    /// Remainder with the dividend's sign; `None` for division by zero.
    pub fn rem(&self, other: &Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let words = self.frac_words().max(other.frac_words());
        let shifted = |d: &Self| {
            let mut wide = [0u32; WIDE];
            let up = words - d.frac_words();
            wide[up..up + d.len()].copy_from_slice(&d.words[..d.len()]);
            wide
        };
        let (dividend, divisor) = (shifted(self), shifted(other));
        let top = divisor.iter().rposition(|w| *w != 0).map_or(0, |i| i + 1);
        let (_, rest) = divide(&dividend, &divisor[..top]);
        let frac = self.frac.max(other.frac);
        Self::from_wide(&rest, words, frac, self.scale.max(other.scale), self.negative)
    }

    /// A number from a wide integer with `frac_words` fraction words, cut to `frac` digits and to nine words.
    fn from_wide(wide: &[u32; WIDE], frac_words: usize, frac: u8, scale: u8, negative: bool) -> Option<Self> {
        let top = wide.iter().rposition(|w| *w != 0).map_or(0, |i| i + 1);
        let keep = usize::from(frac.div_ceil(9)).min(frac_words);
        let int_words = top.saturating_sub(frac_words);
        if int_words > WORDS {
            return None;
        }
        let keep = keep.min(WORDS - int_words);
        let from = frac_words - keep;
        let mut d = Self { frac: frac.min(keep as u8 * 9), scale, negative, ..Self::ZERO };
        let len = top.saturating_sub(from);
        d.words[..len].copy_from_slice(&wide[from..from + len]);
        d.len = len as u8;
        d.trim();
        Some(d)
    }
}

/// Quotient and remainder of big integers; the divisor's last word is not zero.
fn divide(dividend: &[u32; WIDE], divisor: &[u32]) -> ([u32; WIDE], [u32; WIDE]) {
    let mut quotient = [0u32; WIDE];
    let base = u64::from(BASE);
    let top = dividend.iter().rposition(|w| *w != 0).map_or(0, |i| i + 1);
    if let [single] = divisor {
        let mut rest = 0u64;
        for i in (0..top).rev() {
            let v = rest * base + u64::from(dividend[i]);
            quotient[i] = (v / u64::from(*single)) as u32;
            rest = v % u64::from(*single);
        }
        let mut remainder = [0u32; WIDE];
        remainder[0] = rest as u32;
        return (quotient, remainder);
    }
    // Knuth's algorithm D: both are scaled so that the divisor's first word is at least half the base.
    let n = divisor.len();
    let factor = base / (u64::from(divisor[n - 1]) + 1);
    let scaled = |words: &[u32]| {
        let (mut out, mut carry) = ([0u32; WIDE + 1], 0u64);
        for (i, word) in words.iter().enumerate() {
            let v = u64::from(*word) * factor + carry;
            out[i] = (v % base) as u32;
            carry = v / base;
        }
        out[words.len()] = carry as u32;
        out
    };
    let mut rest = scaled(&dividend[..top.max(n)]);
    let by = scaled(divisor);
    let high = u64::from(by[n - 1]);
    for j in (0..=top.max(n) - n).rev() {
        let head = u64::from(rest[j + n]) * base + u64::from(rest[j + n - 1]);
        let (mut digit, mut left) = (head / high, head % high);
        while digit >= base
            || (left < base && digit * u64::from(by[n - 2]) > left * base + u64::from(rest[j + n - 2]))
        {
            digit -= 1;
            left += high;
            if left >= base {
                break;
            }
        }
        if subtract_multiple(&mut rest[j..=j + n], &by[..n], digit) {
            digit -= 1;
            add_back(&mut rest[j..=j + n], &by[..n]);
        }
        quotient[j] = digit as u32;
    }
    let mut remainder = [0u32; WIDE];
    let mut left = 0u64;
    for i in (0..n).rev() {
        let v = left * base + u64::from(rest[i]);
        remainder[i] = (v / factor) as u32;
        left = v % factor;
    }
    (quotient, remainder)
}

/// `rest -= by * digit`; true when the result is negative (kept modulo the base's power).
fn subtract_multiple(rest: &mut [u32], by: &[u32], digit: u64) -> bool {
    let base = i64::from(BASE);
    let (mut carry, mut borrow) = (0u64, 0i64);
    for (i, word) in rest.iter_mut().enumerate() {
        let product = by.get(i).map_or(0, |b| u64::from(*b)) * digit + carry;
        carry = product / u64::from(BASE);
        let v = i64::from(*word) - (product % u64::from(BASE)) as i64 - borrow;
        borrow = i64::from(v < 0);
        *word = (v + borrow * base) as u32;
    }
    borrow != 0
}

fn add_back(rest: &mut [u32], by: &[u32]) {
    let mut carry = 0;
    for (i, word) in rest.iter_mut().enumerate() {
        let v = *word + by.get(i).copied().unwrap_or(0) + carry;
        (*word, carry) = if v >= BASE { (v - BASE, 1) } else { (v, 0) };
    }
}
