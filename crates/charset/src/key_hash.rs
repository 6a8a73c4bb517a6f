//! The hash by which MariaDB's PARTITION BY KEY spreads rows: the same rows lie in the same partitions there and here.
//!
//! A pair of numbers is fed with one byte after the other: of numbers and bytes their storage, of texts their weights. Spaces at the end
//! of a text count for nothing where the collation pads.

use crate::charset::Charset;
use crate::collation::{Collation, SpacePad, Weights};
use crate::weigh::{Uca, Weights as _};

/// The hash while it is fed.
#[derive(Debug, Clone, Copy)]
pub struct KeyHash {
    sum: u64,
    step: u64,
}

impl Default for KeyHash {
    fn default() -> Self {
        Self { sum: 1, step: 4 }
    }
}

impl KeyHash {
    pub fn value(self) -> u32 {
        self.sum as u32
    }

    pub fn add_null(&mut self) {
        self.sum ^= self.sum << 1 | 1;
    }

    pub fn add_byte(&mut self, byte: u8) {
        let mixed = (self.sum & 63).wrapping_add(self.step).wrapping_mul(u64::from(byte));
        self.sum ^= mixed.wrapping_add(self.sum << 8);
        self.step = self.step.wrapping_add(3);
    }

    pub fn add_bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.add_byte(*byte));
    }

    /// A text in its collation.
    pub fn add_text(&mut self, collation: Collation, text: &[u8]) {
        let info = collation.info();
        let pad = info.pad == SpacePad::Pad && !collation.is_binary();
        let trimmed = if pad { info.charset.trim_end(text) } else { text };
        match info.weights {
            Weights::Code | Weights::Chars => self.add_bytes(trimmed),
            Weights::Bytes(table) => trimmed.iter().for_each(|b| self.add_byte(table[usize::from(*b)])),
            Weights::General => {
                let mut utf8 = Vec::new();
                let trimmed = as_utf8(info.charset, trimmed, &mut utf8);
                let mut weights = crate::collation::general(trimmed);
                while let Some(weight) = weights.next() {
                    self.add_byte(weight as u8);
                    self.add_byte((weight >> 8) as u8);
                }
            }
            Weights::Uca { version, .. } => {
                let mut utf8 = Vec::new();
                let text = as_utf8(info.charset, trimmed, &mut utf8);
                let mut weights = Uca::new(text, version.primary(), true);
                while let Some(weight) = weights.next() {
                    self.add_byte((weight >> 8) as u8);
                    self.add_byte(weight as u8);
                }
            }
        }
    }
}

fn as_utf8<'t>(charset: Charset, text: &'t [u8], out: &'t mut Vec<u8>) -> &'t [u8] {
    if charset.is_wide() {
        let _lossy = charset.convert(text, Charset::Utf8mb4, out);
        return out;
    }
    text
}
