//! Decimals from and to text and doubles.

use super::{Decimal, MAX_SCALE, POWERS, Rounding, WORDS};

/// A number read from the start of a text.
#[derive(Debug, Clone, Copy)]
pub struct Parsed {
    pub value: Decimal,
    /// Bytes of the number, leading spaces included; 0 when there is none.
    pub len: usize,
    /// The number was too large and became the largest.
    pub overflow: bool,
    /// Digits after the last one that fits were dropped.
    pub cut: bool,
}

impl Decimal {
    /// Reads the longest number at the start of `text`: spaces, sign, digits, point, exponent.
    pub fn parse(text: &[u8]) -> Parsed {
        let mut at = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let negative = text.get(at) == Some(&b'-');
        at += usize::from(matches!(text.get(at), Some(b'-' | b'+')));
        let digits = |from: usize| text[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let int = at..at + digits(at);
        at = int.end;
        let mut frac = at..at;
        if text.get(at) == Some(&b'.') {
            frac = at + 1..at + 1 + digits(at + 1);
            at = frac.end;
        }
        if int.is_empty() && frac.is_empty() {
            return Parsed { value: Self::ZERO, len: 0, overflow: false, cut: false };
        }
        let (exponent, exponent_len) = parse_exponent(&text[at..]);
        at += exponent_len;
        let (value, overflow, cut) = Self::from_digits(&text[int], &text[frac], exponent, negative);
        Parsed { value, len: at, overflow, cut }
    }

    /// The number `int . frac * 10^exponent`.
    fn from_digits(int: &[u8], frac: &[u8], exponent: i32, negative: bool) -> (Self, bool, bool) {
        let int = &int[int.iter().take_while(|b| **b == b'0').count()..];
        let all = || int.iter().chain(frac).map(|b| u32::from(b - b'0'));
        let point = int.len() as i64 + i64::from(exponent);
        let zeros = all().take_while(|d| *d == 0).count() as i64;
        let all_zero = zeros == (int.len() + frac.len()) as i64;
        // Digits after the point of the written number.
        let wanted = (frac.len() as i64 - i64::from(exponent)).max(0);
        if !all_zero && point - zeros > WORDS as i64 * 9 {
            return (Self::largest(MAX_PRECISION_WORDS, 0, negative), true, false);
        }
        let int_words = (point.max(0) as usize).div_ceil(9).min(WORDS);
        let scale = wanted.min(((WORDS - int_words) * 9) as i64).min(i64::from(WORDS as u8 * 9));
        let mut d = Self { frac: scale as u8, scale: scale.min(i64::from(MAX_SCALE)) as u8, ..Self::ZERO };
        let low = d.frac_words() as i64;
        let mut cut = false;
        for (i, digit) in all().enumerate() {
            if digit == 0 {
                continue;
            }
            // Place of the digit: 0 = units, -1 = tenths.
            let place = point - 1 - i as i64;
            if place < -scale {
                cut = true;
                continue;
            }
            let word = place.div_euclid(9) + low;
            match usize::try_from(word).ok().and_then(|w| d.words.get_mut(w)) {
                Some(w) => *w += digit * POWERS[place.rem_euclid(9) as usize],
                None => cut = true,
            }
        }
        d.len = WORDS as u8;
        d.negative = negative;
        d.trim();
        (d, false, cut)
    }

    /// A double's shortest spelling as a decimal; `None` for infinities.
    pub fn from_f64(v: f64) -> Option<Parsed> {
        v.is_finite().then(|| Self::parse(format!("{v:e}").as_bytes()))
    }

    pub fn to_f64(&self) -> f64 {
        let words = &self.words[..self.len()];
        if words.len() <= 2 && self.frac_words() <= 2 {
            let n = words.iter().rev().fold(0u64, |n, w| n * 1_000_000_000 + u64::from(*w));
            if n < 1 << 53 {
                let v = n as f64 / [1e0, 1e9, 1e18][self.frac_words()];
                return if self.negative { -v } else { v };
            }
        }
        let mut text = Vec::new();
        self.with_all_digits().write(&mut text);
        std::str::from_utf8(&text).ok().and_then(|t| t.parse().ok()).unwrap_or(0.0)
    }

    /// Shows every digit that is kept.
    fn with_all_digits(mut self) -> Self {
        self.scale = self.frac;
        self
    }

    /// Appends the number as SQL shows it, rounded to its scale.
    pub fn write(&self, out: &mut Vec<u8>) {
        let d =
            if self.frac > self.scale { self.round(i32::from(self.scale), Rounding::HalfUp) } else { *self };
        if d.negative {
            out.push(b'-');
        }
        let frac_words = d.frac_words();
        let mut any = false;
        for word in d.words[frac_words.min(d.len())..d.len()].iter().rev() {
            any = put_word(*word, any, out) || any;
        }
        if !any {
            out.push(b'0');
        }
        if self.scale == 0 {
            return;
        }
        out.push(b'.');
        let end = out.len() + usize::from(self.scale);
        for word in d.words[..frac_words].iter().rev() {
            put_word(*word, true, out);
        }
        out.resize(end, b'0');
    }
}

/// Digits of the widest number nine words hold, as a type's precision.
const MAX_PRECISION_WORDS: u8 = WORDS as u8 * 9;

/// Appends nine digits, or without `full` those from the first that is not 0; false when there was none.
fn put_word(mut word: u32, full: bool, out: &mut Vec<u8>) -> bool {
    let mut digits = [b'0'; 9];
    for digit in digits.iter_mut().rev() {
        *digit += (word % 10) as u8;
        word /= 10;
    }
    let skip = if full { 0 } else { digits.iter().take_while(|d| **d == b'0').count() };
    out.extend_from_slice(&digits[skip..]);
    skip < 9
}

/// `e`, sign, digits: the exponent (saturated) and its length; 0 and 0 when there is none.
fn parse_exponent(text: &[u8]) -> (i32, usize) {
    if !matches!(text.first(), Some(b'e' | b'E')) {
        return (0, 0);
    }
    let sign = usize::from(matches!(text.get(1), Some(b'-' | b'+')));
    let digits = text[1 + sign..].iter().take_while(|b| b.is_ascii_digit());
    let (value, len) = digits.fold((0i32, 0), |(n, len), b| {
        (n.saturating_mul(10).saturating_add(i32::from(b - b'0')).min(100_000), len + 1)
    });
    if len == 0 {
        return (0, 0);
    }
    (if text.get(1) == Some(&b'-') { -value } else { value }, 1 + sign + len)
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::new();
        self.write(&mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}
