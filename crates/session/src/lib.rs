//! One client connection: commands, statements, variables, results.
