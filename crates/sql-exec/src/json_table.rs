//! JSON_TABLE: the rows of a document, converted to the types of the columns.

use functions::json::table::{self, Cell};
use sql_plan::error::{SqlError, SqlResult};
use sql_plan::json_table::JsonTablePlan;
use sql_plan::ops;
use types::Value;

use crate::exec::Exec;

impl Exec<'_, '_> {
    pub(crate) fn json_rows(&mut self, plan: &JsonTablePlan) -> SqlResult<Vec<Vec<Value>>> {
        let document = plan.document.eval(self)?;
        if document.is_null() {
            return Ok(Vec::new());
        }
        let text = ops::to_text(&document, charset::Collation::UTF8MB4_BIN, self.cx.values);
        let rows = table::rows(text.bytes(), &plan.path, &plan.columns)
            .map_err(|(errno, text)| SqlError::Other { errno, state: *b"HY000", text })?;
        let cx = &mut *self.cx.values;
        let convert = |(cell, ty): (Cell, &row_format::ColumnType)| {
            let value = match cell {
                Cell::Null => return Value::Null,
                Cell::Number(n) => Value::UInt(n),
                Cell::Text(text) => Value::str(&text, charset::Collation::UTF8MB4_BIN),
            };
            row_format::store(ty, &value, cx).value
        };
        let mut convert = convert;
        Ok(rows.into_iter().map(|row| row.into_iter().zip(&plan.types).map(&mut convert).collect()).collect())
    }
}
