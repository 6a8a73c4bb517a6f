//! LOAD DATA and SELECT ... INTO OUTFILE: what the file looks like, and where its fields go.

use accounts::Privileges;
use catalog::TableHandle;
use charset::Collation;
use row_format::ColumnType;
use sql_syntax::ast;

use crate::dml::{assignments_for, refuse_virtual};
use crate::error::{Clause, SqlError, SqlResult};
use crate::plan::{
    FileFormat, FileTarget, InsertPlan, InsertSource, Into, LoadPlan, LoadTarget, OnDuplicate,
};
use crate::planner::Planner;
use crate::query::base_scope_table;
use crate::scope::{Name, Scope};

impl<'a> Planner<'a> {
    pub(crate) fn out_file(
        &self,
        path: &[u8],
        charset: Option<ast::Ident<'a>>,
        format: &ast::FileFormat<'a>,
    ) -> SqlResult<Into> {
        let charset = match charset {
            None => None,
            Some(name) => Some(Collation::default_of(self.charset(&name.text())?)),
        };
        let format = file_format(format)?;
        Ok(Into::OutFile(Box::new(FileTarget { path: path.into(), charset, format })))
    }
}

fn file_format(written: &ast::FileFormat<'_>) -> SqlResult<FileFormat> {
    let one = |bytes: Option<&[u8]>, default: Option<u8>| match bytes {
        None => Ok(default),
        Some([]) => Ok(None),
        Some([b]) => Ok(Some(*b)),
        Some(_) => Err(SqlError::Other {
            errno: 1083,
            state: *b"42000",
            text: "Field separator argument is not what is expected; check the manual".into(),
        }),
    };
    Ok(FileFormat {
        separator: written.fields_terminated.unwrap_or(b"\t").into(),
        enclosure: one(written.fields_enclosed, None)?,
        optionally: written.optionally_enclosed,
        escape: one(written.fields_escaped, Some(b'\\'))?,
        line_start: written.lines_starting.unwrap_or(b"").into(),
        line_end: written.lines_terminated.unwrap_or(b"\n").into(),
    })
}

fn fixed_width(table: &TableHandle, target: &LoadTarget) -> SqlResult<usize> {
    let LoadTarget::Column(column) = target else {
        let text = "Can't load value from file with fixed size rows to variable".into();
        return Err(SqlError::Other { errno: 1409, state: *b"HY000", text });
    };
    let def = &table.def.columns[*column];
    if matches!(def.ty, ColumnType::Blob { .. }) {
        let text = "You can't use fixed rowlength with BLOBs; please use 'fields terminated by'".into();
        return Err(SqlError::Other { errno: 1084, state: *b"42000", text });
    }
    let ty = crate::typing::of_column(&def.ty, def.nullable, def.width);
    let bytes = if ty.field.is_text() { ty.collation.charset().max_len() } else { 1 };
    Ok(ty.length as usize * bytes)
}

pub(crate) fn load_data<'a>(planner: &mut Planner<'a>, load: &ast::LoadData<'a>) -> SqlResult<InsertPlan> {
    if load.xml {
        return Err(SqlError::not_supported("LOAD XML"));
    }
    refuse_virtual(planner, &load.table)?;
    let (schema, name) = planner.table_name(&load.table)?;
    let replaces = load.duplicates == ast::OnDuplicate::Replace;
    let removes = if replaces { Privileges::DELETE } else { Privileges::INSERT };
    planner.check_table(&schema, &name, Privileges::INSERT | removes)?;
    let table = planner.base_table(&load.table, &load.table.name.text())?;
    planner.changes(&table)?;
    let parts = crate::partition::selected(&table, load.partitions)?;
    let slot = planner.new_slot()?;
    planner.guard_slot(slot, &schema, &name);
    let mut targets = Vec::new();
    if load.targets.is_empty() {
        let shown = (0..table.def.columns.len()).filter(|i| !table.def.columns[*i].invisible);
        targets.extend(shown.map(LoadTarget::Column));
    }
    for target in load.targets {
        targets.push(match target {
            ast::LoadTarget::Variable(name) => LoadTarget::Variable(name.text().to_lowercase().into()),
            ast::LoadTarget::Column(column) => {
                let name = Name::of(column);
                let clause = Clause::Select;
                let found = table.def.column(&name.column).filter(|i| !table.def.columns[*i].hidden);
                let found = found.ok_or_else(|| SqlError::UnknownColumn { name: name.text(), clause })?;
                LoadTarget::Column(found)
            }
        });
    }
    for target in &targets {
        if let LoadTarget::Column(column) = target {
            planner.check_column_for(slot, &table.def.columns[*column].name, Privileges::INSERT)?;
        }
    }
    let mut scope = Scope::default();
    scope.add(base_scope_table(slot, table.def.name.clone(), &table))?;
    planner.scopes.push(scope);
    let sets = assignments_for(planner, load.assignments, Clause::Set, Privileges::INSERT);
    planner.scopes.pop();
    let collation = match load.charset {
        None => planner.cx.connection_collation,
        Some(name) => Collation::default_of(planner.charset(&name.text())?),
    };
    // What the client sends cannot be taken back half-way: duplicates are skipped.
    let ignore = load.duplicates == ast::OnDuplicate::Ignore
        || load.local && load.duplicates == ast::OnDuplicate::Error;
    let format = file_format(&load.format)?;
    let widths: SqlResult<Vec<usize>> =
        targets.iter().filter(|_| format.is_fixed()).map(|t| fixed_width(&table, t)).collect();
    let plan = LoadPlan {
        widths: widths?,
        path: load.path.into(),
        local: load.local,
        collation,
        format,
        skip_lines: load.ignore_lines,
        targets,
        sets: sets?.into_iter().map(|(_, a)| a).collect(),
    };
    let named = plan.targets.iter().filter_map(|t| match t {
        LoadTarget::Column(column) => Some(*column),
        LoadTarget::Variable(_) => None,
    });
    let columns = named.chain(plan.sets.iter().map(|s| s.column)).collect();
    Ok(InsertPlan {
        table,
        slot,
        columns,
        source: InsertSource::Load(Box::new(plan)),
        on_duplicate: match load.duplicates {
            ast::OnDuplicate::Replace => OnDuplicate::Replace,
            _ if ignore => OnDuplicate::Ignore,
            _ => OnDuplicate::Error,
        },
        query_slot: None,
        reads_target: false,
        parts,
        ignore,
        replace: replaces,
        returning: None,
        rules: Vec::new(),
    })
}
