//! Every file of `tests/binlog` on a server that logs into files; with SQL_TEST_SOCKET on the MariaDB behind that socket, started
//! with `--log-bin=mb`, which with SQL_TEST_RECORD=1 also writes the expected results.

use std::path::Path;

use blackbox::{Client, Server, sqltest};

#[test]
fn statements_about_the_binary_log_answer_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("binlog");
    let read = std::fs::read_dir(&folder).expect("tests/binlog");
    let mut files: Vec<_> = read.map(|e| e.expect("an entry").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no test files");
    let socket = std::env::var("SQL_TEST_SOCKET").ok();
    let options = ["--binlog-storage-engine=FILE", "--log-bin=mb", "--server-id=7"];
    let server = socket.is_none().then(|| Server::start(&options));
    let connect = || match (&socket, &server) {
        (Some(path), _) => Client::unix(Path::new(path)).expect("the reference server"),
        (None, Some(server)) => server.client(),
        (None, None) => unreachable!("one of both is there"),
    };
    let mut failed = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let (differences, recorded) = sqltest::run(&text, connect);
        if std::env::var_os("SQL_TEST_RECORD").is_some() {
            std::fs::write(&file, recorded).expect("written");
        } else if !differences.is_empty() {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            failed.push(format!("{name}:\n{}", differences.join("\n")));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
