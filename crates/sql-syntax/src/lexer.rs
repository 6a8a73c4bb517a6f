//! Bytes to tokens, on demand and without copies.
//!
//! The lexer is a cursor that can be copied: the parser looks ahead by lexing and comes back by restoring it.
//! Comments vanish here; a version comment that applies (`/*! */`, `/*!50001 */`, `/*M!100600 */`) is replaced by its
//! content, which is how MariaDB reads them: those numbered 50700 to 99999 are MySQL's and skipped unless they start
//! with `/*M!`.
//!
//! Context that decides what a byte means, as in MariaDB:
//! - a word right before a `.` and a name is a name itself (`select.from` is a column);
//! - right after a `.` that follows a name, a word is a name whatever it spells, and may start with a digit;
//! - right after `@`, a word is a variable's or host's name and may contain dots;
//! - `x'`, `b'`, `n'` are literals; `_latin1` is a character set when the character set exists.

use crate::ParseOptions;
use crate::keyword::Kw;

/// 11.8: version comments up to this number are executed.
const VERSION: u32 = 110_800;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tok {
    Eof,
    /// Lexical error: unclosed comment or string, malformed literal.
    Bad,
    /// Unquoted word; `Token::kw` says which.
    Word,
    /// A word of the function set with `(` after it: no identifier.
    Function,
    /// `` `x` ``, `"x"` under ANSI_QUOTES; a name after a dot.
    Quoted,
    /// `'x'`, `"x"`
    String,
    /// `N'x'`
    National,
    Int,
    Decimal,
    Double,
    /// `x'..'`
    HexString,
    /// `0x..`
    HexHybrid,
    /// `b'..'`, `0b..`
    Bits,
    /// `_latin1`
    Introducer,
    /// `@name`, `@'name'`; the text is the name with its quotes.
    AtName,
    /// `@@`
    AtAt,
    /// `?`
    Param,
    /// `\N`
    Null,
    // Operators of more than one character.
    Assign,
    NullSafeEq,
    Le,
    Ge,
    Ne,
    ShiftLeft,
    ShiftRight,
    AndAnd,
    OrOr,
    DotDot,
    /// Any other single byte.
    Char(u8),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) tok: Tok,
    pub(crate) kw: Kw,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The text differs from its bytes: escapes, doubled quotes.
    pub(crate) escaped: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct Lexer<'a> {
    sql: &'a [u8],
    pos: usize,
    /// Inside a version comment whose content counts.
    in_comment: bool,
    found_comment: bool,
    options: ParseOptions,
}

pub(crate) fn is_word_byte(b: u8) -> bool {
    WORD_BYTES[usize::from(b)]
}

static WORD_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        let c = b as u8;
        table[b] = c.is_ascii_alphanumeric() || c == b'_' || c == b'$' || c >= 0x80;
        b += 1;
    }
    table
};

