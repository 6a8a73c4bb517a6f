//! A flipped bit in an old file of the binary log, while the server runs: whoever reads it is told file and place, everybody else goes on.

use std::path::PathBuf;

use blackbox::{Client, Failure, Server};
use wire::command::code;

/// Reads the binary log as a replica that has this GTID position: the events' count, and how it ended.
fn dump(server: &Server, position: &str) -> (usize, Option<Failure>) {
    let mut c = server.client();
    c.run("SET @master_binlog_checksum = 'CRC32'");
    c.run("SET @mariadb_slave_capability = 4");
    c.run(&format!("SET @slave_connect_state = '{position}'"));
    // Flag 1: ends at the end instead of waiting.
    let mut body = vec![4, 0, 0, 0, 1, 0];
    body.extend_from_slice(&77u32.to_le_bytes());
    c.send(code::BINLOG_DUMP, &body).expect("sent");
    let mut events = 0;
    loop {
        let packet = c.receive().expect("a packet");
        match packet[0] {
            0 => events += 1,
            0xfe => return (events, None),
            _ => {
                let number = u16::from_le_bytes([packet[1], packet[2]]);
                let message = String::from_utf8_lossy(&packet[9..]).into_owned();
                return (events, Some(Failure::Server { code: number, state: String::new(), message }));
            }
        }
    }
}

fn groups(c: &mut Client, range: std::ops::Range<i32>) {
    for id in range {
        c.run(&format!("INSERT INTO d.t VALUES ({id}, REPEAT('w', 1500))"));
    }
}

fn a_flipped_bit(options: &[&str], path_of: impl Fn(&Server, &str) -> PathBuf) {
    let server = Server::start(options);
    let mut c = server.client();
    c.run("CREATE DATABASE d");
    c.run("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(2000))");
    c.run("FLUSH BINARY LOGS");
    groups(&mut c, 0..2000);
    c.run("FLUSH BINARY LOGS");
    let behind = c.rows("SELECT @@gtid_binlog_pos").remove(0);
    groups(&mut c, 2000..4000);
    c.run("FLUSH BINARY LOGS");
    groups(&mut c, 4000..4100);
    let files: Vec<String> =
        c.rows("SHOW BINARY LOGS").iter().map(|r| r.split('\t').next().expect("a name").to_owned()).collect();
    let (old, next) = (&files[files.len() - 3], &files[files.len() - 2]);
    let path = path_of(&server, old);
    let mut bytes = std::fs::read(&path).expect("an old file");
    // What a finished segment was given beyond its records is cut a moment later: zeros until then.
    let written = bytes.iter().rposition(|b| *b != 0).expect("records") + 1;
    let at = written * 2 / 3;
    let at = at + bytes[at..].windows(40).position(|w| w == [b'w'; 40]).expect("a row");
    bytes[at + 20] ^= 4;
    std::fs::write(&path, &bytes).expect("written");

    let (events, failure) = dump(&server, "");
    let failure = failure.expect("the dump meets the damage");
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    eprintln!("dump after {events} events: {failure}");
    assert_eq!(failure.code(), 1236, "{failure}");
    assert!(failure.to_string().contains(&name), "the file is named: {failure}");
    assert!(failure.to_string().bytes().any(|b| b.is_ascii_digit()), "the place is named: {failure}");
    assert!(events > 0, "what is before the damage was sent");

    let shown =
        c.query(&format!("SHOW BINLOG EVENTS IN '{old}'")).map(drop).expect_err("it meets the damage");
    eprintln!("SHOW BINLOG EVENTS: {shown}");
    assert_eq!(shown.code(), 1220, "{shown}");
    assert!(shown.to_string().contains(&name), "the file is named: {shown}");

    // Everybody else.
    let (events, failure) = dump(&server, &behind);
    assert!(failure.is_none() && events > 2000, "{events} events, {failure:?}");
    assert!(!c.rows(&format!("SHOW BINLOG EVENTS IN '{next}'")).is_empty());
    groups(&mut c, 5000..5010);
    assert_eq!(c.rows("SELECT COUNT(*) FROM d.t"), ["4110"]);
    c.run("FLUSH BINARY LOGS");
}

#[test]
fn a_flipped_bit_in_an_old_segment_is_told_to_its_readers_alone() {
    // What the log still has in memory is read from there.
    let options = ["--log-bin", "--innodb-log-buffer-size=2M"];
    a_flipped_bit(&options, |server, name| server.data().join("log").join(name));
}

#[test]
fn a_flipped_bit_in_an_old_file_is_told_to_its_readers_alone() {
    a_flipped_bit(&["--log-bin", "--binlog-storage-engine=FILE"], |server, name| server.data().join(name));
}
