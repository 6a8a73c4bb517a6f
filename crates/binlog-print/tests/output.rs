//! The text of files that a MariaDB 11.8 server wrote is what its own mariadb-binlog 11.8 prints of them, byte for byte.
//! The expected texts are its output with TZ=UTC; `fixtures/*.sql` made the files.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use binlog_print::{arguments, run};

/// LOAD DATA's files have names that depend on what is there: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn fixture(name: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    match name {
        "mixed.bin" => here.join("../event-format/tests/fixtures/mariadb-11.8.bin"),
        _ => here.join("tests/fixtures").join(name),
    }
}

/// What the tool prints, and its complaint if it fails.
fn printed(line: &str, file: &Path) -> (String, Option<String>) {
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    words.push(file.display().to_string());
    let mut request = arguments::parse(&words).unwrap();
    request.options.time_zone = jiff::tz::TimeZone::UTC;
    let (mut out, mut warnings) = (Vec::new(), Vec::new());
    let failure = run::run(request, &mut out, &mut warnings).err().map(|f| f.0);
    (String::from_utf8_lossy(&out).into_owned(), failure)
}

#[track_caller]
fn prints(line: &str, file: &str, expected: &str) {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let scratch = tempfile::tempdir().unwrap();
    let directory = scratch.path().display();
    let (text, failure) = printed(&format!("{line} --local-load={directory}"), &fixture(file));
    assert_eq!(failure, None);
    let text = text.replace(&format!("{directory}/"), "/tmp/");
    let expected = std::fs::read(fixture(expected)).unwrap();
    let expected = String::from_utf8_lossy(&expected);
    for (i, (ours, theirs)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {}", i + 1);
    }
    assert_eq!(text.len(), expected.len());
}

#[test]
fn statements_and_what_they_need_of_their_session() {
    prints("", "statements.bin", "statements.txt");
    prints("-s", "statements.bin", "statements-short.txt");
}

#[test]
fn only_one_database_or_table() {
    prints("-d f --base64-output=decode-rows", "statements.bin", "statements-database.txt");
    prints("-T u --base64-output=decode-rows", "statements.bin", "statements-table.txt");
}

#[test]
fn only_one_domain_or_server() {
    prints("--do-domain-ids=7", "statements.bin", "statements-domain.txt");
    prints("-H --server-id=99", "statements.bin", "statements-server.txt");
}

#[test]
fn values_of_every_type() {
    prints("-vv --base64-output=decode-rows", "types.bin", "types.txt");
}

#[test]
fn rows_of_every_image_compression_xa_and_alter_in_two_phases() {
    prints("-v", "mixed.bin", "mixed.txt");
}

#[test]
fn between_two_gtids() {
    let positions = "--start-position=0-33118-36,3-33118-0 --stop-position=0-33118-40,3-33118-1";
    prints(positions, "mixed.bin", "mixed-gtids.txt");
}

#[test]
fn gtids_that_the_logs_do_not_hold_are_named() {
    let complaint = |line| printed(line, &fixture("mixed.bin")).1;
    assert_eq!(
        complaint("--start-position=9-1-1").as_deref(),
        Some("ERROR: Binary logs never reached expected GTID state of 9-1-1")
    );
    assert_eq!(complaint("--start-position=9-1-1 --skip-gtid-strict-mode"), None);
    assert!(
        complaint("--start-position=0-33118-9 --stop-position=0-33118-8").unwrap().contains("strict mode")
    );
}

#[test]
fn damage_ends_the_text_with_its_place() {
    let mut bytes = std::fs::read(fixture("types.bin")).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("damaged.bin");
    bytes[541 + 30] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let (text, failure) = printed("", &path);
    let failure = failure.unwrap();
    assert!(failure.contains("at ") && failure.contains("checksum"), "{failure}");
    assert!(text.contains("GTID 0-33118-") && !text.contains("drop database g"));
    std::fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
    bytes[541 + 30] ^= 1;
    let failure = printed("", &path).1.unwrap();
    assert!(failure.contains("expected"), "{failure}");
    std::fs::write(&path, b"no binlog").unwrap();
    assert!(printed("", &path).1.unwrap().contains("magic"));
}
