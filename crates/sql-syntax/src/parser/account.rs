//! Users, roles, GRANT and REVOKE.

use super::*;

impl<'a> Parser<'a> {
    /// `user[@host]`, `CURRENT_USER[()]`
    pub(super) fn account(&mut self) -> R<Account<'a>> {
        if self.is_kw(Kw::CURRENT_USER) || (self.is_kw(Kw::USER) && self.peek().tok == Tok::Char(b'(')) {
            self.bump();
            if self.eat(b'(') {
                self.expect(b')')?;
            }
            return Ok(Account::CurrentUser);
        }
        self.account_name()
    }

    fn account_name(&mut self) -> R<Account<'a>> {
        let user = self.ident_or_text()?.0;
        if self.is_tok(Tok::AtName) && self.token.end == self.token.start + 1 {
            // `user@` alone: an empty host.
            self.bump();
            return Ok(Account::Name { user, host: Some(b"") });
        }
        let host = if self.is_tok(Tok::AtName) { Some(self.at_name()?.0) } else { None };
        Ok(Account::Name { user, host })
    }

    /// A role by name: no host.
    pub(super) fn role(&mut self) -> R<Account<'a>> {
        if self.is_kw(Kw::CURRENT_ROLE) {
            self.bump();
            if self.eat(b'(') {
                self.expect(b')')?;
            }
            return Ok(Account::CurrentRole);
        }
        Ok(Account::Name { user: self.ident_or_text()?.0, host: None })
    }

    pub(super) fn role_or_user(&mut self) -> R<Account<'a>> {
        if self.is_kw(Kw::CURRENT_ROLE) {
            return self.role();
        }
        if self.is_word("PUBLIC") && self.peek().tok != Tok::AtName {
            self.bump();
            return Ok(Account::Public);
        }
        self.account()
    }

    fn user_specs(&mut self) -> R<&'a [UserSpec<'a>]> {
        self.comma_list(Self::user_spec)
    }

    fn user_spec(&mut self) -> R<UserSpec<'a>> {
        let account = self.role_or_user()?;
        let mut auth: &[_] = &[];
        if self.eat_kw(Kw::IDENTIFIED) {
            if self.eat_kw(Kw::BY) {
                let secret = if self.eat_kw(Kw::PASSWORD) {
                    Secret::Hash(self.string()?)
                } else {
                    Secret::Plain(self.string()?)
                };
                auth = self.arena.alloc_slice_copy(&[Authentication { plugin: None, secret }]);
            } else {
                self.one_of(&[Kw::VIA, Kw::WITH])?;
                auth = self.authentications()?;
            }
        }
        Ok(UserSpec { account, auth })
    }

    /// `plugin [USING | AS 'text'] [OR plugin ...]`
    fn authentications(&mut self) -> R<&'a [Authentication<'a>]> {
        let mut list = self.vec();
        loop {
            let plugin = Some(self.ident_or_text()?);
            let mut secret = Secret::None;
            if self.is_any(&[Kw::USING, Kw::AS]) {
                self.bump();
                if self.is_kw(Kw::PASSWORD) {
                    self.bump();
                    self.expect(b'(')?;
                    secret = Secret::Plain(self.string()?);
                    self.expect(b')')?;
                } else {
                    secret = Secret::Hash(self.string()?);
                }
            }
            list.push(Authentication { plugin, secret });
            if !self.eat_kw(Kw::OR) {
                return Ok(list.into_bump_slice());
            }
        }
    }

    pub(super) fn create_user(&mut self, mut mode: CreateMode) -> R<Statement<'a>> {
        self.bump();
        mode.if_not_exists = self.if_not_exists()?;
        let users = self.user_specs()?;
        let options = self.user_options()?;
        Ok(Statement::CreateUser(self.alloc(CreateUser { mode, users, options })))
    }

    pub(super) fn alter_user(&mut self) -> R<Statement<'a>> {
        self.bump();
        let if_exists = self.if_exists()?;
        let users = self.user_specs()?;
        let options = self.user_options()?;
        Ok(Statement::AlterUser(self.alloc(AlterUser { if_exists, users, options })))
    }

    /// `[REQUIRE ...] [WITH limits] [ACCOUNT ... PASSWORD EXPIRE ...]`
    fn user_options(&mut self) -> R<UserOptions<'a>> {
        let mut options = UserOptions { tls: self.require()?, ..UserOptions::default() };
        if self.eat_kw(Kw::WITH) {
            self.resource_limits(&mut options, false)?;
        }
        loop {
            if self.is_kw(Kw::ACCOUNT) && options.locked.is_none() {
                self.bump();
                options.locked = Some(self.one_of(&[Kw::LOCK, Kw::UNLOCK])? == Kw::LOCK);
            } else if self.is_kw(Kw::PASSWORD) && options.expire.is_none() {
                self.bump();
                self.expect_kw(Kw::EXPIRE)?;
                options.expire = Some(self.password_expire()?);
            } else {
                return Ok(options);
            }
        }
    }

    fn password_expire(&mut self) -> R<PasswordExpire> {
        if self.eat_kw(Kw::NEVER) {
            return Ok(PasswordExpire::Never);
        }
        if self.eat_kw(Kw::DEFAULT) {
            return Ok(PasswordExpire::Default);
        }
        if self.eat_kw(Kw::INTERVAL) {
            let days = self.integer()?;
            self.expect_kw(Kw::DAY)?;
            return Ok(PasswordExpire::Days(days));
        }
        Ok(PasswordExpire::Now)
    }

    fn require(&mut self) -> R<Option<Tls<'a>>> {
        if !self.eat_kw(Kw::REQUIRE) {
            return Ok(None);
        }
        match self.token.kw {
            Kw::SSL => {
                self.bump();
                return Ok(Some(Tls::Any));
            }
            Kw::X509 => {
                self.bump();
                return Ok(Some(Tls::X509));
            }
            _ => {}
        }
        if self.is_word("NONE") {
            self.bump();
            return Ok(Some(Tls::None));
        }
        let (mut cipher, mut issuer, mut subject) = (None, None, None);
        loop {
            let slot = match self.one_of(&[Kw::CIPHER, Kw::ISSUER, Kw::SUBJECT])? {
                Kw::CIPHER => &mut cipher,
                Kw::ISSUER => &mut issuer,
                _ => &mut subject,
            };
            *slot = Some(self.string()?);
            self.eat_kw(Kw::AND);
            if !self.is_any(&[Kw::CIPHER, Kw::ISSUER, Kw::SUBJECT]) {
                return Ok(Some(Tls::Specific { cipher, issuer, subject }));
            }
        }
    }

    /// After WITH.
    fn resource_limits(&mut self, options: &mut UserOptions<'a>, grant: bool) -> R<()> {
        let mut limits = self.vec();
        let mut some = false;
        loop {
            let limit = match self.token.kw {
                Kw::MAX_QUERIES_PER_HOUR => ResourceLimit::QueriesPerHour,
                Kw::MAX_UPDATES_PER_HOUR => ResourceLimit::UpdatesPerHour,
                Kw::MAX_CONNECTIONS_PER_HOUR => ResourceLimit::ConnectionsPerHour,
                Kw::MAX_USER_CONNECTIONS => {
                    self.bump();
                    let negative = self.eat(b'-');
                    let n = self.integer()?;
                    limits
                        .push((ResourceLimit::UserConnections, if negative { n.wrapping_neg() } else { n }));
                    some = true;
                    continue;
                }
                Kw::MAX_STATEMENT_TIME => {
                    self.bump();
                    options.max_statement_time = Some(self.token_text());
                    self.number()?;
                    some = true;
                    continue;
                }
                Kw::GRANT if grant => {
                    self.bump();
                    self.expect_kw(Kw::OPTION)?;
                    options.grant_option = true;
                    some = true;
                    continue;
                }
                _ => break,
            };
            self.bump();
            limits.push((limit, self.integer()?));
            some = true;
        }
        options.limits = limits.into_bump_slice();
        if some { Ok(()) } else { Err(Fail::Syntax) }
    }

    /// DROP USER, DROP ROLE.
    pub(super) fn drop_user(&mut self) -> R<Statement<'a>> {
        let role = self.is_kw(Kw::ROLE);
        self.bump();
        let if_exists = self.if_exists()?;
        let accounts = if role { self.comma_list(Self::role)? } else { self.comma_list(Self::account)? };
        let drop = self.alloc(DropUser { if_exists, accounts });
        Ok(if role { Statement::DropRole(drop) } else { Statement::DropUser(drop) })
    }

    /// After RENAME.
    pub(super) fn rename_user(&mut self) -> R<Statement<'a>> {
        self.bump();
        Ok(Statement::RenameUser(self.comma_list(|p| {
            let from = p.account()?;
            p.expect_kw(Kw::TO)?;
            Ok((from, p.account()?))
        })?))
    }

    pub(super) fn create_role(&mut self, mut mode: CreateMode) -> R<Statement<'a>> {
        self.bump();
        mode.if_not_exists = self.if_not_exists()?;
        let roles = self.comma_list(Self::role)?;
        let mut admin = None;
        if self.eat_kw(Kw::WITH) {
            self.expect_kw(Kw::ADMIN)?;
            admin = Some(self.role_or_user()?);
        }
        Ok(Statement::CreateRole(self.alloc(CreateRole { mode, roles, admin })))
    }

    // GRANT and REVOKE.

    pub(super) fn grant(&mut self) -> R<Statement<'a>> {
        self.bump();
        let grant = if self.is_kw(Kw::PROXY) && self.peek().kw == Kw::ON {
            self.bump();
            self.bump();
            let on = self.account()?;
            self.expect_kw(Kw::TO)?;
            let to = self.user_specs()?;
            let grant_option = self.with_option(Kw::GRANT)?;
            Grant::Proxy { on, to, grant_option }
        } else if let Some(privileges) = self.privileges()? {
            self.expect_kw(Kw::ON)?;
            let on = self.grant_object()?;
            self.expect_kw(Kw::TO)?;
            let to = self.user_specs()?;
            let mut options = UserOptions { tls: self.require()?, ..UserOptions::default() };
            if self.eat_kw(Kw::WITH) {
                self.resource_limits(&mut options, true)?;
            }
            Grant::Privileges { privileges, on, to, options }
        } else {
            let roles = self.comma_list(Self::role)?;
            self.expect_kw(Kw::TO)?;
            let to = self.user_specs()?;
            let admin_option = self.with_option(Kw::ADMIN)?;
            Grant::Roles { roles, to, admin_option }
        };
        Ok(Statement::Grant(self.alloc(grant)))
    }

    /// `[WITH GRANT OPTION]`, `[WITH ADMIN OPTION]`
    fn with_option(&mut self, kw: Kw) -> R<bool> {
        if !self.eat_kw(Kw::WITH) {
            return Ok(false);
        }
        self.expect_kw(kw)?;
        self.expect_kw(Kw::OPTION)?;
        Ok(true)
    }

    pub(super) fn revoke(&mut self) -> R<Statement<'a>> {
        self.bump();
        let revoke = if self.is_kw(Kw::PROXY) && self.peek().kw == Kw::ON {
            self.bump();
            self.bump();
            let on = self.account()?;
            self.expect_kw(Kw::FROM)?;
            Revoke::Proxy { on, from: self.accounts()? }
        } else if self.is_kw(Kw::ADMIN) && self.peek().kw == Kw::OPTION {
            self.bump();
            self.bump();
            self.expect_kw(Kw::FOR)?;
            let roles = self.comma_list(Self::role)?;
            self.expect_kw(Kw::FROM)?;
            Revoke::Roles { roles, from: self.accounts()?, admin_option: true }
        } else if let Some(privileges) = self.privileges()? {
            if self.eat(b',') {
                self.expect_kw(Kw::GRANT)?;
                self.expect_kw(Kw::OPTION)?;
                self.expect_kw(Kw::FROM)?;
                let from = self.accounts()?;
                return Ok(Statement::Revoke(self.alloc(Revoke::All { from })));
            }
            self.expect_kw(Kw::ON)?;
            let on = self.grant_object()?;
            self.expect_kw(Kw::FROM)?;
            Revoke::Privileges { privileges, on, from: self.accounts()? }
        } else {
            let roles = self.comma_list(Self::role)?;
            self.expect_kw(Kw::FROM)?;
            Revoke::Roles { roles, from: self.accounts()?, admin_option: false }
        };
        Ok(Statement::Revoke(self.alloc(revoke)))
    }

    fn accounts(&mut self) -> R<&'a [Account<'a>]> {
        self.comma_list(Self::role_or_user)
    }

    /// `None`: role names stand here.
    fn privileges(&mut self) -> R<Option<&'a [Privilege<'a>]>> {
        if self.eat_kw(Kw::ALL) {
            self.eat_kw(Kw::PRIVILEGES);
            let all = Privilege { kind: PrivilegeKind::All, columns: &[] };
            return Ok(Some(self.arena.alloc_slice_copy(&[all])));
        }
        let mark = self.mark();
        let mut list = self.vec();
        loop {
            let Some(kind) = self.privilege()? else {
                if list.is_empty() {
                    self.rewind(mark);
                    return Ok(None);
                }
                return Err(Fail::Syntax);
            };
            // A role may bear the name of a privilege.
            if list.is_empty() && self.is_any(&[Kw::TO, Kw::FROM]) {
                self.rewind(mark);
                return Ok(None);
            }
            let columns = if self.is(b'(') { self.paren_list(Self::ident)? } else { &[] };
            list.push(Privilege { kind, columns });
            if !self.eat(b',') {
                return Ok(Some(list.into_bump_slice()));
            }
        }
    }

    fn privilege(&mut self) -> R<Option<PrivilegeKind>> {
        use PrivilegeKind as P;
        let kw = self.token.kw;
        let single = match kw {
            Kw::SELECT => P::Select,
            Kw::INSERT => P::Insert,
            Kw::UPDATE => P::Update,
            Kw::REFERENCES => P::References,
            Kw::USAGE => P::Usage,
            Kw::INDEX => P::Index,
            Kw::DROP => P::Drop,
            Kw::EXECUTE => P::Execute,
            Kw::RELOAD => P::Reload,
            Kw::SHUTDOWN => P::Shutdown,
            Kw::PROCESS => P::Process,
            Kw::FILE => P::File,
            Kw::SUPER => P::Super,
            Kw::EVENT => P::Event,
            Kw::TRIGGER => P::Trigger,
            _ => return self.long_privilege(kw),
        };
        self.bump();
        Ok(Some(single))
    }

    /// Privileges of several words.
    fn long_privilege(&mut self, kw: Kw) -> R<Option<PrivilegeKind>> {
        use PrivilegeKind as P;
        match kw {
            Kw::DELETE | Kw::ALTER | Kw::CREATE | Kw::SHOW | Kw::GRANT | Kw::LOCK | Kw::REPLICATION => {}
            Kw::BINLOG | Kw::FEDERATED | Kw::CONNECTION | Kw::READ_ONLY | Kw::READ | Kw::SLAVE | Kw::SET => {}
            Kw::REPLICA => {}
            _ => return Ok(None),
        }
        self.bump();
        let next = self.token.kw;
        let second = |p: &mut Self, kind| {
            p.bump();
            Ok(Some(kind))
        };
        match (kw, next) {
            (Kw::DELETE, Kw::HISTORY) => second(self, P::DeleteHistory),
            (Kw::DELETE, _) => Ok(Some(P::Delete)),
            (Kw::ALTER, Kw::ROUTINE) => second(self, P::AlterRoutine),
            (Kw::ALTER, _) => Ok(Some(P::Alter)),
            (Kw::CREATE, Kw::TEMPORARY) => {
                self.bump();
                self.expect_kw(Kw::TABLES)?;
                Ok(Some(P::CreateTemporaryTables))
            }
            (Kw::CREATE, Kw::VIEW) => second(self, P::CreateView),
            (Kw::CREATE, Kw::ROUTINE) => second(self, P::CreateRoutine),
            (Kw::CREATE, Kw::USER) => second(self, P::CreateUser),
            (Kw::CREATE, Kw::TABLESPACE) => second(self, P::CreateTablespace),
            (Kw::CREATE, _) => Ok(Some(P::Create)),
            (Kw::SHOW, Kw::DATABASES | Kw::SCHEMAS) => second(self, P::ShowDatabases),
            (Kw::SHOW, Kw::VIEW) => second(self, P::ShowView),
            (Kw::SHOW, Kw::CREATE) => {
                self.bump();
                self.expect_kw(Kw::ROUTINE)?;
                Ok(Some(P::ShowCreateRoutine))
            }
            (Kw::GRANT, Kw::OPTION) => second(self, P::GrantOption),
            (Kw::LOCK, Kw::TABLES) => second(self, P::LockTables),
            (Kw::BINLOG, Kw::MONITOR) => second(self, P::BinlogMonitor),
            (Kw::BINLOG, Kw::ADMIN) => second(self, P::BinlogAdmin),
            (Kw::BINLOG, Kw::REPLAY) => second(self, P::BinlogReplay),
            (Kw::FEDERATED, Kw::ADMIN) => second(self, P::FederatedAdmin),
            (Kw::CONNECTION, Kw::ADMIN) => second(self, P::ConnectionAdmin),
            (Kw::READ_ONLY, Kw::ADMIN) => second(self, P::ReadOnlyAdmin),
            (Kw::READ, Kw::ONLY) => {
                self.bump();
                self.expect_kw(Kw::ADMIN)?;
                Ok(Some(P::ReadOnlyAdmin))
            }
            (Kw::SLAVE | Kw::REPLICA, Kw::MONITOR) => second(self, P::SlaveMonitor),
            (Kw::SET, Kw::USER) => second(self, P::SetUser),
            (Kw::REPLICATION, _) => self.replication_privilege(),
            // A role that bears the word's name.
            _ if !kw.is_reserved() => Ok(None),
            _ => Err(Fail::Syntax),
        }
    }

    fn replication_privilege(&mut self) -> R<Option<PrivilegeKind>> {
        use PrivilegeKind as P;
        let kw = self.token.kw;
        match kw {
            Kw::SLAVE | Kw::REPLICA | Kw::MASTER | Kw::CLIENT => self.bump(),
            _ => return Ok(None),
        }
        Ok(Some(match kw {
            Kw::CLIENT => P::BinlogMonitor,
            Kw::MASTER => {
                self.expect_kw(Kw::ADMIN)?;
                P::ReplicationMasterAdmin
            }
            _ if self.eat_kw(Kw::ADMIN) => P::ReplicationSlaveAdmin,
            _ => P::ReplicationSlave,
        }))
    }

    fn grant_object(&mut self) -> R<GrantObject<'a>> {
        let named = !matches!(self.peek().tok, Tok::Char(b'.'))
            && self.peek().kw != Kw::TO
            && self.peek().kw != Kw::FROM;
        let kind = match self.token.kw {
            Kw::TABLE => {
                self.bump();
                GrantObjectKind::Table
            }
            Kw::FUNCTION if named => {
                self.bump();
                GrantObjectKind::Function
            }
            Kw::PROCEDURE => {
                self.bump();
                GrantObjectKind::Procedure
            }
            Kw::PACKAGE if named => {
                self.bump();
                if self.eat_kw(Kw::BODY) { GrantObjectKind::PackageBody } else { GrantObjectKind::Package }
            }
            _ => GrantObjectKind::Table,
        };
        if kind != GrantObjectKind::Table {
            return Ok(GrantObject { kind, target: GrantTarget::Object(self.object_name()?) });
        }
        if self.eat(b'*') {
            let target = if self.eat(b'.') {
                self.expect(b'*')?;
                GrantTarget::Global
            } else {
                GrantTarget::CurrentDatabase
            };
            return Ok(GrantObject { kind, target });
        }
        let first = self.ident()?;
        if !self.is(b'.') {
            let target = GrantTarget::Object(ObjectName { database: None, name: first });
            return Ok(GrantObject { kind, target });
        }
        if self.lexer.follows(b'*') || self.peek().tok == Tok::Char(b'*') {
            self.bump();
            self.bump();
            return Ok(GrantObject { kind, target: GrantTarget::Database(first) });
        }
        let name = self.name_after_dot()?;
        Ok(GrantObject { kind, target: GrantTarget::Object(ObjectName { database: Some(first), name }) })
    }
}
