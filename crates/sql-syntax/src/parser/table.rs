//! CREATE TABLE: elements, indexes, constraints, table options.

use super::text::decimal_value;
use super::*;

impl<'a> Parser<'a> {
    /// After `CREATE [TEMPORARY] TABLE`.
    pub(super) fn create_table(&mut self, mut mode: CreateMode, temporary: bool) -> R<Statement<'a>> {
        mode.if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let mut create = CreateTable {
            mode,
            temporary,
            name,
            content: TableContent::Elements(&[]),
            options: &[],
            partitioning: None,
            on_duplicate: OnDuplicate::Error,
            query: None,
        };
        if self.eat_kw(Kw::LIKE) {
            create.content = TableContent::Like(self.object_name()?);
            return Ok(Statement::CreateTable(self.alloc(create)));
        }
        if self.is(b'(') {
            if self.peek().kw == Kw::LIKE {
                self.bump();
                self.bump();
                create.content = TableContent::Like(self.object_name()?);
                self.expect(b')')?;
                return Ok(Statement::CreateTable(self.alloc(create)));
            }
            if !self.query_in_parens_ahead() {
                create.content = TableContent::Elements(self.paren_list(Self::table_element)?);
            }
        }
        self.create_table_tail(create)
    }

    fn create_table_tail(&mut self, mut create: CreateTable<'a>) -> R<Statement<'a>> {
        create.options = self.table_options()?;
        if self.is_kw(Kw::PARTITION) {
            create.partitioning = Some(self.partitioning()?);
        }
        create.on_duplicate = self.on_duplicate_word();
        let wants_query = create.on_duplicate != OnDuplicate::Error || self.eat_kw(Kw::AS);
        if wants_query {
            self.eat_kw(Kw::AS);
        }
        if wants_query || self.is(b'(') || self.is_any(&[Kw::SELECT, Kw::WITH, Kw::VALUES]) {
            create.query = Some(self.query_or_parens()?);
        }
        Ok(Statement::CreateTable(self.alloc(create)))
    }

    fn table_element(&mut self) -> R<TableElement<'a>> {
        match self.token.kw {
            Kw::PERIOD if self.period_ahead() => {
                let (_, name, start, end) = self.period()?;
                Ok(TableElement::Period { name, start, end })
            }
            Kw::CONSTRAINT | Kw::CHECK | Kw::FOREIGN => self.constraint(),
            Kw::PRIMARY | Kw::UNIQUE | Kw::INDEX | Kw::KEY | Kw::FULLTEXT | Kw::SPATIAL => self.constraint(),
            Kw::VECTOR
                if matches!(self.peek().kw, Kw::INDEX | Kw::KEY) || self.peek().tok == Tok::Char(b'(') =>
            {
                self.constraint()
            }
            Kw::VECTOR => self.constraint(),
            _ => Ok(TableElement::Column(self.column_def()?)),
        }
    }

    /// At PERIOD, which may be a column.
    pub(super) fn period_ahead(&self) -> bool {
        let (next, after) = self.peek2();
        next.kw == Kw::FOR || (next.kw == Kw::IF && matches!(after.kw, Kw::NOT | Kw::EXISTS))
    }

    /// At PERIOD: `PERIOD [IF NOT EXISTS] FOR name (start, end)`
    pub(super) fn period(&mut self) -> R<(bool, Ident<'a>, Ident<'a>, Ident<'a>)> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        self.expect_kw(Kw::FOR)?;
        let name = self.ident()?;
        self.expect(b'(')?;
        let start = self.ident()?;
        self.expect(b',')?;
        let end = self.ident()?;
        self.expect(b')')?;
        Ok((if_not_exists, name, start, end))
    }

    /// `[CONSTRAINT [name]]`
    pub(super) fn constraint_name(&mut self) -> R<Option<Ident<'a>>> {
        if self.eat_kw(Kw::CONSTRAINT) && self.is_ident() {
            return Ok(Some(self.ident()?));
        }
        Ok(None)
    }

    /// An index, foreign key or check, with or without `CONSTRAINT name`.
    pub(super) fn constraint(&mut self) -> R<TableElement<'a>> {
        let named = self.is_kw(Kw::CONSTRAINT);
        let mut constraint = None;
        let mut if_not_exists = false;
        if named {
            self.bump();
            if_not_exists = self.if_not_exists()?;
            if self.is_ident() {
                constraint = Some(self.ident()?);
            }
        }
        match self.token.kw {
            Kw::CHECK => {
                let check = self.check(constraint, if_not_exists)?;
                Ok(TableElement::Check(self.alloc(check)))
            }
            Kw::FOREIGN => {
                let key = self.foreign_key(constraint, if_not_exists)?;
                Ok(TableElement::ForeignKey(self.alloc(key)))
            }
            kw @ (Kw::PRIMARY
            | Kw::UNIQUE
            | Kw::INDEX
            | Kw::KEY
            | Kw::FULLTEXT
            | Kw::SPATIAL
            | Kw::VECTOR) => {
                if named && !matches!(kw, Kw::PRIMARY | Kw::UNIQUE) {
                    return Err(Fail::Syntax);
                }
                let index = self.index_def(constraint, if_not_exists)?;
                Ok(TableElement::Index(self.alloc(index)))
            }
            _ => Err(Fail::Syntax),
        }
    }

    /// At CHECK.
    pub(super) fn check(&mut self, constraint: Option<Ident<'a>>, if_not_exists: bool) -> R<CheckDef<'a>> {
        self.expect_kw(Kw::CHECK)?;
        self.expect(b'(')?;
        let start = self.token.start;
        let expr = self.expr()?;
        let text = self.text_since(start);
        self.expect(b')')?;
        Ok(CheckDef { constraint, if_not_exists, expr, text })
    }

    fn foreign_key(&mut self, constraint: Option<Ident<'a>>, mut if_not_exists: bool) -> R<ForeignKey<'a>> {
        self.bump();
        self.expect_kw(Kw::KEY)?;
        if_not_exists |= self.if_not_exists()?;
        let name = if self.is_ident() { Some(self.ident()?) } else { None };
        let columns = self.paren_list(Self::index_part)?;
        let references = self.references()?;
        Ok(ForeignKey { constraint, if_not_exists, name, columns, references })
    }

    /// At the kind of an index.
    fn index_def(&mut self, constraint: Option<Ident<'a>>, mut if_not_exists: bool) -> R<IndexDef<'a>> {
        let kind = match self.token.kw {
            Kw::PRIMARY => IndexKind::Primary,
            Kw::UNIQUE => IndexKind::Unique,
            Kw::FULLTEXT => IndexKind::Fulltext,
            Kw::SPATIAL => IndexKind::Spatial,
            Kw::VECTOR => IndexKind::Vector,
            _ => IndexKind::Plain,
        };
        self.bump();
        match kind {
            IndexKind::Primary => self.expect_kw(Kw::KEY)?,
            IndexKind::Plain => {}
            _ => {
                if self.is_any(&[Kw::INDEX, Kw::KEY]) {
                    self.bump();
                }
            }
        }
        if_not_exists |= self.if_not_exists()?;
        let name = if self.is_ident() && !self.is_kw(Kw::TYPE) || self.type_is_name() {
            Some(self.ident()?)
        } else {
            None
        };
        let mut options = self.vec();
        let overlaps = matches!(kind, IndexKind::Primary | IndexKind::Unique);
        let special = matches!(kind, IndexKind::Fulltext | IndexKind::Spatial | IndexKind::Vector);
        while !special && self.is_any(&[Kw::USING, Kw::TYPE]) {
            options.push(self.index_using()?);
        }
        let (parts, without_overlaps) = self.index_parts_of(kind)?;
        if without_overlaps.is_some() && !overlaps {
            return Err(Fail::Syntax);
        }
        while let Some(option) = self.index_option()? {
            options.push(option);
        }
        let options = options.into_bump_slice();
        Ok(IndexDef { kind, constraint, if_not_exists, name, parts, without_overlaps, options })
    }

    /// At TYPE, which names an index when no index type follows.
    fn type_is_name(&self) -> bool {
        self.is_kw(Kw::TYPE) && !matches!(self.peek().kw, Kw::BTREE | Kw::HASH | Kw::RTREE)
    }

    /// `USING BTREE`, `TYPE BTREE`
    pub(super) fn index_using(&mut self) -> R<IndexOption<'a>> {
        self.bump();
        let method = Ident(self.token_text());
        self.one_of(&[Kw::BTREE, Kw::HASH, Kw::RTREE])?;
        Ok(IndexOption::Using(method))
    }

    pub(super) fn index_parts_of(&mut self, kind: IndexKind) -> R<(&'a [IndexPart<'a>], Option<Ident<'a>>)> {
        if kind != IndexKind::Spatial {
            return self.index_parts();
        }
        self.expect(b'(')?;
        let column = self.ident()?;
        self.expect(b')')?;
        let part = IndexPart { column, length: None, descending: false };
        Ok((self.arena.alloc_slice_copy(&[part]), None))
    }

    /// `(column [(length)] [ASC | DESC], ... [, period WITHOUT OVERLAPS])`
    pub(super) fn index_parts(&mut self) -> R<(&'a [IndexPart<'a>], Option<Ident<'a>>)> {
        self.expect(b'(')?;
        let mut parts = self.vec();
        let mut without_overlaps = None;
        loop {
            let part = self.index_part()?;
            if !parts.is_empty() && part.length.is_none() && self.eat_kw(Kw::WITHOUT) {
                self.expect_kw(Kw::OVERLAPS)?;
                without_overlaps = Some(part.column);
                break;
            }
            parts.push(part);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b')')?;
        Ok((parts.into_bump_slice(), without_overlaps))
    }

    fn index_part(&mut self) -> R<IndexPart<'a>> {
        let column = self.ident()?;
        let length = self.optional_paren_integer()?;
        let descending = self.eat_kw(Kw::DESC);
        if !descending {
            self.eat_kw(Kw::ASC);
        }
        Ok(IndexPart { column, length, descending })
    }

    pub(super) fn index_option(&mut self) -> R<Option<IndexOption<'a>>> {
        Ok(Some(match self.token.kw {
            Kw::USING | Kw::TYPE => self.index_using()?,
            Kw::KEY_BLOCK_SIZE => {
                self.bump();
                self.eat_equals();
                IndexOption::KeyBlockSize(self.number()?)
            }
            Kw::COMMENT => {
                self.bump();
                IndexOption::Comment(self.string()?)
            }
            Kw::WITH => {
                if self.peek().kw != Kw::PARSER {
                    return Ok(None);
                }
                self.bump();
                self.bump();
                IndexOption::Parser(self.ident()?)
            }
            Kw::IGNORED => {
                self.bump();
                IndexOption::Ignored(true)
            }
            Kw::VISIBLE => {
                self.bump();
                IndexOption::Ignored(false)
            }
            Kw::NOT => {
                self.bump();
                self.expect_kw(Kw::IGNORED)?;
                IndexOption::Ignored(false)
            }
            _ if self.is_ident() && self.peek().tok == Tok::Char(b'=') && !self.is_any(&[Kw::ALGORITHM]) => {
                IndexOption::Engine(self.engine_attribute()?)
            }
            _ => return Ok(None),
        }))
    }

    // Table options.

    /// Options with or without commas between them.
    pub(super) fn table_options(&mut self) -> R<&'a [TableOption<'a>]> {
        let mut options = self.vec();
        while let Some(option) = self.table_option()? {
            options.push(option);
            if self.is(b',') {
                self.bump();
                match self.table_option()? {
                    Some(option) => options.push(option),
                    None => return Err(Fail::Syntax),
                }
            }
        }
        Ok(options.into_bump_slice())
    }

    pub(super) fn table_option(&mut self) -> R<Option<TableOption<'a>>> {
        use TableOption as O;
        let kw = self.token.kw;
        match kw {
            Kw::DEFAULT | Kw::CHAR | Kw::CHARACTER | Kw::CHARSET | Kw::COLLATE => {
                return self.charset_option();
            }
            Kw::UNION => {
                self.bump();
                self.eat_equals();
                return Ok(Some(O::Union(self.paren_list_or_empty(Self::object_name)?)));
            }
            Kw::WITH => {
                if self.peek().kw != Kw::SYSTEM {
                    return Ok(None);
                }
                self.bump();
                self.bump();
                self.expect_kw(Kw::VERSIONING)?;
                return Ok(Some(O::WithSystemVersioning));
            }
            Kw::DATA | Kw::INDEX if self.peek().kw == Kw::DIRECTORY => {
                self.bump();
                self.bump();
                self.eat_equals();
                let path = self.string()?;
                return Ok(Some(if kw == Kw::DATA {
                    O::DataDirectory(path)
                } else {
                    O::IndexDirectory(path)
                }));
            }
            _ => {}
        }
        if let Some(option) = self.numeric_option(kw)? {
            return Ok(Some(option));
        }
        self.word_option(kw)
    }

    fn charset_option(&mut self) -> R<Option<TableOption<'a>>> {
        let default = self.eat_kw(Kw::DEFAULT);
        if self.eat_kw(Kw::COLLATE) {
            self.eat_equals();
            return Ok(Some(TableOption::Collate(self.charset_or_default()?)));
        }
        if self.eat_charset_word()? {
            self.eat_equals();
            return Ok(Some(TableOption::Charset(self.charset_or_default()?)));
        }
        if default { Err(Fail::Syntax) } else { Ok(None) }
    }

    fn numeric_option(&mut self, kw: Kw) -> R<Option<TableOption<'a>>> {
        use TableOption as O;
        let make: fn(u64) -> O<'a> = match kw {
            Kw::AUTO_INCREMENT => O::AutoIncrement,
            Kw::AVG_ROW_LENGTH => O::AvgRowLength,
            Kw::MAX_ROWS => O::MaxRows,
            Kw::MIN_ROWS => O::MinRows,
            Kw::KEY_BLOCK_SIZE => O::KeyBlockSize,
            Kw::CHECKSUM | Kw::TABLE_CHECKSUM => O::Checksum,
            Kw::DELAY_KEY_WRITE => O::DelayKeyWrite,
            Kw::PAGE_CHECKSUM => O::PageChecksum,
            Kw::SEQUENCE => O::Sequence,
            Kw::TRANSACTIONAL
            | Kw::PACK_KEYS
            | Kw::STATS_PERSISTENT
            | Kw::STATS_AUTO_RECALC
            | Kw::STATS_SAMPLE_PAGES => {
                self.bump();
                self.eat_equals();
                let value = if self.eat_kw(Kw::DEFAULT) {
                    None
                } else if kw != Kw::STATS_SAMPLE_PAGES && decimal_value(self.token_text()) > 1 {
                    return Err(Fail::Syntax);
                } else {
                    Some(self.number()?)
                };
                return Ok(Some(match kw {
                    Kw::PACK_KEYS => O::PackKeys(value),
                    Kw::TRANSACTIONAL => O::Transactional(value),
                    Kw::STATS_PERSISTENT => O::StatsPersistent(value),
                    Kw::STATS_AUTO_RECALC => O::StatsAutoRecalc(value),
                    _ => O::StatsSamplePages(value),
                }));
            }
            _ => return Ok(None),
        };
        self.bump();
        self.eat_equals();
        Ok(Some(make(self.number()?)))
    }

    fn word_option(&mut self, kw: Kw) -> R<Option<TableOption<'a>>> {
        use TableOption as O;
        if matches!(
            kw,
            Kw::ENGINE
                | Kw::COMMENT
                | Kw::ROW_FORMAT
                | Kw::PASSWORD
                | Kw::TABLESPACE
                | Kw::STORAGE
                | Kw::INSERT_METHOD
        ) || kw == Kw::CONNECTION
        {
            self.bump();
            self.eat_equals();
        } else if self.is_ident()
            && self.peek().tok == Tok::Char(b'=')
            && !matches!(kw, Kw::ALGORITHM | Kw::TYPE)
        {
            return Ok(Some(O::Other(self.engine_attribute()?)));
        }
        Ok(Some(match kw {
            Kw::ENGINE => O::Engine(self.ident_or_text()?),
            Kw::COMMENT => O::Comment(self.string()?),
            Kw::PASSWORD => O::Password(self.string()?),
            Kw::CONNECTION => O::Connection(self.string()?),
            Kw::TABLESPACE => O::Tablespace(self.ident()?),
            Kw::STORAGE => {
                let kind = Ident(self.token_text());
                if !self.is_word("MEMORY") {
                    self.one_of(&[Kw::DISK])?;
                } else {
                    self.bump();
                }
                O::Storage(kind)
            }
            Kw::INSERT_METHOD => {
                let method = Ident(self.token_text());
                self.one_of(&[Kw::NO, Kw::FIRST, Kw::LAST])?;
                O::InsertMethod(method)
            }
            Kw::ROW_FORMAT => {
                let format = Ident(self.token_text());
                self.one_of(&[
                    Kw::DEFAULT,
                    Kw::FIXED,
                    Kw::DYNAMIC,
                    Kw::COMPRESSED,
                    Kw::REDUNDANT,
                    Kw::COMPACT,
                    Kw::PAGE,
                ])?;
                O::RowFormat(format)
            }
            _ => return Ok(None),
        }))
    }
}
