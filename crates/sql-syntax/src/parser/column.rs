//! Column types and column attributes.

use super::*;

impl<'a> Parser<'a> {
    /// `name type [attributes]`
    pub(super) fn column_def(&mut self) -> R<&'a ColumnDef<'a>> {
        // The table may stand before the column's name; it says nothing.
        let name = self.column_ref()?.name;
        self.compressed = None;
        let data_type = self.data_type()?;
        let mut attributes = self.vec();
        if let Some(method) = self.compressed.take() {
            attributes.push(ColumnAttribute::Compressed { method });
        }
        let mut generated = false;
        loop {
            // A generated column is NULL or not by its expression.
            if generated && self.is_any(&[Kw::NULL, Kw::NOT]) {
                return Err(Fail::Syntax);
            }
            let Some(attribute) = self.column_attribute()? else { break };
            generated |= matches!(attribute, ColumnAttribute::Generated(_));
            attributes.push(attribute);
        }
        Ok(self.alloc(ColumnDef { name, data_type, attributes: attributes.into_bump_slice() }))
    }

    pub(super) fn data_type(&mut self) -> R<DataType<'a>> {
        if matches!(self.token.tok, Tok::Word | Tok::Quoted) && self.lexer.follows(b'.') {
            // `mariadb_schema.date`: the schema picks the dialect of the name.
            self.bump();
            self.bump();
        }
        let kw = self.token.kw;
        if !matches!(self.token.tok, Tok::Word | Tok::Quoted) {
            return Err(Fail::Syntax);
        }
        match kw {
            Kw::TINYINT | Kw::INT1 => self.int_type(IntSize::Tiny),
            Kw::SMALLINT | Kw::INT2 => self.int_type(IntSize::Small),
            Kw::MEDIUMINT | Kw::INT3 | Kw::MIDDLEINT => self.int_type(IntSize::Medium),
            Kw::INT | Kw::INTEGER | Kw::INT4 => self.int_type(IntSize::Normal),
            Kw::BIGINT | Kw::INT8 => self.int_type(IntSize::Big),
            Kw::BOOL | Kw::BOOLEAN => {
                self.bump();
                Ok(DataType::Int { size: IntSize::Tiny, width: Some(1), sign: Sign::default() })
            }
            Kw::DECIMAL | Kw::DEC | Kw::NUMERIC | Kw::FIXED | Kw::NUMBER => {
                self.bump();
                let (precision, scale) = self.precision_and_scale()?;
                Ok(DataType::Decimal { precision, scale, sign: self.sign() })
            }
            Kw::FLOAT | Kw::FLOAT4 => {
                self.bump();
                let (precision, scale) = self.precision_and_scale()?;
                Ok(DataType::Float { precision, scale, sign: self.sign() })
            }
            Kw::DOUBLE | Kw::FLOAT8 | Kw::REAL => {
                self.bump();
                if kw != Kw::FLOAT8 {
                    self.eat_kw(Kw::PRECISION);
                }
                let (precision, scale) = self.precision_and_scale()?;
                Ok(DataType::Double { precision, scale, sign: self.sign() })
            }
            Kw::BIT => {
                self.bump();
                Ok(DataType::Bit { width: self.optional_paren_integer()? })
            }
            Kw::SERIAL => {
                self.bump();
                Ok(DataType::Serial)
            }
            Kw::DATE | Kw::TIME | Kw::DATETIME | Kw::TIMESTAMP | Kw::YEAR => self.temporal_type(kw),
            _ => self.string_type(kw),
        }
    }

    fn int_type(&mut self, size: IntSize) -> R<DataType<'a>> {
        self.bump();
        let width = self.optional_paren_integer()?;
        Ok(DataType::Int { size, width, sign: self.sign() })
    }

    fn sign(&mut self) -> Sign {
        let mut sign = Sign::default();
        loop {
            match self.token.kw {
                Kw::SIGNED => {}
                Kw::UNSIGNED => sign.unsigned = true,
                Kw::ZEROFILL => sign.zerofill = true,
                _ => return sign,
            }
            self.bump();
        }
    }

    fn temporal_type(&mut self, kw: Kw) -> R<DataType<'a>> {
        self.bump();
        if kw == Kw::DATE {
            return Ok(DataType::Date);
        }
        let n = self.optional_paren_integer()?;
        Ok(match kw {
            Kw::TIME => DataType::Time { precision: n },
            Kw::DATETIME => DataType::DateTime { precision: n },
            Kw::TIMESTAMP => DataType::Timestamp { precision: n },
            _ => {
                self.sign();
                DataType::Year { width: n }
            }
        })
    }

    fn string_type(&mut self, kw: Kw) -> R<DataType<'a>> {
        match kw {
            Kw::CHAR | Kw::CHARACTER => {
                self.bump();
                if self.eat_kw(Kw::VARYING) {
                    return self.varchar(false);
                }
                self.char_type(false)
            }
            Kw::NCHAR => {
                self.bump();
                if self.is_any(&[Kw::VARCHAR, Kw::VARYING]) {
                    self.bump();
                    return self.varchar(true);
                }
                self.char_type(true)
            }
            Kw::NATIONAL => {
                self.bump();
                match self.one_of(&[Kw::CHAR, Kw::CHARACTER, Kw::VARCHAR, Kw::VARCHARACTER])? {
                    Kw::CHAR | Kw::CHARACTER if !self.eat_kw(Kw::VARYING) => self.char_type(true),
                    _ => self.varchar(true),
                }
            }
            Kw::VARCHAR | Kw::VARCHARACTER | Kw::VARCHAR2 => {
                self.bump();
                self.varchar(false)
            }
            Kw::NVARCHAR => {
                self.bump();
                self.varchar(true)
            }
            Kw::BINARY => {
                self.bump();
                Ok(DataType::Binary { length: self.optional_paren_integer()? })
            }
            Kw::VARBINARY => {
                self.bump();
                let length = Some(self.paren_integer()?);
                self.compression()?;
                Ok(DataType::Varbinary { length })
            }
            Kw::ENUM | Kw::SET => {
                self.bump();
                let values = self.paren_list(Self::file_text)?;
                let charset = self.charset_attributes()?;
                Ok(if kw == Kw::ENUM {
                    DataType::Enum { values, charset }
                } else {
                    DataType::Set { values, charset }
                })
            }
            Kw::JSON => {
                self.bump();
                self.compression()?;
                Ok(DataType::Json { charset: CharsetSpec::default() })
            }
            Kw::VECTOR => {
                self.bump();
                Ok(DataType::Vector { dimensions: self.optional_paren_integer()? })
            }
            _ => self.blob_type(kw),
        }
    }

    fn char_type(&mut self, national: bool) -> R<DataType<'a>> {
        let length = self.optional_paren_integer()?;
        let charset = self.charset_attributes()?;
        Ok(DataType::Char { length, charset, national })
    }

    fn varchar(&mut self, national: bool) -> R<DataType<'a>> {
        let length = Some(self.paren_integer()?);
        self.compression()?;
        let charset = self.charset_attributes()?;
        Ok(DataType::Varchar { length, charset, national })
    }

    fn blob_type(&mut self, kw: Kw) -> R<DataType<'a>> {
        use BlobSize as B;
        match kw {
            Kw::TINYBLOB => self.blob(B::Tiny, false),
            Kw::BLOB => self.blob(B::Normal, true),
            Kw::MEDIUMBLOB => self.blob(B::Medium, false),
            Kw::LONGBLOB => self.blob(B::Long, false),
            Kw::TINYTEXT => self.text(B::Tiny, false),
            Kw::TEXT => self.text(B::Normal, true),
            Kw::MEDIUMTEXT => self.text(B::Medium, false),
            Kw::LONGTEXT | Kw::CLOB => self.text(B::Long, false),
            Kw::LONG => {
                self.bump();
                match self.token.kw {
                    Kw::VARBINARY => self.blob(B::Medium, false),
                    Kw::CHAR | Kw::CHARACTER if self.peek().kw == Kw::VARYING => {
                        self.bump();
                        self.text(B::Medium, false)
                    }
                    Kw::VARCHAR | Kw::VARCHARACTER => self.text(B::Medium, false),
                    _ => {
                        let charset = self.charset_attributes()?;
                        Ok(DataType::Text { size: B::Medium, length: None, charset })
                    }
                }
            }
            _ if is_type_name(kw) => self.named_type(),
            _ => Err(Fail::Syntax),
        }
    }

    fn blob(&mut self, size: BlobSize, sized: bool) -> R<DataType<'a>> {
        self.bump();
        let length = if sized { self.optional_paren_integer()? } else { None };
        self.compression()?;
        Ok(DataType::Blob { size, length })
    }

    fn text(&mut self, size: BlobSize, sized: bool) -> R<DataType<'a>> {
        self.bump();
        let length = if sized { self.optional_paren_integer()? } else { None };
        self.compression()?;
        Ok(DataType::Text { size, length, charset: self.charset_attributes()? })
    }

    /// `[COMPRESSED [= method]]`
    fn compression(&mut self) -> R<()> {
        if self.eat_kw(Kw::COMPRESSED) {
            self.compressed = Some(if self.eat_equals() { Some(self.ident_or_text()?) } else { None });
        }
        Ok(())
    }

    /// Types that are no words of the grammar.
    fn named_type(&mut self) -> R<DataType<'a>> {
        let name = self.name_token()?;
        let geometry = [
            ("geometry", GeometryKind::Geometry),
            ("point", GeometryKind::Point),
            ("linestring", GeometryKind::LineString),
            ("polygon", GeometryKind::Polygon),
            ("multipoint", GeometryKind::MultiPoint),
            ("multilinestring", GeometryKind::MultiLineString),
            ("multipolygon", GeometryKind::MultiPolygon),
            ("geometrycollection", GeometryKind::GeometryCollection),
        ];
        if let Some((_, kind)) = geometry.iter().find(|(word, _)| name.is(word)) {
            self.precision_and_scale()?;
            return Ok(DataType::Geometry { kind: *kind, srid: self.reference_system()? });
        }
        for (word, data_type) in
            [("uuid", DataType::Uuid), ("inet4", DataType::Inet4), ("inet6", DataType::Inet6)]
        {
            if name.is(word) {
                self.optional_paren_integer()?;
                return Ok(data_type);
            }
        }
        let (length, scale) = self.precision_and_scale()?;
        self.charset_attributes()?;
        Ok(DataType::Named { name, length, scale })
    }

    /// `[REF_SYSTEM_ID = n]`
    fn reference_system(&mut self) -> R<Option<u64>> {
        if !self.eat_kw(Kw::REF_SYSTEM_ID) {
            return Ok(None);
        }
        self.expect_equals()?;
        Ok(Some(self.integer()?))
    }

    /// `CHARACTER SET x`, `ASCII`, `UNICODE`, `BYTE`, `BINARY`, `COLLATE x` of a type.
    pub(super) fn charset_attributes(&mut self) -> R<CharsetSpec<'a>> {
        let mut spec = CharsetSpec::default();
        loop {
            match self.token.kw {
                Kw::ASCII if spec.charset.is_none() => {
                    self.bump();
                    spec.charset = Some(Ident(b"latin1"));
                }
                Kw::UNICODE if spec.charset.is_none() => {
                    self.bump();
                    spec.charset = Some(Ident(b"ucs2"));
                }
                Kw::BYTE if spec.charset.is_none() => {
                    self.bump();
                    spec.charset = Some(Ident(b"binary"));
                }
                Kw::BINARY if !spec.binary => {
                    self.bump();
                    spec.binary = true;
                }
                Kw::CHARSET | Kw::CHAR | Kw::CHARACTER if spec.charset.is_none() => {
                    if !self.eat_charset_word()? {
                        return Ok(spec);
                    }
                    spec.charset = Some(self.charset_name()?);
                }
                _ => return Ok(spec),
            }
        }
    }

    // Attributes.

    fn column_attribute(&mut self) -> R<Option<ColumnAttribute<'a>>> {
        use ColumnAttribute as A;
        let kw = self.token.kw;
        Ok(Some(match kw {
            Kw::NULL => {
                self.bump();
                A::Null
            }
            Kw::NOT => {
                self.bump();
                self.expect_kw(Kw::NULL)?;
                A::NotNull
            }
            Kw::DEFAULT => {
                self.bump();
                A::Default(self.default_value()?)
            }
            Kw::ON => {
                self.bump();
                self.expect_kw(Kw::UPDATE)?;
                A::OnUpdate(self.clock_value()?)
            }
            Kw::AUTO_INCREMENT => {
                self.bump();
                A::AutoIncrement
            }
            Kw::SERIAL => {
                self.bump();
                self.expect_kw(Kw::DEFAULT)?;
                self.expect_kw(Kw::VALUE)?;
                A::SerialDefault
            }
            Kw::PRIMARY => {
                self.bump();
                self.expect_kw(Kw::KEY)?;
                A::PrimaryKey
            }
            Kw::KEY => {
                self.bump();
                A::Key
            }
            Kw::UNIQUE => {
                self.bump();
                self.eat_kw(Kw::KEY);
                A::Unique
            }
            Kw::COMMENT => {
                self.bump();
                A::Comment(self.string()?)
            }
            Kw::COLLATE => {
                self.bump();
                A::Collate(self.charset_or_default()?)
            }
            Kw::REFERENCES => {
                let references = self.references()?;
                A::References(self.alloc(references))
            }
            Kw::CONSTRAINT | Kw::CHECK => {
                let constraint = self.constraint_name()?;
                if self.is_kw(Kw::REFERENCES) {
                    let references = self.references()?;
                    return Ok(Some(A::References(self.alloc(references))));
                }
                let check = self.check(constraint, false)?;
                A::Check(self.alloc(check))
            }
            _ => return self.rare_attribute(kw),
        }))
    }

    fn rare_attribute(&mut self, kw: Kw) -> R<Option<ColumnAttribute<'a>>> {
        use ColumnAttribute as A;
        Ok(Some(match kw {
            Kw::INVISIBLE => {
                self.bump();
                A::Invisible
            }
            Kw::REF_SYSTEM_ID => A::ReferenceSystem(self.reference_system()?.unwrap_or(0)),
            Kw::WITH | Kw::WITHOUT => {
                if self.peek().kw != Kw::SYSTEM {
                    return Ok(None);
                }
                self.bump();
                self.bump();
                self.expect_kw(Kw::VERSIONING)?;
                if kw == Kw::WITH { A::WithSystemVersioning } else { A::WithoutSystemVersioning }
            }
            Kw::GENERATED => {
                self.bump();
                self.expect_kw(Kw::ALWAYS)?;
                self.generated()?
            }
            Kw::AS if self.peek().tok == Tok::Char(b'(') || self.peek().kw == Kw::ROW => self.generated()?,
            _ if self.is_ident() && self.peek().tok == Tok::Char(b'=') => A::Engine(self.engine_attribute()?),
            _ => return Ok(None),
        }))
    }

    /// `name = value` of a storage engine.
    pub(super) fn engine_attribute(&mut self) -> R<NameValue<'a>> {
        let name = self.ident()?;
        self.expect_equals()?;
        let value = match self.token.tok {
            Tok::String => Some(OptionValue::Text(self.string()?)),
            Tok::Int | Tok::HexHybrid => Some(OptionValue::Number(self.number()?)),
            _ if self.is_kw(Kw::DEFAULT) => {
                self.bump();
                None
            }
            _ => Some(OptionValue::Word(self.ident()?)),
        };
        Ok(NameValue { name, value })
    }

    /// At AS: `AS (expr) [VIRTUAL | STORED | PERSISTENT]`, `AS ROW START | END`.
    fn generated(&mut self) -> R<ColumnAttribute<'a>> {
        self.expect_kw(Kw::AS)?;
        if self.eat_kw(Kw::ROW) {
            return Ok(match self.token.kw {
                Kw::START => {
                    self.bump();
                    ColumnAttribute::RowStart
                }
                _ => {
                    self.expect_kw(Kw::END)?;
                    ColumnAttribute::RowEnd
                }
            });
        }
        self.expect(b'(')?;
        let start = self.token.start;
        let expr = self.expr()?;
        let text = self.text_since(start);
        self.expect(b')')?;
        let mut stored = false;
        if self.is_any(&[Kw::VIRTUAL, Kw::STORED, Kw::PERSISTENT]) {
            stored = !self.is_kw(Kw::VIRTUAL);
            self.bump();
        }
        Ok(ColumnAttribute::Generated(Generated { expr, stored, text }))
    }

    /// What may follow DEFAULT: a signed literal, a clock function or an operand; anything else needs parentheses.
    pub(super) fn default_value(&mut self) -> R<Expr<'a>> {
        if self.is_kw(Kw::NEXT) || self.is_any(&[Kw::CURRENT_TIMESTAMP, Kw::LOCALTIME, Kw::LOCALTIMESTAMP]) {
            return self.primary();
        }
        if self.is_kw(Kw::INTERVAL) {
            return self.bit_expr();
        }
        // A sign, then a literal; otherwise an operand without operators around it.
        if self.is_any(&[Kw::NOT, Kw::BINARY]) || self.is(b'~') || self.is(b'!') {
            return Err(Fail::Syntax);
        }
        self.simple_operand()
    }

    /// An operand, with a sign in front of it when it is a number.
    fn simple_operand(&mut self) -> R<Expr<'a>> {
        let negative = self.is(b'-');
        if negative || self.is(b'+') {
            self.bump();
            if !matches!(self.token.tok, Tok::Int | Tok::Decimal | Tok::Double) {
                return Err(Fail::Syntax);
            }
            let number = self.primary()?;
            return Ok(match negative {
                true => Expr::Unary { op: UnaryOp::Neg, expr: self.alloc(number) },
                false => number,
            });
        }
        self.primary()
    }

    /// `CURRENT_TIMESTAMP` and its synonyms.
    fn clock_value(&mut self) -> R<Expr<'a>> {
        if self.is_any(&[Kw::CURRENT_TIMESTAMP, Kw::LOCALTIME, Kw::LOCALTIMESTAMP])
            || (self.is_tok(Tok::Function) && self.is_kw(Kw::NOW))
        {
            return self.primary();
        }
        Err(Fail::Syntax)
    }

    /// At REFERENCES.
    pub(super) fn references(&mut self) -> R<References<'a>> {
        self.expect_kw(Kw::REFERENCES)?;
        let table = self.object_name()?;
        let columns = if self.is(b'(') { self.paren_list(Self::ident)? } else { &[] };
        let mut references = References { table, columns, matching: None, on_delete: None, on_update: None };
        if self.eat_kw(Kw::MATCH) {
            references.matching = Some(Ident(self.token_text()));
            self.one_of(&[Kw::FULL, Kw::PARTIAL, Kw::SIMPLE])?;
        }
        while self.is_kw(Kw::ON) && matches!(self.peek().kw, Kw::DELETE | Kw::UPDATE) {
            self.bump();
            let delete = self.is_kw(Kw::DELETE);
            self.bump();
            let action = Some(self.reference_action()?);
            let slot = if delete { &mut references.on_delete } else { &mut references.on_update };
            if slot.is_some() {
                return Err(Fail::Syntax);
            }
            *slot = action;
        }
        Ok(references)
    }

    fn reference_action(&mut self) -> R<ReferenceAction> {
        Ok(match self.one_of(&[Kw::RESTRICT, Kw::CASCADE, Kw::SET, Kw::NO])? {
            Kw::RESTRICT => ReferenceAction::Restrict,
            Kw::CASCADE => ReferenceAction::Cascade,
            Kw::NO => {
                self.expect_kw(Kw::ACTION)?;
                ReferenceAction::NoAction
            }
            _ => match self.one_of(&[Kw::NULL, Kw::DEFAULT])? {
                Kw::NULL => ReferenceAction::SetNull,
                _ => ReferenceAction::SetDefault,
            },
        })
    }
}

/// Words that may name a type which the grammar does not know: nearly all, reserved or not.
pub(super) fn is_type_name(kw: Kw) -> bool {
    #[rustfmt::skip]
    const NOT: &[Kw] = &[
        Kw::COLUMN, Kw::CONDITION, Kw::CURSOR, Kw::DELAYED, Kw::EXIT, Kw::FOR, Kw::FORCE, Kw::HIGH_PRIORITY,
        Kw::LOCALTIMESTAMP, Kw::SET, Kw::SQL_CALC_FOUND_ROWS, Kw::UNSIGNED, Kw::VARBINARY, Kw::VARCHAR,
        Kw::VARCHARACTER, Kw::VECTOR, Kw::WRITE, Kw::CLOB, Kw::ENUM, Kw::FUNCTION, Kw::MEDIUM, Kw::NATIONAL,
        Kw::NUMBER, Kw::NVARCHAR, Kw::RAW, Kw::ROW, Kw::SIGNED, Kw::VARCHAR2, Kw::WINDOW,
    ];
    !NOT.contains(&kw)
}
