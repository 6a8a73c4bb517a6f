//! Log-in: greeting, answer, authentication, and again for COM_CHANGE_USER.
//!
//! # States
//! greeting sent -> login read -> (auth switch sent -> answer read)* -> accepted | refused
//!
//! Nothing of the engine is touched before a client is accepted; until then packets are small and time is short
//! (`connect_timeout`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use accounts::{Account, Auth, Tls};
use client_error::{ClientError, account as account_error, connection as error};
use env::net::Peer;
use wire::auth::{NATIVE_PASSWORD, Scramble, scramble_from};
use wire::{AuthSwitch, Capabilities, Greeting, Login, Status};

use crate::authentication::{Candidate, Plugin};
use crate::connection::{Incoming, ReadError};
use crate::output::{Gone, Output};
use crate::server::Server;
use crate::tls::{TlsContext, TlsFacts, TlsTransport};
use crate::transport::Transport;
use crate::variables::Var;

/// What the server says it is. Clients look at the leading number and at `MariaDB`.
pub const VERSION: &str = "11.8.9-MariaDB-MorseDB";

/// Longest packet before the log-in has succeeded.
pub(crate) const LOGIN_PACKET_MAX: usize = 256 * 1024;

/// Where a client comes from.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    /// `localhost` for connections from this machine, else the address.
    pub host: String,
    pub address: String,
    /// 0 for Unix sockets.
    pub port: u16,
    /// The system user at the other end of a Unix socket.
    pub uid: Option<u32>,
    /// What the connection is protected by.
    pub tls: Option<TlsFacts>,
}

impl Origin {
    pub(crate) fn of(peer: Peer, uid: Option<u32>) -> Self {
        match peer {
            Peer::Unix => Self { host: "localhost".into(), address: String::new(), port: 0, uid, tls: None },
            Peer::Tcp(address) => {
                let ip = address.ip().to_canonical();
                let host = if ip.is_loopback() { "localhost".into() } else { ip.to_string() };
                Self { host, address: ip.to_string(), port: address.port(), uid, tls: None }
            }
        }
    }
    /// Nobody reads along: a password may be sent as it is.
    pub(crate) fn is_secure(&self) -> bool {
        self.port == 0 || self.tls.is_some()
    }
    /// The `Host` column of the process list.
    pub(crate) fn shown(&self) -> String {
        if self.port == 0 { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }
}

/// Who has been let in.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// As the client named itself.
    pub user: String,
    /// The account that matched; its user is empty for the anonymous one.
    pub account_user: String,
    pub account_host: String,
    pub with_password: bool,
    pub password_expired: bool,
    pub collation: u16,
    pub database: Vec<u8>,
    pub capabilities: Capabilities,
    /// Goes with the first OK packet, see [`TlsContext::proof`].
    pub proof: String,
}

impl Identity {
    /// COM_CHANGE_USER: another account.
    pub(crate) fn take(&mut self, accepted: Accepted) {
        self.account_user = accepted.user;
        self.account_host = accepted.host;
        self.with_password = accepted.with_password;
        self.password_expired = accepted.password_expired;
        self.proof = accepted.proof;
    }
}

/// The account that a client has shown to be its own.
#[derive(Debug)]
pub(crate) struct Accepted {
    user: String,
    host: String,
    with_password: bool,
    password_expired: bool,
    proof: String,
}

/// Why nobody was let in.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Told to the client.
    Error(ClientError),
    /// The client went away or was silent too long.
    Gone,
}

