//! LIKE: `%` and `_` under a collation.
//!
//! Characters compare one by one by their weight; `%` is tried greedily from the shortest match with one backtrack point, so
//! the time is bounded by the product of both lengths.

use charset::{Charset, Collation};

/// Whether `text` matches `pattern`.
pub fn matches(collation: Collation, text: &[u8], pattern: &[u8], escape: Option<char>) -> bool {
    let charset = collation.charset();
    let escape = escape.map(u32::from);
    let tokens = parse(charset, pattern, escape);
    let exact = collation.is_bin() || collation.is_binary();
    let (mut t, mut p) = (0, 0);
    // Where to go on after a mismatch: the token after the last `%`, and the text position it was tried at.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match tokens.get(p) {
            Some(Token::Any) => {
                p += 1;
                retry = Some((p, t));
                continue;
            }
            None if t == text.len() => return true,
            Some(token) if t < text.len() => {
                let len = char_len(charset, &text[t..]);
                let fits = match token {
                    Token::One => true,
                    Token::Char(bytes) => {
                        let c = &text[t..t + len];
                        c == *bytes || (!exact && collation.equal(c, bytes))
                    }
                    Token::Any => false,
                };
                if fits {
                    t += len;
                    p += 1;
                    continue;
                }
            }
            _ => {}
        }
        match &mut retry {
            Some((token, from)) if *from < text.len() => {
                *from += char_len(charset, &text[*from..]);
                (p, t) = (*token, *from);
            }
            _ => return false,
        }
    }
}

enum Token<'a> {
    Any,
    One,
    Char(&'a [u8]),
}

fn char_len(charset: Charset, bytes: &[u8]) -> usize {
    charset.decode(bytes).map_or(1, |(_, len)| len.max(1))
}

fn parse(charset: Charset, pattern: &[u8], escape: Option<u32>) -> Vec<Token<'_>> {
    let mut out = Vec::with_capacity(pattern.len());
    let mut at = 0;
    while at < pattern.len() {
        let (code, len) = charset.decode(&pattern[at..]).unwrap_or((u32::MAX, 1));
        if Some(code) == escape && at + len < pattern.len() {
            at += len;
            let len = char_len(charset, &pattern[at..]);
            out.push(Token::Char(&pattern[at..at + len]));
            at += len;
            continue;
        }
        out.push(match code {
            0x25 => Token::Any,
            0x5f => Token::One,
            _ => Token::Char(&pattern[at..at + len]),
        });
        at += len;
    }
    out
}

/// The literal text before the first wildcard, for an index range; `None` when the pattern starts with one.
pub fn literal_prefix(collation: Collation, pattern: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for token in parse(collation.charset(), pattern, Some(u32::from('\\'))) {
        match token {
            Token::Char(bytes) => out.extend_from_slice(bytes),
            Token::Any | Token::One => break,
        }
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        matches(Collation::UTF8MB4_GENERAL_CI, text.as_bytes(), pattern.as_bytes(), Some('\\'))
    }

    #[test]
    fn wildcards() {
        assert!(like("abc", "a%"));
        assert!(like("abc", "%C"));
        assert!(like("abc", "a_c"));
        assert!(like("", "%"));
        assert!(like("aXbXc", "a%b%c"));
        assert!(!like("abc", "a_"));
        assert!(!like("abc", "b%"));
        assert!(like("mississippi", "%iss%ip%"));
    }

    #[test]
    fn escapes_and_trailing_spaces() {
        assert!(like("10%", "10\\%"));
        assert!(!like("100", "10\\%"));
        assert!(!like("a ", "a"));
        assert!(matches(Collation::UTF8MB4_BIN, b"a_b", b"a|_b", Some('|')));
    }

    #[test]
    fn prefixes_end_at_the_first_wildcard() {
        let c = Collation::UTF8MB4_GENERAL_CI;
        assert_eq!(literal_prefix(c, b"ab%c").as_deref(), Some(&b"ab"[..]));
        assert_eq!(literal_prefix(c, b"a\\%b_").as_deref(), Some(&b"a%b"[..]));
        assert_eq!(literal_prefix(c, b"%a"), None);
    }
}
