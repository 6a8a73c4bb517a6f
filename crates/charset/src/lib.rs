//! Character sets and collations: comparison, sort keys, case mapping.
