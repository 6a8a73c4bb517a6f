//! Operands: literals, columns, variables, parentheses, CASE, CAST.

use super::column::is_type_name;
use super::expr::Paren;
use super::*;

impl<'a> Parser<'a> {
    pub(super) fn primary(&mut self) -> R<Expr<'a>> {
        match self.token.tok {
            Tok::Word if self.token.kw == Kw::ANY_OTHER => self.name_expr(),
            Tok::Word => self.keyword_expr(),
            Tok::Function => self.function_word(),
            Tok::Quoted => self.name_expr(),
            Tok::Param if self.options.params => {
                let n = self.params;
                self.params += 1;
                self.bump();
                Ok(Expr::Param(n))
            }
            Tok::AtName => self.user_variable(),
            Tok::AtAt => {
                let variable = self.system_variable()?;
                Ok(Expr::SystemVariable(self.alloc(variable)))
            }
            Tok::Char(b'(') => {
                self.bump();
                Ok(match self.parens()? {
                    Paren::Query(query) => Expr::Subquery(query),
                    Paren::Exprs(list) => self.row_or_single(list),
                })
            }
            Tok::Char(b'{') => self.odbc(),
            Tok::Char(b'.') => self.name_expr(),
            _ => Ok(Expr::Literal(self.literal()?)),
        }
    }

    /// A literal that starts with no word.
    fn literal(&mut self) -> R<Literal<'a>> {
        let token = self.token;
        let text = self.token_text();
        let value = match token.tok {
            Tok::Int => int_literal(text),
            Tok::Decimal => Literal::Decimal(text),
            Tok::Double => Literal::Double(text),
            Tok::String => return Ok(Literal::String(self.joined_strings()?)),
            Tok::National => {
                let first = self.string_value(token);
                self.bump();
                return Ok(Literal::National(self.join_following(first)?));
            }
            Tok::HexString => Literal::HexString(self.hex_value(token)),
            Tok::HexHybrid => Literal::HexHybrid(self.hex_value(token)),
            Tok::Bits => Literal::Bits(self.bits_value(token)),
            Tok::Null => Literal::Null,
            Tok::Introducer => return self.introduced(),
            _ => return Err(Fail::Syntax),
        };
        self.bump();
        Ok(value)
    }

    fn introduced(&mut self) -> R<Literal<'a>> {
        let charset = Ident(&self.token_text()[1..]);
        self.bump();
        if !matches!(self.token.tok, Tok::String | Tok::HexString | Tok::HexHybrid | Tok::Bits) {
            return Err(Fail::Syntax);
        }
        let value = self.literal()?;
        Ok(Literal::Introduced(self.alloc(Introduced { charset, value })))
    }

    /// `'a' 'b'` is `'ab'`.
    fn joined_strings(&mut self) -> R<&'a [u8]> {
        let first = self.string_value(self.token);
        self.bump();
        self.join_following(first)
    }

    fn join_following(&mut self, first: &'a [u8]) -> R<&'a [u8]> {
        if !self.is_tok(Tok::String) {
            return Ok(first);
        }
        let mut out = self.vec();
        out.extend_from_slice(first);
        while self.is_tok(Tok::String) {
            out.extend_from_slice(self.string_value(self.token));
            self.bump();
        }
        Ok(out.into_bump_slice())
    }

    /// A column, or a call when `(` follows.
    fn name_expr(&mut self) -> R<Expr<'a>> {
        if self.is(b'.') {
            let table = self.name_after_dot()?;
            if !self.is(b'.') {
                return Err(Fail::Syntax);
            }
            let name = self.name_after_dot()?;
            return Ok(self.column(None, Some(table), name));
        }
        let first = self.ident()?;
        match self.token.tok {
            Tok::Char(b'(') => self.call(None, first),
            Tok::Char(b'.') => {
                let second = self.name_after_dot()?;
                match self.token.tok {
                    Tok::Char(b'(') => self.call(Some(first), second),
                    Tok::Char(b'.') => {
                        let third = self.name_after_dot()?;
                        if self.is(b'(') {
                            // `database.package.function()`
                            return self.call(Some(second), third);
                        }
                        Ok(self.column(Some(first), Some(second), third))
                    }
                    _ => Ok(self.column(None, Some(first), second)),
                }
            }
            _ => Ok(Expr::Column(ColumnRef { table: None, name: first })),
        }
    }

    fn column(&self, database: Option<Ident<'a>>, table: Option<Ident<'a>>, name: Ident<'a>) -> Expr<'a> {
        let table = table.map(|name| self.alloc(ObjectName { database, name }));
        Expr::Column(ColumnRef { table, name })
    }

    /// `[[database.]table.]column`
    pub(super) fn column_ref(&mut self) -> R<ColumnRef<'a>> {
        let leading_dot = self.is(b'.');
        let first = if leading_dot { self.name_after_dot()? } else { self.ident()? };
        if !self.is(b'.') {
            return if leading_dot { Err(Fail::Syntax) } else { Ok(ColumnRef { table: None, name: first }) };
        }
        let second = self.name_after_dot()?;
        if !self.is(b'.') {
            let table = self.alloc(ObjectName { database: None, name: first });
            return Ok(ColumnRef { table: Some(table), name: second });
        }
        let name = self.name_after_dot()?;
        let table = self.alloc(ObjectName { database: Some(first), name: second });
        Ok(ColumnRef { table: Some(table), name })
    }

    // Variables.

    /// The name of `@name` at the current token.
    pub(super) fn at_name(&mut self) -> R<Ident<'a>> {
        if !self.is_tok(Tok::AtName) {
            return Err(Fail::Syntax);
        }
        let token = self.token;
        let text = self.token_text();
        let name = match text.get(1) {
            // A lone `@` fails at what follows it.
            None => {
                self.bump();
                return Err(Fail::Syntax);
            }
            Some(b'\'' | b'"' | b'`') => self.string_value(token),
            Some(_) => &text[1..],
        };
        self.bump();
        Ok(Ident(name))
    }

    fn user_variable(&mut self) -> R<Expr<'a>> {
        let name = self.at_name()?;
        if self.eat_tok(Tok::Assign) {
            let value = self.expr()?;
            return Ok(Expr::AssignVariable { name, value: self.alloc(value) });
        }
        Ok(Expr::UserVariable(name))
    }

    /// `@@[scope.]name[.name]`
    pub(super) fn system_variable(&mut self) -> R<SystemVariable<'a>> {
        self.bump();
        let scope = [("GLOBAL", Scope::Global), ("SESSION", Scope::Session), ("LOCAL", Scope::Session)]
            .into_iter()
            .find_map(|(word, scope)| self.is_word(word).then_some(scope));
        if scope.is_some() {
            self.bump();
            if !self.is(b'.') {
                return Err(Fail::Syntax);
            }
            // The connection of a multi-source variable may be a string.
            let first = if self.peek().tok == Tok::String {
                self.bump();
                Ident(self.string()?)
            } else {
                self.name_after_dot()?
            };
            return self.variable_name(scope, first);
        }
        let first = self.ident()?;
        self.variable_name(None, first)
    }

    fn variable_name(&mut self, scope: Option<Scope>, first: Ident<'a>) -> R<SystemVariable<'a>> {
        if self.is(b'.') {
            let name = self.name_after_dot()?;
            return Ok(SystemVariable { scope, base: Some(first), name });
        }
        Ok(SystemVariable { scope, base: None, name: first })
    }

    /// GLOBAL, SESSION or LOCAL.
    pub(super) fn variable_scope(&mut self) -> Option<Scope> {
        let scope = match self.token.kw {
            Kw::GLOBAL => Scope::Global,
            Kw::SESSION | Kw::LOCAL => Scope::Session,
            _ => return None,
        };
        self.bump();
        Some(scope)
    }

    // Words.

    fn keyword_expr(&mut self) -> R<Expr<'a>> {
        let kw = self.token.kw;
        match kw {
            Kw::NULL => self.word_literal(Literal::Null),
            Kw::TRUE => self.word_literal(Literal::True),
            Kw::FALSE => self.word_literal(Literal::False),
            Kw::DATE | Kw::TIME | Kw::TIMESTAMP if self.peek().tok == Tok::String => self.temporal(kw),
            Kw::CASE => self.case(),
            Kw::EXISTS => {
                self.bump();
                self.expect(b'(')?;
                let Paren::Query(query) = self.parens()? else { return Err(Fail::Syntax) };
                Ok(Expr::Exists(query))
            }
            Kw::ROW if self.peek().tok == Tok::Char(b'(') => {
                self.bump();
                Ok(Expr::Row(self.paren_list(Self::expr)?))
            }
            Kw::NEXT | Kw::PREVIOUS if self.peek().kw == Kw::VALUE => self.sequence_value(kw),
            _ => self.word_call(kw),
        }
    }

    fn word_literal(&mut self, literal: Literal<'a>) -> R<Expr<'a>> {
        self.bump();
        Ok(Expr::Literal(literal))
    }

    fn temporal(&mut self, kw: Kw) -> R<Expr<'a>> {
        self.bump();
        let text = self.string()?;
        Ok(Expr::Literal(temporal_literal(kw, text)))
    }

    fn sequence_value(&mut self, kw: Kw) -> R<Expr<'a>> {
        self.bump();
        self.bump();
        self.expect_kw(Kw::FOR)?;
        let name = self.object_name()?;
        Ok(Expr::Special(self.alloc(match kw {
            Kw::NEXT => Special::NextValue(name),
            _ => Special::PreviousValue(name),
        })))
    }

    /// `{d 'text'}`, `{fn call}`: the word only matters for temporal literals.
    fn odbc(&mut self) -> R<Expr<'a>> {
        self.bump();
        let word = self.ident()?;
        let literal = self.is_tok(Tok::String);
        let expr = self.expr()?;
        self.expect(b'}')?;
        if let (true, Expr::Literal(Literal::String(text))) = (literal, expr) {
            for (name, kw) in [("d", Kw::DATE), ("t", Kw::TIME), ("ts", Kw::TIMESTAMP)] {
                if word.is(name) {
                    return Ok(Expr::Literal(temporal_literal(kw, text)));
                }
            }
        }
        Ok(expr)
    }

    fn case(&mut self) -> R<Expr<'a>> {
        self.bump();
        let operand = if self.is_kw(Kw::WHEN) { None } else { Some(self.expr()?) };
        let mut whens = self.vec();
        while self.eat_kw(Kw::WHEN) {
            let condition = self.expr()?;
            self.expect_kw(Kw::THEN)?;
            let result = self.expr()?;
            whens.push(When { condition, result });
        }
        if whens.is_empty() {
            return Err(Fail::Syntax);
        }
        let otherwise = if self.eat_kw(Kw::ELSE) { Some(self.expr()?) } else { None };
        self.expect_kw(Kw::END)?;
        Ok(Expr::Case(self.alloc(Case { operand, whens: whens.into_bump_slice(), otherwise })))
    }

    /// After `CAST(`: `expr AS type)`.
    pub(super) fn cast(&mut self) -> R<Expr<'a>> {
        let expr = self.expr()?;
        self.expect_kw(Kw::AS)?;
        let target = self.cast_type()?;
        self.expect(b')')?;
        Ok(Expr::Cast(self.alloc(Cast { expr, target })))
    }

    /// After `CONVERT(`
    pub(super) fn convert(&mut self) -> R<Expr<'a>> {
        let expr = self.expr()?;
        if self.eat_kw(Kw::USING) {
            let charset = if self.is_kw(Kw::DEFAULT) { self.name_token()? } else { self.charset_name()? };
            self.expect(b')')?;
            return Ok(Expr::ConvertUsing { expr: self.alloc(expr), charset });
        }
        self.expect(b',')?;
        let target = self.cast_type()?;
        self.expect(b')')?;
        Ok(Expr::Cast(self.alloc(Cast { expr, target })))
    }

    pub(super) fn cast_type(&mut self) -> R<CastType<'a>> {
        let kw = self.token.kw;
        match kw {
            Kw::CHAR | Kw::CHARACTER => return self.cast_char(),
            Kw::NATIONAL => {
                self.bump();
                self.one_of(&[Kw::CHAR, Kw::CHARACTER])?;
                return Ok(CastType::NationalChar { length: self.optional_paren_integer()? });
            }
            Kw::INTERVAL if self.peek().kw == Kw::DAY_SECOND => {
                self.bump();
                self.bump();
                return Ok(CastType::IntervalDaySecond { precision: self.optional_paren_integer()? });
            }
            _ if is_cast_word(kw) => self.bump(),
            _ if matches!(self.token.tok, Tok::Word | Tok::Quoted)
                && is_type_name(kw)
                && !column_only(kw) =>
            {
                let name = self.name_token()?;
                self.precision_and_scale()?;
                return Ok(CastType::Named(name));
            }
            _ => return Err(Fail::Syntax),
        }
        Ok(match kw {
            Kw::BINARY => CastType::Binary { length: self.optional_paren_integer()? },
            Kw::NCHAR => CastType::NationalChar { length: self.optional_paren_integer()? },
            Kw::VARCHAR | Kw::VARCHAR2 | Kw::VARCHARACTER => {
                let length = Some(self.paren_integer()?);
                CastType::Char { length, charset: self.charset_attributes()? }
            }
            Kw::VARBINARY => CastType::Binary { length: Some(self.paren_integer()?) },
            Kw::SIGNED | Kw::UNSIGNED => {
                if !self.eat_kw(Kw::INT) {
                    self.eat_kw(Kw::INTEGER);
                }
                if kw == Kw::SIGNED { CastType::Signed } else { CastType::Unsigned }
            }
            Kw::INT | Kw::INTEGER => CastType::Signed,
            Kw::DECIMAL | Kw::DEC => {
                let (precision, scale) = self.precision_and_scale()?;
                CastType::Decimal { precision, scale }
            }
            Kw::DOUBLE => {
                self.eat_kw(Kw::PRECISION);
                let (precision, scale) = self.precision_and_scale()?;
                CastType::Double { precision, scale }
            }
            Kw::FLOAT => CastType::Float,
            Kw::DATE => CastType::Date,
            Kw::TIME => CastType::Time { precision: self.optional_paren_integer()? },
            Kw::DATETIME => CastType::DateTime { precision: self.optional_paren_integer()? },
            _ => return Err(Fail::Syntax),
        })
    }

    fn cast_char(&mut self) -> R<CastType<'a>> {
        self.bump();
        let length = self.optional_paren_integer()?;
        let mut charset = self.charset_attributes()?;
        if self.eat_kw(Kw::COLLATE)
            && let DefaultOr::Name(name) = self.charset_or_default()?
        {
            charset.collation = Some(name);
        }
        Ok(CastType::Char { length, charset })
    }

    /// `[(precision [, scale])]`
    pub(super) fn precision_and_scale(&mut self) -> R<(Option<u64>, Option<u64>)> {
        if !self.eat(b'(') {
            return Ok((None, None));
        }
        if self.is_tok(Tok::Decimal) {
            let precision = self.number()?;
            self.expect(b')')?;
            return Ok((Some(precision), None));
        }
        let precision = self.integer()?;
        let scale = if self.eat(b',') { Some(self.integer()?) } else { None };
        self.expect(b')')?;
        Ok((Some(precision), scale))
    }
}

