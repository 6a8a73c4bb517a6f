//! CHANGE MASTER, START and STOP SLAVE, PURGE.

use super::*;

impl<'a> Parser<'a> {
    pub(super) fn change_master(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.expect_kw(Kw::MASTER)?;
        let connection = self.optional_connection()?;
        self.expect_kw(Kw::TO)?;
        let options = self.comma_list(Self::master_option)?;
        let connection = self.for_channel(connection)?;
        Ok(Statement::ChangeMaster(self.alloc(ChangeMaster { connection, options })))
    }

    fn master_option(&mut self) -> R<MasterOption<'a>> {
        let name = Ident(self.token_text());
        match self.token.kw {
            Kw::IGNORE_SERVER_IDS | Kw::IGNORE_DOMAIN_IDS | Kw::DO_DOMAIN_IDS => {
                self.bump();
                self.expect_equals()?;
                return Ok(MasterOption::Ids { name, ids: self.paren_list_or_empty(Self::integer)? });
            }
            Kw::MASTER_USE_GTID => {
                self.bump();
                self.expect_equals()?;
                let value = Ident(self.token_text());
                self.one_of(&[Kw::CURRENT_POS, Kw::SLAVE_POS, Kw::REPLICA_POS, Kw::NO, Kw::DEFAULT])?;
                return Ok(MasterOption::Value(NameValue { name, value: Some(OptionValue::Word(value)) }));
            }
            _ => {}
        }
        let wanted = master_value(self.token.kw, name).ok_or(Fail::Syntax)?;
        self.bump();
        self.expect_equals()?;
        if self.eat_kw(Kw::DEFAULT) {
            return Ok(MasterOption::Value(NameValue { name, value: None }));
        }
        let value = match wanted {
            Wanted::Text => OptionValue::Text(self.string()?),
            Wanted::Number => OptionValue::Number(self.number()?),
        };
        Ok(MasterOption::Value(NameValue { name, value: Some(value) }))
    }

    // START and STOP.

    pub(super) fn start_slave(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.slave_statement(true)
    }

    pub(super) fn stop(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.slave_statement(false)
    }

    fn slave_statement(&mut self, start: bool) -> R<Statement<'a>> {
        let mut slave = SlaveStatement {
            start,
            all: false,
            connection: None,
            sql_thread: false,
            io_thread: false,
            until: None,
        };
        if self.eat_kw(Kw::ALL) {
            self.one_of(&[Kw::SLAVES, Kw::REPLICAS])?;
            slave.all = true;
        } else {
            self.one_of(&[Kw::SLAVE, Kw::REPLICA])?;
            slave.connection = self.optional_connection()?;
        }
        if self.is_any(&[Kw::SQL_THREAD, Kw::IO_THREAD, Kw::RELAY_THREAD]) {
            loop {
                match self.one_of(&[Kw::SQL_THREAD, Kw::IO_THREAD, Kw::RELAY_THREAD])? {
                    Kw::SQL_THREAD => slave.sql_thread = true,
                    _ => slave.io_thread = true,
                }
                if !self.eat(b',') {
                    break;
                }
            }
        }
        if start && !slave.all && self.eat_kw(Kw::UNTIL) {
            slave.until = Some(self.slave_until()?);
        }
        slave.connection = self.for_channel(slave.connection)?;
        Ok(Statement::Slave(self.alloc(slave)))
    }

    fn slave_until(&mut self) -> R<SlaveUntil<'a>> {
        if self.is_kw(Kw::MASTER_GTID_POS)
            || self.is_word("SQL_BEFORE_GTIDS")
            || self.is_word("SQL_AFTER_GTIDS")
        {
            let before = self.is_word("SQL_BEFORE_GTIDS");
            self.bump();
            self.expect_equals()?;
            return Ok(SlaveUntil::GtidPosition { position: self.string()?, before });
        }
        let positions = self.comma_list(|p| {
            let name = Ident(p.token_text());
            let kw =
                p.one_of(&[Kw::MASTER_LOG_FILE, Kw::MASTER_LOG_POS, Kw::RELAY_LOG_FILE, Kw::RELAY_LOG_POS])?;
            p.expect_equals()?;
            let value = match kw {
                Kw::MASTER_LOG_FILE | Kw::RELAY_LOG_FILE => OptionValue::Text(p.string()?),
                _ => OptionValue::Number(p.number()?),
            };
            Ok(NameValue { name, value: Some(value) })
        })?;
        Ok(SlaveUntil::Positions(positions))
    }

    pub(super) fn purge(&mut self) -> R<Statement<'a>> {
        self.bump();
        self.one_of(&[Kw::BINARY, Kw::MASTER])?;
        self.expect_kw(Kw::LOGS)?;
        let purge = match self.one_of(&[Kw::TO, Kw::BEFORE])? {
            Kw::TO => PurgeLogs::To(self.string()?),
            _ => PurgeLogs::Before(self.expr()?),
        };
        Ok(Statement::PurgeLogs(self.alloc(purge)))
    }
}

enum Wanted {
    Text,
    Number,
}

fn master_value(kw: Kw, name: Ident<'_>) -> Option<Wanted> {
    Some(match kw {
        Kw::MASTER_HOST
        | Kw::MASTER_USER
        | Kw::MASTER_PASSWORD
        | Kw::MASTER_LOG_FILE
        | Kw::RELAY_LOG_FILE
        | Kw::MASTER_SSL_CA
        | Kw::MASTER_SSL_CAPATH
        | Kw::MASTER_SSL_CERT
        | Kw::MASTER_SSL_CIPHER
        | Kw::MASTER_SSL_CRL
        | Kw::MASTER_SSL_CRLPATH
        | Kw::MASTER_SSL_KEY => Wanted::Text,
        Kw::MASTER_PORT
        | Kw::MASTER_CONNECT_RETRY
        | Kw::MASTER_DELAY
        | Kw::MASTER_LOG_POS
        | Kw::RELAY_LOG_POS
        | Kw::MASTER_SSL
        | Kw::MASTER_SSL_VERIFY_SERVER_CERT
        | Kw::MASTER_HEARTBEAT_PERIOD
        | Kw::MASTER_DEMOTE_TO_SLAVE
        | Kw::MASTER_DEMOTE_TO_REPLICA => Wanted::Number,
        _ if name.is("MASTER_RETRY_COUNT") => Wanted::Number,
        _ => return None,
    })
}
