//! PARTITION BY and the partition actions of ALTER TABLE.

use super::*;

impl<'a> Parser<'a> {
    /// At `PARTITION BY`.
    pub(super) fn partitioning(&mut self) -> R<&'a Partitioning<'a>> {
        self.expect_kw(Kw::PARTITION)?;
        self.expect_kw(Kw::BY)?;
        let method = self.partition_method(false)?;
        let count = if self.eat_kw(Kw::PARTITIONS) { Some(self.integer()?) } else { None };
        let (mut subpartition, mut subpartition_count) = (None, None);
        if self.eat_kw(Kw::SUBPARTITION) {
            self.expect_kw(Kw::BY)?;
            subpartition = Some(self.partition_method(true)?);
            if self.eat_kw(Kw::SUBPARTITIONS) {
                subpartition_count = Some(self.integer()?);
            }
        }
        let partitions = if self.is(b'(') { self.paren_list(Self::partition_def)? } else { &[] };
        Ok(self.alloc(Partitioning { method, count, subpartition, subpartition_count, partitions }))
    }

    fn partition_method(&mut self, sub: bool) -> R<PartitionMethod<'a>> {
        let linear = self.eat_kw(Kw::LINEAR);
        let kw = self.token.kw;
        self.bump();
        match kw {
            Kw::HASH => {
                self.expect(b'(')?;
                let expr = self.bit_expr()?;
                self.expect(b')')?;
                Ok(PartitionMethod::Hash { linear, expr })
            }
            Kw::KEY => {
                let mut algorithm = None;
                if self.eat_kw(Kw::ALGORITHM) {
                    self.expect_equals()?;
                    algorithm = Some(self.integer()?);
                }
                let columns = match sub {
                    true => self.paren_list(Self::ident)?,
                    false => self.paren_list_or_empty(Self::ident)?,
                };
                Ok(PartitionMethod::Key { linear, algorithm, columns })
            }
            Kw::RANGE | Kw::LIST if !sub && !linear => {
                let range = kw == Kw::RANGE;
                if self.eat_kw(Kw::COLUMNS) {
                    let columns = self.paren_list(Self::ident)?;
                    return Ok(match range {
                        true => PartitionMethod::RangeColumns(columns),
                        false => PartitionMethod::ListColumns(columns),
                    });
                }
                self.expect(b'(')?;
                let expr = self.bit_expr()?;
                self.expect(b')')?;
                Ok(if range { PartitionMethod::Range(expr) } else { PartitionMethod::List(expr) })
            }
            Kw::SYSTEM_TIME if !sub && !linear => self.system_time_method(),
            _ => Err(Fail::Syntax),
        }
    }

    fn system_time_method(&mut self) -> R<PartitionMethod<'a>> {
        let (mut interval, mut starts, mut limit) = (None, None, None);
        if self.eat_kw(Kw::INTERVAL) {
            let amount = self.expr()?;
            interval = Some((amount, self.interval_unit()?));
            if self.eat_kw(Kw::STARTS) {
                starts = Some(self.expr()?);
            }
        } else if self.eat_kw(Kw::LIMIT) {
            limit = Some(self.integer()?);
        }
        let auto = self.eat_kw(Kw::AUTO);
        Ok(PartitionMethod::SystemTime { interval, starts, limit, auto })
    }

    fn partition_def(&mut self) -> R<PartitionDef<'a>> {
        self.eat_kw(Kw::PARTITION);
        let name = self.ident()?;
        let values = self.partition_values()?;
        let (options, nodegroup) = self.partition_options()?;
        let subpartitions = if self.is(b'(') { self.paren_list(Self::subpartition_def)? } else { &[] };
        Ok(PartitionDef { name, values, options, nodegroup, subpartitions })
    }

    fn subpartition_def(&mut self) -> R<PartitionDef<'a>> {
        self.expect_kw(Kw::SUBPARTITION)?;
        let name = self.ident_or_text()?;
        let (options, nodegroup) = self.partition_options()?;
        Ok(PartitionDef { name, values: PartitionValues::None, options, nodegroup, subpartitions: &[] })
    }

    fn partition_options(&mut self) -> R<(&'a [TableOption<'a>], Option<u64>)> {
        let mut options = self.vec();
        let mut nodegroup = None;
        loop {
            if self.eat_kw(Kw::NODEGROUP) {
                self.eat_equals();
                nodegroup = Some(self.integer()?);
                continue;
            }
            if self.is_kw(Kw::STORAGE) {
                self.bump();
                self.is_kw(Kw::ENGINE).then_some(()).ok_or(Fail::Syntax)?;
            }
            match self.table_option()? {
                Some(option) => options.push(option),
                None => return Ok((options.into_bump_slice(), nodegroup)),
            }
        }
    }

    fn partition_values(&mut self) -> R<PartitionValues<'a>> {
        match self.token.kw {
            Kw::VALUES => self.bump(),
            Kw::DEFAULT => {
                self.bump();
                return Ok(PartitionValues::Default);
            }
            Kw::HISTORY => {
                self.bump();
                return Ok(PartitionValues::History);
            }
            Kw::CURRENT => {
                self.bump();
                return Ok(PartitionValues::Current);
            }
            _ => return Ok(PartitionValues::None),
        }
        if self.eat_kw(Kw::LESS) {
            self.expect_kw(Kw::THAN)?;
            if self.eat_kw(Kw::MAXVALUE) {
                return Ok(PartitionValues::LessThan(self.arena.alloc_slice_copy(&[None])));
            }
            return Ok(PartitionValues::LessThan(self.paren_list(Self::partition_value)?));
        }
        self.expect_kw(Kw::IN)?;
        Ok(PartitionValues::In(self.paren_list(|p| {
            if p.is(b'(') && p.row_ahead() {
                return p.paren_list(Self::partition_value);
            }
            let value = p.partition_value()?;
            Ok(&*p.arena.alloc_slice_copy(&[value]))
        })?))
    }

    /// At `(` inside IN: a row of values rather than an operand in parentheses.
    fn row_ahead(&self) -> bool {
        let mut lexer = self.lexer;
        let mut depth = 1u32;
        while depth > 0 && depth <= MAX_NESTING {
            match lexer.next().tok {
                Tok::Char(b'(') => depth += 1,
                Tok::Char(b')') => depth -= 1,
                Tok::Eof | Tok::Bad => return false,
                _ => {}
            }
        }
        matches!(lexer.next().tok, Tok::Char(b',' | b')'))
    }

    /// `None` is MAXVALUE.
    fn partition_value(&mut self) -> R<Option<Expr<'a>>> {
        if self.eat_kw(Kw::MAXVALUE) {
            return Ok(None);
        }
        Ok(Some(self.bit_expr()?))
    }

    /// `PARTITION BY ...`, `REMOVE PARTITIONING`
    pub(super) fn partition_by_or_remove(&mut self) -> R<Option<PartitionAction<'a>>> {
        if self.is_kw(Kw::PARTITION) {
            return Ok(Some(PartitionAction::By(self.partitioning()?)));
        }
        if self.is_kw(Kw::REMOVE) {
            self.bump();
            self.expect_kw(Kw::PARTITIONING)?;
            return Ok(Some(PartitionAction::Remove));
        }
        Ok(None)
    }

    /// Actions that stand alone in an ALTER TABLE.
    pub(super) fn standalone_partition_action(&mut self) -> R<Option<PartitionAction<'a>>> {
        use PartitionAction as A;
        let kw = self.token.kw;
        let next = self.peek().kw;
        if next == Kw::TABLE && kw == Kw::CONVERT {
            self.bump();
            self.bump();
            let table = self.object_name()?;
            self.expect_kw(Kw::TO)?;
            return Ok(Some(A::ConvertFromTable { table, partition: self.partition_def()? }));
        }
        if next != Kw::PARTITION {
            return Ok(None);
        }
        match kw {
            Kw::ADD | Kw::DROP | Kw::COALESCE | Kw::REORGANIZE | Kw::EXCHANGE | Kw::CONVERT => {}
            Kw::TRUNCATE | Kw::REBUILD | Kw::OPTIMIZE | Kw::ANALYZE | Kw::CHECK | Kw::REPAIR => {}
            Kw::DISCARD | Kw::IMPORT => {}
            _ => return Ok(None),
        }
        self.bump();
        self.bump();
        let mut local = false;
        if !matches!(kw, Kw::CONVERT | Kw::EXCHANGE) && self.is_any(&[Kw::LOCAL, Kw::NO_WRITE_TO_BINLOG]) {
            self.bump();
            local = true;
        }
        if local && matches!(kw, Kw::TRUNCATE | Kw::DROP | Kw::DISCARD | Kw::IMPORT) {
            return Err(Fail::Syntax);
        }
        Ok(Some(self.partition_action(kw)?))
    }

    fn partition_action(&mut self, kw: Kw) -> R<PartitionAction<'a>> {
        use PartitionAction as A;
        Ok(match kw {
            Kw::ADD => {
                let if_not_exists = self.if_not_exists()?;
                if self.eat_kw(Kw::PARTITIONS) {
                    return Ok(A::Add { if_not_exists, count: Some(self.integer()?), partitions: &[] });
                }
                A::Add { if_not_exists, count: None, partitions: self.paren_list(Self::partition_def)? }
            }
            Kw::DROP => {
                let if_exists = self.if_exists()?;
                A::Drop { if_exists, names: self.idents()? }
            }
            Kw::COALESCE => A::Coalesce(self.integer()?),
            Kw::REORGANIZE => {
                if self.at_statement_end() {
                    return Ok(A::Reorganize { names: &[], into: &[] });
                }
                let names = self.idents()?;
                self.expect_kw(Kw::INTO)?;
                A::Reorganize { names, into: self.paren_list(Self::partition_def)? }
            }
            Kw::EXCHANGE => {
                let name = self.ident()?;
                self.expect_kw(Kw::WITH)?;
                self.expect_kw(Kw::TABLE)?;
                let table = self.object_name()?;
                let mut validate = true;
                if self.is_any(&[Kw::WITH, Kw::WITHOUT]) {
                    validate = self.is_kw(Kw::WITH);
                    self.bump();
                    self.expect_kw(Kw::VALIDATION)?;
                }
                A::Exchange { name, table, validate }
            }
            Kw::CONVERT => {
                let name = self.ident()?;
                self.expect_kw(Kw::TO)?;
                self.expect_kw(Kw::TABLE)?;
                A::ConvertToTable { name, table: self.object_name()? }
            }
            _ => self.named_partition_action(kw)?,
        })
    }

    fn named_partition_action(&mut self, kw: Kw) -> R<PartitionAction<'a>> {
        use PartitionAction as A;
        let names = PartitionNames(if self.eat_kw(Kw::ALL) { &[] } else { self.idents()? });
        Ok(match kw {
            Kw::TRUNCATE => A::Truncate(names),
            Kw::REBUILD => A::Rebuild(names),
            Kw::OPTIMIZE => A::Optimize(names),
            Kw::ANALYZE => A::Analyze(names),
            Kw::CHECK => {
                self.check_options()?;
                A::Check(names)
            }
            Kw::REPAIR => {
                self.check_options()?;
                A::Repair(names)
            }
            Kw::DISCARD | Kw::IMPORT => {
                self.expect_kw(Kw::TABLESPACE)?;
                if kw == Kw::DISCARD { A::DiscardTablespace(names) } else { A::ImportTablespace(names) }
            }
            _ => return Err(Fail::Syntax),
        })
    }
}
