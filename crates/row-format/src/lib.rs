//! Row bodies in binlog packing and memcmp-ordered keys: a pure codec.
