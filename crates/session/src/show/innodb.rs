//! SHOW ENGINE INNODB STATUS: a report for people, in sections.

use client_error::{ClientError, connection as error};
use sql_syntax::ast::{EngineReport, Ident};

use super::{Listing, s, text};
use crate::session::Session;

pub(super) fn engine(
    session: &Session,
    name: Option<Ident<'_>>,
    what: EngineReport,
) -> Result<Listing, ClientError> {
    if let Some(name) = name
        && !name.is("innodb")
    {
        return Err(error::unknown_engine(&name.text()));
    }
    let mut list = Listing::new(vec![text("Type", 10), text("Name", 512), text("Status", 10)]);
    if what == EngineReport::Status {
        list.row([s("InnoDB"), s(""), s(&report(session))]);
    }
    Ok(list)
}

fn report(session: &Session) -> String {
    let line = "=====================================";
    let mut out = format!("\n{line}\nINNODB MONITOR OUTPUT\n{line}\n");
    for (title, body) in session.server().engine_report() {
        let rule = "-".repeat(title.len());
        out.push_str(&format!("{rule}\n{title}\n{rule}\n{body}\n"));
    }
    out.push_str(
        "----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n",
    );
    out
}
