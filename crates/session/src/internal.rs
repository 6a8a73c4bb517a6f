//! Statements that the server runs for itself: `init_file` at the start, `init_connect` when a client has logged in.

use std::sync::Arc;

use wire::Capabilities;

use crate::handshake::{Identity, Origin};
use crate::output::Output;
use crate::registry::Entry;
use crate::server::Server;
use crate::session::Session;
use crate::statement;
use crate::transport::Nowhere;
use crate::variables::Var;

/// Runs statements; the first error ends them and is told.
fn run(session: &mut Session, text: &[u8]) -> Result<(), String> {
    let mut out = Output::new(Arc::new(Nowhere), Arc::clone(&session.entry));
    let multi = std::mem::replace(&mut session.multi_statements, true);
    statement::run_text(session, &mut out, text);
    session.multi_statements = multi;
    match session.diagnostics.conditions().iter().find(|c| c.level == crate::diagnostics::Level::Error) {
        Some(condition) => Err(condition.error.text.to_string()),
        None => Ok(()),
    }
}

impl Session {
    /// `init_connect`, for those who may not go round it. An error ends the connection.
    pub(crate) fn run_init_connect(&mut self) -> bool {
        let setting = self.server().variables.get(Var::INIT_CONNECT);
        let text = setting.as_str();
        if text.is_empty() || self.rights.global().has(accounts::Privileges::CONNECTION_ADMIN) {
            return true;
        }
        let Err(why) = run(self, text.as_bytes()) else {
            self.diagnostics.clear();
            return true;
        };
        let told = format!(
            "Aborted connection {} to db: '{}' user: '{}' host: '{}' (init_connect command failed): {why}",
            self.entry.id, self.database, self.identity.user, self.origin.host
        );
        self.server().log(crate::error_log::Severity::Warning, self.entry.id, &told);
        false
    }
}

/// Runs the statements of `init_file`, with all privileges.
pub(crate) fn run_init_file(server: &Arc<Server>) -> Result<(), String> {
    let name = server.variables.get(Var::INIT_FILE).as_str().to_owned();
    if name.is_empty() {
        return Ok(());
    }
    let text = env::host::read_text(name.as_ref()).map_err(|e| format!("init_file '{name}': {e}"))?;
    let origin = Origin { host: "localhost".into(), address: String::new(), port: 0, uid: None, tls: None };
    let entry: Arc<Entry> = server
        .connections
        .admit(Arc::new(Nowhere), "localhost", server.now_us(), u64::MAX)
        .map_err(|_| "init_file: too many connections".to_owned())?;
    let identity = Identity {
        user: "root".into(),
        account_user: "root".into(),
        account_host: "localhost".into(),
        with_password: false,
        password_expired: false,
        collation: 45,
        database: Vec::new(),
        capabilities: Capabilities::SERVER,
        proof: String::new(),
    };
    let mut session = Session::new(Arc::clone(server), Arc::clone(&entry), identity, origin);
    let outcome = run(&mut session, text.as_bytes()).map_err(|e| format!("init_file '{name}': {e}"));
    session.end();
    server.connections.remove(&entry);
    outcome
}
