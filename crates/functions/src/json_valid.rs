//! JSON_VALID: whether a text is JSON. The check of every JSON column.
//!
//! The grammar is RFC 8259's over bytes; nesting ends at 32 levels, as MariaDB's scanner does.

use types::{Context, Value};

use crate::arguments::{Answer, Args, some};

/// Deepest nesting of arrays and objects.
const DEPTH_MAX: usize = 32;

pub(crate) fn json_valid(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    Ok(Value::bool(is_valid(s.bytes())))
}

fn is_valid(text: &[u8]) -> bool {
    let mut scan = Scan { text, at: 0 };
    scan.space();
    let valid = scan.value(0).is_some();
    scan.space();
    valid && scan.at == text.len()
}

struct Scan<'t> {
    text: &'t [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn byte(&mut self, wanted: u8) -> Option<()> {
        (self.peek() == Some(wanted)).then(|| self.at += 1)
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'{' => self.members(depth, b'}'),
            b'[' => self.members(depth, b']'),
            b'"' => self.string(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    /// An object or an array.
    fn members(&mut self, depth: usize, close: u8) -> Option<()> {
        if depth >= DEPTH_MAX {
            return None;
        }
        self.at += 1;
        self.space();
        if self.byte(close).is_some() {
            return Some(());
        }
        loop {
            self.space();
            if close == b'}' {
                self.string()?;
                self.space();
                self.byte(b':')?;
                self.space();
            }
            self.value(depth + 1)?;
            self.space();
            if self.byte(b',').is_none() {
                return self.byte(close);
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        self.byte(b'"')?;
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                0..=0x1f => return None,
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let digits = self.text.get(self.at..self.at + 4)?;
                self.at += 4;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(())
            }
            _ => None,
        }
    }

    fn digits(&mut self) -> Option<()> {
        let from = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > from).then_some(())
    }

    fn number(&mut self) -> Option<()> {
        let _sign = self.byte(b'-');
        if self.byte(b'0').is_none() {
            self.digits()?;
        }
        if self.byte(b'.').is_some() {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::is_valid;

    #[test]
    fn json_is_told_from_what_is_not() {
        for text in ["{}", "[]", " [1, -2.5e+3, \"a\\u00e9\", null, true, {\"a\" : [ ]}] ", "0", "\"\""] {
            assert!(is_valid(text.as_bytes()), "{text}");
        }
        for text in
            ["", " ", "{", "[1,]", "{\"a\"}", "{a:1}", "01", "1.", "\"a", "\"\\x\"", "[1] 2", "nul", "'a'"]
        {
            assert!(!is_valid(text.as_bytes()), "{text}");
        }
        let nest = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(is_valid(nest(32).as_bytes()) && !is_valid(nest(33).as_bytes()));
    }
}
