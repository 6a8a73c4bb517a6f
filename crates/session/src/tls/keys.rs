//! The server's own keys, made when they are first needed and kept beside the data, readable for the server's user alone.

use std::io::{self, Write};
use std::path::Path;

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

const CERTIFICATE: &str = "server-cert.pem";
const KEY: &str = "server-key.pem";
/// A certificate that nobody checks by its date need not run out while the server is in use.
const DAYS: i64 = 3650;

/// Certificate and key as PEM: from the files, or made now.
pub(super) fn own(directory: &Path, now_seconds: i64) -> Result<(Vec<u8>, Vec<u8>), String> {
    let (cert, key) = (directory.join(CERTIFICATE), directory.join(KEY));
    if let (Ok(cert), Ok(key)) = (env::host::read_text(&cert), env::host::read_text(&key)) {
        return Ok((cert.into_bytes(), key.into_bytes()));
    }
    let (cert_pem, key_pem) = make(now_seconds).map_err(|e| format!("the server's certificate: {e}"))?;
    let written =
        write_private(&key, key_pem.as_bytes()).and_then(|()| write_private(&cert, cert_pem.as_bytes()));
    written.map_err(|e| format!("'{}' cannot be written: {e}", cert.display()))?;
    Ok((cert_pem.into_bytes(), key_pem.into_bytes()))
}

fn make(now_seconds: i64) -> Result<(String, String), rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(Vec::new())?;
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, "MorseDB Server");
    params.distinguished_name = name;
    let date = |days: i64| {
        let moment = jiff::Timestamp::from_second(now_seconds + days * 86_400).unwrap_or_default();
        let day = jiff::tz::TimeZone::UTC.to_datetime(moment);
        rcgen::date_time_ymd(i32::from(day.year()), day.month() as u8, day.day() as u8)
    };
    // A clock that is a little behind must not find it too new.
    params.not_before = date(-1);
    params.not_after = date(DAYS);
    Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
}

/// Writes a file that only the server's user may read.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    env::host::create_private(path)?.write_all(bytes)
}
