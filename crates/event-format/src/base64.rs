//! Base64 in lines of 76 characters, as BINLOG statements hold events.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Bytes of a whole line.
const LINE: usize = 57;

/// Appends the lines, each with its newline.
pub fn write(bytes: &[u8], out: &mut Vec<u8>) {
    for line in bytes.chunks(LINE) {
        for group in line.chunks(3) {
            let mut word = [0u8; 4];
            word[1..=group.len()].copy_from_slice(group);
            let bits = u32::from_be_bytes(word);
            for i in 0..4 {
                let character = ALPHABET[(bits >> (18 - 6 * i) & 63) as usize];
                out.push(if i <= group.len() { character } else { b'=' });
            }
        }
        out.push(b'\n');
    }
}

/// The bytes of such a text; white space is passed over. `None`: it is no base64.
pub fn read(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count, mut padding) = (0u32, 0, 0);
    for character in text.iter().filter(|c| !c.is_ascii_whitespace()) {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' if count >= 2 => {
                padding += 1;
                0
            }
            _ => return None,
        };
        // Padding ends its group; another group may follow, of the next event.
        if padding > 0 && *character != b'=' {
            return None;
        }
        bits = bits << 6 | u32::from(value);
        count += 1;
        if count == 4 {
            out.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
            (bits, count, padding) = (0, 0, 0);
        }
    }
    (count == 0).then_some(out)
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_and_padding() {
        let text = |bytes: &[u8]| {
            let mut out = Vec::new();
            super::write(bytes, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(b""), "");
        assert_eq!(text(b"a") + &text(b"ab") + &text(b"abc"), "YQ==\nYWI=\nYWJj\n");
        assert_eq!(super::read(b"YQ==\nYWI= YWJj"), Some(b"aababc".to_vec()));
        assert_eq!((super::read(b"YQ="), super::read(b"Y!=="), super::read(b"YQ=a")), (None, None, None));
        assert_eq!((super::read(b"="), super::read(b"A"), super::read(b"")), (None, None, Some(Vec::new())));
        assert_eq!(text(&[0xff; 58]), format!("{}\n/w==\n", "/".repeat(76)));
    }
}
