//! A replica that loses its connection inside an event group asks again for the whole group and skips the events that it has: they must
//! be the same events, whatever the second dump reads them from.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use blackbox::{Client, Replica, Server, Version};

/// Passes connections on to a server and cuts those that have carried so many bytes to the client.
struct Proxy {
    port: u16,
    target: Arc<AtomicU16>,
    cuts: Arc<AtomicUsize>,
}

impl Proxy {
    /// The `n`th connection ends behind `limits[n]` bytes; those after the last do not end.
    fn start(target: u16, limits: &'static [usize]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (target, cuts) = (Arc::new(AtomicU16::new(target)), Arc::new(AtomicUsize::new(0)));
        let (to, cut) = (Arc::clone(&target), Arc::clone(&cuts));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                let Ok(server) = TcpStream::connect(("127.0.0.1", to.load(Ordering::Relaxed))) else {
                    continue;
                };
                let (a, b) = (client.try_clone().expect("a handle"), server.try_clone().expect("a handle"));
                std::thread::spawn(move || carry(a, b, usize::MAX));
                let limit = limits.get(cut.load(Ordering::Relaxed)).copied().unwrap_or(usize::MAX);
                let cut = Arc::clone(&cut);
                std::thread::spawn(move || {
                    if carry(server, client, limit) {
                        cut.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        Self { port, target, cuts }
    }
    fn wait_for_cuts(&self, count: usize) {
        let begin = Instant::now();
        while self.cuts.load(Ordering::Relaxed) < count {
            assert!(begin.elapsed() < Duration::from_secs(60), "{} cuts", self.cuts.load(Ordering::Relaxed));
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Whether the limit ended it.
fn carry(mut from: TcpStream, mut to: TcpStream, limit: usize) -> bool {
    let (mut buffer, mut carried) = (vec![0; 16384], 0);
    while let Ok(n) = from.read(&mut buffer) {
        let n = n.min(limit - carried);
        if n == 0 || to.write_all(&buffer[..n]).is_err() {
            break;
        }
        carried += n;
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
    carried == limit
}

fn position(c: &mut Client) -> String {
    c.rows("SELECT @@GLOBAL.gtid_binlog_pos").concat()
}

/// Statements that make groups of some MB, of many events and tables.
fn groups(c: &mut Client) {
    c.run("BEGIN");
    for n in 0..30 {
        c.run(&format!(
            "INSERT INTO r.t SELECT id + {} , REPEAT('{}', 400) FROM r.seed",
            1000 * (n + 1),
            n % 10
        ));
        c.run(&format!("UPDATE r.u SET v = CONCAT(v, {n}) WHERE id % 3 = {}", n % 3));
        if n % 7 == 0 {
            c.run("SAVEPOINT s");
            c.run("DELETE FROM r.t WHERE id < 5000");
            c.run("ROLLBACK TO s");
        }
    }
    c.run("COMMIT");
    c.run("UPDATE r.t SET v = REPEAT('z', 390)");
}

#[test]
fn a_connection_lost_inside_a_group() {
    let mut server = Server::start(&["--server-id=7"]);
    let mut c = server.client();
    c.run("CREATE DATABASE r");
    for sql in [
        "CREATE TABLE r.seed (id INT PRIMARY KEY)",
        "CREATE TABLE r.t (id INT PRIMARY KEY, v VARCHAR(500), KEY (v(20)))",
        "CREATE TABLE r.u (id INT PRIMARY KEY, v VARCHAR(300))",
    ] {
        c.run(sql);
    }
    let values: Vec<String> = (0..250).map(|n| format!("({n})")).collect();
    c.run(&format!("INSERT INTO r.seed VALUES {}", values.join(", ")));
    c.run("INSERT INTO r.u SELECT id, 'u' FROM r.seed");
    for (i, version) in Version::all().iter().enumerate() {
        c.run("DELETE FROM r.t");
        // The first group is about 4 MB.
        let proxy =
            Proxy::start(server.port, &[100_000, 700_000, 1_500_000, 2_900_000, 3_000_000, 4_500_000]);
        let replica = Replica::start(version, 100 + i as u32, &[]);
        replica.follow(proxy.port, "");
        replica.catch_up(&position(&mut c));
        groups(&mut c);
        proxy.wait_for_cuts(3);
        // The rest of the group comes from the files of a server that knows nothing of the first dump.
        server.kill();
        server.restart();
        c = server.client();
        proxy.target.store(server.port, Ordering::Relaxed);
        proxy.wait_for_cuts(6);
        replica.catch_up(&position(&mut c));
        replica.check();
        let mut r = replica.client();
        for table in ["r.t", "r.u"] {
            let sql = format!("CHECKSUM TABLE {table}");
            assert_eq!(c.rows(&sql), r.rows(&sql), "{}", replica.version);
        }
    }
}
