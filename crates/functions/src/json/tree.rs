//! A JSON text as a tree whose leaves are slices of the text: what is not changed is written as it was read.

use types::Context;

use super::{Fault, warn};

/// Arrays and objects inside one another, the outermost included.
const DEPTH_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json<'a> {
    /// A number, `true`, `false` or `null`, as written.
    Literal(&'a [u8]),
    /// What stands between the quotes, escapes untouched.
    String(&'a [u8]),
    Array(Vec<Json<'a>>),
    /// Keys as between their quotes, in the order of the text; a key may come twice.
    Object(Vec<(&'a [u8], Json<'a>)>),
}

/// How a tree is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// `{"a": 1, "b": [2]}`
    Loose,
    /// `{"a":1,"b":[2]}`
    Compact,
    /// Over several lines, with so many spaces a level.
    Detailed(usize),
}

/// Reads a text; what is wrong with it is warned of as argument `argument` of `function`.
pub(crate) fn parse<'a>(
    text: &'a [u8],
    argument: usize,
    function: &'static str,
    ctx: &mut Context,
) -> Option<Json<'a>> {
    match read(text) {
        Ok(json) => Some(json),
        Err(fault) => {
            warn(ctx, fault, argument, function);
            None
        }
    }
}

/// Reads a text.
pub(crate) fn read(text: &[u8]) -> Result<Json<'_>, Fault> {
    let mut reader = Reader { text, at: 0 };
    let json = reader.value(0)?;
    reader.spaces();
    if reader.at < text.len() { Err(Fault::Syntax(reader.at)) } else { Ok(json) }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn spaces(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Result<u8, Fault> {
        self.spaces();
        self.text.get(self.at).copied().ok_or(Fault::End)
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, Fault> {
        match self.peek()? {
            b'"' => Ok(Json::String(self.string()?)),
            open @ (b'[' | b'{') => {
                if depth + 1 >= DEPTH_MAX {
                    return Err(Fault::Depth(self.at));
                }
                self.at += 1;
                if open == b'[' { self.array(depth + 1) } else { self.object(depth + 1) }
            }
            b'-' | b'0'..=b'9' => self.number(),
            _ => self.word(),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json<'a>, Fault> {
        let mut out = Vec::new();
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(Json::Array(out));
        }
        loop {
            out.push(self.value(depth)?);
            match self.peek()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(Json::Array(out));
                }
                _ => return Err(Fault::Syntax(self.at)),
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, Fault> {
        let mut out = Vec::new();
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(Json::Object(out));
        }
        loop {
            if self.peek()? != b'"' {
                return Err(Fault::Syntax(self.at));
            }
            let key = self.string()?;
            if self.peek()? != b':' {
                return Err(Fault::Syntax(self.at));
            }
            self.at += 1;
            out.push((key, self.value(depth)?));
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(Json::Object(out));
                }
                _ => return Err(Fault::Syntax(self.at)),
            }
        }
    }

    fn string(&mut self) -> Result<&'a [u8], Fault> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.text.get(self.at) {
                None => return Err(Fault::End),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(&self.text[start..self.at - 1]);
                }
                Some(b'\\') => {
                    let hex = |b: &u8| b.is_ascii_hexdigit();
                    match self.text.get(self.at + 1) {
                        None => return Err(Fault::End),
                        Some(b'u') => {
                            let digits = self.text.get(self.at + 2..self.at + 6).ok_or(Fault::End)?;
                            if !digits.iter().all(hex) {
                                return Err(Fault::Syntax(self.at + 2));
                            }
                            self.at += 6;
                        }
                        Some(_) => self.at += 2,
                    }
                }
                Some(0..32) => return Err(Fault::Character(self.at)),
                Some(_) => self.at += 1,
            }
        }
    }

    fn number(&mut self) -> Result<Json<'a>, Fault> {
        let start = self.at;
        let byte = |this: &Self| this.text.get(this.at).copied();
        if byte(self) == Some(b'-') {
            self.at += 1;
        }
        let digits = |this: &mut Self| {
            let from = this.at;
            while byte(this).is_some_and(|b| b.is_ascii_digit()) {
                this.at += 1;
            }
            this.at - from
        };
        match byte(self) {
            Some(b'0') => {
                self.at += 1;
                if byte(self).is_some_and(|b| b.is_ascii_digit()) {
                    return Err(Fault::Syntax(self.at));
                }
            }
            Some(b'1'..=b'9') => _ = digits(self),
            None => return Err(Fault::End),
            Some(_) => return Err(Fault::Syntax(self.at)),
        }
        if byte(self) == Some(b'.') {
            self.at += 1;
            digits(self);
        }
        if matches!(byte(self), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(byte(self), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if digits(self) == 0 {
                return Err(if self.at < self.text.len() { Fault::Syntax(self.at) } else { Fault::End });
            }
        }
        Ok(Json::Literal(&self.text[start..self.at]))
    }

    fn word(&mut self) -> Result<Json<'a>, Fault> {
        for word in [&b"true"[..], b"false", b"null"] {
            let rest = &self.text[self.at..];
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(Json::Literal(&rest[..word.len()]));
            }
            if word.starts_with(rest) {
                return Err(Fault::End);
            }
            if rest[0] == word[0] {
                let same = rest.iter().zip(word).take_while(|(a, b)| a == b).count();
                return Err(Fault::Syntax(self.at + same));
            }
        }
        Err(Fault::Syntax(self.at))
    }
}

