//! BINLOG 'base64': events of a binary log run as a statement. This is how the text of morse-binlog and mariadb-binlog brings rows.
//!
//! # What stands in one
//! A FORMAT_DESCRIPTION, which says how the events of later statements are written; TABLE_MAPs and rows events of one statement; or a
//! QUERY that is a phase of ALTER TABLE: only the phase that ended it is run, with the same text.
//!
//! # Invariants
//! Y1. A statement of rows is one statement: on an error nothing of it stays. With autocommit it is a transaction.
//! Y2. A table that is not mapped is left alone, as a replica leaves alone what it does not copy.

use std::collections::HashMap;
use std::sync::Arc;

use accounts::Privileges;
use catalog::TableHandle;
use catalog::mdl::MdlMode;
use client_error::{ClientError, connection as error};
use event_format::{
    Checksum, Event, EventKind, Header, Query, Rows, StatusVariable, StatusVariables, TableMap, WireColumn,
    base64, gtid_flags_extra, rows_flags,
};
use sql_plan::error::{SqlError, SqlResult, Warnings};
use sql_plan::relations::{self, TableRelations};

use crate::output::Output;
use crate::session::{Done, Session};
use crate::sql;
use crate::statement::{self, Reply};
use crate::transaction::Need;
use crate::variables::Var;
use crate::write_gate::Passing;

/// What earlier BINLOG statements said of the events to come.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    /// `None`: no FORMAT_DESCRIPTION yet.
    checksum: Option<Checksum>,
    tables: HashMap<u64, Mapped>,
}

/// A table that rows events may name by a number.
#[derive(Debug, Clone)]
struct Mapped {
    database: String,
    table: String,
    columns: Vec<WireColumn>,
}

/// The table of an event with the columns of its TABLE_MAP; `None` for one that is not mapped.
type Target = Option<(Arc<TableHandle>, Vec<WireColumn>)>;

/// Runs BINLOG. With `second`, both name user variables that hold the halves of the text.
pub(crate) fn run(
    session: &mut Session,
    out: &mut Output,
    first: &[u8],
    second: Option<&[u8]>,
    reply: Reply,
) -> Result<(), ClientError> {
    session.need_global(Privileges::BINLOG_REPLAY)?;
    let bytes = match second {
        None => base64::read(first),
        Some(second) => {
            let mut text = half(session, first)?;
            text.extend_from_slice(&half(session, second)?);
            forget(session, first);
            forget(session, second);
            base64::read(&text)
        }
    };
    let bytes = bytes.ok_or_else(error::base64_failed)?;
    let done = session.replay_events(out, &bytes);
    if done.is_err() {
        session.replay.tables.clear();
    }
    done?;
    session.row_count = 0;
    session.send_ok(out, &Done::default(), reply.more);
    Ok(())
}

/// The text in a user variable.
fn half(session: &Session, name: &[u8]) -> Result<Vec<u8>, ClientError> {
    let name = String::from_utf8_lossy(name).into_owned();
    match session.user_variables.get(name.to_lowercase().as_str()) {
        Some(types::Value::Str(text)) => Ok(text.bytes().to_vec()),
        _ => Err(error::wrong_type(&name)),
    }
}

/// A text that was used takes no more room.
fn forget(session: &mut Session, name: &[u8]) {
    let name = String::from_utf8_lossy(name).to_lowercase();
    session.user_variables.insert(name.into(), types::Value::Null);
}

impl Session {
    fn replay_events(&mut self, out: &mut Output, bytes: &[u8]) -> Result<(), ClientError> {
        let mut rest = bytes;
        let mut rows = Vec::new();
        if rest.is_empty() {
            return Err(error::no_whole_event());
        }
        while !rest.is_empty() {
            let header = Header::read(rest).map_err(|_| error::no_whole_event())?;
            let Some((event, behind)) = rest.split_at_checked(header.length as usize) else {
                return Err(error::no_whole_event());
            };
            rest = behind;
            self.replay_event(out, header.kind, event, &mut rows)?;
        }
        if rows.is_empty() { Ok(()) } else { self.replay_rows(&rows) }
    }

