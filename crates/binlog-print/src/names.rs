//! Names of character sets and collations by MariaDB's ids, also of those that this server does not have.

use std::collections::HashMap;
use std::sync::OnceLock;

/// `id name` lines, as MariaDB 11.8's information_schema lists them.
static COLLATIONS: &str = include_str!("../data/collations.txt");

/// The full name of a collation.
pub(crate) fn collation(id: u64) -> Option<&'static str> {
    static BY_ID: OnceLock<HashMap<u64, &'static str>> = OnceLock::new();
    let by_id = BY_ID.get_or_init(|| {
        let parts = COLLATIONS.lines().filter_map(|line| line.split_once(' '));
        parts.filter_map(|(id, name)| Some((id.parse().ok()?, name))).collect()
    });
    by_id.get(&id).copied()
}

/// The character set of a collation.
pub(crate) fn charset(id: u64) -> Option<&'static str> {
    collation(id).map(|name| name.split_once('_').map_or(name, |(charset, _)| charset))
}

#[cfg(test)]
mod tests {
    use super::{charset, collation};

    #[test]
    fn known_ids() {
        assert_eq!((charset(8), collation(8)), (Some("latin1"), Some("latin1_swedish_ci")));
        assert_eq!((charset(63), collation(63)), (Some("binary"), Some("binary")));
        assert_eq!((charset(2304), collation(2304)), (Some("utf8mb4"), Some("utf8mb4_uca1400_ai_ci")));
        assert_eq!(collation(5000), None);
    }
}
