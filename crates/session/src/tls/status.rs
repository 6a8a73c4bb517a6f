//! The `Ssl_` status variables.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{TlsContext, TlsFacts};

/// What has happened since the start.
#[derive(Debug, Default)]
pub(crate) struct TlsCounters {
    /// Clients that asked for TLS.
    pub(crate) accepts: AtomicU64,
    /// Those that got through the handshake.
    pub(crate) finished: AtomicU64,
}

impl TlsCounters {
    /// As a connection sees them. There is no renegotiation, and this server opens no connections of its own.
    pub(crate) fn values(
        &self,
        context: Option<&TlsContext>,
        connection: Option<&TlsFacts>,
    ) -> Vec<(&'static str, String)> {
        let mut out: Vec<(&'static str, String)> = [
            "Ssl_accept_renegotiates",
            "Ssl_callback_cache_hits",
            "Ssl_client_connects",
            "Ssl_connect_renegotiates",
            "Ssl_finished_connects",
            "Ssl_session_cache_hits",
            "Ssl_session_cache_misses",
            "Ssl_session_cache_overflows",
            "Ssl_session_cache_timeouts",
            "Ssl_sessions_reused",
            "Ssl_used_session_cache_entries",
            "Ssl_ctx_verify_depth",
            "Ssl_verify_depth",
        ]
        .map(|name| (name, "0".to_owned()))
        .into();
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed).to_string();
        let verifies = context.is_some_and(|c| c.checks_clients);
        // SSL_VERIFY_PEER and SSL_VERIFY_CLIENT_ONCE.
        let mode = if verifies { "5" } else { "0" };
        let certificate = context.map(|c| &c.certificate);
        out.extend([
            ("Ssl_accepts", load(&self.accepts)),
            ("Ssl_finished_accepts", load(&self.finished)),
            ("Ssl_cipher", connection.map_or("", |c| c.cipher).to_owned()),
            ("Ssl_version", connection.map_or("", |c| c.version).to_owned()),
            (
                "Ssl_cipher_list",
                match (connection, context) {
                    (Some(_), Some(context)) => context.ciphers.clone(),
                    _ => String::new(),
                },
            ),
            ("Ssl_ctx_verify_mode", mode.to_owned()),
            ("Ssl_verify_mode", if connection.is_some() { mode } else { "0" }.to_owned()),
            ("Ssl_default_timeout", if connection.is_some() { "7200" } else { "0" }.to_owned()),
            ("Ssl_server_not_before", certificate.map_or(String::new(), |c| c.not_before.clone())),
            ("Ssl_server_not_after", certificate.map_or(String::new(), |c| c.not_after.clone())),
            ("Ssl_session_cache_mode", if context.is_some() { "SERVER" } else { "NONE" }.to_owned()),
            ("Ssl_session_cache_size", if context.is_some() { "256" } else { "0" }.to_owned()),
        ]);
        out
    }
}
