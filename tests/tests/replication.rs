//! Real MariaDB servers, and raw clients, follow this one.

use blackbox::{Replica, Server, Version};

#[test]
fn a_replica_starts() {
    let server = Server::start(&[]);
    for program in Version::all() {
        let replica = Replica::start(&program, 100, &[]);
        replica.follow(server.port, "");
        eprintln!(
            "{} {} {}",
            replica.version,
            replica.status("Slave_IO_State"),
            replica.status("Last_IO_Error")
        );
    }
}
