//! Every file of `tests/binlog` on a server that logs into files; with SQL_TEST_SOCKET on the MariaDB behind that socket, started
//! with `--log-bin=mb`, which with SQL_TEST_RECORD=1 also writes the expected results.

use blackbox::sqltest;

#[test]
fn statements_about_the_binary_log_answer_as_recorded() {
    sqltest::run_folder("binlog", &["--binlog-storage-engine=FILE", "--log-bin=mb", "--server-id=7"]);
}
