//! SET in all its forms.

use super::*;

impl<'a> Parser<'a> {
    pub(super) fn set(&mut self) -> R<Statement<'a>> {
        self.bump();
        match self.token.kw {
            Kw::STATEMENT if self.peek().tok == Tok::Word => return self.set_statement(),
            Kw::ROLE if !self.assignment_follows() => {
                self.bump();
                let role = if self.eat_kw(Kw::NONE) { None } else { Some(self.role()?) };
                return Ok(self.set_one(SetItem::Role(role)));
            }
            Kw::DEFAULT => {
                self.bump();
                self.expect_kw(Kw::ROLE)?;
                let role = if self.eat_kw(Kw::NONE) { None } else { Some(self.role()?) };
                let account = if self.eat_kw(Kw::FOR) { Some(self.account()?) } else { None };
                return Ok(self.set_one(SetItem::DefaultRole { role, account }));
            }
            Kw::TRANSACTION if !self.assignment_follows() => {
                let item = self.set_transaction(None)?;
                return Ok(self.set_one(item));
            }
            Kw::GLOBAL | Kw::SESSION | Kw::LOCAL if self.peek().kw == Kw::TRANSACTION => {
                let (_, after) = self.peek2();
                if !matches!(after.tok, Tok::Char(b'=') | Tok::Assign) {
                    let scope = self.variable_scope();
                    let item = self.set_transaction(scope)?;
                    return Ok(self.set_one(item));
                }
            }
            _ => {}
        }
        Ok(Statement::Set(self.comma_list(Self::set_item)?))
    }

    fn set_one(&self, item: SetItem<'a>) -> Statement<'a> {
        Statement::Set(self.arena.alloc_slice_copy(&[item]))
    }

    fn assignment_follows(&self) -> bool {
        matches!(self.peek().tok, Tok::Char(b'=' | b'.') | Tok::Assign)
    }

    fn set_statement(&mut self) -> R<Statement<'a>> {
        self.bump();
        let items = self.comma_list(Self::set_item)?;
        self.expect_kw(Kw::FOR)?;
        let statement = self.statement()?;
        Ok(Statement::SetStatement(self.alloc(SetStatement { items, statement })))
    }

    /// At TRANSACTION.
    fn set_transaction(&mut self, scope: Option<Scope>) -> R<SetItem<'a>> {
        self.bump();
        let mut set = SetTransaction { scope, isolation: None, access: None };
        loop {
            if self.eat_kw(Kw::ISOLATION) {
                self.expect_kw(Kw::LEVEL)?;
                set.isolation = Some(self.isolation_level()?);
            } else {
                set.access = Some(self.access_mode()?);
            }
            // One of each, in any order.
            let twice = self.is(b',')
                && match self.peek().kw {
                    Kw::ISOLATION => set.isolation.is_some(),
                    Kw::READ => set.access.is_some(),
                    _ => false,
                };
            if twice {
                self.bump();
                return Err(Fail::Syntax);
            }
            if !self.eat(b',') {
                return Ok(SetItem::Transaction(set));
            }
        }
    }

    fn isolation_level(&mut self) -> R<IsolationLevel> {
        Ok(match self.one_of(&[Kw::READ, Kw::REPEATABLE, Kw::SERIALIZABLE])? {
            Kw::READ => match self.one_of(&[Kw::UNCOMMITTED, Kw::COMMITTED])? {
                Kw::UNCOMMITTED => IsolationLevel::ReadUncommitted,
                _ => IsolationLevel::ReadCommitted,
            },
            Kw::REPEATABLE => {
                self.expect_kw(Kw::READ)?;
                IsolationLevel::RepeatableRead
            }
            _ => IsolationLevel::Serializable,
        })
    }

    fn set_item(&mut self) -> R<SetItem<'a>> {
        match self.token.tok {
            Tok::AtName => {
                let name = self.at_name()?;
                self.assign_sign()?;
                return Ok(SetItem::User { name, value: self.expr()? });
            }
            Tok::AtAt => {
                let variable = self.system_variable()?;
                self.assign_sign()?;
                return Ok(SetItem::System { variable, value: self.set_value()? });
            }
            _ => {}
        }
        match self.token.kw {
            Kw::NAMES => return self.set_names(),
            Kw::CHAR | Kw::CHARACTER | Kw::CHARSET if !self.assignment_follows() => {
                if !self.eat_charset_word()? {
                    return Err(Fail::Syntax);
                }
                let charset = if self.eat_kw(Kw::DEFAULT) { None } else { Some(self.charset_name()?) };
                return Ok(SetItem::CharacterSet(charset));
            }
            Kw::PASSWORD => return self.set_password(),
            _ => {}
        }
        let scope = if self.assignment_follows() { None } else { self.variable_scope() };
        let first = self.ident()?;
        let (base, name) = if self.is(b'.') { (Some(first), self.name_after_dot()?) } else { (None, first) };
        let variable = SystemVariable { scope, base, name };
        self.assign_sign()?;
        Ok(SetItem::System { variable, value: self.set_value()? })
    }

    /// `=` or `:=`
    pub(super) fn assign_sign(&mut self) -> R<()> {
        if self.eat_tok(Tok::Assign) { Ok(()) } else { self.expect_equals() }
    }

    /// A value, or `None` for DEFAULT; words that are no expressions become columns.
    fn set_value(&mut self) -> R<Option<Expr<'a>>> {
        match self.token.kw {
            Kw::DEFAULT if self.peek().tok != Tok::Char(b'(') => {
                self.bump();
                return Ok(None);
            }
            Kw::ON | Kw::ALL => return Ok(Some(self.word_value()?)),
            Kw::BINARY | Kw::ROW | Kw::SYSTEM => {
                let next = self.peek();
                if matches!(next.tok, Tok::Eof | Tok::Char(b',' | b';')) || next.kw == Kw::FOR {
                    return Ok(Some(self.word_value()?));
                }
            }
            _ => {}
        }
        Ok(Some(self.expr()?))
    }

    fn word_value(&mut self) -> R<Expr<'a>> {
        Ok(Expr::Column(ColumnRef { table: None, name: self.name_token()? }))
    }

    fn set_names(&mut self) -> R<SetItem<'a>> {
        self.bump();
        let charset = if self.eat_kw(Kw::DEFAULT) { None } else { Some(self.charset_name()?) };
        let collation = if self.eat_kw(Kw::COLLATE) {
            if self.eat_kw(Kw::DEFAULT) { None } else { Some(self.charset_name()?) }
        } else {
            None
        };
        Ok(SetItem::Names { charset, collation })
    }

    fn set_password(&mut self) -> R<SetItem<'a>> {
        self.bump();
        let account = if self.eat_kw(Kw::FOR) { Some(self.account()?) } else { None };
        self.assign_sign()?;
        let value = if self.is_any(&[Kw::PASSWORD, Kw::OLD_PASSWORD]) {
            self.bump();
            self.expect(b'(')?;
            let text = self.string()?;
            self.expect(b')')?;
            PasswordValue::Plain(text)
        } else {
            PasswordValue::Hash(self.string()?)
        };
        Ok(SetItem::Password { account, value })
    }
}
