//! Host patterns of accounts and name patterns of databases.
//!
//! `%` is any text, `_` any character, `\` takes the next character as it is; `address/mask` is a network. Of several patterns that
//! match, the one whose first wildcard stands later counts; one without wildcards before all.

use std::net::Ipv4Addr;

/// Whether `text` matches `pattern`; ASCII letters compare without case when `fold`.
pub fn like(pattern: &[u8], text: &[u8], fold: bool) -> bool {
    let same = |a: u8, b: u8| if fold { a.eq_ignore_ascii_case(&b) } else { a == b };
    let (mut p, mut t) = (0, 0);
    // Where to go on when the text after the last `%` does not fit.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match pattern.get(p) {
            Some(b'%') => {
                p += 1;
                retry = Some((p, t));
                continue;
            }
            Some(b'_') if t < text.len() => {
                p += 1;
                t += char_len(&text[t..]);
                continue;
            }
            Some(&c) => {
                let escaped = c == b'\\' && p + 1 < pattern.len();
                let wanted = if escaped { pattern[p + 1] } else { c };
                if t < text.len() && same(wanted, text[t]) {
                    p += 1 + usize::from(escaped);
                    t += 1;
                    continue;
                }
            }
            None if t == text.len() => return true,
            None => {}
        }
        match retry {
            Some((after, from)) if from < text.len() => {
                retry = Some((after, from + 1));
                p = after;
                t = from + 1;
            }
            _ => return false,
        }
    }
}

fn char_len(text: &[u8]) -> usize {
    let continuing = text.iter().skip(1).take_while(|b| **b & 0xc0 == 0x80).count();
    1 + if text[0] >= 0xc0 { continuing } else { 0 }
}

/// How specific a pattern is: greater is tried first.
pub fn rank(pattern: &str) -> u8 {
    let bytes = pattern.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' if i + 1 < bytes.len() => i += 1,
            b'%' | b'_' => return (i + 1).min(127) as u8,
            _ => {}
        }
        i += 1;
    }
    if bytes.is_empty() { 0 } else { 128 }
}

/// Whether a client from `host` (its name, or `localhost`) and `address` matches an account's host.
pub fn matches(pattern: &str, host: &str, address: &str) -> bool {
    if pattern == "%" {
        return true;
    }
    if let Some((network, mask)) = pattern.split_once('/') {
        let parse = |s: &str| s.parse::<Ipv4Addr>().ok().map(u32::from);
        return match (parse(network), parse(mask), parse(address)) {
            (Some(network), Some(mask), Some(address)) => address & mask == network,
            _ => false,
        };
    }
    like(pattern.as_bytes(), host.as_bytes(), true)
        || (!address.is_empty() && like(pattern.as_bytes(), address.as_bytes(), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("%", "", true),
            ("a%c", "abbc", true),
            ("a%c", "abbcd", false),
            ("te\\_%", "te_x", true),
            ("te\\_%", "texx", false),
            ("_b", "éb", true),
            ("a%b%c", "aXbYbc", true),
            ("", "x", false),
            ("abc\\", "abc\\", true),
        ] {
            assert_eq!(like(pattern.as_bytes(), text.as_bytes(), false), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn hosts() {
        assert!(matches("192.168.%", "db1", "192.168.0.7"));
        assert!(matches("192.168.1.0/255.255.255.0", "db1", "192.168.1.9"));
        assert!(!matches("192.168.1.0/255.255.255.0", "db1", "192.168.2.9"));
        assert!(matches("%.Example.com", "a.example.COM", "10.0.0.1"));
        assert!(matches("localhost", "localhost", ""));
        assert!(!matches("", "localhost", ""));
    }

    #[test]
    fn the_later_the_wildcard_the_sooner_it_is_tried() {
        let mut hosts = ["%", "", "192.%", "192.168.%", "localhost", "a_"];
        hosts.sort_by_key(|h| std::cmp::Reverse(rank(h)));
        assert_eq!(hosts, ["localhost", "192.168.%", "192.%", "a_", "%", ""]);
    }
}
