//! Compression and encryption: COMPRESS and its kin, AES, PASSWORD, random bytes.

use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use charset::Collation;
use sha1::{Digest, Sha1};
use types::{Context, Value, ValueError, Warning};

use crate::arguments::{Answer, Args, NULL, ascii, some, text};

/// Level of zlib's default.
const LEVEL: u8 = 6;

/// COMPRESS: length as four bytes, little-endian, then a zlib stream; the empty text stays empty.
pub(crate) fn compress(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    if s.is_empty() {
        return text(b"", Collation::BINARY);
    }
    let mut out = (s.len() as u32 & 0x3fff_ffff).to_le_bytes().to_vec();
    out.extend_from_slice(&miniz_oxide::deflate::compress_to_vec_zlib(s.bytes(), LEVEL));
    // A last space would not survive a CHAR column.
    if out.last() == Some(&b' ') {
        out.push(b'.');
    }
    text(&out, Collation::BINARY)
}

pub(crate) fn uncompress(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    if s.is_empty() {
        return text(b"", Collation::BINARY);
    }
    let numbered = |ctx: &mut Context, errno: u16, text: &str| {
        ctx.warn(Warning::Numbered { errno, text: text.to_owned() });
    };
    let corrupted = "ZLIB: Input data corrupted";
    let Some((length, stream)) = s.bytes().split_at_checked(4) else {
        numbered(ctx, 1259, corrupted);
        return NULL;
    };
    let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) & 0x3fff_ffff;
    if u64::from(length) > ctx.max_allowed_packet {
        let text = format!(
            "Uncompressed data size too large; the maximum size is {} (based on max_allowed_packet). The length of uncompressed data may also be corrupted",
            ctx.max_allowed_packet
        );
        numbered(ctx, 1256, &text);
        return NULL;
    }
    match miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(stream, length as usize) {
        Ok(out) => text(&out, Collation::BINARY),
        Err(_) => {
            numbered(ctx, 1259, corrupted);
            NULL
        }
    }
}

pub(crate) fn uncompressed_length(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    match s.bytes() {
        [] => Ok(Value::Int(0)),
        [a, b, c, d, _, ..] => Ok(Value::Int(i64::from(u32::from_le_bytes([*a, *b, *c, *d]) & 0x3fff_ffff))),
        _ => {
            ctx.warn(Warning::Numbered { errno: 1259, text: "ZLIB: Input data corrupted".into() });
            Ok(Value::Null)
        }
    }
}

