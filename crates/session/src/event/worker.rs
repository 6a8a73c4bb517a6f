//! One execution of an event: a session of its definer, without a client.

use std::sync::Arc;

use accounts::Privileges;
use catalog::program::{EventDef, EventStatus, ProgramDef, ProgramKind};
use catalog::quote_name;
use charset::Collation;
use client_error::ClientError;
use wire::Capabilities;

use crate::diagnostics::Level;
use crate::error_log::Severity;
use crate::handshake::{Identity, Origin};
use crate::output::Output;
use crate::registry::{Doing, Entry};
use crate::server::{Leaving, Server, spawn_session};
use crate::session::Session;
use crate::transport::Nowhere;
use crate::variables::{Setting, Var};

/// Starts an execution in a thread of its own. `last`: the event is over with it.
pub(super) fn start(server: &Arc<Server>, def: Arc<EventDef>, now: i64, last: bool) {
    let transport = Arc::new(Nowhere);
    let Ok(entry) = server.connections.admit(transport, "localhost", server.now_us(), u64::MAX) else {
        return;
    };
    let (user, host) = &def.context.definer;
    entry.set_identity(user, host);
    let shared = Arc::clone(server);
    let own = Arc::clone(&entry);
    let books = Leaving::new(Arc::clone(server), entry);
    let started = spawn_session("event_worker", move || {
        let _books = books;
        execute(&shared, &own, &def, now, last);
    });
    if !started {
        server.log(Severity::Error, 0, "Event Scheduler: no thread for an event");
    }
}

fn execute(server: &Arc<Server>, entry: &Arc<Entry>, def: &Arc<EventDef>, now: i64, last: bool) {
    let (user, host) = def.context.definer.clone();
    let identity = Identity {
        user: user.clone(),
        account_user: user.clone(),
        account_host: host.clone(),
        with_password: false,
        password_expired: false,
        collation: def.context.client.id(),
        database: Vec::new(),
        capabilities: Capabilities::default(),
        proof: String::new(),
    };
    let origin = Origin { host: host.clone(), address: String::new(), port: 0, uid: None, tls: None };
    let mut session = Session::new(Arc::clone(server), Arc::clone(entry), identity, origin);
    let mut out = Output::new(Arc::new(Nowhere), Arc::clone(entry));
    entry.begin(Doing::Connect, &def.context.body, server.now_us());
    let outcome =
        prepare(&mut session, def).and_then(|()| match note_execution(&mut session, def, now, last)? {
            true => run(&mut session, &mut out, def),
            false => Ok(()),
        });
    let head = format!("Event Scheduler: [{user}@{host}][{}.{}]", def.schema, def.name);
    if let Err(e) = &outcome {
        server.log(Severity::Error, entry.id, &format!("{head} {}", e.text));
    }
    for condition in session.diagnostics.conditions() {
        let severity = match condition.level {
            Level::Note => Severity::Note,
            Level::Warning => Severity::Warning,
            Level::Error => continue,
        };
        server.log(severity, entry.id, &format!("{head} {}", condition.error.text));
    }
    if last
        && !def.preserve
        && let Err(e) = remove(&mut session, def)
    {
        server.log(Severity::Error, entry.id, &format!("{head} {}", e.text));
    }
    session.end();
}

/// The session becomes the definer's, with the settings of the event.
fn prepare(session: &mut Session, def: &EventDef) -> Result<(), ClientError> {
    let (user, host) = &def.context.definer;
    let accounts = session.server().accounts.current();
    let rights = crate::rights::of_definer(&accounts, user, host);
    session.rights = rights.map_err(|e| ClientError::from(&e))?;
    session.plan_generation += 1;
    let client = def.context.client.charset();
    session.set_names(client, Some(Collation::default_of(client)));
    for (var, setting) in [
        (Var::SQL_MODE, Setting::Bits(def.context.sql_mode)),
        (Var::TIME_ZONE, Setting::Text(Arc::from(&*def.time_zone))),
        (Var::CHARACTER_SET_CONNECTION, Setting::Charset(def.context.connection.charset())),
        (Var::COLLATION_CONNECTION, Setting::Collation(def.context.connection)),
    ] {
        session.variables.set(var, setting);
    }
    session.refresh_settings();
    session.need_database(&def.schema, Privileges::EVENT)?;
    session.use_database(&def.schema)
}

/// Writes the time of the execution before it begins; false when the event has gone or changed meanwhile.
fn note_execution(
    session: &mut Session,
    def: &Arc<EventDef>,
    now: i64,
    last: bool,
) -> Result<bool, ClientError> {
    let locked = crate::program::lock_name(session, ProgramKind::Event, &def.schema, &def.name);
    let noted = locked.and_then(|()| {
        let Some(found) = session.server().catalog().event(&def.schema, &def.name).cloned() else {
            return Ok(false);
        };
        if found.status != EventStatus::Enabled || found.context.modified != def.context.modified {
            return Ok(false);
        }
        let mut noted = EventDef { last_executed: Some(now), ..EventDef::clone(&found) };
        if last {
            noted.status = EventStatus::Disabled;
        }
        let mut change = session.server().dictionary().change();
        let failed = |e: storage::row::RowError| client_error::connection::internal(&e.to_string());
        change.put_program(ProgramDef::Event(noted)).map_err(failed)?;
        change.commit().map_err(failed)?;
        Ok(true)
    });
    session.transaction.mdl.release_all();
    noted
}

fn run(session: &mut Session, out: &mut Output, def: &Arc<EventDef>) -> Result<(), ClientError> {
    session.new_query_id();
    crate::program::run_event(session, out, def)
}

/// An event that is over goes, as by DROP EVENT of its definer.
fn remove(session: &mut Session, def: &EventDef) -> Result<(), ClientError> {
    session.transaction_commit()?;
    let text = format!("DROP EVENT {}.{}", quote_name(&def.schema), quote_name(&def.name));
    crate::ddl::guarded(session, |session| {
        crate::program::lock_name(session, ProgramKind::Event, &def.schema, &def.name)?;
        let found = session.server().catalog().event(&def.schema, &def.name).cloned();
        if found.is_none_or(|found| found.context.modified != def.context.modified) {
            return Ok(());
        }
        crate::program::commit_definition(session, text.as_bytes(), |change| {
            change.remove_program(ProgramKind::Event, &def.schema, &def.name)
        })
    })
}
