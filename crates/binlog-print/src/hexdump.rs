//! `--hexdump`: an event's bytes below its header line.

use std::io::Write as _;

use event_format::Header;

/// Bytes of a row.
const ROW: usize = 16;

/// Appends the dump of the event that stands at `at`.
pub(crate) fn write(at: u64, event: &[u8], out: &mut Vec<u8>) {
    let (header, body) = event.split_at(Header::LEN.min(event.len()));
    let hex = |from: usize, to: usize| {
        header[from..to].iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
    };
    out.extend_from_slice(b"\n# Position\n");
    out.extend_from_slice(b"#           |Timestamp   |Type |Master ID   |Size        |Master Pos  |Flags\n");
    drop(writeln!(
        out,
        "# {at:8x}  |{} |{}   |{} |{} |{} |{}\n#",
        hex(0, 4),
        hex(4, 5),
        hex(5, 9),
        hex(9, 13),
        hex(13, 17),
        hex(17, 19)
    ));
    for (i, row) in body.chunks(ROW).enumerate() {
        let place = at + (Header::LEN + i * ROW) as u64;
        drop(write!(out, "# {place:8x} "));
        for (j, byte) in row.iter().enumerate() {
            out.extend_from_slice(if j % 8 == 0 { b" " } else { b"" });
            drop(write!(out, "{byte:02x} "));
        }
        let missing = ROW - row.len();
        let gap = 3 * missing + usize::from(row.len() <= 8);
        out.resize(out.len() + gap, b' ');
        out.extend_from_slice(b" |");
        out.extend(row.iter().map(|b| if b.is_ascii_graphic() || *b == b' ' { *b } else { b'.' }));
        out.extend_from_slice(b"|\n");
    }
    out.extend_from_slice(b"#\n# Event: ");
}
