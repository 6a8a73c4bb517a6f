//! The JSON of `mysql.global_priv`: objects with texts, numbers, truth values and lists of objects. Order of keys is kept.

use std::fmt;

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// As written: privileges need 64 bits, max_statement_time a fraction.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Objects and lists inside one another.
const DEPTH_MAX: usize = 16;

impl Json {
    /// `None`: not JSON.
    pub fn parse(text: &str) -> Option<Self> {
        let mut p = Parser { text: text.as_bytes(), at: 0 };
        let value = p.value(0)?;
        p.space();
        (p.at == p.text.len()).then_some(value)
    }
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(t) | Self::Number(t) => Some(t),
            _ => None,
        }
    }
    pub fn number<T: std::str::FromStr>(&self) -> Option<T> {
        self.text().and_then(|t| t.parse().ok())
    }
    pub fn is_true(&self) -> bool {
        match self {
            Self::Bool(on) => *on,
            Self::Number(n) => n != "0",
            _ => false,
        }
    }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }
    fn eat(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }
    fn word(&mut self, word: &str, value: Json) -> Option<Json> {
        let found = self.text[self.at..].starts_with(word.as_bytes());
        self.at += word.len();
        found.then_some(value)
    }
    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > DEPTH_MAX {
            return None;
        }
        self.space();
        match self.text.get(self.at)? {
            b'{' => self.object(depth),
            b'[' => {
                self.at += 1;
                let mut list = Vec::new();
                if self.eat(b']') {
                    return Some(Json::List(list));
                }
                loop {
                    list.push(self.value(depth + 1)?);
                    if self.eat(b']') {
                        return Some(Json::List(list));
                    }
                    if !self.eat(b',') {
                        return None;
                    }
                }
            }
            b'"' => self.string().map(Json::Text),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            _ => {
                let start = self.at;
                let part = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E');
                while self.text.get(self.at).is_some_and(part) {
                    self.at += 1;
                }
                let number = std::str::from_utf8(&self.text[start..self.at]).ok()?;
                number.parse::<f64>().ok()?;
                Some(Json::Number(number.to_owned()))
            }
        }
    }
    fn object(&mut self, depth: usize) -> Option<Json> {
        self.at += 1;
        let mut members = Vec::new();
        if self.eat(b'}') {
            return Some(Json::Object(members));
        }
        loop {
            self.space();
            let key = self.string()?;
            if !self.eat(b':') {
                return None;
            }
            members.push((key, self.value(depth + 1)?));
            if self.eat(b'}') {
                return Some(Json::Object(members));
            }
            if !self.eat(b',') {
                return None;
            }
        }
    }
    fn string(&mut self) -> Option<String> {
        if self.text.get(self.at) != Some(&b'"') {
            return None;
        }
        self.at += 1;
        let mut out = Vec::new();
        loop {
            match self.text.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return String::from_utf8(out).ok();
                }
                b'\\' => {
                    self.at += 1;
                    let c = self.escape()?;
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                b => {
                    out.push(*b);
                    self.at += 1;
                }
            }
        }
    }
    fn escape(&mut self) -> Option<char> {
        let c = match self.text.get(self.at)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => {
                let mut code = self.hex4()?;
                if (0xd800..0xdc00).contains(&code) && self.text[self.at + 1..].starts_with(b"\\u") {
                    self.at += 2;
                    let low = self.hex4()?;
                    code = 0x10000 + ((code - 0xd800) << 10) + low.checked_sub(0xdc00)?;
                }
                char::from_u32(code)?
            }
            b => char::from(*b),
        };
        self.at += 1;
        Some(c)
    }
    /// Four digits after the byte at `at`; leaves `at` on the last.
    fn hex4(&mut self) -> Option<u32> {
        let digits = std::str::from_utf8(self.text.get(self.at + 1..self.at + 5)?).ok()?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(on) => write!(f, "{on}"),
            Self::Number(n) => f.write_str(n),
            Self::Text(t) => quote(f, t),
            Self::List(list) => {
                f.write_str("[")?;
                for (i, item) in list.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { "," })?;
                    item.fmt(f)?;
                }
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (i, (key, value)) in members.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { "," })?;
                    quote(f, key)?;
                    f.write_str(":")?;
                    value.fmt(f)?;
                }
                f.write_str("}")
            }
        }
    }
}

fn quote(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let text = r#"{"access":18446744073709551615,"plugin":"","auth_or":[{"a":"x\"y\\"},{}],"b":true,"c":1.5,"d":null}"#;
        let json = Json::parse(text).unwrap();
        assert_eq!(json.to_string(), text);
        assert_eq!(json.get("access").and_then(Json::number::<u64>), Some(u64::MAX));
        assert_eq!(Json::parse(r#"{"a": "A😀"} "#).unwrap().to_string(), r#"{"a":"A😀"}"#);
    }

    #[test]
    fn bad_text_is_refused() {
        for bad in ["", "{", "{\"a\"}", "[1,]", "{\"a\":1,}", "tru", "\"", "\"\\u12\"", "1 2", "--"] {
            assert_eq!(Json::parse(bad), None, "{bad}");
        }
        assert_eq!(Json::parse(&"[".repeat(100_000)), None);
    }
}
