//! Views: names for queries.
//!
//! # Layout
//! ```text
//! format u8 = 2 | schema, name: string | columns varint, {column (`codec`)} | body, body in its own database: string |
//! algorithm u8 | definer user, definer host: string | flags u8 (1 invoker, 2 updatable) | check u8 |
//! client character set, connection collation: string | created varint
//! ```

use base::{Corruption, Put, Reader};

use crate::codec::{check_format, decode_column_def, encode_column_def, put_format, text};
use crate::definition::ColumnDef;

/// How a view's query meets the one around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewAlgorithm {
    Undefined,
    Merge,
    TempTable,
}

/// WITH CHECK OPTION.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewCheck {
    None,
    Local,
    Cascaded,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ViewDef {
    pub schema: String,
    pub name: String,
    /// As they were when the view was made.
    pub columns: Vec<ColumnDef>,
    /// The query with every name in full.
    pub body: String,
    /// The query without the name of the view's own database.
    pub own_body: String,
    pub algorithm: ViewAlgorithm,
    pub definer_user: String,
    pub definer_host: String,
    /// SQL SECURITY INVOKER: the rights of who reads count, not the definer's.
    pub invoker: bool,
    pub check: ViewCheck,
    pub updatable: bool,
    pub client_charset: String,
    pub connection_collation: String,
    /// Seconds since 1970.
    pub created: u64,
}

impl ViewDef {
    /// `schema.name`, for messages.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    pub fn has_column(&self, name: &str) -> bool {
        self.columns.iter().any(|c| crate::same_name(&c.name, name))
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        put_format(out);
        out.put_string(self.schema.as_bytes());
        out.put_string(self.name.as_bytes());
        out.put_varint(self.columns.len() as u64);
        self.columns.iter().for_each(|c| encode_column_def(c, out));
        out.put_string(self.body.as_bytes());
        out.put_string(self.own_body.as_bytes());
        out.put_u8(match self.algorithm {
            ViewAlgorithm::Undefined => 0,
            ViewAlgorithm::Merge => 1,
            ViewAlgorithm::TempTable => 2,
        });
        out.put_string(self.definer_user.as_bytes());
        out.put_string(self.definer_host.as_bytes());
        out.put_u8(u8::from(self.invoker) | u8::from(self.updatable) << 1);
        out.put_u8(match self.check {
            ViewCheck::None => 0,
            ViewCheck::Local => 1,
            ViewCheck::Cascaded => 2,
        });
        out.put_string(self.client_charset.as_bytes());
        out.put_string(self.connection_collation.as_bytes());
        out.put_varint(self.created);
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Corruption> {
        let r = &mut Reader::new(bytes);
        check_format(r)?;
        let (schema, name) = (text(r, "schema")?, text(r, "name")?);
        let mut columns = Vec::new();
        for _ in 0..r.varint("columns")? {
            columns.push(decode_column_def(r)?);
        }
        let (body, own_body) = (text(r, "body")?, text(r, "body")?);
        let algorithm = match r.u8("algorithm")? {
            0 => ViewAlgorithm::Undefined,
            1 => ViewAlgorithm::Merge,
            2 => ViewAlgorithm::TempTable,
            other => return Err(Corruption::new("view", "algorithm", "0 to 2", other)),
        };
        let (definer_user, definer_host) = (text(r, "definer")?, text(r, "definer")?);
        let flags = r.u8("flags")?;
        let check = match r.u8("check option")? {
            0 => ViewCheck::None,
            1 => ViewCheck::Local,
            2 => ViewCheck::Cascaded,
            other => return Err(Corruption::new("view", "check option", "0 to 2", other)),
        };
        let view = Self {
            schema,
            name,
            columns,
            body,
            own_body,
            algorithm,
            definer_user,
            definer_host,
            invoker: flags & 1 != 0,
            updatable: flags & 2 != 0,
            check,
            client_charset: text(r, "character set")?,
            connection_collation: text(r, "collation")?,
            created: r.varint("created")?,
        };
        r.finish("view")?;
        Ok(view)
    }

    /// SHOW CREATE VIEW, for a session whose database is `database`.
    pub fn create_statement(&self, database: &str) -> String {
        use crate::quote_name as q;
        let algorithm = match self.algorithm {
            ViewAlgorithm::Undefined => "UNDEFINED",
            ViewAlgorithm::Merge => "MERGE",
            ViewAlgorithm::TempTable => "TEMPTABLE",
        };
        let security = if self.invoker { "INVOKER" } else { "DEFINER" };
        let own = database == self.schema;
        let name = if own { q(&self.name) } else { format!("{}.{}", q(&self.schema), q(&self.name)) };
        let body = if own { &self.own_body } else { &self.body };
        let check = match self.check {
            ViewCheck::None => "",
            ViewCheck::Local => " WITH LOCAL CHECK OPTION",
            ViewCheck::Cascaded => " WITH CASCADED CHECK OPTION",
        };
        let definer = format!("{}@{}", q(&self.definer_user), q(&self.definer_host));
        format!(
            "CREATE ALGORITHM={algorithm} DEFINER={definer} SQL SECURITY {security} VIEW {name} AS {body}{check}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use row_format::{ColumnType, IntSize};

    #[test]
    fn views_round_trip_and_no_cut_is_read() {
        let view = ViewDef {
            schema: "d".into(),
            name: "v".into(),
            columns: vec![ColumnDef::new("a", ColumnType::int(IntSize::Int, false))],
            body: "select `d`.`t`.`a` AS `a` from `d`.`t`".into(),
            own_body: "select `t`.`a` AS `a` from `t`".into(),
            algorithm: ViewAlgorithm::Merge,
            definer_user: "root".into(),
            definer_host: "localhost".into(),
            invoker: true,
            check: ViewCheck::Local,
            updatable: true,
            client_charset: "utf8mb4".into(),
            connection_collation: "utf8mb4_bin".into(),
            created: 7,
        };
        let mut bytes = Vec::new();
        view.encode(&mut bytes);
        assert_eq!(ViewDef::decode(&bytes).unwrap(), view);
        assert!((0..bytes.len()).all(|cut| ViewDef::decode(&bytes[..cut]).is_err()));
        assert_eq!(
            view.create_statement("other"),
            "CREATE ALGORITHM=MERGE DEFINER=`root`@`localhost` SQL SECURITY INVOKER VIEW `d`.`v` AS \
             select `d`.`t`.`a` AS `a` from `d`.`t` WITH LOCAL CHECK OPTION"
        );
    }
}
