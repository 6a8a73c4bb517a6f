//! The MorseDB server: parses options and calls `session`.
fn main() {}
