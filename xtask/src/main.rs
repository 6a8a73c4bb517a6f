//! Tasks of the project; `cargo xtask` lists them.
fn main() {}
