//! Bad input and broken surroundings: malformed packets, a full volume, damaged files, a second server on the same data.

use blackbox::{Client, Failure, Server};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use wire::command::code;

/// xorshift, seeded by hand.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn alive(server: &Server) {
    assert_eq!(server.client().rows("SELECT 1"), ["1"]);
}

#[test]
fn garbage_before_the_login_costs_only_that_connection() {
    let server = Server::start(&[]);
    let mut random = 7;
    for round in 0..200 {
        let mut socket = TcpStream::connect(("127.0.0.1", server.port)).expect("connected");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        let mut greeting = [0; 256];
        let _ = socket.read(&mut greeting).expect("a greeting");
        let length = (next(&mut random) % 300) as usize;
        let mut bytes: Vec<u8> = (0..length).map(|_| next(&mut random) as u8).collect();
        if round % 2 == 0 && length > 4 {
            // A well-formed header, so that the payload's decoder is what is tried.
            bytes[..4].copy_from_slice(&[(length - 4) as u8, ((length - 4) >> 8) as u8, 0, 1]);
        }
        let _ = socket.write_all(&bytes);
    }
    alive(&server);
}

#[test]
fn garbage_commands_after_the_login_answer_with_errors() {
    let server = Server::start(&[]);
    let mut random = 11;
    for command in 0..=255u8 {
        if command == code::SHUTDOWN || command == code::QUIT {
            continue;
        }
        for _ in 0..4 {
            let mut c = server.client();
            let length = (next(&mut random) % 60) as usize;
            let body: Vec<u8> = (0..length).map(|_| next(&mut random) as u8).collect();
            c.send(command, &body).expect("sent");
        }
    }
    alive(&server);
    let mut c = server.client();
    c.send(0xee, b"what").expect("sent");
    assert_eq!(c.reply(false).expect_err("an unknown command").code(), 1047);
    assert_eq!(c.rows("SELECT 2"), ["2"], "the connection goes on");
}

#[test]
fn a_wrong_sequence_number_or_a_too_large_packet_ends_the_connection() {
    let server = Server::start(&["--max-allowed-packet=1M"]);
    let mut c = server.client();
    c.send_raw(&[1, 0, 0, 7, code::PING]).expect("sent");
    assert!(matches!(c.reply(false), Err(Failure::Lost(_) | Failure::Server { code: 1156, .. })));
    let mut c = server.client();
    let text = format!("SELECT LENGTH('{}')", "x".repeat(2 << 20));
    match c.query(&text) {
        Err(Failure::Lost(_) | Failure::Server { code: 1153, .. }) => {}
        other => panic!("{other:?}"),
    }
    alive(&server);
}

#[test]
fn packets_over_16_mib_travel_in_parts() {
    let server = Server::start(&["--max-allowed-packet=64M"]);
    let mut c = server.client();
    let long = "y".repeat(20 << 20);
    assert_eq!(c.rows(&format!("SELECT LENGTH('{long}')")), [(20 << 20).to_string()]);
    let back = c.rows("SELECT REPEAT('z', 20 * 1024 * 1024)");
    assert_eq!(back[0].len(), 20 << 20);
    c.run("CREATE DATABASE big");
    c.run("CREATE TABLE big.t (id INT PRIMARY KEY, b LONGBLOB)");
    c.run(&format!("INSERT INTO big.t VALUES (1, '{long}'), (2, 'small')"));
    assert_eq!(
        c.rows("SELECT id, LENGTH(b), MD5(b) = MD5(REPEAT('y', 20 * 1024 * 1024)) FROM big.t WHERE id = 1"),
        [format!("1\t{}\t1", 20 << 20)]
    );
}

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let server = Server::start(&[]);
    let said = server.start_fails();
    assert!(said.contains("another server is using it"), "{said}");
    alive(&server);
}

fn filled(server: &Server) {
    let mut c = server.client();
    c.run("CREATE DATABASE d");
    c.run("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(200))");
    for id in 0..200 {
        c.run(&format!("INSERT INTO d.t VALUES ({id}, REPEAT('v', 100))"));
    }
}

fn newest(server: &Server, folder: &str) -> std::path::PathBuf {
    let entries = std::fs::read_dir(server.data().join(folder)).expect("a folder");
    let mut files: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
    files.sort();
    files.pop().expect("a file")
}

