//! TLS without sockets: a client of rustls at the other end of a pipe.

use std::io::{Read, Write};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};

use super::*;
use crate::transport::Transport;
use crate::transport::memory::{End, pair};
use crate::variables::Setting;

/// Takes any certificate, as a client does that checks the server by the password.
#[derive(Debug)]
struct Trusting(Arc<CryptoProvider>);

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            cert,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            cert,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

struct Pipe(End);

impl Read for Pipe {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buf)
    }
}

impl Write for Pipe {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        self.0.write_all(buf)?;
        Ok(buf.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn context(directory: &Path, settings: &[(Var, &str)]) -> Result<TlsContext, String> {
    let variables = GlobalVariables::new();
    let text = |value: &str| Setting::Text(Arc::from(value));
    variables.set(Var::DATADIR, text(&directory.to_string_lossy()));
    for (var, value) in settings {
        variables.set(*var, Setting::parse_option(var.def(), value).expect("a value that fits"));
    }
    TlsContext::new(&variables, 1_800_000_000)
}

fn client() -> ClientConnection {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting(provider)))
        .with_no_client_auth();
    ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap()
}

/// One conversation: the client sends `question`, the server answers with it reversed. Returns what the server knows of it.
fn talk(context: &TlsContext, question: &[u8]) -> TlsFacts {
    let (ours, theirs) = pair();
    let config = Arc::clone(&context.config);
    let length = question.len();
    let server = std::thread::spawn(move || {
        let tls = TlsTransport::accept(Arc::new(theirs), config, Vec::new()).unwrap();
        let mut got = vec![0; length];
        let mut at = 0;
        while at < length {
            at += tls.read(&mut got[at..]).unwrap();
        }
        got.reverse();
        tls.write_all(&got).unwrap();
        tls.facts()
    });
    let mut conn = client();
    let mut pipe = Pipe(ours);
    let mut stream = rustls::Stream::new(&mut conn, &mut pipe);
    stream.write_all(question).unwrap();
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer).unwrap();
    answer.reverse();
    assert!(answer == question);
    server.join().unwrap()
}

#[test]
fn the_servers_own_certificate_is_made_once() {
    let dir = tempfile::tempdir().unwrap();
    let first = context(dir.path(), &[]).unwrap();
    let again = context(dir.path(), &[]).unwrap();
    assert_eq!(first.fingerprint, again.fingerprint);
    assert_eq!(first.certificate.subject, "/CN=MorseDB Server");
    assert!(first.certificate.not_after.ends_with("2037 GMT"), "{}", first.certificate.not_after);
    let question: Vec<u8> = (0..300_000u32).map(|i| (i % 251) as u8).collect();
    let facts = talk(&first, &question);
    assert_eq!((facts.version, &facts.client), ("TLSv1.3", &None));
    assert!(first.ciphers.contains(facts.cipher), "{facts:?}");
}

#[test]
fn versions_and_ciphers_are_what_the_variables_say() {
    let dir = tempfile::tempdir().unwrap();
    let old = context(dir.path(), &[(Var::TLS_VERSION, "TLSv1.2")]).unwrap();
    assert_eq!(talk(&old, b"hello").version, "TLSv1.2");
    let one = context(dir.path(), &[(Var::SSL_CIPHER, "TLS_CHACHA20_POLY1305_SHA256")]);
    // A suite of 1.3 alone leaves nothing for 1.2, which is offered as well.
    let facts = one.map(|context| talk(&context, b"hello"));
    assert!(facts.is_err() || facts.is_ok_and(|f| f.cipher == "TLS_CHACHA20_POLY1305_SHA256"));
    assert!(context(dir.path(), &[(Var::SSL_CIPHER, "ROT13")]).is_err());
    assert!(context(dir.path(), &[(Var::TLS_VERSION, "TLSv1.1")]).is_err());
    assert!(context(dir.path(), &[(Var::SSL_CERT, "server-cert.pem")]).is_err());
}

#[test]
fn what_is_no_handshake_ends_the_connection() {
    let dir = tempfile::tempdir().unwrap();
    let context = context(dir.path(), &[]).unwrap();
    let (ours, theirs) = pair();
    ours.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(TlsTransport::accept(Arc::new(theirs), context.config, Vec::new()).is_err());
}