pub(crate) fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(sql: &'a [u8], start: usize, options: ParseOptions) -> Self {
        Lexer { sql, pos: start, in_comment: false, found_comment: false, options }
    }

    fn at(&self, pos: usize) -> u8 {
        self.sql.get(pos).copied().unwrap_or(0)
    }

    /// Whether the next byte is `b`, space apart.
    pub(crate) fn follows(&self, b: u8) -> bool {
        let mut pos = self.pos;
        while is_space(self.at(pos)) {
            pos += 1;
        }
        self.sql.get(pos) == Some(&b)
    }

    fn token(&mut self, tok: Tok, start: usize, end: usize) -> Token {
        self.pos = end;
        Token { tok, kw: Kw::ANY_OTHER, start, end, escaped: false }
    }

    /// The rest of the text is not readable: the error points at `start`.
    fn bad(&mut self, start: usize) -> Token {
        self.token(Tok::Bad, start, self.sql.len())
    }

    pub(crate) fn next(&mut self) -> Token {
        if let Err(start) = self.skip_space() {
            return self.bad(start);
        }
        let start = self.pos;
        let Some(&b) = self.sql.get(start) else {
            return if self.in_comment { self.bad(start) } else { self.token(Tok::Eof, start, start) };
        };
        match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80.. => self.word(start),
            b'0'..=b'9' => self.number(start),
            b'\'' => self.string(start, start, Tok::String),
            b'"' if self.options.ansi_quotes => self.quoted(start, start, Tok::Quoted),
            b'"' => self.string(start, start, Tok::String),
            b'`' => self.quoted(start, start, Tok::Quoted),
            b'@' => self.at_sign(start),
            b'.' => self.dot(start),
            b'?' => self.token(Tok::Param, start, start + 1),
            b'\\' if self.at(start + 1) == b'N' => self.token(Tok::Null, start, start + 2),
            _ => self.operator(start, b),
        }
    }

    /// Skips space and comments. `Err`: where an unclosed comment starts.
    fn skip_space(&mut self) -> Result<(), usize> {
        loop {
            match self.at(self.pos) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.pos += 1,
                b'#' => self.skip_line(),
                b'-' if self.at(self.pos + 1) == b'-' && self.line_comment_follows() => self.skip_line(),
                b'/' if self.at(self.pos + 1) == b'*' => self.skip_comment()?,
                b'*' if self.in_comment && self.at(self.pos + 1) == b'/' => {
                    self.in_comment = false;
                    self.pos += 2;
                }
                _ => return Ok(()),
            }
        }
    }

    /// `--` starts a comment when space, a control character or the end follows.
    fn line_comment_follows(&self) -> bool {
        self.sql.get(self.pos + 2).is_none_or(|&b| is_space(b) || b.is_ascii_control())
    }

    pub(crate) fn found_comment(&self) -> bool {
        self.found_comment
    }

    fn skip_line(&mut self) {
        self.found_comment = true;
        let rest = &self.sql[self.pos..];
        self.pos += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    fn skip_comment(&mut self) -> Result<(), usize> {
        self.found_comment = true;
        let start = self.pos;
        let (marker, maria) = match (self.at(start + 2), self.at(start + 3)) {
            (b'!', _) => (start + 3, false),
            (b'M', b'!') => (start + 4, true),
            _ => {
                let body = &self.sql[start + 2..];
                let end = body.windows(2).position(|w| w == b"*/").ok_or(start)?;
                self.pos = start + 2 + end + 2;
                return Ok(());
            }
        };
        let digits = self.sql[marker..].iter().take(6).take_while(|b| b.is_ascii_digit()).count();
        let version = match digits {
            5 | 6 => self.sql[marker..marker + digits].iter().fold(0, |v, b| v * 10 + u32::from(b - b'0')),
            _ => 0,
        };
        let executed = version <= VERSION && (maria || !(50_700..=99_999).contains(&version));
        if executed && !self.in_comment {
            self.in_comment = true;
            self.pos = marker + if digits >= 5 { digits } else { 0 };
            return Ok(());
        }
        if executed {
            // A version comment inside another one: its content goes on, the first end closes both.
            self.pos = marker + if digits >= 5 { digits } else { 0 };
            return Ok(());
        }
        self.skip_nested(marker, start)
    }

    /// A comment that is not executed may hold plain comments.
    fn skip_nested(&mut self, from: usize, start: usize) -> Result<(), usize> {
        let mut pos = from;
        let mut depth = 1;
        while pos + 1 < self.sql.len() {
            match (self.sql[pos], self.sql[pos + 1]) {
                (b'*', b'/') => {
                    depth -= 1;
                    pos += 2;
                    if depth == 0 {
                        self.pos = pos;
                        return Ok(());
                    }
                }
                (b'/', b'*') if depth == 1 => {
                    depth += 1;
                    pos += 2;
                }
                _ => pos += 1,
            }
        }
        Err(start)
    }

    fn word_end(&self, from: usize) -> usize {
        let mut pos = from;
        while pos < self.sql.len() && is_word_byte(self.sql[pos]) {
            pos += 1;
        }
        pos
    }

    fn word(&mut self, start: usize) -> Token {
        let first = self.sql[start] | 0x20;
        if self.at(start + 1) == b'\'' {
            match first {
                b'x' => return self.digits_literal(start, Tok::HexString),
                b'b' => return self.digits_literal(start, Tok::Bits),
                b'n' => return self.string(start, start + 1, Tok::National),
                _ => {}
            }
        }
        let end = self.word_end(start);
        let text = &self.sql[start..end];
        if text[0] == b'_' && is_charset(&text[1..]) {
            return self.token(Tok::Introducer, start, end);
        }
        let mut token = self.token(Tok::Word, start, end);
        if self.at(end) == b'.' && is_word_byte(self.at(end + 1)) {
            return token;
        }
        token.kw = Kw::lookup(text);
        if token.kw.is_function() {
            if self.paren_follows(end) {
                token.tok = Tok::Function;
            } else {
                token.kw = Kw::ANY_OTHER;
            }
        }
        token
    }

    fn paren_follows(&self, end: usize) -> bool {
        let mut pos = end;
        if self.options.ignore_space {
            while is_space(self.at(pos)) {
                pos += 1;
            }
        }
        self.at(pos) == b'('
    }

    /// `x'4142'`, `b'01'`: the text keeps prefix and quotes.
    fn digits_literal(&mut self, start: usize, tok: Tok) -> Token {
        let body = &self.sql[start + 2..];
        let valid = |b: &u8| if tok == Tok::Bits { matches!(b, b'0' | b'1') } else { b.is_ascii_hexdigit() };
        let n = body.iter().take_while(|b| valid(b)).count();
        if body.get(n) != Some(&b'\'') || (tok == Tok::HexString && n % 2 != 0) {
            return self.bad(start);
        }
        self.token(tok, start, start + 2 + n + 1)
    }

    fn number(&mut self, start: usize) -> Token {
        if self.sql[start] == b'0' && matches!(self.at(start + 1), b'x' | b'b') {
            let hex = self.at(start + 1) == b'x';
            let end = self.word_end(start + 2);
            let digits = &self.sql[start + 2..end];
            let valid = |b: &u8| if hex { b.is_ascii_hexdigit() } else { matches!(b, b'0' | b'1') };
            if !digits.is_empty() && digits.iter().all(valid) {
                return self.token(if hex { Tok::HexHybrid } else { Tok::Bits }, start, end);
            }
            return self.token(Tok::Word, start, end);
        }
        let mut pos = start;
        while self.at(pos).is_ascii_digit() {
            pos += 1;
        }
        if self.at(pos) == b'.' && self.at(pos + 1) != b'.' {
            return self.fraction(start, pos + 1);
        }
        if self.at(pos) | 0x20 == b'e'
            && let Some(end) = self.exponent(pos)
        {
            return self.token(Tok::Double, start, end);
        }
        if is_word_byte(self.at(pos)) && pos < self.sql.len() {
            let end = self.word_end(pos);
            return self.token(Tok::Word, start, end);
        }
        self.token(Tok::Int, start, pos)
    }

    /// After the point.
    fn fraction(&mut self, start: usize, from: usize) -> Token {
        let mut pos = from;
        while self.at(pos).is_ascii_digit() {
            pos += 1;
        }
        if self.at(pos) | 0x20 == b'e' {
            return match self.exponent(pos) {
                Some(end) => self.token(Tok::Double, start, end),
                None => self.bad(start),
            };
        }
        self.token(Tok::Decimal, start, pos)
    }

    /// End of an exponent that starts with the `e` at `pos`.
    fn exponent(&self, pos: usize) -> Option<usize> {
        let mut p = pos + 1;
        if matches!(self.at(p), b'+' | b'-') {
            p += 1;
        }
        if !self.at(p).is_ascii_digit() {
            return None;
        }
        while self.at(p).is_ascii_digit() {
            p += 1;
        }
        Some(p)
    }

    /// `quote` is where the opening quote stands. The token's text keeps the quotes.
    fn string(&mut self, start: usize, quote: usize, tok: Tok) -> Token {
        let q = self.sql[quote];
        let mut escaped = false;
        let mut pos = quote + 1;
        while let Some(&b) = self.sql.get(pos) {
            if b == b'\\' && !self.options.no_backslash_escapes {
                escaped = true;
                pos += 2;
            } else if b == q {
                if self.at(pos + 1) != q {
                    let mut token = self.token(tok, start, pos + 1);
                    token.escaped = escaped;
                    return token;
                }
                escaped = true;
                pos += 2;
            } else {
                pos += 1;
            }
        }
        self.bad(start)
    }

    fn quoted(&mut self, start: usize, quote: usize, tok: Tok) -> Token {
        let q = self.sql[quote];
        let mut escaped = false;
        let mut pos = quote + 1;
        while let Some(&b) = self.sql.get(pos) {
            if b == q {
                if self.at(pos + 1) != q {
                    let mut token = self.token(tok, start, pos + 1);
                    token.escaped = escaped;
                    return token;
                }
                escaped = true;
                pos += 1;
            }
            pos += 1;
        }
        self.bad(start)
    }

    fn at_sign(&mut self, start: usize) -> Token {
        match self.at(start + 1) {
            b'@' => self.token(Tok::AtAt, start, start + 2),
            b'`' => self.quoted(start, start + 1, Tok::AtName),
            b'\'' | b'"' => self.string(start, start + 1, Tok::AtName),
            _ => {
                let mut pos = start + 1;
                while pos < self.sql.len() && (is_word_byte(self.sql[pos]) || self.sql[pos] == b'.') {
                    pos += 1;
                }
                self.token(Tok::AtName, start, pos)
            }
        }
    }

    fn dot(&mut self, start: usize) -> Token {
        let next = self.at(start + 1);
        let after_name = start > 0 && is_word_byte(self.sql[start - 1]);
        if next.is_ascii_digit() && !after_name {
            return self.fraction(start, start + 1);
        }
        if next == b'.' {
            return self.token(Tok::DotDot, start, start + 2);
        }
        self.token(Tok::Char(b'.'), start, start + 1)
    }

    /// The name right after a `.`: any word, digits first or not. `None` when there is none.
    pub(crate) fn name_after_dot(&mut self) -> Option<Token> {
        let start = self.pos;
        let end = self.word_end(start);
        (end > start).then(|| self.token(Tok::Quoted, start, end))
    }

    fn operator(&mut self, start: usize, b: u8) -> Token {
        let (tok, len) = match (b, self.at(start + 1)) {
            (b'<', b'=') if self.at(start + 2) == b'>' => (Tok::NullSafeEq, 3),
            (b'<', b'=') => (Tok::Le, 2),
            (b'<', b'>') | (b'!', b'=') => (Tok::Ne, 2),
            (b'<', b'<') => (Tok::ShiftLeft, 2),
            (b'>', b'=') => (Tok::Ge, 2),
            (b'>', b'>') => (Tok::ShiftRight, 2),
            (b'&', b'&') => (Tok::AndAnd, 2),
            (b'|', b'|') => (Tok::OrOr, 2),
            (b':', b'=') => (Tok::Assign, 2),
            _ => (Tok::Char(b), 1),
        };
        self.token(tok, start, start + len)
    }
}

/// The character sets that MariaDB 11.8 knows: `_name` introduces a literal only for these.
fn is_charset(name: &[u8]) -> bool {
    const NAMES: [&str; 41] = [
        "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852",
        "cp866", "cp932", "dec8", "eucjpms", "euckr", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8",
        "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "sjis",
        "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8", "utf8mb3", "utf8mb4",
    ];
    name.len() <= 8 && NAMES.iter().any(|n| n.as_bytes().eq_ignore_ascii_case(name))
}
