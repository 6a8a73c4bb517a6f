//! Log-in: greeting, answer, authentication by `mysql_native_password`, and again for COM_CHANGE_USER.
//!
//! # States
//! greeting sent -> login read -> (auth switch sent -> answer read) -> accepted | refused
//!
//! Nothing of the engine is touched before a client is accepted; until then packets are small and time is short
//! (`connect_timeout`).

use client_error::{ClientError, connection as error};
use env::net::Peer;
use wire::auth::{NATIVE_PASSWORD, Scramble, scramble_from};
use wire::{AuthSwitch, Capabilities, Greeting, Login, Status};

use crate::accounts::Accounts;
use crate::connection::{Incoming, ReadError};
use crate::output::{Gone, Output};

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
}

impl Origin {
    pub(crate) fn of(peer: Peer) -> Self {
        match peer {
            Peer::Unix => Self { host: "localhost".into(), address: String::new(), port: 0 },
            Peer::Tcp(address) => {
                let ip = address.ip().to_canonical();
                let host = if ip.is_loopback() { "localhost".into() } else { ip.to_string() };
                Self { host, address: ip.to_string(), port: address.port() }
            }
        }
    }
    /// The `Host` column of the process list.
    pub(crate) fn shown(&self) -> String {
        if self.port == 0 { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }
}

/// Who has been let in.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub user: String,
    /// The host part of the account that matched.
    pub account_host: String,
    pub collation: u16,
    pub database: Vec<u8>,
    pub capabilities: Capabilities,
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
    accounts: &Accounts,
    origin: &Origin,
    connection_id: u64,
) -> Result<Identity, Refused> {
    let scramble = new_scramble();
    let greeting = Greeting {
        version: VERSION.as_bytes(),
        connection_id: connection_id as u32,
        scramble,
        capabilities: Capabilities::SERVER,
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
    let payload = incoming.payload().to_vec();
    let login = Login::decode(&payload).map_err(|_| Refused::Error(error::bad_handshake()))?;
    let capabilities = login.capabilities & Capabilities::SERVER;
    out.capabilities = capabilities;
    let user = String::from_utf8_lossy(login.user).into_owned();
    let native = login.auth_plugin.is_empty() || login.auth_plugin == NATIVE_PASSWORD;
    let proof = Proof { scramble, response: login.auth, native };
    let account_host = authenticate(incoming, out, accounts, origin, &user, proof)?;
    Ok(Identity {
        user,
        account_host,
        collation: u16::from(login.collation),
        database: login.database.to_vec(),
        capabilities,
    })
}

/// What a client has shown so far.
pub(crate) struct Proof<'a> {
    pub scramble: Scramble,
    pub response: &'a [u8],
    /// The response is of the plugin that accounts use here.
    pub native: bool,
}

/// Checks a response, asking again when it was made by another plugin. Answers the account's host.
pub(crate) fn authenticate(
    incoming: &mut Incoming,
    out: &mut Output,
    accounts: &Accounts,
    origin: &Origin,
    user: &str,
    proof: Proof<'_>,
) -> Result<String, Refused> {
    let account = accounts.find(user, &origin.host, &origin.address);
    let mut switched;
    let (scramble, response) = if proof.native {
        (proof.scramble, proof.response)
    } else {
        let scramble = new_scramble();
        out.start(incoming.sequence());
        out.writer().packet(|p| AuthSwitch::native(scramble).encode(p));
        let next = out.sequence();
        out.flush()?;
        incoming.expect_sequence(next);
        incoming.read()?;
        switched = incoming.payload().to_vec();
        // Some clients end the empty answer with a NUL.
        if switched == [0] {
            switched.clear();
        }
        (scramble, switched.as_slice())
    };
    match account {
        Some(account) if account.accepts(&scramble, response) => Ok(account.host.clone()),
        _ => {
            let with_password = if response.is_empty() { "NO" } else { "YES" };
            Err(Refused::Error(error::access_denied(user, &origin.host, with_password)))
        }
    }
}
