//! SQL lexer, parser and syntax tree: MariaDB's grammar, from bytes.
//!
//! `parse` reads one statement of a text that may hold several and says where the next one begins. The tree borrows
//! from the text and from an `Arena`; parsing a point select takes a few hundred nanoseconds.
//!
//! Who decides what: the parser checks the grammar and nothing else. Names, types, sizes and privileges are the
//! business of those who read the tree; statements that the server cannot run yet still parse.
#![forbid(unsafe_code)]

pub mod ast;
mod error;
mod fields;
mod keyword;
pub use keyword::words as keywords;
mod lexer;
mod parser;
mod print;
pub mod rewrite;

pub use error::ParseError;
pub use fields::fields_of;
pub use parser::{MAX_HEIGHT, MAX_NESTING};
pub use print::{PrintStyle, print_expr, print_ident, print_operand, print_query, print_string};

/// Memory of syntax trees: reset it between statements.
pub type Arena = bumpalo::Bump;

/// What the session's settings change in the grammar. `Default` is sql_mode with nothing set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ParseOptions {
    /// `"x"` is an identifier.
    pub ansi_quotes: bool,
    /// `||` concatenates.
    pub pipes_as_concat: bool,
    /// `NOT` binds like `!`.
    pub high_not_precedence: bool,
    /// `\` is an ordinary character in strings.
    pub no_backslash_escapes: bool,
    /// Space is allowed between a built-in function's name and `(`.
    pub ignore_space: bool,
    /// `?` is a parameter (statements to be prepared); otherwise it is a syntax error.
    pub params: bool,
}

/// One statement of a text.
#[derive(Clone, Copy, Debug)]
pub struct Parsed<'a> {
    pub statement: ast::Statement<'a>,
    /// Number of `?`.
    pub params: u32,
    /// Where the statement's own text ends: before the `;`, without trailing space.
    pub end: usize,
    /// Where the text after `;` begins; `None` when nothing but space follows.
    pub next: Option<usize>,
}

/// Where the `?` of a statement to be prepared stand, in order.
pub fn parameter_positions(sql: &[u8], options: ParseOptions) -> Vec<usize> {
    let mut lexer = lexer::Lexer::new(sql, 0, ParseOptions { params: true, ..options });
    let mut found = Vec::new();
    loop {
        let token = lexer.next();
        match token.tok {
            lexer::Tok::Param => found.push(token.start),
            lexer::Tok::Eof | lexer::Tok::Bad => return found,
            _ => {}
        }
    }
}

/// The first statement of `sql`.
pub fn parse<'a>(arena: &'a Arena, sql: &'a [u8], options: ParseOptions) -> Result<Parsed<'a>, ParseError> {
    parse_at(arena, sql, 0, options)
}

/// The statement of `sql` that starts at byte `start` (`Parsed::next` of the one before). Lines count from there.
pub fn parse_at<'a>(
    arena: &'a Arena,
    sql: &'a [u8],
    start: usize,
    options: ParseOptions,
) -> Result<Parsed<'a>, ParseError> {
    parser::parse_at(arena, sql, start, options)
}
