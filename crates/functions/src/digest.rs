//! Checksums and digests, shown in hex.

use crc_fast::{CrcAlgorithm, checksum};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use types::{Context, Value};

use crate::arguments::{Answer, Args, NULL, ascii, count, some};

fn hex(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|b| [b >> 4, b & 15]).map(|n| b"0123456789abcdef"[usize::from(n)]).collect()
}

pub(crate) fn md5(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    ascii(&hex(&Md5::digest(s.bytes())), ctx)
}

pub(crate) fn sha1(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    ascii(&hex(&Sha1::digest(s.bytes())), ctx)
}

/// SHA2(text, bits): 224, 256 (also 0), 384, 512; NULL for other sizes.
pub(crate) fn sha2(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let digest: Vec<u8> = match some!(count(&args[1], ctx)) {
        224 => Sha224::digest(s.bytes()).to_vec(),
        0 | 256 => Sha256::digest(s.bytes()).to_vec(),
        384 => Sha384::digest(s.bytes()).to_vec(),
        512 => Sha512::digest(s.bytes()).to_vec(),
        _ => {
            let text = "Incorrect parameters in the call to native function 'sha2'".into();
            ctx.warn(types::Warning::Numbered { errno: 1583, text });
            return NULL;
        }
    };
    ascii(&hex(&digest), ctx)
}

fn crc(args: Args<'_>, ctx: &Context, algorithm: CrcAlgorithm) -> Answer {
    let [value] = args else { return continued(args, ctx, algorithm) };
    let s = some!(value.to_str(ctx));
    Ok(Value::UInt(checksum(algorithm, s.bytes())))
}

/// CRC32(checksum so far, text).
fn continued(args: Args<'_>, ctx: &Context, algorithm: CrcAlgorithm) -> Answer {
    let so_far = match &args[0] {
        Value::Int(v) => *v as u32,
        Value::UInt(v) => *v as u32,
        _ => return NULL,
    };
    let s = some!(args[1].to_str(ctx));
    let mut digest = crc_fast::Digest::new_with_init_state(algorithm, u64::from(!so_far));
    digest.update(s.bytes());
    Ok(Value::UInt(digest.finalize()))
}

pub(crate) fn crc32(args: Args<'_>, ctx: &mut Context) -> Answer {
    crc(args, ctx, CrcAlgorithm::Crc32IsoHdlc)
}
pub(crate) fn crc32c(args: Args<'_>, ctx: &mut Context) -> Answer {
    crc(args, ctx, CrcAlgorithm::Crc32Iscsi)
}
