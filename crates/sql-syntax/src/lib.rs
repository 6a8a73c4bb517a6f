//! SQL lexer, parser and syntax tree.
