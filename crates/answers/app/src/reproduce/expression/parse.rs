//! Parses claims, one function for each line of the grammar in `expression.rs`. Length and depth are bounded,
//! so a hostile text can do no harm.

use super::{
    CellName, ClaimComparison, ClaimExpression, ClaimFunction, ClaimRelation, ClaimSign, ClaimTerm,
    ExpressionError,
};

/// Length limit of a claim, in bytes.
const MAX_BYTES: usize = 4096;
/// Limit of nested parentheses.
const MAX_DEPTH: usize = 32;
/// Longer signs come before the shorter signs that they begin with.
const RELATIONS: [(&str, ClaimRelation); 4] = [
    ("<=", ClaimRelation::AtMost),
    (">=", ClaimRelation::AtLeast),
    ("<", ClaimRelation::Less),
    (">", ClaimRelation::Greater),
];
const FUNCTIONS: [(&str, ClaimFunction); 4] = [
    ("min", ClaimFunction::Min),
    ("max", ClaimFunction::Max),
    ("mean", ClaimFunction::Mean),
    ("abs", ClaimFunction::Abs),
];

type Parsed<T> = Result<T, ExpressionError>;

/// Parses the whole text as a claim.
pub(super) fn claim(text: &str) -> Parsed<ClaimExpression> {
    let mut reader = ClaimReader { text, at: 0, depth: 0 };
    if text.len() > MAX_BYTES {
        return Err(reader.wrong(&format!("a claim has at most {MAX_BYTES} bytes")));
    }
    let mut comparisons = vec![reader.comparison()?];
    while reader.word("and") {
        comparisons.push(reader.comparison()?);
    }
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.wrong("expected `and`, a comparison, or the end"));
    }
    Ok(ClaimExpression { comparisons })
}

struct ClaimReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl ClaimReader<'_> {
    fn wrong(&self, message: &str) -> ExpressionError {
        ExpressionError { at: self.at, message: message.into() }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Consumes a sign if it comes next.
    fn sign(&mut self, sign: &str) -> bool {
        self.blanks();
        let is = self.rest().starts_with(sign);
        self.at += if is { sign.len() } else { 0 };
        is
    }

    /// Consumes a word if it comes next and ends there.
    fn word(&mut self, word: &str) -> bool {
        self.blanks();
        let rest = self.rest();
        let is = rest.strip_prefix(word).is_some_and(|r| !r.starts_with(is_in_name));
        self.at += if is { word.len() } else { 0 };
        is
    }

    fn comparison(&mut self) -> Parsed<ClaimComparison> {
        let first = self.sum()?;
        if self.word("within") {
            let share = self.number()?.filter(|s| *s >= 0.0);
            let share = share.ok_or_else(|| self.wrong("expected a share, as `within 15 % of`"))?;
            if !self.word("of") {
                return Err(self.wrong("expected `of`, as `within 15 % of`"));
            }
            return Ok(ClaimComparison { first, rest: vec![(ClaimRelation::Within(share), self.sum()?)] });
        }
        let mut rest = Vec::new();
        while let Some((_, relation)) = RELATIONS.iter().find(|(sign, _)| self.sign(sign)) {
            rest.push((*relation, self.sum()?));
        }
        if rest.is_empty() {
            return Err(self.wrong("expected `<`, `<=`, `>`, `>=` or `within`"));
        }
        Ok(ClaimComparison { first, rest })
    }

    fn sum(&mut self) -> Parsed<ClaimTerm> {
        let mut left = self.product()?;
        loop {
            let sign = if self.sign("+") {
                ClaimSign::Plus
            } else if self.sign("-") {
                ClaimSign::Minus
            } else {
                return Ok(left);
            };
            left = ClaimTerm::Both(sign, Box::new([left, self.product()?]));
        }
    }

    fn product(&mut self) -> Parsed<ClaimTerm> {
        let mut left = self.single()?;
        loop {
            let sign = if self.sign("*") {
                ClaimSign::Times
            } else if self.sign("/") {
                ClaimSign::Over
            } else {
                return Ok(left);
            };
            left = ClaimTerm::Both(sign, Box::new([left, self.single()?]));
        }
    }

    fn single(&mut self) -> Parsed<ClaimTerm> {
        if let Some(number) = self.number()? {
            return Ok(ClaimTerm::Number(number));
        }
        if self.sign("(") {
            return self.inside(|reader| {
                let term = reader.sum()?;
                reader.closing_parenthesis()?;
                Ok(term)
            });
        }
        self.named()
    }

    /// Parses the content of parentheses.
    fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.wrong(&format!("at most {MAX_DEPTH} parentheses within each other")));
        }
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn closing_parenthesis(&mut self) -> Parsed<()> {
        if self.sign(")") { Ok(()) } else { Err(self.wrong("expected `)`")) }
    }

    /// Parses a cell or a function call.
    fn named(&mut self) -> Parsed<ClaimTerm> {
        self.blanks();
        let name: String = self.rest().chars().take_while(|c| is_in_name(*c) || *c == '.').collect();
        let expected = "expected a number, a cell `table.row.column`, or `(`";
        if name.is_empty() {
            return Err(self.wrong(expected));
        }
        let begin = self.at;
        self.at += name.len();
        if self.sign("(") {
            return self.inside(|reader| reader.call(&name, begin));
        }
        CellName::parse(&name)
            .map(ClaimTerm::Ours)
            .ok_or_else(|| ExpressionError { at: begin, message: expected.into() })
    }

    /// Parses a function's arguments. Its name begins at byte `begin`.
    fn call(&mut self, name: &str, begin: usize) -> Parsed<ClaimTerm> {
        if name == "published" {
            return match self.named()? {
                ClaimTerm::Ours(cell) => {
                    self.closing_parenthesis()?;
                    Ok(ClaimTerm::Published(cell))
                }
                _ => Err(self.wrong("expected a cell `table.row.column`")),
            };
        }
        let Some((_, function)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
            let message = format!("no function `{name}`; there are: min, max, mean, abs, published");
            return Err(ExpressionError { at: begin, message });
        };
        let mut terms = vec![self.sum()?];
        while self.sign(",") {
            terms.push(self.sum()?);
        }
        self.closing_parenthesis()?;
        if *function == ClaimFunction::Abs && terms.len() != 1 {
            return Err(ExpressionError { at: begin, message: "abs takes one number".into() });
        }
        Ok(ClaimTerm::Call(*function, terms))
    }

    /// Parses a number if one comes next. A `%` after it divides it by 100.
    fn number(&mut self) -> Parsed<Option<f64>> {
        self.blanks();
        let digits = self.rest().chars().take_while(|c| c.is_ascii_digit() || *c == '.').count();
        if digits == 0 || !self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(None);
        }
        let number: f64 = self.rest()[..digits].parse().map_err(|_| self.wrong("not a number"))?;
        self.at += digits;
        Ok(Some(if self.sign("%") { number / 100.0 } else { number }))
    }
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
