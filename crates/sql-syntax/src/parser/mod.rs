//! Recursive descent over the lexer's tokens, one token ahead.
//!
//! The parser never reads past a token that does not fit, so the current token at a failure is where MariaDB's
//! message points too. Where the grammar needs more than one token, it lexes ahead on a copy of the lexer.
//!
//! Bounds: recursion is counted by `enter`/`leave` and limited to `MAX_NESTING`; the height of expression trees
//! (long chains of `+` are high without being nested) is limited to `MAX_HEIGHT`. Nothing is parsed twice, look-ahead
//! over parentheses stops at `MAX_NESTING`: time is linear in the length of the text.

mod account;
mod admin;
mod alter;
mod call;
mod column;
mod create;
mod dml;
mod expr;
mod from;
mod load;
mod partition;
mod primary;
mod program;
mod query;
mod replication;
mod routine;
mod set;
mod show;
mod statement;
mod table;
mod text;

use crate::ast::*;
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::{Lexer, Tok, Token, is_space};
use crate::{Arena, ParseOptions, Parsed};
use bumpalo::collections::Vec as ArenaVec;

/// Productions inside one another. MariaDB's default stack ends at 500 to 600 calls; parsing to this depth takes under
/// 1 MiB of ours.
pub const MAX_NESTING: u32 = 700;
/// Height of an expression tree; MariaDB's default stack ends between 500 and 600.
pub const MAX_HEIGHT: u32 = 1000;
/// Queries inside one another, as in MariaDB.
const MAX_SELECT_NESTING: u32 = 64;

pub(crate) enum Fail {
    /// At the current token.
    Syntax,
    TooDeep,
    Other(u16, String),
}

pub(crate) type R<T> = Result<T, Fail>;

/// Where to come back to after looking ahead.
#[derive(Clone, Copy)]
struct Mark<'a> {
    lexer: Lexer<'a>,
    token: Token,
    prev_end: usize,
    params: u32,
}

pub(crate) struct Parser<'a> {
    arena: &'a Arena,
    sql: &'a [u8],
    options: ParseOptions,
    lexer: Lexer<'a>,
    token: Token,
    /// End of the token before the current one.
    prev_end: usize,
    params: u32,
    depth: u32,
    /// Queries around the current token.
    selects: u32,
    /// Height of the highest expression completed inside the one being parsed.
    height: u32,
    /// Inside ON DUPLICATE KEY UPDATE, where `VALUES(a)` is a function.
    on_duplicate: bool,
    /// `SELECT a INTO @x FROM t`: until the query is complete.
    into_before_from: Option<&'a SelectInto<'a>>,
    /// `COMPRESSED [= method]` of the column type just read.
    compressed: Option<Option<Ident<'a>>>,
    /// A query here may say INTO or PROCEDURE: it is a statement, not part of one.
    may_select_into: bool,
    /// Inside a stored program, where `;` separates statements.
    in_program: bool,
}

pub(crate) fn parse_at<'a>(
    arena: &'a Arena,
    sql: &'a [u8],
    start: usize,
    options: ParseOptions,
) -> Result<Parsed<'a>, ParseError> {
    let mut lexer = Lexer::new(sql, start, options);
    let token = lexer.next();
    let mut parser = Parser {
        arena,
        sql,
        options,
        lexer,
        token,
        prev_end: start,
        params: 0,
        depth: 0,
        selects: 0,
        height: 0,
        on_duplicate: false,
        into_before_from: None,
        compressed: None,
        may_select_into: false,
        in_program: false,
    };
    match parser.whole() {
        Ok(parsed) => Ok(parsed),
        Err(Fail::Syntax) => Err(parser.syntax_error(start)),
        Err(Fail::TooDeep) => Err(ParseError::TooDeep),
        Err(Fail::Other(code, message)) => Err(ParseError::Other { code, message }),
    }
}

