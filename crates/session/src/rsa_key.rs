//! The key pair with which clients of `caching_sha2_password` send their password when nothing else protects the connection.
//!
//! It is read from `caching_sha2_password_private_key_path`, below the data directory unless it is absolute, when a client first needs it,
//! and made and written there when there is none: 2048 bits, which cost about a second once.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::OnceLock;

use rsa::PrivateKey;
use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey, EncodePublicKey, LineEnding};
use rsa::rand_core::{TryCryptoRng, TryRng};
use sha1::Sha1;

use crate::server::Server;
use crate::variables::Var;

const BITS: usize = 2048;

/// The system's random numbers.
struct Entropy;

impl TryRng for Entropy {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        env::random::entropy(&mut bytes);
        Ok(u32::from_ne_bytes(bytes))
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        env::random::entropy(&mut bytes);
        Ok(u64::from_ne_bytes(bytes))
    }
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        env::random::entropy(out);
        Ok(())
    }
}

impl TryCryptoRng for Entropy {}

/// The server's key pair, once it has been needed.
#[derive(Default)]
pub(crate) struct RsaKey(OnceLock<Result<Pair, String>>);

struct Pair {
    private: PrivateKey,
    public_pem: String,
}

impl RsaKey {
    fn pair(&self, server: &Server) -> Result<&Pair, &str> {
        self.0.get_or_init(|| Pair::open(server)).as_ref().map_err(String::as_str)
    }
    /// The public key as clients want it; None when there is no key to be had.
    pub(crate) fn public_pem(&self, server: &Server) -> Option<&str> {
        match self.pair(server) {
            Ok(pair) => Some(&pair.public_pem),
            Err(text) => {
                server.log(crate::error_log::Severity::Warning, 0, &format!("caching_sha2_password: {text}"));
                None
            }
        }
    }
    /// What a client has encrypted for this server.
    pub(crate) fn decrypt(&self, server: &Server, sent: &[u8]) -> Option<Vec<u8>> {
        self.pair(server).ok()?.private.oaep_decrypt::<Sha1>(sent).ok()
    }
}

impl Pair {
    fn open(server: &Server) -> Result<Self, String> {
        let path = |var| {
            let name = server.variables.get(var).as_str().to_owned();
            PathBuf::from(server.variables.get(Var::DATADIR).as_str()).join(name)
        };
        let private_path = path(Var::CACHING_SHA2_PASSWORD_PRIVATE_KEY_PATH);
        if let Ok(pem) = env::host::read_text(&private_path) {
            let private =
                PrivateKey::from_pkcs8_pem(&pem).map_err(|e| format!("'{}': {e}", private_path.display()))?;
            return Self::of(private);
        }
        let private = PrivateKey::new(&mut Entropy, BITS).map_err(|e| e.to_string())?;
        let pem = private.to_pkcs8_pem(LineEnding::LF).map_err(|e| e.to_string())?;
        let pair = Self::of(private)?;
        let public_path = path(Var::CACHING_SHA2_PASSWORD_PUBLIC_KEY_PATH);
        crate::tls::write_private(&private_path, pem.as_bytes())
            .and_then(|()| crate::tls::write_private(&public_path, pair.public_pem.as_bytes()))
            .map_err(|e| format!("the key pair cannot be written: {e}"))?;
        Ok(pair)
    }
    fn of(private: PrivateKey) -> Result<Self, String> {
        let public_pem =
            private.to_public_key().to_public_key_pem(LineEnding::LF).map_err(|e| e.to_string())?;
        Ok(Self { private, public_pem })
    }
}
