//! Every pair of strings in the fixture compares as MariaDB 11.8 says, and so do the sort keys and hashes.

use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher as _;

use charset::Collation;

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn fixture() -> String {
    let file = std::env::var("COMPARE_FIXTURE")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/compare.tsv").into());
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn pairs_compare_as_the_server_says() {
    let mut wrong = Vec::new();
    for line in fixture().lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let collation = Collation::by_name(fields[0]).unwrap_or_else(|| panic!("{} exists", fields[0]));
        let (a, b) = (unhex(fields[1]), unhex(fields[2]));
        let expected = fields[3].parse::<i32>().unwrap().cmp(&0);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        collation.sort_key(&a, &mut left);
        collation.sort_key(&b, &mut right);
        let hash = |s: &[u8]| {
            let mut h = DefaultHasher::new();
            collation.hash(s, &mut h);
            h.finish()
        };
        let found = (collation.compare(&a, &b), left.cmp(&right), hash(&a) == hash(&b));
        if found != (expected, expected, expected == Ordering::Equal) {
            wrong.push(format!("{line}: found {found:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} pairs differ, first:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}

#[test]
fn no_sort_key_is_a_prefix_of_another() {
    let fixture = fixture();
    let mut keys: Vec<(&str, Vec<u8>)> = Vec::new();
    for line in fixture.lines().step_by(3) {
        let fields: Vec<&str> = line.split('\t').collect();
        let mut key = Vec::new();
        Collation::by_name(fields[0]).unwrap().sort_key(&unhex(fields[1]), &mut key);
        keys.push((fields[0], key));
    }
    keys.sort();
    for pair in keys.windows(2) {
        let both = (&pair[0].1, &pair[1].1);
        assert!(pair[0].0 != pair[1].0 || both.0 == both.1 || !both.1.starts_with(both.0), "{pair:?}");
    }
}

#[test]
fn a_nopad_bin_key_gives_its_text_back() {
    for text in [&b""[..], b"a\0b", b"\0", b"\xff\0\xff", b"trailing  "] {
        let (mut key, mut back) = (Vec::new(), Vec::new());
        Collation::BINARY.sort_key(text, &mut key);
        let len = key.len();
        key.extend_from_slice(b"next part");
        assert_eq!(Collation::BINARY.text_of_key(&key, &mut back), Some(len));
        assert_eq!(back, text);
    }
}

#[test]
fn letters_change_case_as_their_collation_knows_them() {
    let upper = |c: Collation, s: &str| {
        let mut out = Vec::new();
        c.upper(s.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(upper(Collation::UTF8MB4_GENERAL_CI, "straße éж"), "STRAßE ÉЖ");
    assert_eq!(upper(Collation::UTF8MB4_UCA1400_AI_CI, "ÿ ა"), "Ÿ Ა");
    assert_eq!(upper(Collation::UTF8MB4_GENERAL_CI, "ÿ ა"), "Ÿ ა");
}
