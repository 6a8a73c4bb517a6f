//! Statements about the binary log's files: PURGE, RESET MASTER, FLUSH BINARY LOGS, gtid_binlog_state, and expiry.
//!
//! # What may go
//! A file goes when it is older than what is asked for and no dump reads it; expiry by time or size waits, besides, until
//! slave_connections_needed_for_purge replicas have passed it. What groups in later files, recovery, snapshots and purge need of an older
//! segment stays on disk although the file is no longer listed.

use std::sync::atomic::Ordering;

use binlog::PurgeError;
use client_error::{ClientError, connection as error, replication as refused};
use commit::{CommitError, GtidPositions};
use replication::parse_state;
use sql_syntax::ast;

use crate::diagnostics::Level;
use crate::error_log::Severity;
use crate::event_log::EventLog;
use crate::output::Output;
use crate::server::Server;
use crate::session::{Done, Session};
use crate::statement::{self, Reply};
use crate::variables::Var;

fn log_stopped(e: &impl std::fmt::Display) -> ClientError {
    error::internal(&e.to_string())
}

/// Why the binary log has no next file.
fn binlog_error(e: &CommitError) -> ClientError {
    match e {
        CommitError::NoRoom(file) => error::no_room(file),
        e => log_stopped(e),
    }
}

/// PURGE BINARY LOGS TO and BEFORE.
pub(crate) fn purge(
    session: &mut Session,
    out: &mut Output,
    purge: &ast::PurgeLogs<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    let server = std::sync::Arc::clone(session.server());
    if server.log_bin() {
        let target = match purge {
            ast::PurgeLogs::To(name) => {
                // A name with a directory is none of the index.
                let number = server.backend().binlog.number(name).filter(|_| !name.contains(&b'/'));
                Some(number.ok_or_else(refused::unknown_target_log)?)
            }
            ast::PurgeLogs::Before(ast::Expr::Subquery(_)) => return Err(refused::purge_before_subquery()),
            ast::PurgeLogs::Before(when) => {
                seconds(session, when)?.and_then(|seconds| server.backend().binlog.first_file_at(seconds))
            }
        };
        if let Some(target) = target {
            purge_to(session, &server, target)?;
        }
    }
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

fn purge_to(session: &mut Session, server: &Server, target: u64) -> Result<(), ClientError> {
    match server.purge_files(target)? {
        Ok(_) => Ok(()),
        Err(PurgeError::UnknownFile) => Err(refused::unknown_target_log()),
        Err(PurgeError::InUse { file }) => {
            let reason = "is in use by a 'Binlog Dump' thread";
            session
                .warn(Level::Warning, refused::log_not_purged(&server.backend().binlog.name(file), reason));
            Err(refused::log_in_use())
        }
    }
}

/// A point in time as seconds since 1970; none for NULL.
fn seconds(session: &mut Session, when: &ast::Expr<'_>) -> Result<Option<u64>, ClientError> {
    let call = ast::Expr::Call(&ast::Call {
        database: None,
        name: ast::Ident(b"UNIX_TIMESTAMP"),
        args: std::slice::from_ref(when),
        arg_names: &[],
    });
    let value = statement::evaluate(session, &call)?;
    Ok((!value.is_null()).then(|| crate::text::as_i64(&value).max(0) as u64))
}

/// RESET MASTER, and what else RESET resets.
pub(crate) fn reset(
    session: &mut Session,
    out: &mut Output,
    reset: &ast::Reset<'_>,
    reply: Reply,
) -> Result<(), ClientError> {
    for item in reset.items {
        match item {
            ast::ResetItem::Master { to } => {
                let server = std::sync::Arc::clone(session.server());
                if !server.log_bin() {
                    return Err(error::no_binary_log());
                }
                if to.is_some() && !server.backend().binlog.is_in_files() {
                    return Err(refused::not_with_engine_binlog("RESET MASTER TO"));
                }
                let number = to.unwrap_or(1).max(1);
                let begin = || server.begin_binlog(number, GtidPositions::default());
                let begun = server.replicas.without_dumps(begin);
                begun.map_err(|_| refused::binlog_in_use())??;
                session.last_gtid = None;
            }
            ast::ResetItem::QueryCache => {}
            ast::ResetItem::Slave { .. } => return Err(error::not_supported("RESET SLAVE")),
        }
    }
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

/// FLUSH BINARY LOGS, FLUSH LOGS.
pub(crate) fn flush(session: &mut Session, delete_domains: Option<&[u64]>) -> Result<(), ClientError> {
    let server = std::sync::Arc::clone(session.server());
    let mut forgotten = Vec::new();
    let named = delete_domains.unwrap_or_default();
    if let Some(large) = named.iter().find(|domain| u32::try_from(**domain).is_err()) {
        return Err(refused::domain_too_large(*large));
    }
    for domain in named {
        match server.check_domain(*domain)? {
            true => forgotten.push(*domain as u32),
            false => session.warn(Level::Warning, refused::domain_not_in_state(*domain)),
        }
    }
    if forgotten.is_empty() && !named.is_empty() {
        return Ok(());
    }
    match &server.backend().binlog {
        EventLog::OneLog(log) => {
            log.rotate().map_err(|e| binlog_error(&e.into()))?;
            server.committer().write_state(&forgotten).map_err(|e| log_stopped(&e))?;
        }
        EventLog::Files(_) => server.committer().next_file(&forgotten).map_err(|e| binlog_error(&e))?,
    }
    server.expire_logs();
    Ok(())
}

impl Server {
    /// Files before `target` go. The newest one must name the GTID state before it may be the only one.
    fn purge_files(&self, target: u64) -> Result<Result<usize, PurgeError>, ClientError> {
        let binlog = &self.backend().binlog;
        if !binlog.is_in_files() && binlog.files().last().is_some_and(|f| f.number == target) {
            self.committer().write_state(&[]).map_err(|e| log_stopped(&e))?;
        }
        binlog.purge_to(target)
    }

    /// The binary log begins anew with this state: RESET MASTER, SET GLOBAL gtid_binlog_state.
    /// Files of its own begin with this number.
    pub(crate) fn begin_binlog(&self, number: u64, positions: GtidPositions) -> Result<(), ClientError> {
        match &self.backend().binlog {
            EventLog::OneLog(log) => {
                let begins = self.committer().replace_positions(positions).map_err(|e| binlog_error(&e))?;
                log.begins_at(begins);
                Ok(())
            }
            EventLog::Files(_) => {
                self.committer().begin_files_anew(number, positions).map_err(|e| binlog_error(&e))
            }
        }
    }

    /// SET GLOBAL gtid_binlog_state, which was checked.
    pub(crate) fn set_binlog_state(&self, text: &str) -> Result<(), ClientError> {
        let gtids = parse_state(text).map_err(crate::replicas::gtid_list_error)?;
        let positions = GtidPositions::from_gtids(gtids);
        self.replicas
            .without_dumps(|| self.begin_binlog(1, positions))
            .map_err(|_| refused::binlog_in_use())?
    }

    /// Whether the state has GTIDs of `domain` and no kept file has events of it; false when the state has none.
    fn check_domain(&self, domain: u64) -> Result<bool, ClientError> {
        let of = |gtids: Vec<base::Gtid>| -> Vec<base::Gtid> {
            gtids.into_iter().filter(|g| u64::from(g.domain_id) == domain).collect()
        };
        let now = of(self.committer().positions().state());
        if now.is_empty() {
            return Ok(false);
        }
        let binlog = &self.backend().binlog;
        let oldest = binlog.files().first().map_or(0, |f| f.number);
        let before = of(binlog.state_at(oldest).map_err(|e| log_stopped(&e))?);
        if before == now {
            return Ok(true);
        }
        let reason = format!(
            "binlog files may contain gtids from the domain ('{domain}') being deleted. Make sure to first purge those files"
        );
        Err(refused::cannot_delete_domain(&reason))
    }

    /// Files beyond binlog_expire_logs_seconds and max_binlog_total_size go, as far as replicas allow.
    pub(crate) fn expire_logs(&self) {
        if !self.log_bin() {
            return;
        }
        let binlog = &self.backend().binlog;
        let age = self.variables.u64(Var::BINLOG_EXPIRE_LOGS_SECONDS);
        let size = self.variables.u64(Var::MAX_BINLOG_TOTAL_SIZE);
        let mut target = None;
        if age > 0 {
            let now = u64::try_from(self.wall_us() / 1_000_000).unwrap_or(0);
            target = binlog.first_file_at(now.saturating_sub(age));
        }
        if size > 0 {
            target = target.max(binlog.first_file_within(size));
        }
        let oldest = binlog.files().first().map_or(0, |f| f.number);
        let Some(target) = target.filter(|t| *t > oldest) else { return };
        let needed = self.variables.u64(Var::SLAVE_CONNECTIONS_NEEDED_FOR_PURGE);
        let start = self.start_of_file(target);
        if start.is_some_and(|start| (self.replicas.passed(start) as u64) < needed) {
            return;
        }
        // A file that a dump reads stays for now, with those behind it. A log that has stopped keeps all.
        let _ = self.purge_files(target);
    }

    /// Looks for files that expire: when a new file was begun, and once a minute.
    pub(crate) fn expire_logs_sometimes(&self) {
        let now = self.now_us() / 60_000_000;
        let newest = match &self.backend().binlog {
            EventLog::OneLog(_) => self.backend().engine.log().segment_from().0,
            EventLog::Files(files) => files.end().segment,
        };
        let seen = newest.wrapping_mul(31).wrapping_add(now);
        if self.expiry_seen.swap(seen, Ordering::Relaxed) != seen {
            self.expire_logs();
        }
    }

    /// A line for an option that is accepted and not used.
    pub(crate) fn note_unused_options(&self) {
        if self.variables.u64(Var::SYNC_BINLOG) != 0 && !self.backend().binlog.is_in_files() {
            let text =
                "'sync_binlog' is not used: innodb_flush_log_at_trx_commit says when the one log is synced";
            self.log(Severity::Note, 0, text);
        }
    }
}
