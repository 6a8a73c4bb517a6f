//! A string value: bytes and a collation in 32 bytes.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use charset::{Charset, Collation};

/// Longest string that is stored inline.
const INLINE: usize = 28;

/// Bytes with a collation. The bytes are valid in the collation's character set unless they came from a column that
/// was written with invalid ones.
#[derive(Clone)]
pub struct Str(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, collation: Collation, bytes: [u8; INLINE] },
    Shared { collation: Collation, bytes: Arc<[u8]> },
}

impl Str {
    pub fn new(bytes: &[u8], collation: Collation) -> Self {
        if bytes.len() <= INLINE {
            let mut inline = [0; INLINE];
            inline[..bytes.len()].copy_from_slice(bytes);
            return Self(Repr::Inline { len: bytes.len() as u8, collation, bytes: inline });
        }
        Self(Repr::Shared { collation, bytes: bytes.into() })
    }

    /// Text in utf8mb4 with the default collation.
    pub fn utf8(text: &str) -> Self {
        Self::new(text.as_bytes(), Collation::UTF8MB4_UCA1400_AI_CI)
    }

    pub fn binary(bytes: &[u8]) -> Self {
        Self::new(bytes, Collation::BINARY)
    }

    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { len, bytes, .. } => &bytes[..usize::from(*len)],
            Repr::Shared { bytes, .. } => bytes,
        }
    }

    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }

    pub fn collation(&self) -> Collation {
        match &self.0 {
            Repr::Inline { collation, .. } | Repr::Shared { collation, .. } => *collation,
        }
    }

    pub fn charset(&self) -> Charset {
        self.collation().charset()
    }

    /// The same bytes under another collation (of the same character set, or binary).
    #[must_use]
    pub fn with_collation(mut self, new: Collation) -> Self {
        match &mut self.0 {
            Repr::Inline { collation, .. } | Repr::Shared { collation, .. } => *collation = new,
        }
        self
    }

    /// Converted to another collation's character set; what has no counterpart becomes `?`.
    #[must_use]
    pub fn convert(&self, to: Collation) -> Self {
        if self.charset() == to.charset() || to.is_binary() {
            return self.clone().with_collation(to);
        }
        let mut out = Vec::with_capacity(self.len());
        // The caller that must know about losses converts by `Charset::convert` itself.
        let _lossy = self.charset().convert(self.bytes(), to.charset(), &mut out);
        Self::new(&out, to)
    }

    /// The text for messages: invalid bytes replaced.
    pub fn to_utf8_lossy(&self) -> String {
        let mut out = Vec::with_capacity(self.len());
        let _lossy = self.charset().convert(self.bytes(), Charset::Utf8mb4, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Compares under `collation`.
    pub fn compare(&self, other: &Self, collation: Collation) -> Ordering {
        collation.compare(self.bytes(), other.bytes())
    }
}

/// Same bytes and same collation; SQL's `=` is [`Str::compare`].
impl PartialEq for Str {
    fn eq(&self, other: &Self) -> bool {
        self.collation() == other.collation() && self.bytes() == other.bytes()
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" {}", self.bytes().escape_ascii(), self.collation())
    }
}