impl From<Gone> for Refused {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl From<ReadError> for Refused {
    fn from(e: ReadError) -> Self {
        e.told().map_or(Self::Gone, Self::Error)
    }
}

/// A fresh scramble.
pub(crate) fn new_scramble() -> Scramble {
    let mut random = [0; 20];
    env::random::entropy(&mut random);
    scramble_from(random)
}

/// Greets and authenticates one client.
pub(crate) fn log_in(
    incoming: &mut Incoming,
    out: &mut Output,
    server: &Server,
    origin: &mut Origin,
    connection_id: u64,
) -> Result<Identity, Refused> {
    if !server.accounts.current().host_is_known(&origin.host, &origin.address) {
        return Err(Refused::Error(error::host_not_allowed(&origin.host)));
    }
    let scramble = new_scramble();
    let tls = server.tls.load_full();
    let mut offered = Capabilities::SERVER;
    if tls.is_some() {
        offered |= Capabilities::SSL;
    }
    let greeting = Greeting {
        version: VERSION.as_bytes(),
        connection_id: connection_id as u32,
        scramble,
        capabilities: offered,
        // utf8mb4_general_ci: one byte is too small for the default's id.
        collation: 45,
        status: Status::AUTOCOMMIT.0,
        auth_plugin: NATIVE_PASSWORD,
    };
    out.start(0);
    out.writer().packet(|p| greeting.encode(p));
    out.flush()?;
    incoming.expect_sequence(1);
    incoming.read()?;
    if let Some(tls) = &tls
        && wire::wants_tls(incoming.payload())
    {
        origin.tls = Some(begin_tls(incoming, out, server, tls)?);
        incoming.read()?;
    }
    let payload = incoming.payload().to_vec();
    let login = Login::decode(&payload).map_err(|_| Refused::Error(error::bad_handshake()))?;
    let capabilities = login.capabilities & offered;
    out.capabilities = capabilities;
    let user = String::from_utf8_lossy(login.user).into_owned();
    let proof = Proof {
        scramble,
        response: login.auth.to_vec(),
        plugin: if login.auth_plugin.is_empty() { NATIVE_PASSWORD } else { login.auth_plugin }.to_vec(),
    };
    if !origin.is_secure() && server.variables.u64(Var::REQUIRE_SECURE_TRANSPORT) != 0 {
        return Err(Refused::Error(account_error::insecure_transport()));
    }
    let outcome = authenticate(incoming, out, server, origin, &user, proof);
    let refused = match &outcome {
        Err(Refused::Error(e)) => Some(&*e.text),
        _ => None,
    };
    server.log_connect(origin, connection_id, &user, login.database, refused);
    let accepted = outcome?;
    let mut identity = Identity {
        user,
        account_user: String::new(),
        account_host: String::new(),
        with_password: false,
        password_expired: false,
        collation: u16::from(login.collation),
        database: login.database.to_vec(),
        capabilities,
        proof: String::new(),
    };
    identity.take(accepted);
    Ok(identity)
}

/// The client asked for TLS: what follows goes through it.
fn begin_tls(
    incoming: &mut Incoming,
    out: &mut Output,
    server: &Server,
    tls: &TlsContext,
) -> Result<TlsFacts, Refused> {
    server.tls_counters.accepts.fetch_add(1, Ordering::Relaxed);
    let mut facts = TlsFacts::default();
    let transport = incoming.change_transport(|inner, rest| {
        let secured = TlsTransport::accept(inner, Arc::clone(&tls.config), rest)?;
        facts = secured.facts();
        Ok::<Arc<dyn Transport>, std::io::Error>(Arc::new(secured))
    });
    // Whatever went wrong, TLS has said it in its own words.
    out.set_transport(transport.map_err(|_| Refused::Gone)?);
    server.tls_counters.finished.fetch_add(1, Ordering::Relaxed);
    Ok(facts)
}

/// What a client has shown so far.
pub(crate) struct Proof {
    pub scramble: Scramble,
    pub response: Vec<u8>,
    /// The client's plugin that made the response.
    pub plugin: Vec<u8>,
}

/// One attempt to find out who a client is.
pub(crate) struct Talk<'a> {
    pub incoming: &'a mut Incoming,
    pub out: &'a mut Output,
    pub proof: Proof,
}

impl Talk<'_> {
    /// Has the client answer by `plugin`, unless it has done so already.
    pub(crate) fn answer_by(&mut self, plugin: &[u8]) -> Result<(), Refused> {
        if self.proof.plugin == plugin {
            return Ok(());
        }
        let scramble = new_scramble();
        self.out.start(self.incoming.sequence());
        self.out.writer().packet(|p| AuthSwitch { plugin, scramble }.encode(p));
        let mut response = self.exchange()?;
        // Some clients end the empty answer with a NUL.
        if response == [0] {
            response.clear();
        }
        self.proof = Proof { scramble, response, plugin: plugin.to_vec() };
        Ok(())
    }

    /// Has the client answer a challenge that is not a scramble.
    pub(crate) fn challenge(&mut self, plugin: &[u8], challenge: &[u8]) -> Result<(), Refused> {
        self.out.start(self.incoming.sequence());
        self.out.writer().packet(|p| wire::put_auth_switch(plugin, challenge, p));
        self.proof.response = self.exchange()?;
        self.proof.plugin = plugin.to_vec();
        Ok(())
    }

    /// A packet of the plugin's own to the client; it goes out with the next one.
    pub(crate) fn put_more_data(&mut self, data: &[u8]) {
        self.out.start(self.incoming.sequence());
        self.out.writer().packet(|p| {
            p.push(wire::caching_sha2::MORE_DATA);
            p.extend_from_slice(data);
        });
    }

    /// Sends what has been gathered and reads one packet.
    pub(crate) fn exchange(&mut self) -> Result<Vec<u8>, Refused> {
        let next = self.out.sequence();
        self.out.flush()?;
        self.incoming.expect_sequence(next);
        self.incoming.read()?;
        Ok(self.incoming.payload().to_vec())
    }
}

