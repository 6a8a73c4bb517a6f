//! What a decoder answers when bytes are not what they must be.

use std::fmt;

/// Bytes that are not what they must be: where, which field, what was expected and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corruption {
    /// File, page or record, for example `page 3:17` or `segment 000004 at 4096`.
    pub place: String,
    pub field: &'static str,
    pub expected: String,
    pub found: String,
}

impl Corruption {
    pub fn new(
        place: impl fmt::Display,
        field: &'static str,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        Self { place: place.to_string(), field, expected: expected.to_string(), found: found.to_string() }
    }

    /// The same finding, named from further outside: `inner` becomes `outer, inner`.
    #[must_use]
    pub fn within(mut self, outer: impl fmt::Display) -> Self {
        self.place =
            if self.place.is_empty() { outer.to_string() } else { format!("{outer}, {}", self.place) };
        self
    }
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "corrupt {} in {}: expected {}, found {}",
            self.field, self.place, self.expected, self.found
        )
    }
}

impl std::error::Error for Corruption {}
