//! A sum of products of numbers and names. Times are seconds, bytes are segments.

use super::PAYLOAD;
use crate::dialogues::Fault;
use crate::dialogues::cursor::Cursor;
use crate::dialogues::lex::Kind;

const NO_TERM: &str = "write numbers and names here, with + - * between them";

/// A sum of products, such as `0.5 * W + 3`.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr(Vec<(f64, Vec<Term>)>);

#[derive(Clone, PartialEq, Debug)]
enum Term {
    Number(f64),
    Name(String),
}

impl Expr {
    /// Read a sum. A tolerance after `+-` is not read here.
    pub(super) fn read(c: &mut Cursor) -> Result<Expr, Fault> {
        if c.is_at_line_end() {
            return Err(c.fault(NO_TERM));
        }
        Expr::read_first(c)
    }

    /// Read a sum at the beginning of a line.
    pub(super) fn read_first(c: &mut Cursor) -> Result<Expr, Fault> {
        let mut sum = Vec::new();
        let mut sign = 1.0;
        loop {
            let mut product = vec![term(c)?];
            while !c.is_at_line_end() && c.take_sign('*') {
                product.push(term(c)?);
            }
            sum.push((sign, product));
            match c.peek() {
                _ if c.is_at_line_end() => return Ok(Expr(sum)),
                Some(Kind::Sign('+')) if c.peek_after(1) != Some(Kind::Sign('-')) => sign = 1.0,
                Some(Kind::Sign('-')) => sign = -1.0,
                Some(Kind::Sign('/')) => return Err(c.fault("there is no '/' here; write + - or *")),
                _ => return Ok(Expr(sum)),
            }
            c.next();
        }
    }

    /// The value of the sum. The function `of` gives the value of a name.
    ///
    /// # Errors
    /// The error of `of`.
    pub fn value<E>(&self, mut of: impl FnMut(&str) -> Result<f64, E>) -> Result<f64, E> {
        let mut total = 0.0;
        for (sign, terms) in &self.0 {
            let mut product = *sign;
            for term in terms {
                product *= match term {
                    Term::Number(n) => *n,
                    Term::Name(name) => of(name)?,
                };
            }
            total += product;
        }
        Ok(total)
    }

    /// The products of the sum. Each has a sign, and factors that are numbers (`Ok`) or names.
    pub fn products(&self) -> impl Iterator<Item = (f64, Vec<Result<f64, &str>>)> {
        let factor = |t| match t {
            &Term::Number(n) => Ok(n),
            Term::Name(name) => Err(name.as_str()),
        };
        self.0
            .iter()
            .map(move |(sign, terms)| (*sign, terms.iter().map(factor).collect()))
    }

    /// The names in the sum.
    pub fn names(&self) -> Vec<&str> {
        let terms = self.0.iter().flat_map(|(_, terms)| terms);
        let names = terms.filter_map(|t| match t {
            Term::Name(name) => Some(name.as_str()),
            Term::Number(_) => None,
        });
        names.collect()
    }
}

fn term(c: &mut Cursor) -> Result<Term, Fault> {
    match c.peek() {
        Some(Kind::Number(text)) => {
            c.next();
            let number: f64 = text.parse().unwrap_or(f64::INFINITY);
            let unit = match c.peek() {
                Some(Kind::Word("s")) if c.touches() => 1.0,
                Some(Kind::Word("ms")) if c.touches() => 1e-3,
                Some(Kind::Word("us")) if c.touches() => 1e-6,
                Some(Kind::Word("B")) if c.touches() => 1.0 / PAYLOAD as f64,
                _ => return Ok(Term::Number(number)),
            };
            c.next();
            Ok(Term::Number(if unit == 1.0 {
                number
            } else {
                number / (1.0 / unit).round()
            }))
        }
        Some(Kind::Word(name)) => {
            c.next();
            let other_end = matches!(name, "A" | "B") && c.peek() == Some(Kind::Sign('.')) && c.touches();
            if !other_end {
                return Ok(Term::Name(name.to_string()));
            }
            c.next();
            let Some(Kind::Word(state)) = c.peek() else {
                return Err(c.fault("write a state here, such as B.received"));
            };
            c.next();
            Ok(Term::Name(format!("{name}.{state}")))
        }
        _ => Err(c.fault(NO_TERM)),
    }
}
