//! Conversions, letter case and languages beside what MariaDB 11.8 answers: `fixtures/charsets.tsv` has one text in every character set (its
//! bytes, upper case, lower case, the same in utf8mb4, its length), `fixtures/languages.tsv` has comparisons.

use std::cmp::Ordering;

use charset::{Charset, Collation};

const SAMPLE: &str = "aZ~[é Äß čŘž ęłőŰ Аяж їґ αΩς הש กุ あアー漢字 中国話 한글 ﾊ € ı İ ğŞ ք ა ļŽ ي 😀";

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

fn converted(from: Charset, text: &[u8], to: Charset) -> Vec<u8> {
    let mut out = Vec::new();
    // Losses are part of the answers.
    let _lossy = from.convert(text, to, &mut out);
    out
}

#[test]
fn every_character_set_converts_as_the_server_does() {
    let mut wrong = Vec::new();
    for line in include_str!("fixtures/charsets.tsv").lines() {
        let [name, text, upper, lower, back, length] =
            line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let charset = Charset::by_name(name).unwrap();
        let text = bytes(text);
        let collation = Collation::default_of(charset);
        let (mut up, mut low) = (Vec::new(), Vec::new());
        collation.upper(&text, &mut up);
        collation.lower(&text, &mut low);
        let checks = [
            ("from utf8mb4", converted(Charset::Utf8mb4, SAMPLE.as_bytes(), charset) == text),
            ("to utf8mb4", converted(charset, &text, Charset::Utf8mb4) == bytes(back)),
            ("upper", up == bytes(upper)),
            ("lower", low == bytes(lower)),
            ("length", charset.char_count(&text).to_string() == length),
            ("valid", charset.is_valid(&text)),
        ];
        wrong.extend(checks.iter().filter(|c| !c.1).map(|c| format!("{name}: {}", c.0)));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn languages_compare_as_on_the_server() {
    let mut wrong = Vec::new();
    for line in include_str!("fixtures/languages.tsv").lines() {
        let [name, a, b, order] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let collation = Collation::by_name(name).unwrap();
        let [x, y] = [a, b].map(|t| converted(Charset::Utf8mb4, t.as_bytes(), collation.charset()));
        let expected = order.parse::<i32>().unwrap().cmp(&0);
        let (mut key_x, mut key_y) = (Vec::new(), Vec::new());
        collation.sort_key(&x, &mut key_x);
        collation.sort_key(&y, &mut key_y);
        if collation.compare(&x, &y) != expected || key_x.cmp(&key_y) != expected {
            wrong.push(line);
        }
    }
    assert_eq!(wrong, Vec::<&str>::new());
}

#[test]
fn ids_and_names_are_one_to_one() {
    for collation in Collation::all() {
        assert_eq!(Collation::by_id(collation.id()), Some(collation));
        assert_eq!(Collation::by_name(collation.name()), Some(collation));
        assert_eq!(collation.compare(b"", b""), Ordering::Equal);
    }
    for charset in Charset::ALL {
        assert_eq!(Collation::default_of(*charset).charset(), *charset);
        assert!(Collation::bin_of(*charset).is_bin());
    }
}