#[test]
fn a_flipped_bit_in_acknowledged_log_is_refused_with_its_place() {
    let mut server = Server::start(&[]);
    filled(&server);
    server.kill();
    // The first segment begins with the log of the oldest commits; later frames prove that it was durable.
    let entries = std::fs::read_dir(server.data().join("log")).expect("a folder");
    let mut files: Vec<_> = entries
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "seg"))
        .collect();
    files.sort();
    let path = files[0].clone();
    let whole = std::fs::read(&path).expect("a segment");
    let end = whole.iter().rposition(|&b| b != 0).expect("some log");
    let mut bytes = whole.clone();
    bytes[end * 9 / 10] ^= 0x10;
    std::fs::write(&path, &bytes).expect("written");
    let said = server.start_fails();
    assert!(said.contains(".seg at offset") && said.contains("expected") && said.contains("found"), "{said}");
    std::fs::write(&path, &whole).expect("written");
    server.restart();
    assert_eq!(server.client().rows("SELECT COUNT(*) FROM d.t"), ["200"]);
}

#[test]
fn a_flipped_bit_in_a_page_is_an_error_of_that_table_only() {
    let mut server = Server::start(&[]);
    filled(&server);
    let mut c = server.client();
    c.run("CREATE TABLE d.other (id INT PRIMARY KEY)");
    c.run("INSERT INTO d.other VALUES (1)");
    assert!(server.stop(), "a clean stop");
    let mut spaces: Vec<_> = std::fs::read_dir(server.data().join("spaces"))
        .expect("spaces")
        .map(|e| e.expect("an entry").path())
        .collect();
    spaces.sort();
    // Newest but one is d.t.
    let path = spaces[spaces.len() - 2].clone();
    let mut bytes = std::fs::read(&path).expect("a space");
    let at = bytes.windows(50).position(|w| w == [b'v'; 50]).expect("a row of the table");
    bytes[at] ^= 1;
    std::fs::write(&path, &bytes).expect("written");
    server.restart();
    let mut c = server.client();
    assert!(c.query("SELECT SUM(LENGTH(v)) FROM d.t").is_err());
    assert_eq!(c.rows("SELECT * FROM d.other"), ["1"]);
    assert!(newest(&server, "log").exists());
}

#[test]
fn a_stopped_server_starts_with_all_it_had() {
    let mut server = Server::start(&[]);
    filled(&server);
    assert!(server.stop(), "a clean stop:\n{}", server.error_log());
    server.restart();
    let mut c = server.client();
    assert_eq!(c.rows("SELECT COUNT(*), SUM(id) FROM d.t"), ["200\t19900"]);
    c.run("CREATE TABLE d.a (id INT AUTO_INCREMENT PRIMARY KEY, x INT)");
    c.run("INSERT INTO d.a (x) VALUES (1), (2), (3)");
    c.run("DELETE FROM d.a WHERE id = 3");
    server.kill();
    server.restart();
    let mut c = server.client();
    c.run("INSERT INTO d.a (x) VALUES (4)");
    assert_eq!(c.rows("SELECT id FROM d.a ORDER BY id"), ["1", "2", "4"], "a value is never given twice");
}

/// Mounts a small volume; None when this process may not.
fn small_volume(mib: u32) -> Option<(tempfile::TempDir, impl Drop)> {
    struct Mounted(std::path::PathBuf);
    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
        }
    }
    let directory = tempfile::tempdir().expect("a scratch directory");
    let status = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs"])
        .arg(directory.path())
        .stderr(std::process::Stdio::null())
        .status();
    let mounted = status.is_ok_and(|s| s.success());
    mounted.then(|| (Mounted(directory.path().to_path_buf()), directory)).map(|(m, d)| (d, m))
}

#[test]
fn a_full_volume_is_an_error_and_nothing_is_lost() {
    let Some((directory, _mounted)) = small_volume(160) else {
        eprintln!("this process may not mount a volume: a full one cannot be tried");
        return;
    };
    let mut server =
        Server::start_in(directory.path(), &["--max-binlog-size=8M", "--innodb-log-file-size=32M"]);
    filled(&server);
    let mut c = server.client();
    c.run("CREATE TABLE d.big (id INT AUTO_INCREMENT PRIMARY KEY, b LONGBLOB)");
    let mut kept = 0;
    let full = loop {
        match c.query("INSERT INTO d.big (b) VALUES (REPEAT('b', 1000000))") {
            Ok(_) => kept += 1,
            Err(e) => break e,
        }
        assert!(kept < 400, "the volume never fills");
    };
    assert!(full.code() == 1114, "{full}");
    let mut c = Client::tcp(server.port).expect("the server is up");
    assert_eq!(c.rows("SELECT COUNT(*) FROM d.t"), ["200"]);
    assert_eq!(c.rows("SELECT COUNT(*) FROM d.big"), [kept.to_string()]);
    c.run("DROP TABLE d.big");
    c.run("INSERT INTO d.t VALUES (1000, 'there is room again')");
    server.kill();
    server.restart();
    assert_eq!(server.client().rows("SELECT COUNT(*) FROM d.t"), ["201"]);
}