    fn replay_event<'e>(
        &mut self,
        out: &mut Output,
        kind: EventKind,
        bytes: &'e [u8],
        rows: &mut Vec<Rows<'e>>,
    ) -> Result<(), ClientError> {
        let name = kind.name().unwrap_or("Unknown");
        if self.replay.checksum.is_none() && kind != EventKind::FORMAT_DESCRIPTION {
            return Err(error::no_format_description(name));
        }
        let checksum = self.replay.checksum.unwrap_or_default();
        let (_, event) = event_format::read_unverified(bytes, checksum)
            .map_err(|c| error::corrupt_event(&c.to_string()))?;
        match event {
            Event::FormatDescription(format) => {
                self.replay = Replay { checksum: Some(format.events_checksum()), tables: HashMap::new() };
            }
            Event::TableMap(map) => {
                let mapped = mapped(&map).map_err(|c| error::corrupt_event(&c.to_string()))?;
                self.replay.tables.insert(map.table_id, mapped);
            }
            Event::Rows(event) => rows.push(event),
            Event::Query(query) => self.replay_phase(out, &query)?,
            _ => return Err(error::event_not_allowed(name)),
        }
        Ok(())
    }

    /// A phase of ALTER TABLE.
    fn replay_phase(&mut self, out: &mut Output, query: &Query<'_>) -> Result<(), ClientError> {
        let mut flags = 0;
        for variable in StatusVariables::new(query.status) {
            if let StatusVariable::AlterFlags { flags: phase, .. } =
                variable.map_err(|c| error::corrupt_event(&c.to_string()))?
            {
                flags = phase;
            }
        }
        if flags == 0 {
            return Err(error::event_not_allowed("Query"));
        }
        if flags & gtid_flags_extra::COMMIT_ALTER == 0 {
            return Ok(());
        }
        let arena = sql_syntax::Arena::new();
        let parsed =
            sql_syntax::parse(&arena, &query.sql, self.settings.parse).map_err(|e| error::syntax(&e))?;
        // Its own reply gives way to that of BINLOG.
        let mark = (out.writer().len(), out.sequence());
        statement::run_one(self, out, &parsed, &query.sql, Reply::TEXT)?;
        out.writer().rewind(mark.0, mark.1);
        Ok(())
    }

    /// Applies the rows events of one statement.
    fn replay_rows(&mut self, rows: &[Rows<'_>]) -> Result<(), ClientError> {
        self.values.now_micros = self.now_micros();
        self.annotation.clear();
        self.enter_gate(Passing::Statement)?;
        let done = self.replay_admitted(rows);
        self.leave_gate();
        done
    }

    fn replay_admitted(&mut self, rows: &[Rows<'_>]) -> Result<(), ClientError> {
        let held = self.transaction.mdl.held();
        let locked =
            self.lock_targets(rows).and_then(|targets| Ok((self.lock_relations(&targets)?, targets)));
        let (relations, targets) = match locked {
            Ok(locked) => locked,
            Err(e) => {
                self.transaction.mdl.release_to(held);
                return Err(self.statement_failed(&e));
            }
        };
        if let Err(e) = self.ensure_trx(Need::Write) {
            self.transaction.mdl.release_to(held);
            return Err(e);
        }
        let settings = self.exec_settings();
        let allowed = self.server().variables.u64(Var::SLAVE_TYPE_CONVERSIONS);
        let conversions = sql_exec::Conversions { lossy: allowed & 1 != 0, non_lossy: allowed & 2 != 0 };
        let mut warnings = Warnings::new();
        let outcome = sql::execute(self, settings, &mut warnings, |cx, _| {
            for (event, target) in rows.iter().zip(&targets) {
                if let Some((table, columns)) = target {
                    sql_exec::apply_rows(cx, table, columns, conversions, &relations, event)?;
                }
            }
            Ok(())
        });
        self.take_warnings(&warnings);
        outcome.map_err(|e| self.statement_failed(&e))?;
        if rows.iter().any(|event| event.flags & rows_flags::STATEMENT_END != 0) {
            self.replay.tables.clear();
        }
        self.end_statement()
    }

    /// The table of each event, locked for writing in its current definition.
    fn lock_targets(&mut self, rows: &[Rows<'_>]) -> SqlResult<Vec<Target>> {
        let timeout = self.settings.exec.lock_wait_timeout;
        let server = Arc::clone(self.server());
        let mut targets = Vec::with_capacity(rows.len());
        for event in rows {
            let Some(mapped) = self.replay.tables.get(&event.table_id).cloned() else {
                targets.push(None);
                continue;
            };
            let current = || {
                let snapshot = server.dictionary().snapshot();
                snapshot.table(&mapped.database, &mapped.table).cloned().ok_or_else(|| {
                    SqlError::NoSuchTable { schema: mapped.database.clone(), name: mapped.table.clone() }
                })
            };
            let mut table = current()?;
            loop {
                self.transaction
                    .mdl
                    .lock(&table.lock, MdlMode::Write, timeout)
                    .map_err(sql_exec::mdl_error)?;
                let now = current()?;
                if Arc::ptr_eq(&now, &table) {
                    break;
                }
                table = now;
            }
            targets.push(Some((table, mapped.columns)));
        }
        Ok(targets)
    }

    /// The foreign keys around the targets, with the tables at their other ends locked.
    fn lock_relations(&mut self, targets: &[Target]) -> SqlResult<Arc<[TableRelations]>> {
        let timeout = self.settings.exec.lock_wait_timeout;
        let server = Arc::clone(self.server());
        let tables: Vec<_> = targets.iter().flatten().map(|(table, _)| Arc::clone(table)).collect();
        loop {
            let snapshot = server.dictionary().snapshot();
            let relations = relations::of(&snapshot, &tables);
            let parents =
                relations.iter().flat_map(|r| &r.parents).filter_map(|p| Some(&p.parent.as_ref()?.0));
            let children = relations.iter().flat_map(|r| &r.children).map(|c| &c.child);
            let ends: Vec<_> =
                parents.map(|t| (t, MdlMode::Shared)).chain(children.map(|t| (t, MdlMode::Write))).collect();
            for (table, mode) in &ends {
                self.transaction.mdl.lock(&table.lock, *mode, timeout).map_err(sql_exec::mdl_error)?;
            }
            let now = server.dictionary().snapshot();
            let stays = |table: &TableHandle| {
                now.table(table.schema(), table.name()).is_some_and(|t| std::ptr::eq(&**t, table))
            };
            if now.relations_version == snapshot.relations_version && ends.iter().all(|(t, _)| stays(t)) {
                return Ok(relations.into());
            }
        }
    }
}

fn mapped(map: &TableMap<'_>) -> Result<Mapped, base::Corruption> {
    Ok(Mapped {
        database: String::from_utf8_lossy(map.database).into_owned(),
        table: String::from_utf8_lossy(map.table).into_owned(),
        columns: map.columns()?,
    })
}
