//! What keys of texts that begin alike have in common: an index range for LIKE stands on it.

use charset::Collation;

/// Letters that languages contract, expand, ignore or weigh in several bytes.
const PARTS: [&str; 12] = ["a", "á", "c", "h", "s", "z", "ž", "ß", " ", "\u{301}", "\0", "中"];

#[test]
fn longer_texts_begin_with_the_common_part() {
    let mut longest = 0;
    for collation in Collation::all() {
        let bytes = |parts: &[usize]| -> Option<Vec<u8>> {
            let text: String = parts.iter().map(|i| PARTS[*i]).collect();
            let mut out = Vec::new();
            charset::Charset::Utf8mb4
                .convert(text.as_bytes(), collation.charset(), &mut out)
                .is_ok()
                .then_some(out)
        };
        for a in 0..PARTS.len() {
            for b in 0..PARTS.len() {
                let Some(text) = bytes(&[a, b]) else { continue };
                let mut key = Vec::new();
                collation.sort_key(&text, &mut key);
                let common = collation.common_key_len(&text);
                longest = longest.max(common);
                for c in 0..PARTS.len() {
                    for d in [c, 3] {
                        let Some(longer) = bytes(&[a, b, c, d]) else { continue };
                        let mut of_longer = Vec::new();
                        collation.sort_key(&longer, &mut of_longer);
                        assert!(
                            of_longer.starts_with(&key[..common]),
                            "{collation}: {:?} and {:?}",
                            String::from_utf8_lossy(&text),
                            String::from_utf8_lossy(&longer)
                        );
                    }
                }
            }
        }
    }
    assert!(longest >= 4);
}

#[test]
fn nothing_but_the_end_is_left_out() {
    for (collation, text) in [
        (Collation::UTF8MB4_GENERAL_CI, "ab"),
        (Collation::UTF8MB4_UCA1400_AI_CI, "ab"),
        (Collation::UTF8MB4_UNICODE_CI, "ab"),
        (Collation::LATIN1_SWEDISH_CI, "ab"),
        (Collation::BINARY, "ab"),
    ] {
        let (common, mut shorter) = (collation.common_key_len(text.as_bytes()), Vec::new());
        collation.sort_key(b"a", &mut shorter);
        assert!(common > collation.common_key_len(b"a"), "{collation}");
        let mut key = Vec::new();
        collation.sort_key(text.as_bytes(), &mut key);
        assert!(common < key.len(), "{collation}");
    }
}
