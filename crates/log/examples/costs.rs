//! Prints costs of the log's hot paths: `cargo run --release -p log --example costs -- DIR`.
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use log::{Log, LogConfig};

fn main() {
    let dir = std::env::args().nth(1).expect("a scratch directory");
    let disk: Arc<dyn env::Disk> = Arc::new(env::OsDisk::new(dir));
    let config = LogConfig {
        ring_size: 16 << 20,
        pipeline: log::Pipeline::default(),
        segment_size: 1 << 30,
        server_id: 1,
        server_uuid: [1; 16],
        clock: Arc::new(env::RealClock::new()),
    };
    let start = Instant::now();
    let log = Log::create(disk, config).expect("create");
    println!("create {:?}", start.elapsed());
    let mut record = vec![0x7f; 200];
    record[0] = 0xc6;
    record[1] = 0x01;
    let start = Instant::now();
    for _ in 0..50_000 {
        log.append(|_, out| out.extend_from_slice(&record)).unwrap();
    }
    println!("append of 200 bytes: {:?}", start.elapsed() / 50_000);
    for threads in [1, 2, 4, 16, 64] {
        log.wait_durable(log.ready_lsn()).unwrap();
        log.tick();
        let (syncs, start) = (log.counters().syncs.load(Ordering::Relaxed), Instant::now());
        let each = 20_000 / threads;
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for _ in 0..each {
                        let at = log.append(|_, out| out.extend_from_slice(&record)).unwrap();
                        log.wait_durable(at.end).unwrap();
                    }
                });
            }
        });
        let syncs = log.counters().syncs.load(Ordering::Relaxed) - syncs;
        let commits = each * threads;
        println!(
            "{threads} threads: {:.0} commits/s, {:.1} commits a sync",
            commits as f64 / start.elapsed().as_secs_f64(),
            commits as f64 / syncs as f64
        );
    }
}