impl<'a> Json<'a> {
    pub(crate) fn is_scalar(&self) -> bool {
        matches!(self, Self::Literal(_) | Self::String(_))
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Literal(b"null"))
    }

    /// A number; `true` and its kin are none.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Literal(text) if matches!(text[0], b'-' | b'0'..=b'9') => {
                std::str::from_utf8(text).ok()?.parse().ok()
            }
            _ => None,
        }
    }

    /// The member of an object with the (unescaped) name.
    pub(crate) fn member(&self, name: &[u8]) -> Option<&Json<'a>> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(key, _)| same_key(key, name)).map(|(_, value)| value)
    }

    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Literal(_) | Self::String(_) => 1,
            Self::Array(items) => 1 + items.iter().map(Json::depth).max().unwrap_or(0),
            Self::Object(members) => 1 + members.iter().map(|(_, v)| v.depth()).max().unwrap_or(0),
        }
    }

    pub(crate) fn length(&self) -> usize {
        match self {
            Self::Literal(_) | Self::String(_) => 1,
            Self::Array(items) => items.len(),
            Self::Object(members) => members.len(),
        }
    }

    pub(crate) fn write(&self, style: Style, out: &mut Vec<u8>) {
        match style {
            Style::Detailed(indent) => self.detailed(indent, 0, out),
            Style::Loose => self.flat(b", ", b": ", out),
            Style::Compact => self.flat(b",", b":", out),
        }
    }

    pub(crate) fn text(&self, style: Style) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(style, &mut out);
        out
    }

    fn flat(&self, comma: &[u8], colon: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Literal(text) => out.extend_from_slice(text),
            Self::String(text) => quoted(text, out),
            Self::Array(items) => {
                out.push(b'[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.extend_from_slice(comma);
                    }
                    item.flat(comma, colon, out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (i, (key, value)) in members.iter().enumerate() {
                    if i > 0 {
                        out.extend_from_slice(comma);
                    }
                    quoted(key, out);
                    out.extend_from_slice(colon);
                    value.flat(comma, colon, out);
                }
                out.push(b'}');
            }
        }
    }

    fn detailed(&self, indent: usize, level: usize, out: &mut Vec<u8>) {
        let line = |out: &mut Vec<u8>, level: usize| {
            out.push(b'\n');
            out.resize(out.len() + level * indent, b' ');
        };
        match self {
            Self::Array(items) if items.len() > 1 || items.first().is_some_and(|i| !i.is_scalar()) => {
                out.push(b'[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    line(out, level + 1);
                    item.detailed(indent, level + 1, out);
                }
                line(out, level);
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (i, (key, value)) in members.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    line(out, level + 1);
                    quoted(key, out);
                    out.extend_from_slice(b": ");
                    if !value.is_scalar() {
                        line(out, level + 1);
                    }
                    value.detailed(indent, level + 1, out);
                }
                line(out, level);
                out.push(b'}');
            }
            other => other.flat(b", ", b": ", out),
        }
    }
}

fn quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(text);
    out.push(b'"');
}

/// Whether a key as written is the unescaped name.
pub(crate) fn same_key(written: &[u8], name: &[u8]) -> bool {
    if written.contains(&b'\\') { unescape(written) == name } else { written == name }
}

/// The text of a string as written.
pub(crate) fn unescape(written: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(written.len());
    let mut at = 0;
    let unit = |at: usize| -> Option<u32> {
        let digits = written.get(at + 2..at + 6)?;
        (written.get(at..at + 2)? == b"\\u").then_some(())?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    while let Some(b) = written.get(at) {
        if *b != b'\\' {
            out.push(*b);
            at += 1;
            continue;
        }
        if let Some(first) = unit(at) {
            at += 6;
            let mut code = first;
            if (0xD800..0xDC00).contains(&first)
                && let Some(second) = unit(at).filter(|s| (0xDC00..0xE000).contains(s))
            {
                code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                at += 6;
            }
            let c = char::from_u32(code).unwrap_or('?');
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        match written.get(at + 1) {
            Some(b'b') => out.push(8),
            Some(b'f') => out.push(12),
            Some(b'n') => out.push(b'\n'),
            Some(b'r') => out.push(b'\r'),
            Some(b't') => out.push(b'\t'),
            Some(other) => out.push(*other),
            None => {}
        }
        at += 2;
    }
    out
}