impl<'a> Parser<'a> {
    fn whole(&mut self) -> R<Parsed<'a>> {
        let statement = if self.token.tok != Tok::Eof && !self.is(b';') {
            self.statement()?
        } else if self.lexer.found_comment() {
            Statement::Empty
        } else {
            return Err(Fail::Other(1065, "Query was empty".into()));
        };
        // Comments behind the last token are the statement's own: one may be the end of a version comment that holds it.
        let own = &self.sql[..self.token.start.max(self.prev_end)];
        let end = own.len() - own.iter().rev().take_while(|&&b| is_space(b)).count();
        let next = match self.token.tok {
            Tok::Eof => None,
            Tok::Char(b';') => {
                let after = self.token.end;
                let blank = self.sql[after..].iter().all(|&b| is_space(b));
                (!blank).then_some(after)
            }
            // A client may send the terminating zero of its string.
            Tok::Char(0) if self.token.end == self.sql.len() => None,
            _ => return Err(Fail::Syntax),
        };
        Ok(Parsed { statement, params: self.params, end, next })
    }

    /// MariaDB shows at most 80 bytes from the offending token on, and counts the lines before it.
    fn syntax_error(&self, start: usize) -> ParseError {
        // At a comma MariaDB shows what comes after it.
        let at = if self.is(b',') { self.token.end } else { self.token.start };
        let line = 1 + self.sql[start..at].iter().filter(|&&b| b == b'\n').count() as u32;
        ParseError::Syntax { near: near_text(&self.sql[at..]), line }
    }

    // Tokens.

    fn bump(&mut self) {
        self.prev_end = self.token.end;
        self.token = self.lexer.next();
    }

    /// The token after the current one.
    fn peek(&self) -> Token {
        let mut lexer = self.lexer;
        lexer.next()
    }

    fn peek2(&self) -> (Token, Token) {
        let mut lexer = self.lexer;
        (lexer.next(), lexer.next())
    }

    fn mark(&self) -> Mark<'a> {
        Mark { lexer: self.lexer, token: self.token, prev_end: self.prev_end, params: self.params }
    }

    fn rewind(&mut self, mark: Mark<'a>) {
        (self.lexer, self.token, self.prev_end, self.params) =
            (mark.lexer, mark.token, mark.prev_end, mark.params);
    }

    fn is(&self, b: u8) -> bool {
        self.token.tok == Tok::Char(b)
    }

    fn eat(&mut self, b: u8) -> bool {
        let found = self.is(b);
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, b: u8) -> R<()> {
        if self.eat(b) { Ok(()) } else { Err(Fail::Syntax) }
    }

    fn is_tok(&self, tok: Tok) -> bool {
        self.token.tok == tok
    }

    fn eat_tok(&mut self, tok: Tok) -> bool {
        let found = self.token.tok == tok;
        if found {
            self.bump();
        }
        found
    }

    fn is_kw(&self, kw: Kw) -> bool {
        self.token.kw == kw
    }

    fn is_any(&self, kws: &[Kw]) -> bool {
        kws.contains(&self.token.kw)
    }

    fn eat_kw(&mut self, kw: Kw) -> bool {
        let found = self.token.kw == kw;
        if found {
            self.bump();
        }
        found
    }

    /// Both words or none.
    fn eat_kws(&mut self, first: Kw, second: Kw) -> bool {
        let found = self.token.kw == first && self.peek().kw == second;
        if found {
            self.bump();
            self.bump();
        }
        found
    }

    fn expect_kw(&mut self, kw: Kw) -> R<()> {
        if self.eat_kw(kw) { Ok(()) } else { Err(Fail::Syntax) }
    }

    /// Consumes the current token when it is one of `kws`.
    fn one_of(&mut self, kws: &[Kw]) -> R<Kw> {
        let kw = self.token.kw;
        if kws.contains(&kw) {
            self.bump();
            Ok(kw)
        } else {
            Err(Fail::Syntax)
        }
    }

    /// An optional `=`.
    fn eat_equals(&mut self) -> bool {
        self.eat(b'=')
    }

    fn expect_equals(&mut self) -> R<()> {
        self.expect(b'=')
    }

    /// The word of the current token is `text`, though the grammar has no keyword for it.
    fn is_word(&self, text: &str) -> bool {
        self.token.tok == Tok::Word && self.token_text().eq_ignore_ascii_case(text.as_bytes())
    }

    fn token_text(&self) -> &'a [u8] {
        &self.sql[self.token.start..self.token.end]
    }

    fn text_since(&self, start: usize) -> &'a [u8] {
        &self.sql[start..self.prev_end.max(start)]
    }

    // Bounds.

    fn enter(&mut self) -> R<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING { Err(Fail::TooDeep) } else { Ok(()) }
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    // Arena.

    fn alloc<T: Copy>(&self, value: T) -> &'a T {
        self.arena.alloc(value)
    }

    fn vec<T>(&self) -> ArenaVec<'a, T> {
        ArenaVec::new_in(self.arena)
    }

    /// `item, item, ...`, at least one.
    fn comma_list<T: Copy>(&mut self, mut item: impl FnMut(&mut Self) -> R<T>) -> R<&'a [T]> {
        let mut list = self.vec();
        loop {
            list.push(item(self)?);
            if !self.eat(b',') {
                return Ok(list.into_bump_slice());
            }
        }
    }

    /// `( item, ... )`
    fn paren_list<T: Copy>(&mut self, item: impl FnMut(&mut Self) -> R<T>) -> R<&'a [T]> {
        self.expect(b'(')?;
        let list = self.comma_list(item)?;
        self.expect(b')')?;
        Ok(list)
    }

    /// `( [item, ...] )`
    fn paren_list_or_empty<T: Copy>(&mut self, item: impl FnMut(&mut Self) -> R<T>) -> R<&'a [T]> {
        self.expect(b'(')?;
        if self.eat(b')') {
            return Ok(&[]);
        }
        let list = self.comma_list(item)?;
        self.expect(b')')?;
        Ok(list)
    }
}

fn near_text(rest: &[u8]) -> Vec<u8> {
    const SHOWN: usize = 80;
    let end = rest.iter().position(|&b| b == 0).unwrap_or(rest.len());
    let rest = &rest[..end];
    if rest.len() <= SHOWN {
        return rest.to_vec();
    }
    let mut cut = SHOWN - 3;
    // Not within a character.
    while cut > 0 && rest[cut] & 0xc0 == 0x80 {
        cut -= 1;
    }
    let mut text = rest[..cut].to_vec();
    text.extend_from_slice(b"...");
    text
}
