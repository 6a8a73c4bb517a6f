//! TLS of client connections.
//!
//! The server always has a certificate: that of `ssl_cert` and `ssl_key`, or one of its own, which signs itself, is made at the first start
//! and kept beside the data (`server-cert.pem`, `server-key.pem`).
//!
//! # A certificate that nobody has vouched for
//! Clients of MariaDB 11.4 and later check a server that they know nothing of by the password: the OK packet of the log-in carries
//! a proof, which only somebody who knows the hash of the password can make, and who has this certificate's private key.
//!
//! # Crash
//! The key is written before the certificate; a start that finds only one of the two makes both again.

mod keys;
mod name;
mod status;
mod transport;

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{CipherSuite, RootCertStore, ServerConfig, SupportedCipherSuite, SupportedProtocolVersion};
use sha2::{Digest, Sha256};

use crate::variables::{GlobalVariables, Var};
pub(crate) use keys::write_private;
pub(crate) use name::CertificateFacts;
pub(crate) use status::TlsCounters;
pub(crate) use transport::TlsTransport;

/// What connections need to begin with TLS.
pub(crate) struct TlsContext {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) certificate: CertificateFacts,
    /// SHA-256 of the certificate.
    fingerprint: [u8; 32],
    /// Cipher suites on offer, by OpenSSL's names.
    pub(crate) ciphers: String,
    /// Certificates of clients are checked.
    pub(crate) checks_clients: bool,
}

/// What is known of one connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TlsFacts {
    pub version: &'static str,
    pub cipher: &'static str,
    /// Of a certificate that the client has shown and that was checked.
    pub client: Option<CertificateFacts>,
}

impl TlsContext {
    /// By the variables; the server's own certificate is made when none is named.
    pub(crate) fn new(variables: &GlobalVariables, made_now_seconds: i64) -> Result<Self, String> {
        let text = |var| variables.get(var).as_str().to_owned();
        let directory = text(Var::DATADIR);
        let at = |file: String| if file.starts_with('/') { file } else { format!("{directory}/{file}") };
        let (cert, key) = match (text(Var::SSL_CERT), text(Var::SSL_KEY)) {
            (cert, key) if cert.is_empty() && key.is_empty() => {
                keys::own(Path::new(&directory), made_now_seconds)?
            }
            (cert, key) if cert.is_empty() || key.is_empty() => {
                return Err("ssl_cert and ssl_key belong together: only one of them is given".into());
            }
            (cert, key) => (read_file(&at(cert))?, read_file(&at(key))?),
        };
        let chain = certificates(&cert)?;
        let first = chain.first().ok_or("ssl_cert has no certificate in it")?;
        let key =
            PrivateKeyDer::from_pem_slice(&key).map_err(|e| format!("Unable to get the private key: {e}"))?;
        let fingerprint = Sha256::digest(first).into();
        let certificate = name::read(first).ok_or("ssl_cert cannot be read")?;
        let provider = Arc::new(provider(&text(Var::SSL_CIPHER))?);
        let versions = versions(variables.u64(Var::TLS_VERSION))?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|e| format!("tls_version and ssl_cipher leave nothing: {e}"))?;
        let ca = text(Var::SSL_CA);
        let checks_clients = !ca.is_empty();
        let builder = if checks_clients {
            let mut roots = RootCertStore::empty();
            for root in certificates(&read_file(&at(ca))?)? {
                roots.add(root).map_err(|e| format!("ssl_ca: {e}"))?;
            }
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                    .allow_unauthenticated()
                    .build();
            builder.with_client_cert_verifier(verifier.map_err(|e| format!("ssl_ca: {e}"))?)
        } else {
            builder.with_no_client_auth()
        };
        let config =
            builder.with_single_cert(chain, key).map_err(|e| format!("ssl_cert and ssl_key: {e}"))?;
        let offered = |s: &&SupportedCipherSuite| versions.iter().any(|v| s.version() == *v);
        let ciphers: Vec<_> =
            provider.cipher_suites.iter().filter(offered).map(|s| cipher_name(s.suite())).collect();
        Ok(Self {
            config: Arc::new(config),
            certificate,
            fingerprint,
            ciphers: ciphers.join(":"),
            checks_clients,
        })
    }

    /// What shows the client that this server, and not somebody in between, knows its password.
    pub(crate) fn proof(&self, password_hash: &[u8], scramble: &[u8]) -> String {
        let mut hash = Sha256::new();
        hash.update(password_hash);
        hash.update(scramble);
        hash.update(self.fingerprint);
        // 1 says which hash it is.
        let mut out = String::from("\u{1}");
        out.extend(hash.finalize().iter().map(|b| format!("{b:02X}")));
        out
    }
}

impl TlsTransport {
    pub(crate) fn facts(&self) -> TlsFacts {
        self.with(|tls| TlsFacts {
            version: match tls.protocol_version() {
                Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2",
                Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
                _ => "unknown",
            },
            cipher: tls.negotiated_cipher_suite().map_or("", |s| cipher_name(s.suite())),
            client: tls.peer_certificates().and_then(|chain| name::read(chain.first()?)),
        })
    }
}

fn read_file(path: &str) -> Result<Vec<u8>, String> {
    env::host::read_text(Path::new(path)).map(String::into_bytes).map_err(|e| format!("'{path}': {e}"))
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|e| format!("Unable to get certificates: {e}"))
}

fn provider(wanted: &str) -> Result<CryptoProvider, String> {
    let mut provider = rustls::crypto::ring::default_provider();
    if wanted.is_empty() {
        return Ok(provider);
    }
    let names: Vec<&str> = wanted.split([':', ',', ' ']).collect();
    provider.cipher_suites.retain(|s| names.contains(&cipher_name(s.suite())));
    if provider.cipher_suites.is_empty() {
        return Err(format!("ssl_cipher: none of '{wanted}' is known"));
    }
    Ok(provider)
}

/// `bits` are those of `tls_version`; none means all.
fn versions(bits: u64) -> Result<Vec<&'static SupportedProtocolVersion>, String> {
    let wanted = |bit: u64| bits == 0 || bits & 1 << bit != 0;
    let mut versions = Vec::new();
    if wanted(2) {
        versions.push(&rustls::version::TLS12);
    }
    if wanted(3) {
        versions.push(&rustls::version::TLS13);
    }
    if versions.is_empty() {
        Err("tls_version: only TLSv1.2 and TLSv1.3 are there".into())
    } else {
        Ok(versions)
    }
}

/// OpenSSL's name of a cipher suite.
fn cipher_name(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 => "ECDHE-ECDSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 => "ECDHE-ECDSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-ECDSA-CHACHA20-POLY1305",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => "ECDHE-RSA-AES256-GCM-SHA384",
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => "ECDHE-RSA-AES128-GCM-SHA256",
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 => "ECDHE-RSA-CHACHA20-POLY1305",
        other => other.as_str().unwrap_or(""),
    }
}

#[cfg(test)]
mod tests;
