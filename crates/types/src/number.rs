//! Integers and doubles from and to text, with MariaDB's spelling.
//!
//! A double shows its shortest digits that read back the same; in plain form from 1e-15 to below 1e15, with an exponent
//! (`1e15`, `1.5e-16`) outside. A FLOAT shows six digits.

use std::io::Write as _;

/// Digits beyond which a number takes an exponent.
const PLAIN_LIMIT: i32 = 15;

/// Appends a double as SQL shows it.
pub fn write_f64(v: f64, out: &mut Vec<u8>) {
    let text = format!("{v:e}");
    write_scientific(v == 0.0, &text, out);
}

/// Appends a FLOAT as SQL shows it.
pub fn write_f32(v: f32, out: &mut Vec<u8>) {
    let text = format!("{v:.5e}");
    write_scientific(v == 0.0, &text, out);
}

/// Appends a double in at most `width` characters, with as many digits as fit; false when there is no room for its exponent and
/// a point, which MariaDB holds to be lost.
pub fn write_f64_within(v: f64, width: usize, out: &mut Vec<u8>) -> bool {
    let start = out.len();
    write_f64(v, out);
    if out.len() - start <= width || !v.is_finite() {
        return true;
    }
    out.truncate(start);
    let scientific = format!("{v:e}");
    let exponent: i32 = scientific.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let room = width.saturating_sub(usize::from(v < 0.0));
    let whole = exponent.max(0) as usize + 1;
    // Beside a plain form that must drop digits, the exponent tells more of what is small.
    if whole <= room && (-3..PLAIN_LIMIT).contains(&exponent) {
        let mut text = format!("{v:.*}", room.saturating_sub(whole + 1));
        drop_zeros(&mut text);
        if text.len() <= width {
            out.extend_from_slice(text.as_bytes());
            return true;
        }
    }
    let told = 1 + exponent.to_string().len();
    let digits = room.saturating_sub(told);
    let text = format!("{v:.*e}", digits.saturating_sub(2));
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut mantissa = mantissa.to_owned();
    drop_zeros(&mut mantissa);
    let _infallible = write!(out, "{mantissa}e{exponent}");
    let rounded = format!("{v:.*e}", width.saturating_sub(1));
    let several =
        rounded.split('e').next().is_some_and(|m| m.bytes().skip(2).any(|b| (b'1'..=b'9').contains(&b)));
    digits > usize::from(several)
}

/// Without the zeros that end a fraction.
fn drop_zeros(text: &mut String) {
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
}

/// Appends a double with a fixed number of digits after the point.
pub fn write_f64_fixed(v: f64, decimals: u8, out: &mut Vec<u8>) {
    let start = out.len();
    let decimals = usize::from(decimals);
    // No more digits are told than tell the number; writing to a Vec cannot fail.
    let short = v.to_string();
    let fraction = short.split_once('.').map_or(0, |(_, f)| f.len());
    if v.is_finite() && fraction <= decimals {
        let point = if fraction == 0 && decimals > 0 { "." } else { "" };
        let _infallible = write!(out, "{short}{point}{:0<1$}", "", decimals - fraction);
    } else {
        let _infallible = write!(out, "{v:.decimals$}");
    }
    if out[start..].iter().all(|b| matches!(b, b'-' | b'0' | b'.')) && out[start] == b'-' {
        out.remove(start);
    }
}

/// `text` is `[-]d[.ddd]e[-]x`.
fn write_scientific(zero: bool, text: &str, out: &mut Vec<u8>) {
    let (text, negative) = text.strip_prefix('-').map_or((text, false), |t| (t, true));
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return out.extend_from_slice(text.as_bytes());
    };
    if zero {
        return out.push(b'0');
    }
    let (int, frac) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let frac = frac.trim_end_matches('0');
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if negative {
        out.push(b'-');
    }
    let digits = [int.as_bytes(), frac.as_bytes()].concat();
    if !(-PLAIN_LIMIT..PLAIN_LIMIT).contains(&exponent) {
        out.extend_from_slice(int.as_bytes());
        if !frac.is_empty() {
            out.push(b'.');
            out.extend_from_slice(frac.as_bytes());
        }
        let _infallible = write!(out, "e{exponent}");
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-exponent - 1) as usize, b'0');
        out.extend_from_slice(&digits);
    } else {
        let point = exponent as usize + 1;
        out.extend_from_slice(&digits[..point.min(digits.len())]);
        out.resize(out.len() + point.saturating_sub(digits.len()), b'0');
        if digits.len() > point {
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        }
    }
}

/// Appends an integer.
pub fn write_i64(v: i64, out: &mut Vec<u8>) {
    if v < 0 {
        out.push(b'-');
    }
    write_u64(v.unsigned_abs(), out);
}

/// Appends an integer.
pub fn write_u64(mut v: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (v % 10) as u8;
        v /= 10;
        if v == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// A number at the start of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prefix<T> {
    pub value: T,
    /// Bytes read, leading spaces included; 0 when there is no number.
    pub len: usize,
    /// The number did not fit; `value` is the limit.
    pub overflow: bool,
}

impl<T> Prefix<T> {
    /// Nothing but spaces follows, and there was a number.
    pub fn is_whole(&self, text: &[u8]) -> bool {
        self.len > 0 && !self.overflow && text[self.len..].iter().all(u8::is_ascii_whitespace)
    }
}

fn spaces(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_whitespace()).count()
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

