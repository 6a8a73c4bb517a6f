//! Any bytes as a dictionary row: what decodes encodes to what decodes the same.
#![no_main]

use catalog::{DatabaseDef, TableDef};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut again = Vec::new();
    if let Ok(def) = TableDef::decode(data) {
        def.encode(&mut again);
        assert_eq!(TableDef::decode(&again).as_ref(), Ok(&def));
    }
    again.clear();
    if let Ok(def) = DatabaseDef::decode(data) {
        def.encode(&mut again);
        assert_eq!(DatabaseDef::decode(&again).as_ref(), Ok(&def));
    }
});
