//! The client protocol as pure bytes: packets, handshake, results, commands.