enum Cipher {
    Bits128(Aes128),
    Bits192(Aes192),
    Bits256(Aes256),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chain {
    Ecb,
    Cbc,
    Ctr,
}

type Block = [u8; 16];

impl Cipher {
    /// Keys longer than the cipher's are folded into it.
    fn new(bits: usize, key: &[u8]) -> Self {
        let mut folded = [0u8; 32];
        key.iter().enumerate().for_each(|(i, b)| folded[i % (bits / 8)] ^= b);
        match bits {
            192 => Self::Bits192(Aes192::new(&Array::try_from(&folded[..24]).unwrap_or_default())),
            256 => Self::Bits256(Aes256::new(&Array::from(folded))),
            _ => Self::Bits128(Aes128::new(&Array::try_from(&folded[..16]).unwrap_or_default())),
        }
    }
    fn encrypt(&self, block: Block) -> Block {
        let mut block = Array::from(block);
        match self {
            Self::Bits128(c) => c.encrypt_block(&mut block),
            Self::Bits192(c) => c.encrypt_block(&mut block),
            Self::Bits256(c) => c.encrypt_block(&mut block),
        }
        block.into()
    }
    fn decrypt(&self, block: Block) -> Block {
        let mut block = Array::from(block);
        match self {
            Self::Bits128(c) => c.decrypt_block(&mut block),
            Self::Bits192(c) => c.decrypt_block(&mut block),
            Self::Bits256(c) => c.decrypt_block(&mut block),
        }
        block.into()
    }
}

fn block_of(bytes: &[u8]) -> Block {
    let mut out = [0; 16];
    out[..bytes.len().min(16)].copy_from_slice(&bytes[..bytes.len().min(16)]);
    out
}

fn xor(a: Block, b: Block) -> Block {
    std::array::from_fn(|i| a[i] ^ b[i])
}

/// Counter mode: the same both ways.
fn counter(cipher: &Cipher, iv: Block, bytes: &[u8]) -> Vec<u8> {
    let mut count = u128::from_be_bytes(iv);
    let mut out = Vec::with_capacity(bytes.len());
    for chunk in bytes.chunks(16) {
        let pad = cipher.encrypt(count.to_be_bytes());
        out.extend(chunk.iter().zip(pad).map(|(a, b)| a ^ b));
        count = count.wrapping_add(1);
    }
    out
}

/// The cipher of a call, its chaining and its first block; `None` when an argument is NULL.
fn cipher(args: Args<'_>, ctx: &mut Context) -> Result<Option<(Cipher, Chain, Block)>, ValueError> {
    let Some(key) = args[1].to_str(ctx) else { return Ok(None) };
    let mode = match args.get(3) {
        None => "aes-128-ecb".to_owned(),
        Some(value) => match value.to_str(ctx) {
            None => return Ok(None),
            Some(mode) => mode.to_utf8_lossy().to_lowercase(),
        },
    };
    let mut parts = mode.split('-').skip(1);
    let bits: usize = parts.next().and_then(|b| b.parse().ok()).unwrap_or(0);
    let chain = match parts.next() {
        Some("ecb") => Chain::Ecb,
        Some("cbc") => Chain::Cbc,
        Some("ctr") => Chain::Ctr,
        _ => return Ok(None),
    };
    if !matches!(bits, 128 | 192 | 256) {
        return Ok(None);
    }
    let iv = match args.get(2) {
        None => None,
        Some(value) => value.to_str(ctx),
    };
    let iv = match (chain, iv) {
        (Chain::Ecb, _) => [0; 16],
        (_, Some(iv)) if iv.len() >= 16 => block_of(iv.bytes()),
        _ => return Ok(None),
    };
    Ok(Some((Cipher::new(bits, key.bytes()), chain, iv)))
}

pub(crate) fn aes_encrypt(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let (cipher, chain, iv) = some!(cipher(args, ctx)?);
    if chain == Chain::Ctr {
        return text(&counter(&cipher, iv, s.bytes()), Collation::BINARY);
    }
    let padding = 16 - s.len() % 16;
    let mut padded = s.bytes().to_vec();
    padded.resize(s.len() + padding, padding as u8);
    let mut before = iv;
    let mut out = Vec::with_capacity(padded.len());
    for chunk in padded.chunks_exact(16) {
        let block = block_of(chunk);
        before = cipher.encrypt(if chain == Chain::Cbc { xor(block, before) } else { block });
        out.extend_from_slice(&before);
    }
    text(&out, Collation::BINARY)
}

pub(crate) fn aes_decrypt(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let (cipher, chain, iv) = some!(cipher(args, ctx)?);
    if chain == Chain::Ctr {
        return text(&counter(&cipher, iv, s.bytes()), Collation::BINARY);
    }
    if s.is_empty() || !s.len().is_multiple_of(16) {
        return NULL;
    }
    let mut before = iv;
    let mut out = Vec::with_capacity(s.len());
    for chunk in s.bytes().chunks_exact(16) {
        let block = block_of(chunk);
        let plain = cipher.decrypt(block);
        out.extend_from_slice(&if chain == Chain::Cbc { xor(plain, before) } else { plain });
        before = block;
    }
    let padding = usize::from(*some!(out.last()));
    let kept = some!(out.len().checked_sub(padding));
    if !(1..=16).contains(&padding) || out[kept..].iter().any(|b| usize::from(*b) != padding) {
        return NULL;
    }
    text(&out[..kept], Collation::BINARY)
}

/// PASSWORD: what mysql_native_password stores.
pub(crate) fn password(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    if s.is_empty() {
        return ascii(b"", ctx);
    }
    let twice = Sha1::digest(Sha1::digest(s.bytes()));
    let hex: String = twice.iter().map(|b| format!("{b:02X}")).collect();
    ascii(format!("*{hex}").as_bytes(), ctx)
}

pub(crate) fn random_bytes(args: Args<'_>, ctx: &mut Context) -> Answer {
    let count = some!(args[0].to_i64(ctx));
    let Some(count) = usize::try_from(count).ok().filter(|c| *c <= 1024) else {
        return Ok(Value::Null);
    };
    let mut out = vec![0; count];
    env::random::entropy(&mut out);
    text(&out, Collation::BINARY)
}
