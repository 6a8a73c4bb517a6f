//! SQL values: numbers, decimals, strings, temporal types, and MariaDB's conversions between them.
