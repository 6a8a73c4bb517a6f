//! Names, types, index choice: from syntax tree to plan.
