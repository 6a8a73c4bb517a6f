//! Files that statements name: `LOAD DATA [LOCAL]`, SELECT ... INTO OUTFILE.
//!
//! Relative names start at the data directory, as on MariaDB. With `secure_file_priv` only files below that directory are
//! reached; names with `..` are resolved first, as text.
//!
//! # LOCAL
//! The server asks for the file with a packet `0xFB name`; the client sends it in packets, an empty one ends it. The whole file
//! is in memory when the statement starts, so that an error of the statement leaves nothing unread.

use std::io::{Cursor, Read, Write};
use std::time::Duration;

use client_error::ClientError;
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::plan::{InsertPlan, InsertSource, Plan, PlanKind};
use wire::Capabilities;

use crate::output::Output;
use crate::server::Server;
use crate::session::Session;
use crate::variables::Var;

/// The file that the client has to send for a plan.
pub(crate) fn local_path(plan: &Plan) -> Option<&[u8]> {
    match &plan.kind {
        PlanKind::Insert(InsertPlan { source: InsertSource::Load(load), .. }) if load.local => {
            Some(&load.path)
        }
        _ => None,
    }
}

/// Has the client send a file.
pub(crate) fn upload(session: &Session, out: &mut Output, path: &[u8]) -> Result<Vec<u8>, ClientError> {
    let allowed = session.server().variables.get(Var::LOCAL_INFILE).as_bool();
    if !allowed || !out.capabilities.contains(Capabilities::LOCAL_FILES) {
        let text = "The used command is not allowed because the MariaDB server or client has disabled the local infile capability";
        return Err(ClientError::new(4166, b"HY000", text));
    }
    let patience = Duration::from_secs(session.variables.u64(Var::NET_READ_TIMEOUT));
    out.receive_file(path, patience)
        .map_err(|_| ClientError::new(1158, b"08S01", "Got an error reading communication packets"))
}

/// The name as the operating system gets it, if it may be reached.
fn resolve(server: &Server, path: &[u8]) -> SqlResult<String> {
    let name = std::str::from_utf8(path).map_err(|_| missing(path, 2))?;
    let data = server.variables.get(Var::DATADIR).as_str().to_owned();
    let joined = if name.starts_with('/') { name.to_owned() } else { format!("{data}/{name}") };
    let secure = server.variables.get(Var::SECURE_FILE_PRIV).as_str().to_owned();
    if secure.is_empty() {
        return Ok(joined);
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            other => parts.push(other),
        }
    }
    let clean = format!("/{}", parts.join("/"));
    let below = format!("/{}/", secure.trim_matches('/'));
    if joined.starts_with('/') && clean.starts_with(&below) {
        return Ok(clean);
    }
    Err(SqlError::Other {
        errno: 1290,
        state: *b"HY000",
        text: "The MariaDB server is running with the --secure-file-priv option so it cannot execute this statement".into(),
    })
}

fn missing(path: &[u8], os: i32) -> SqlError {
    let name = String::from_utf8_lossy(path);
    let text = format!("File '{name}' not found (Errcode: {os} \"No such file or directory\")");
    SqlError::Other { errno: 29, state: *b"HY000", text }
}

pub(crate) fn read(
    server: &Server,
    upload: &mut Option<Vec<u8>>,
    path: &[u8],
    local: bool,
) -> SqlResult<Box<dyn Read>> {
    if local {
        return Ok(Box::new(Cursor::new(upload.take().unwrap_or_default())));
    }
    let name = resolve(server, path)?;
    match env::files::Source::open(&name) {
        Ok(file) => Ok(Box::new(file)),
        Err(e) => Err(missing(name.as_bytes(), e.raw_os_error().unwrap_or(2))),
    }
}

pub(crate) fn create(server: &Server, path: &[u8]) -> SqlResult<Box<dyn Write>> {
    let name = resolve(server, path)?;
    match env::files::Target::create(&name) {
        Ok(file) => Ok(Box::new(file)),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Err(SqlError::Other {
            errno: 1086,
            state: *b"HY000",
            text: format!("File '{}' already exists", String::from_utf8_lossy(path)),
        }),
        Err(e) => Err(SqlError::Other {
            errno: 1,
            state: *b"HY000",
            text: format!(
                "Can't create/write to file '{name}' (Errcode: {} \"{e}\")",
                e.raw_os_error().unwrap_or(0)
            ),
        }),
    }
}
