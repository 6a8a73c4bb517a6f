//! Names, strings and numbers: what tokens mean, and the small productions made of them.

use super::*;

impl<'a> Parser<'a> {
    pub(super) fn is_ident(&self) -> bool {
        match self.token.tok {
            Tok::Word => !self.token.kw.is_reserved(),
            Tok::Quoted => true,
            // These four are names even with a parenthesis behind them.
            Tok::Function => {
                matches!(self.token.kw, Kw::ADDDATE | Kw::SUBDATE | Kw::SESSION_USER | Kw::SYSTEM_USER)
            }
            _ => false,
        }
    }

    pub(super) fn ident(&mut self) -> R<Ident<'a>> {
        if !self.is_ident() {
            return Err(Fail::Syntax);
        }
        self.name_token()
    }

    /// The current token as a name, reserved or not.
    pub(super) fn name_token(&mut self) -> R<Ident<'a>> {
        let name = self.unquoted(self.token);
        self.bump();
        Ok(Ident(name))
    }

    /// Text of a word or quoted identifier.
    pub(super) fn unquoted(&self, token: Token) -> &'a [u8] {
        let text = &self.sql[token.start..token.end];
        match text.first() {
            Some(&q @ (b'`' | b'"')) => {
                let inner = &text[1..text.len() - 1];
                if token.escaped { self.undouble(inner, q) } else { inner }
            }
            _ => text,
        }
    }

    pub(super) fn undouble(&self, text: &[u8], quote: u8) -> &'a [u8] {
        let mut out = ArenaVec::with_capacity_in(text.len(), self.arena);
        let mut bytes = text.iter();
        while let Some(&b) = bytes.next() {
            out.push(b);
            if b == quote {
                bytes.next();
            }
        }
        out.into_bump_slice()
    }

    /// With the current token a `.`: the name after it, which may be any word.
    pub(super) fn name_after_dot(&mut self) -> R<Ident<'a>> {
        match self.lexer.name_after_dot() {
            Some(token) => {
                self.prev_end = token.end;
                self.token = self.lexer.next();
                Ok(Ident(&self.sql[token.start..token.end]))
            }
            None => {
                self.bump();
                self.ident()
            }
        }
    }

    /// `[database.]name`
    pub(super) fn object_name(&mut self) -> R<ObjectName<'a>> {
        if self.is(b'.') {
            // ODBC's `.name`
            return Ok(ObjectName { database: None, name: self.name_after_dot()? });
        }
        let first = self.ident()?;
        if self.is(b'.') {
            let name = self.name_after_dot()?;
            return Ok(ObjectName { database: Some(first), name });
        }
        Ok(ObjectName { database: None, name: first })
    }

    pub(super) fn object_names(&mut self) -> R<&'a [ObjectName<'a>]> {
        self.comma_list(Self::object_name)
    }

    pub(super) fn idents(&mut self) -> R<&'a [Ident<'a>]> {
        self.comma_list(Self::ident)
    }

    /// `ident | 'text'`
    pub(super) fn ident_or_text(&mut self) -> R<Ident<'a>> {
        if self.is_tok(Tok::String) {
            return Ok(Ident(self.string()?));
        }
        self.ident()
    }

    /// A character set or collation name; BINARY and ASCII count.
    pub(super) fn charset_name(&mut self) -> R<Ident<'a>> {
        if self.is_kw(Kw::BINARY) {
            return self.name_token();
        }
        self.ident_or_text()
    }

    pub(super) fn is_text_or_ident(&self) -> bool {
        self.is_tok(Tok::String) || self.is_ident()
    }

    // Strings and numbers.

    /// One string literal; adjacent ones are not joined.
    pub(super) fn string(&mut self) -> R<&'a [u8]> {
        match self.token.tok {
            Tok::String => {
                let value = self.string_value(self.token);
                self.bump();
                Ok(value)
            }
            // MariaDB's TEXT_STRING_sys also takes a hexadecimal string in most of these places.
            Tok::HexString => {
                let value = self.hex_value(self.token);
                self.bump();
                Ok(value)
            }
            _ => Err(Fail::Syntax),
        }
    }

    /// Value of a quoted string token, prefix and quotes removed.
    pub(super) fn string_value(&self, token: Token) -> &'a [u8] {
        let text = &self.sql[token.start..token.end];
        let open = usize::from(!matches!(text[0], b'\'' | b'"' | b'`'));
        let quote = text[open];
        let inner = &text[open + 1..text.len() - 1];
        if !token.escaped {
            return inner;
        }
        if quote == b'`' {
            return self.undouble(inner, quote);
        }
        self.unescape(inner, quote)
    }

    pub(super) fn unescape(&self, text: &[u8], quote: u8) -> &'a [u8] {
        let backslash = !self.options.no_backslash_escapes;
        let mut out = ArenaVec::with_capacity_in(text.len(), self.arena);
        let mut i = 0;
        while i < text.len() {
            let b = text[i];
            i += 1;
            if b == quote {
                i += 1;
                out.push(b);
            } else if b == b'\\' && backslash && i < text.len() {
                let e = text[i];
                i += 1;
                match e {
                    b'n' => out.push(b'\n'),
                    b't' => out.push(b'\t'),
                    b'r' => out.push(b'\r'),
                    b'b' => out.push(8),
                    b'0' => out.push(0),
                    b'Z' => out.push(26),
                    // Kept for LIKE.
                    b'%' | b'_' => out.extend_from_slice(&[b'\\', e]),
                    _ => out.push(e),
                }
            } else {
                out.push(b);
            }
        }
        out.into_bump_slice()
    }

    /// `x'4142'`, `0x414`
    pub(super) fn hex_value(&self, token: Token) -> &'a [u8] {
        let digits = self.literal_digits(token);
        let mut out = ArenaVec::with_capacity_in(digits.len().div_ceil(2), self.arena);
        let nibble = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
        let (odd, pairs) = digits.split_at(digits.len() % 2);
        out.extend(odd.iter().map(|&b| nibble(b)));
        out.extend(pairs.chunks_exact(2).map(|p| nibble(p[0]) << 4 | nibble(p[1])));
        out.into_bump_slice()
    }

    /// `b'101'`, `0b101`: big endian, padded with zero bits in front.
    pub(super) fn bits_value(&self, token: Token) -> &'a [u8] {
        let digits = self.literal_digits(token);
        let mut out = ArenaVec::with_capacity_in(digits.len().div_ceil(8), self.arena);
        let (first, rest) = digits.split_at(digits.len() % 8);
        let byte = |bits: &[u8]| bits.iter().fold(0u8, |v, &b| v << 1 | (b & 1));
        if !first.is_empty() {
            out.push(byte(first));
        }
        out.extend(rest.chunks_exact(8).map(byte));
        out.into_bump_slice()
    }

    pub(super) fn literal_digits(&self, token: Token) -> &'a [u8] {
        let text = &self.sql[token.start..token.end];
        if text[1] == b'\'' { &text[2..text.len() - 1] } else { &text[2..] }
    }

    /// An unsigned number; a fraction is cut off where MariaDB does (`ulong_num`), overflow saturates.
    pub(super) fn number(&mut self) -> R<u64> {
        let value = match self.token.tok {
            Tok::Int | Tok::Decimal | Tok::Double => decimal_value(self.token_text()),
            Tok::HexHybrid | Tok::HexString => {
                self.hex_value(self.token).iter().fold(0u64, |v, &b| v << 8 | u64::from(b))
            }
            _ => return Err(Fail::Syntax),
        };
        self.bump();
        Ok(value)
    }

    /// An integer literal only.
    pub(super) fn integer(&mut self) -> R<u64> {
        if self.is_tok(Tok::Int) { self.number() } else { Err(Fail::Syntax) }
    }

    pub(super) fn paren_integer(&mut self) -> R<u64> {
        self.expect(b'(')?;
        // A fraction is cut off.
        let n = if self.is_tok(Tok::Decimal) { self.number()? } else { self.integer()? };
        self.expect(b')')?;
        Ok(n)
    }

    pub(super) fn optional_paren_integer(&mut self) -> R<Option<u64>> {
        if self.is(b'(') { Ok(Some(self.paren_integer()?)) } else { Ok(None) }
    }

    pub(super) fn if_exists(&mut self) -> R<bool> {
        if self.is_kw(Kw::IF) && self.peek().kw == Kw::EXISTS {
            self.bump();
            self.bump();
            return Ok(true);
        }
        Ok(false)
    }

    pub(super) fn if_not_exists(&mut self) -> R<bool> {
        if self.is_kw(Kw::IF) && self.peek().kw == Kw::NOT {
            self.bump();
            self.bump();
            self.expect_kw(Kw::EXISTS)?;
            return Ok(true);
        }
        Ok(false)
    }
}

pub(super) fn decimal_value(text: &[u8]) -> u64 {
    let mut value = 0u64;
    for &b in text {
        if !b.is_ascii_digit() {
            break;
        }
        value = value.saturating_mul(10).saturating_add(u64::from(b - b'0'));
    }
    value
}