/// Reads the longest double at the start of `text`.
pub fn parse_f64(text: &[u8]) -> Prefix<f64> {
    let start = spaces(text);
    let mut at = start + usize::from(matches!(text.get(start), Some(b'-' | b'+')));
    let int = digits(&text[at..]);
    at += int;
    let mut frac = 0;
    if text.get(at) == Some(&b'.') {
        frac = digits(&text[at + 1..]);
        at += if int + frac > 0 { 1 + frac } else { 0 };
    }
    if int + frac == 0 {
        return Prefix { value: 0.0, len: 0, overflow: false };
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'-' | b'+')));
        let exponent = text.get(at + 1 + sign..).map_or(0, digits);
        at += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    let parsed: f64 = std::str::from_utf8(&text[start..at]).ok().and_then(|t| t.parse().ok()).unwrap_or(0.0);
    let overflow = parsed.is_infinite();
    let value = if overflow { f64::MAX.copysign(parsed) } else { parsed };
    Prefix { value, len: at, overflow }
}

/// An integer of either sign that fits 64 bits in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integer {
    Signed(i64),
    /// Above `i64::MAX`.
    Unsigned(u64),
}

impl Integer {
    pub const fn from_u64(v: u64) -> Self {
        if v > i64::MAX as u64 { Self::Unsigned(v) } else { Self::Signed(v as i64) }
    }
    /// The 64 bits, whatever their sign.
    pub const fn bits(self) -> u64 {
        match self {
            Self::Signed(v) => v as u64,
            Self::Unsigned(v) => v,
        }
    }
}

/// Reads the longest run of digits at the start of `text` (no point, no exponent).
pub fn parse_integer(text: &[u8]) -> Prefix<Integer> {
    let start = spaces(text);
    let negative = text.get(start) == Some(&b'-');
    let from = start + usize::from(matches!(text.get(start), Some(b'-' | b'+')));
    let count = digits(&text[from..]);
    if count == 0 {
        return Prefix { value: Integer::Signed(0), len: 0, overflow: false };
    }
    let end = from + count;
    let magnitude = text[from..end]
        .iter()
        .try_fold(0u64, |n, b| n.checked_mul(10).and_then(|n| n.checked_add(u64::from(b - b'0'))));
    let (value, overflow) = match (negative, magnitude) {
        (false, Some(m)) => (Integer::from_u64(m), false),
        (false, None) => (Integer::Unsigned(u64::MAX), true),
        (true, m) => match m.and_then(|m| 0i64.checked_sub_unsigned(m)) {
            Some(v) => (Integer::Signed(v), false),
            None => (Integer::Signed(i64::MIN), true),
        },
    };
    Prefix { value, len: end, overflow }
}

/// Rounds half away from zero, as MariaDB rounds exact numbers; doubles of conversions round to even like the processor.
pub fn f64_to_i64(v: f64) -> Result<i64, i64> {
    let rounded = v.round_ties_even();
    if rounded >= 9_223_372_036_854_775_808.0 {
        Err(i64::MAX)
    } else if rounded < -9_223_372_036_854_775_808.0 {
        Err(i64::MIN)
    } else {
        Ok(rounded as i64)
    }
}

/// The nearest unsigned integer; negative numbers and too large ones give the closest limit as the error.
pub fn f64_to_u64(v: f64) -> Result<u64, u64> {
    let rounded = v.round_ties_even();
    if rounded < 0.0 || rounded.is_nan() {
        Err(0)
    } else if rounded >= 18_446_744_073_709_551_616.0 {
        Err(u64::MAX)
    } else {
        Ok(rounded as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(v: f64) -> String {
        let mut out = Vec::new();
        write_f64(v, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn doubles_are_spelled_as_the_server_spells_them() {
        for (v, text) in [
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (1.5e15, "1.5e15"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (1.25e-15, "0.00000000000000125"),
            (123456789012345.0, "123456789012345"),
            (1.2345678901234567e-5, "0.000012345678901234568"),
            (-1e-300, "-1e-300"),
            (12345.6789, "12345.6789"),
            (-0.0, "0"),
            (1.7976931348623157e308, "1.7976931348623157e308"),
        ] {
            assert_eq!(shown(v), text);
        }
        let float = |v: f32| {
            let mut out = Vec::new();
            write_f32(v, &mut out);
            String::from_utf8(out).unwrap()
        };
        for (v, text) in [
            (1.1, "1.1"),
            (123456.79, "123457"),
            (16777216.0, "16777200"),
            (3.4028234e38, "3.40282e38"),
            (1e15, "1e15"),
            (999999.9, "1000000"),
            (1.23456e-15, "0.00000000000000123456"),
        ] {
            assert_eq!(float(v), text);
        }
    }

    #[test]
    fn prefixes_stop_where_the_number_stops() {
        assert_eq!(parse_f64(b" -1.5e3xyz"), Prefix { value: -1500.0, len: 7, overflow: false });
        assert_eq!(parse_f64(b"1e"), Prefix { value: 1.0, len: 1, overflow: false });
        assert_eq!(parse_f64(b".").len, 0);
        assert_eq!(parse_f64(b"1e400").value, f64::MAX);
        assert_eq!(parse_integer(b"12abc").value, Integer::Signed(12));
        assert_eq!(parse_integer(b"18446744073709551615").value, Integer::Unsigned(u64::MAX));
        assert!(parse_integer(b"-9223372036854775809").overflow);
    }
}