/// Integers above 64 bits are decimals.
fn int_literal(text: &[u8]) -> Literal<'_> {
    let mut value = 0u64;
    for &b in text {
        let next = value.checked_mul(10).and_then(|v| v.checked_add(u64::from(b - b'0')));
        match next {
            Some(v) => value = v,
            None => return Literal::Decimal(text),
        }
    }
    Literal::Int(value)
}

fn temporal_literal(kw: Kw, text: &[u8]) -> Literal<'_> {
    match kw {
        Kw::DATE => Literal::Date(text),
        Kw::TIME => Literal::Time(text),
        _ => Literal::Timestamp(text),
    }
}

/// Types with a rule of their own in CAST.
fn is_cast_word(kw: Kw) -> bool {
    #[rustfmt::skip]
    const WORDS: &[Kw] = &[
        Kw::BINARY, Kw::NCHAR, Kw::VARCHAR, Kw::VARCHAR2, Kw::VARCHARACTER, Kw::VARBINARY, Kw::SIGNED, Kw::UNSIGNED,
        Kw::INT, Kw::INTEGER, Kw::DECIMAL, Kw::DEC, Kw::DOUBLE, Kw::FLOAT, Kw::DATE, Kw::TIME, Kw::DATETIME,
    ];
    WORDS.contains(&kw)
}

/// Types of columns that CAST does not know.
fn column_only(kw: Kw) -> bool {
    #[rustfmt::skip]
    const WORDS: &[Kw] = &[
        Kw::BIGINT, Kw::BLOB, Kw::INT1, Kw::INT2, Kw::INT3, Kw::INT8, Kw::LONG, Kw::LONGBLOB, Kw::LONGTEXT,
        Kw::MEDIUMBLOB, Kw::MEDIUMINT, Kw::MEDIUMTEXT, Kw::MIDDLEINT, Kw::NUMERIC, Kw::REAL, Kw::SMALLINT, Kw::TINYBLOB,
        Kw::TINYINT, Kw::TINYTEXT, Kw::BIT, Kw::BOOL, Kw::BOOLEAN, Kw::FIXED, Kw::JSON, Kw::SERIAL, Kw::SQL_TSI_YEAR,
        Kw::TEXT, Kw::TIMESTAMP, Kw::YEAR,
    ];
    WORDS.contains(&kw)
}
