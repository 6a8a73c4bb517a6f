//! Base64 in lines of 76 characters, as BINLOG statements hold events.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Bytes of a whole line.
const LINE: usize = 57;

/// Appends the lines, each with its newline.
pub(crate) fn write(bytes: &[u8], out: &mut Vec<u8>) {
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
        assert_eq!(text(&[0xff; 58]), format!("{}\n/w==\n", "/".repeat(76)));
    }
}