/// Finds the account and has the client prove that it is its own.
pub(crate) fn authenticate(
    incoming: &mut Incoming,
    out: &mut Output,
    server: &Server,
    origin: &Origin,
    user: &str,
    proof: Proof,
) -> Result<Accepted, Refused> {
    let accounts = server.accounts.current();
    let mut talk = Talk { incoming, out, proof };
    let Some(account) = accounts.find(user, &origin.host, &origin.address) else {
        // Nobody learns from the exchange that there is no such account.
        talk.answer_by(NATIVE_PASSWORD)?;
        return Err(Refused::Error(denied(user, origin, Some(&talk.proof.response))));
    };
    let blocked_at = server.variables.u64(Var::MAX_PASSWORD_ERRORS);
    if server.failures.of(&account.user, &account.host) >= blocked_at {
        return Err(Refused::Error(account_error::user_blocked()));
    }
    let candidate = Candidate { user, origin, server };
    let mut last = None;
    for auth in &account.auth {
        let Some(plugin) = Plugin::by_name(&auth.plugin) else {
            last = Some(account_error::plugin_not_loaded(&auth.plugin));
            continue;
        };
        if plugin.accepts(&mut talk, &candidate, auth)? {
            server.failures.forget(&account.user, &account.host);
            let accepted = admit(server, account, origin, &talk, plugin)?;
            return Ok(Accepted { proof: proof_of(server, origin, auth, plugin, &talk), ..accepted });
        }
        let response = plugin.has_password().then_some(talk.proof.response.as_slice());
        last = Some(denied(user, origin, response));
    }
    if account.auth.iter().any(|a| !a.string.is_empty()) {
        server.failures.count(&account.user, &account.host);
    }
    Err(Refused::Error(last.unwrap_or_else(|| denied(user, origin, None))))
}

/// The account is the client's own: may it come in now?
fn admit(
    server: &Server,
    account: &Account,
    origin: &Origin,
    talk: &Talk<'_>,
    plugin: Plugin,
) -> Result<Accepted, Refused> {
    if account.locked {
        return Err(Refused::Error(account_error::account_locked()));
    }
    if !meets(&account.tls, origin.tls.as_ref()) {
        return Err(Refused::Error(denied(&account.user, origin, Some(&talk.proof.response))));
    }
    let now = u64::try_from(server.wall_us() / 1_000_000).unwrap_or(0);
    let lifetime = server.variables.u64(Var::DEFAULT_PASSWORD_LIFETIME);
    let password_expired = plugin.has_password() && account.password_expired(now, lifetime);
    if password_expired
        && !talk.out.capabilities.contains(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS)
        && server.variables.u64(Var::DISCONNECT_ON_EXPIRED_PASSWORD) != 0
    {
        return Err(Refused::Error(account_error::password_expired()));
    }
    Ok(Accepted {
        user: account.user.clone(),
        host: account.host.clone(),
        with_password: plugin.has_password() && !talk.proof.response.is_empty(),
        password_expired,
        proof: String::new(),
    })
}

/// Whether the connection is what the account asks for.
fn meets(wanted: &Tls, tls: Option<&TlsFacts>) -> bool {
    let Some(tls) = tls else { return *wanted == Tls::None };
    match wanted {
        Tls::None | Tls::Any => true,
        Tls::X509 => tls.client.is_some(),
        Tls::Specific { cipher, issuer, subject } => {
            let fits = |wanted: &str, found: Option<&str>| wanted.is_empty() || found == Some(wanted);
            let client = tls.client.as_ref();
            fits(cipher, Some(tls.cipher))
                && fits(issuer, client.map(|c| c.issuer.as_str()))
                && fits(subject, client.map(|c| c.subject.as_str()))
        }
    }
}

/// What the OK packet says for a client that has nobody to vouch for the server's certificate.
fn proof_of(server: &Server, origin: &Origin, auth: &Auth, plugin: Plugin, talk: &Talk<'_>) -> String {
    let (Some(_), Some(context), Some(hash)) =
        (&origin.tls, server.tls.load_full(), plugin.binary_hash(&auth.string))
    else {
        return String::new();
    };
    context.proof(&hash, &talk.proof.scramble)
}

/// Error 1045; without a word about passwords where there are none.
fn denied(user: &str, origin: &Origin, response: Option<&[u8]>) -> ClientError {
    match response {
        None => account_error::access_denied_plain(user, &origin.host),
        Some([]) => error::access_denied(user, &origin.host, "NO"),
        Some(_) => error::access_denied(user, &origin.host, "YES"),
    }
}
