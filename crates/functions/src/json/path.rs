//! JSON paths: `$.key[0]."other key"[*]**.x[last-1][2 to 4]`.

use types::Context;

use super::tree::{Json, same_key, unescape};
use super::{Fault, warn_path};

/// Steps of one path.
const STEPS_MAX: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Index(usize),
    /// So many before the last element.
    Last(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Key(Vec<u8>),
    AnyKey,
    At(Place),
    AnyAt,
    Range(Place, Place),
    /// `**`: here and everywhere below.
    Deep,
}

/// Steps from the root on.
pub(crate) type Path = Vec<Step>;

impl Place {
    /// The position in an array of `len` elements.
    pub(crate) fn in_array(self, len: usize) -> Option<usize> {
        match self {
            Self::Index(i) => Some(i),
            Self::Last(back) => len.checked_sub(1)?.checked_sub(back),
        }
    }
}

/// Whether a path may name more than one value.
pub(crate) fn is_wild(path: &[Step]) -> bool {
    path.iter().any(|s| !matches!(s, Step::Key(_) | Step::At(_)))
}

/// Reads a path; what is wrong with it is warned of as argument `argument` of `function`.
pub(crate) fn parse(text: &[u8], argument: usize, function: &'static str, ctx: &mut Context) -> Option<Path> {
    match (Reader { text, at: 0 }).path() {
        Ok(path) => Some(path),
        Err(fault) => {
            warn_path(ctx, fault, argument, function);
            None
        }
    }
}

/// Reads a path.
pub(crate) fn read(text: &[u8]) -> Result<Path, Fault> {
    Reader { text, at: 0 }.path()
}

/// Same, for paths that must name one value.
pub(crate) fn parse_single(
    text: &[u8],
    argument: usize,
    function: &'static str,
    ctx: &mut Context,
) -> Option<Path> {
    let path = parse(text, argument, function, ctx)?;
    if is_wild(&path) {
        warn_path(ctx, Fault::Wildcard, argument, function);
        return None;
    }
    Some(path)
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }
    fn spaces(&mut self) {
        while self.byte() == Some(b' ') {
            self.at += 1;
        }
    }
    fn word(&mut self, word: &[u8]) -> bool {
        let found = self.text[self.at.min(self.text.len())..].starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn path(mut self) -> Result<Path, Fault> {
        self.spaces();
        if self.word(b"lax") {
            self.spaces();
        }
        match self.byte() {
            None => return Err(Fault::End),
            Some(b'$') => self.at += 1,
            Some(_) => return Err(Fault::Syntax(self.at)),
        }
        let mut out = Vec::new();
        loop {
            self.spaces();
            let Some(b) = self.byte() else { break };
            match b {
                b'.' => {
                    self.at += 1;
                    out.push(self.key()?);
                }
                b'[' => {
                    self.at += 1;
                    out.push(self.index()?);
                }
                b'*' => {
                    if !self.word(b"**") {
                        return Err(Fault::Syntax(self.at + 1));
                    }
                    out.push(Step::Deep);
                    if self.byte().is_none() {
                        return Err(Fault::End);
                    }
                }
                _ => return Err(Fault::Syntax(self.at)),
            }
            if out.len() >= STEPS_MAX {
                return Err(Fault::Depth(self.at));
            }
        }
        Ok(out)
    }

    fn key(&mut self) -> Result<Step, Fault> {
        match self.byte() {
            None => Err(Fault::End),
            Some(b'*') => {
                self.at += 1;
                Ok(Step::AnyKey)
            }
            Some(b'"') => {
                self.at += 1;
                let start = self.at;
                loop {
                    match self.byte() {
                        None => return Err(Fault::End),
                        Some(b'\\') => self.at += 2,
                        Some(b'"') => break,
                        Some(_) => self.at += 1,
                    }
                }
                let name = unescape(&self.text[start..self.at]);
                self.at += 1;
                Ok(Step::Key(name))
            }
            Some(b'.' | b'[') => Err(Fault::Syntax(self.at)),
            Some(_) => {
                let start = self.at;
                while self.byte().is_some_and(|b| !matches!(b, b'.' | b'[' | b'*')) {
                    self.at += 1;
                }
                let name = &self.text[start..self.at];
                Ok(Step::Key(name.trim_ascii_end().to_vec()))
            }
        }
    }

    fn index(&mut self) -> Result<Step, Fault> {
        self.spaces();
        let step = if self.word(b"*") {
            Step::AnyAt
        } else {
            let from = self.place()?;
            self.spaces();
            if self.word(b"to") {
                self.spaces();
                Step::Range(from, self.place()?)
            } else {
                Step::At(from)
            }
        };
        self.spaces();
        match self.byte() {
            Some(b']') => {
                self.at += 1;
                Ok(step)
            }
            None => Err(Fault::End),
            Some(_) => Err(Fault::Syntax(self.at)),
        }
    }

    fn place(&mut self) -> Result<Place, Fault> {
        if self.word(b"last") {
            self.spaces();
            if self.word(b"-") {
                self.spaces();
                return Ok(Place::Last(self.digits()?));
            }
            return Ok(Place::Last(0));
        }
        if self.word(b"-") {
            return Ok(Place::Last(self.digits()?.saturating_sub(1)));
        }
        Ok(Place::Index(self.digits()?))
    }

    fn digits(&mut self) -> Result<usize, Fault> {
        let start = self.at;
        while self.byte().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if start == self.at {
            return Err(if self.byte().is_none() { Fault::End } else { Fault::Syntax(self.at) });
        }
        // An index is an int that wraps; a negative one is no place.
        let add = |n: i32, b: &u8| n.wrapping_mul(10).wrapping_add(i32::from(b - b'0'));
        let index = self.text[start..self.at].iter().fold(0, add);
        Ok(usize::try_from(index).unwrap_or(usize::MAX))
    }
}

