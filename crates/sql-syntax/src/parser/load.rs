//! LOAD DATA, the file format it shares with INTO OUTFILE, and HANDLER.

use super::*;

impl<'a> Parser<'a> {
    /// At LOAD.
    pub(super) fn load(&mut self) -> R<Statement<'a>> {
        self.bump();
        match self.one_of(&[Kw::DATA, Kw::XML, Kw::INDEX])? {
            Kw::INDEX => self.load_index(),
            kw => self.load_data(kw == Kw::XML),
        }
    }

    fn load_data(&mut self, xml: bool) -> R<Statement<'a>> {
        let mut priority = Priority::Normal;
        let mut concurrent = false;
        if self.eat_kw(Kw::LOW_PRIORITY) {
            priority = Priority::Low;
        } else {
            concurrent = self.eat_kw(Kw::CONCURRENT);
        }
        let local = self.eat_kw(Kw::LOCAL);
        self.expect_kw(Kw::INFILE)?;
        let path = self.string()?;
        let duplicates = self.on_duplicate_word();
        self.expect_kw(Kw::INTO)?;
        self.expect_kw(Kw::TABLE)?;
        let table = self.object_name()?;
        let partitions = self.partition_list()?;
        let charset = self.optional_load_charset()?;
        let mut row_tag = None;
        if self.eat_kw(Kw::ROWS) {
            self.expect_kw(Kw::IDENTIFIED)?;
            self.expect_kw(Kw::BY)?;
            row_tag = Some(self.string()?);
        }
        let format = self.file_format()?;
        let mut ignore_lines = 0;
        if self.eat_kw(Kw::IGNORE) {
            ignore_lines = self.integer()?;
            self.one_of(&[Kw::LINES, Kw::ROWS])?;
        }
        let targets = if self.is(b'(') { self.paren_list_or_empty(Self::load_target)? } else { &[] };
        let assignments = if self.eat_kw(Kw::SET) { self.assignments()? } else { &[] };
        Ok(Statement::LoadData(self.alloc(LoadData {
            xml,
            priority,
            concurrent,
            local,
            path,
            duplicates,
            table,
            partitions,
            charset,
            row_tag,
            format,
            ignore_lines,
            targets,
            assignments,
        })))
    }

    /// `[REPLACE | IGNORE]`
    pub(super) fn on_duplicate_word(&mut self) -> OnDuplicate {
        if self.eat_kw(Kw::REPLACE) {
            OnDuplicate::Replace
        } else if self.eat_kw(Kw::IGNORE) {
            OnDuplicate::Ignore
        } else {
            OnDuplicate::Error
        }
    }

    fn load_target(&mut self) -> R<LoadTarget<'a>> {
        if self.is_tok(Tok::AtName) {
            return Ok(LoadTarget::Variable(self.at_name()?));
        }
        Ok(LoadTarget::Column(self.column_ref()?))
    }

    /// `[CHARACTER SET name]`
    pub(super) fn optional_load_charset(&mut self) -> R<Option<Ident<'a>>> {
        if self.eat_charset_word()? { Ok(Some(self.charset_name()?)) } else { Ok(None) }
    }

    /// `CHARACTER SET`, `CHAR SET` or `CHARSET`.
    pub(super) fn eat_charset_word(&mut self) -> R<bool> {
        if self.eat_kw(Kw::CHARSET) {
            return Ok(true);
        }
        if self.is_any(&[Kw::CHAR, Kw::CHARACTER]) && self.peek().kw == Kw::SET {
            self.bump();
            self.bump();
            return Ok(true);
        }
        Ok(false)
    }

    pub(super) fn file_format(&mut self) -> R<FileFormat<'a>> {
        let mut format = FileFormat::default();
        if self.is_any(&[Kw::FIELDS, Kw::COLUMNS]) {
            self.bump();
            let mut some = false;
            while self.field_term(&mut format)? {
                some = true;
            }
            if !some {
                return Err(Fail::Syntax);
            }
        }
        if self.eat_kw(Kw::LINES) {
            let mut some = false;
            while self.is_any(&[Kw::STARTING, Kw::TERMINATED]) {
                let starting = self.is_kw(Kw::STARTING);
                self.bump();
                self.expect_kw(Kw::BY)?;
                let text = Some(self.file_text()?);
                if starting {
                    format.lines_starting = text;
                } else {
                    format.lines_terminated = text;
                }
                some = true;
            }
            if !some {
                return Err(Fail::Syntax);
            }
        }
        Ok(format)
    }

    fn field_term(&mut self, format: &mut FileFormat<'a>) -> R<bool> {
        let kw = self.token.kw;
        match kw {
            Kw::TERMINATED | Kw::ENCLOSED | Kw::ESCAPED => self.bump(),
            Kw::OPTIONALLY => {
                self.bump();
                self.expect_kw(Kw::ENCLOSED)?;
                format.optionally_enclosed = true;
            }
            _ => return Ok(false),
        }
        self.expect_kw(Kw::BY)?;
        let text = Some(self.file_text()?);
        match kw {
            Kw::TERMINATED => format.fields_terminated = text,
            Kw::ESCAPED => format.fields_escaped = text,
            _ => format.fields_enclosed = text,
        }
        Ok(true)
    }

    /// A string, or a hexadecimal or bit literal.
    pub(super) fn file_text(&mut self) -> R<&'a [u8]> {
        let text = match self.token.tok {
            Tok::HexHybrid => self.hex_value(self.token),
            Tok::Bits => self.bits_value(self.token),
            _ => return self.string(),
        };
        self.bump();
        Ok(text)
    }

    /// At HANDLER.
    pub(super) fn handler(&mut self) -> R<Statement<'a>> {
        self.bump();
        let table = self.object_name()?;
        if table.database.is_some() && !self.is_kw(Kw::OPEN) {
            return Err(Fail::Syntax);
        }
        let action = match self.one_of(&[Kw::OPEN, Kw::CLOSE, Kw::READ])? {
            Kw::OPEN => HandlerAction::Open { alias: self.table_alias()? },
            Kw::CLOSE => HandlerAction::Close,
            _ => self.handler_read()?,
        };
        Ok(Statement::Handler(self.alloc(Handler { table, action })))
    }

    fn handler_read(&mut self) -> R<HandlerAction<'a>> {
        // FIRST and NEXT alone read in the table's own order; they are names of indexes when a position follows.
        let alone = self.is_any(&[Kw::FIRST, Kw::NEXT])
            && (matches!(self.peek().tok, Tok::Eof | Tok::Char(b';'))
                || matches!(self.peek().kw, Kw::WHERE | Kw::LIMIT | Kw::OFFSET | Kw::FETCH));
        let index = if alone { None } else { Some(self.index_name()?) };
        let position = match (self.token.tok, self.token.kw) {
            (Tok::Word, Kw::FIRST) => HandlerPosition::First,
            (Tok::Word, Kw::NEXT) => HandlerPosition::Next,
            (Tok::Word, Kw::PREV) => HandlerPosition::Prev,
            (Tok::Word, Kw::LAST) => HandlerPosition::Last,
            _ => {
                let op = match self.token.tok {
                    Tok::Char(b'=') => BinaryOp::Eq,
                    Tok::Char(b'<') => BinaryOp::Lt,
                    Tok::Char(b'>') => BinaryOp::Gt,
                    Tok::Le => BinaryOp::Le,
                    Tok::Ge => BinaryOp::Ge,
                    _ => return Err(Fail::Syntax),
                };
                self.bump();
                let key = self.paren_list(Self::insert_value)?;
                return self.handler_filter(index, HandlerPosition::Key { op, key });
            }
        };
        self.bump();
        self.handler_filter(index, position)
    }

    fn handler_filter(
        &mut self,
        index: Option<Ident<'a>>,
        position: HandlerPosition<'a>,
    ) -> R<HandlerAction<'a>> {
        let filter = self.filter()?;
        let limit = self.limit()?.copied();
        Ok(HandlerAction::Read { index, position, filter, limit })
    }
}
