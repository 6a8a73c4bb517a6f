//! The general log: what clients ask, as it comes.
//!
//! # Layout of a line
//! `time TAB id(6) SP command TAB argument`; the time is left out when it is that of the line before.

use jiff::tz::TimeZone;
use types::Value;

use super::{GENERAL, TO_FILE, TO_TABLE, Which, stamp, table};
use crate::handshake::Origin;
use crate::server::Server;
use crate::session::Session;

/// Whose line it is.
pub(super) struct Client<'a> {
    /// The account that matched, and what the client called itself.
    pub(super) account_user: &'a str,
    pub(super) user: &'a str,
    pub(super) origin: &'a Origin,
    pub(super) id: u64,
}

impl Client<'_> {
    /// `root[root] @ localhost []`
    pub(super) fn user_host(&self) -> String {
        format!("{}[{}] @ {} [{}]", self.account_user, self.user, self.origin.host, self.origin.address)
    }
}

impl Session {
    pub(super) fn log_client(&self) -> Client<'_> {
        Client {
            account_user: &self.identity.account_user,
            user: &self.identity.user,
            origin: &self.origin,
            id: self.entry.id,
        }
    }
    /// A command or a statement has arrived.
    #[inline]
    pub(crate) fn log_general(&self, command: &'static str, argument: &[u8]) {
        let server = self.server();
        if server.query_logs.general_is_on() && !self.settings.hidden_from_general_log {
            server.write_general(&self.log_client(), command, argument);
        }
    }
}

impl Server {
    /// A client has come as far as saying its name: the connection, or why it was refused.
    pub(crate) fn log_connect(
        &self,
        origin: &Origin,
        id: u64,
        user: &str,
        database: &[u8],
        refused: Option<&str>,
    ) {
        if !self.query_logs.general_is_on() {
            return;
        }
        let client = Client { account_user: "", user, origin, id };
        let by = match (&origin.tls, origin.port) {
            (Some(_), _) => "SSL/TLS",
            (None, 0) => "Socket",
            _ => "TCP/IP",
        };
        let text = format!("{user}@{} on {} using {by}", origin.host, String::from_utf8_lossy(database));
        self.write_general(&client, "Connect", text.as_bytes());
        if let Some(refused) = refused {
            self.write_general(&client, "Connect", refused.as_bytes());
        }
    }

    #[cold]
    fn write_general(&self, client: &Client<'_>, command: &'static str, argument: &[u8]) {
        let now = self.wall_us();
        if self.query_logs.has(GENERAL | TO_FILE) {
            self.append(Which::General, now, |out, new_second| {
                if new_second {
                    out.extend_from_slice(stamp(now, &TimeZone::system()).as_bytes());
                    out.push(b'\t');
                } else {
                    out.extend_from_slice(b"\t\t");
                }
                out.extend_from_slice(format!("{:6} {command}\t", client.id).as_bytes());
                out.extend_from_slice(argument);
                out.push(b'\n');
            });
        }
        if self.query_logs.has(GENERAL | TO_TABLE) {
            let user_host = client.user_host();
            let values = vec![
                ("event_time", table::moment(now)),
                ("user_host", Value::utf8(&user_host)),
                ("thread_id", Value::UInt(client.id)),
                ("server_id", Value::UInt(self.variables.u64(crate::variables::Var::SERVER_ID))),
                ("command_type", Value::utf8(command)),
                ("argument", table::text(argument)),
            ];
            table::append(self, "general_log", &values);
        }
    }
}