/// Calls `found` for each value a path names, in the order of the document; stops when it answers false.
pub(crate) fn find<'j, 'a>(
    json: &'j Json<'a>,
    path: &[Step],
    found: &mut dyn FnMut(&'j Json<'a>) -> bool,
) -> bool {
    let Some((step, rest)) = path.split_first() else { return found(json) };
    match (step, json) {
        (Step::Key(name), Json::Object(members)) => {
            match members.iter().find(|(key, _)| same_key(key, name)) {
                Some((_, value)) => find(value, rest, found),
                None => true,
            }
        }
        (Step::AnyKey, Json::Object(members)) => members.iter().all(|(_, v)| find(v, rest, found)),
        (Step::At(place), Json::Array(items)) => match place.in_array(items.len()).and_then(|i| items.get(i))
        {
            Some(item) => find(item, rest, found),
            None => true,
        },
        (Step::AnyAt, Json::Array(items)) => items.iter().all(|v| find(v, rest, found)),
        (Step::Range(from, to), Json::Array(items)) => {
            let (Some(from), Some(to)) = (from.in_array(items.len()), to.in_array(items.len())) else {
                return true;
            };
            items.iter().skip(from).take((to + 1).saturating_sub(from)).all(|v| find(v, rest, found))
        }
        // What is no array is an array of one.
        (Step::At(Place::Index(0)), _) => find(json, rest, found),
        (Step::Range(from, to), _) => match (from.in_array(1), to.in_array(1)) {
            (Some(0), Some(_)) => find(json, rest, found),
            _ => true,
        },
        (Step::Deep, _) => {
            find(json, rest, found)
                && match json {
                    Json::Array(items) => items.iter().all(|v| find(v, path, found)),
                    Json::Object(members) => members.iter().all(|(_, v)| find(v, path, found)),
                    _ => true,
                }
        }
        _ => true,
    }
}

/// The first value a path names.
pub(crate) fn first<'j, 'a>(json: &'j Json<'a>, path: &[Step]) -> Option<&'j Json<'a>> {
    let mut out = None;
    find(json, path, &mut |v| {
        out = Some(v);
        false
    });
    out
}

/// The value that a path without wildcards names, to change.
pub(crate) fn first_mut<'j, 'a>(json: &'j mut Json<'a>, path: &[Step]) -> Option<&'j mut Json<'a>> {
    let Some((step, rest)) = path.split_first() else { return Some(json) };
    match (step, json) {
        (Step::Key(name), Json::Object(members)) => {
            let at = members.iter().position(|(key, _)| same_key(key, name))?;
            first_mut(&mut members[at].1, rest)
        }
        (Step::At(place), Json::Array(items)) => {
            let at = place.in_array(items.len())?;
            first_mut(items.get_mut(at)?, rest)
        }
        (Step::At(Place::Index(0) | Place::Last(0)), json) => first_mut(json, rest),
        _ => None,
    }
}
