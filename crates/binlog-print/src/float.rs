//! Numbers as C's `%g` prints them: row values of FLOAT and DOUBLE are shown so.

/// `%.{precision}g`.
pub(crate) fn general(v: f64, precision: usize) -> String {
    if !v.is_finite() {
        return if v.is_nan() {
            "nan".into()
        } else if v > 0.0 {
            "inf".into()
        } else {
            "-inf".into()
        };
    }
    let precision = precision.max(1);
    let scientific = format!("{v:.*e}", precision - 1);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= precision as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", without_zeros(digits), exponent.abs());
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    without_zeros(&format!("{v:.decimals$}")).to_owned()
}

/// The number without zeros at the end of its fraction.
fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use super::general;

    #[test]
    fn as_c_prints_them() {
        let cases: [(f64, usize, &str); 12] = [
            (0.0, 20, "0"),
            (-2.25, 20, "-2.25"),
            (0.1, 20, "0.10000000000000000555"),
            (1e300, 20, "1.0000000000000000525e+300"),
            (1e20, 20, "1e+20"),
            (123456789012345680.0, 20, "123456789012345680"),
            (0.00001, 20, "1.0000000000000000818e-05"),
            (16777216.0, 6, "1.67772e+07"),
            (1e6, 6, "1e+06"),
            (100000.0, 6, "100000"),
            (0.0001, 6, "0.0001"),
            (f64::from_bits(1), 20, "4.9406564584124654418e-324"),
        ];
        for (v, precision, expected) in cases {
            assert_eq!(general(v, precision), expected);
        }
    }
}
