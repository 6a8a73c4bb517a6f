//! What MariaDB calls plugins, as far as it is here: ways to log in, the engine, the binary log, and tables of information_schema.

use types::Value;

use crate::information_schema::s;

/// One plugin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plugin {
    pub name: &'static str,
    pub kind: &'static str,
    description: &'static str,
}

const AUTHENTICATION: &str = "AUTHENTICATION";
const ENGINE: &str = "STORAGE ENGINE";
const TABLE: &str = "INFORMATION SCHEMA";
const TYPE: &str = "DATA TYPE";

const PLUGINS: [Plugin; 11] = {
    const fn plugin(name: &'static str, kind: &'static str, description: &'static str) -> Plugin {
        Plugin { name, kind, description }
    }
    [
        plugin("binlog", "DAEMON", "The one log as binary log"),
        plugin("mysql_native_password", AUTHENTICATION, "Native MySQL authentication"),
        plugin("inet4", TYPE, "Data type INET4"),
        plugin("inet6", TYPE, "Data type INET6"),
        plugin("uuid", TYPE, "Data type UUID"),
        plugin("InnoDB", ENGINE, "Row locks, versions and undo in the one log"),
        plugin("PERFORMANCE_SCHEMA", ENGINE, "Performance schema: its tables are empty"),
        plugin("partition", ENGINE, "Tables in parts"),
        plugin("unix_socket", AUTHENTICATION, "Unix socket authentication"),
        plugin("ed25519", AUTHENTICATION, "Elliptic curve ed25519 authentication"),
        plugin("caching_sha2_password", AUTHENTICATION, "Caching SHA-256 authentication"),
    ]
};

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = Plugin> {
    let tables = crate::virtual_tables::names("information_schema")
        .filter(|n| n.starts_with("INNODB_") || n.ends_with("_STATISTICS") || *n == "user_variables");
    let tables =
        tables.map(|name| Plugin { name, kind: TABLE, description: "A table of information_schema" });
    PLUGINS.into_iter().chain(tables)
}

impl Plugin {
    pub(crate) fn cells(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("PLUGIN_NAME", s(self.name)),
            ("PLUGIN_VERSION", s("1.0")),
            ("PLUGIN_STATUS", s("ACTIVE")),
            ("PLUGIN_TYPE", s(self.kind)),
            ("PLUGIN_TYPE_VERSION", s("110809.0")),
            ("PLUGIN_AUTHOR", s("MorseDB")),
            ("PLUGIN_DESCRIPTION", s(self.description)),
            ("PLUGIN_LICENSE", s("Apache-2.0")),
            ("LOAD_OPTION", s("FORCE")),
            ("PLUGIN_MATURITY", s("Beta")),
            ("PLUGIN_AUTH_VERSION", s("1.0")),
        ]
    }
}
