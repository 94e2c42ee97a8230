//! An axis of a grid: the keys that are varied, and their values.
//!
//! `KEY=A,B,C` lists values in the syntax of `--set`; a comma within brackets, braces or quotes belongs to a
//! value. `KEY=LO..HI:lin:N` and `KEY=LO..HI:log:N` are N values from LO to HI, at equal distances or by
//! equal factors, in HI's unit. `KEY+KEY=…` sets several keys to the same value, such as the delay of both
//! directions. `NAME:KEY=…` names the axis; by default its name is its keys.

use serde::{Deserialize, Serialize};

/// Limit of the values of an axis.
const MAX_VALUES: usize = 100_000;
/// Significant digits of the values in a range: enough for steps of a thousandth, and still easy to read.
const DIGITS: i32 = 4;

/// An axis of a grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Name of the axis and of its column.
    pub name: String,
    /// The keys that the axis sets, in the syntax of `--set`.
    pub keys: Vec<String>,
    /// The values in the syntax of `--set`: at least one, without duplicates.
    pub values: Vec<String>,
}

impl Axis {
    /// Parses the argument of `--vary`.
    ///
    /// # Errors
    /// Fails with a message that says what would be right.
    pub fn parse(text: &str) -> Result<Axis, String> {
        let (keys, values) = text
            .split_once('=')
            .ok_or_else(|| format!("`{text}`: `=` is missing (write KEY=A,B,C or KEY=LO..HI:log:N)"))?;
        let wrong = |why| format!("`{text}`: {why}");
        let values = match spaced(values) {
            Some(values) => values.map_err(wrong)?,
            None => listed(values),
        };
        Axis::of(keys, values).map_err(wrong)
    }

    /// Builds an axis from the text before `=` and from values in the syntax of `--set`.
    ///
    /// # Errors
    /// Fails with a message that says what would be right.
    pub fn of(keys: &str, values: Vec<String>) -> Result<Axis, String> {
        let (name, keys) = match keys.split_once(':') {
            Some((name, keys)) => (Some(name.trim()), keys),
            None => (None, keys),
        };
        let keys: Vec<String> = keys.split('+').map(|k| k.trim().to_string()).collect();
        if keys.iter().any(String::is_empty) || name == Some("") {
            return Err("a key is missing before `=`".into());
        }
        let axis = Axis { name: name.map_or_else(|| keys.join("+"), str::to_string), keys, values };
        axis.check()?;
        Ok(axis)
    }

    /// Checks an axis that was deserialised or built elsewhere.
    ///
    /// # Errors
    /// Fails when the axis has no value, too many, or a duplicate.
    pub fn check(&self) -> Result<(), String> {
        if self.keys.is_empty() || self.values.iter().any(String::is_empty) || self.values.is_empty() {
            return Err("a value is missing".into());
        }
        if self.values.len() > MAX_VALUES {
            return Err(format!("has {} values, the limit is {MAX_VALUES}", self.values.len()));
        }
        let mut sorted: Vec<&String> = self.values.iter().collect();
        sorted.sort();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("the value {} is given twice", pair[0])),
            None => Ok(()),
        }
    }

    /// Returns the overrides for the value with index `at`, in the syntax of `--set`.
    pub fn overrides(&self, at: usize) -> impl Iterator<Item = String> + '_ {
        self.keys.iter().map(move |key| format!("{key}={}", self.values[at]))
    }

    /// Returns the values as numbers, and their unit, if all are numbers with the same unit.
    pub fn numbers(&self) -> Option<(Vec<f64>, &str)> {
        let (_, unit) = number(&self.values[0])?;
        let all = self.values.iter().map(|v| number(v).filter(|n| n.1 == unit).map(|n| n.0));
        Some((all.collect::<Option<_>>()?, unit))
    }
}

/// Splits a number from its unit: `20Mbit/s` is 20 and `Mbit/s`.
fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let in_number = |(i, c): &(usize, char)| {
        let before = text[..*i].chars().next_back();
        let exponent = matches!(c, 'e' | 'E')
            && text[i + 1..].starts_with(|next: char| next.is_ascii_digit() || "+-".contains(next));
        c.is_ascii_digit()
            || *c == '.'
            || exponent
            || ("+-".contains(*c) && matches!(before, None | Some('e' | 'E')))
    };
    let end = text.char_indices().find(|c| !in_number(c)).map_or(text.len(), |(i, _)| i);
    let (digits, unit) = text.split_at(end);
    let value: f64 = digits.parse().ok()?;
    value.is_finite().then_some((value, unit.trim()))
}

/// Parses `LO..HI:log:N`; `None` for another syntax.
fn spaced(text: &str) -> Option<Result<Vec<String>, String>> {
    let (ends, how) = text.trim().split_once(':')?;
    let (low, high) = ends.split_once("..")?;
    let (kind, count) = how.split_once(':')?;
    Some(spaced_values(low, high, kind, count))
}

fn spaced_values(low: &str, high: &str, kind: &str, count: &str) -> Result<Vec<String>, String> {
    let parse_end = |end: &str| match number(end) {
        Some((value, unit)) => Ok((value, unit.to_string())),
        None => Err(format!("`{end}` is not a number")),
    };
    let ((low, own), (high, unit)) = (parse_end(low)?, parse_end(high)?);
    if !own.is_empty() && own != unit {
        return Err(format!("the ends have different units, `{own}` and `{unit}`: use the same unit"));
    }
    let n: usize = count.parse().map_err(|_| format!("`{count}` is not a number of values"))?;
    if !(2..=MAX_VALUES).contains(&n) {
        return Err(format!("{n} values: a range has 2 to {MAX_VALUES}"));
    }
    let share = |i: usize| i as f64 / (n - 1) as f64;
    let value = |i: usize| match kind {
        _ if i == 0 => low,
        _ if i == n - 1 => high,
        "log" => low * (high / low).powf(share(i)),
        _ => low + (high - low) * share(i),
    };
    match kind {
        "log" if low <= 0.0 || high <= 0.0 => Err("equal factors need ends above 0 (or `lin`)".into()),
        "lin" | "log" => Ok((0..n).map(|i| format!("{}{unit}", printed(value(i)))).collect()),
        _ => Err(format!("`{kind}`: the values are spaced by `lin` or by `log`")),
    }
}

/// Formats a number with at most [`DIGITS`] significant digits and without trailing zeros.
fn printed(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let before = x.abs().log10().floor() as i32 + 1;
    let decimals = (DIGITS - before).max(0) as usize;
    let text = format!("{x:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

/// Splits a list of values at its commas.
fn listed(text: &str) -> Vec<String> {
    let (mut values, mut value) = (Vec::new(), String::new());
    let (mut depth, mut quote) = (0usize, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                values.push(std::mem::take(&mut value).trim().to_string());
                continue;
            }
            _ => {}
        }
        value.push(c);
    }
    values.push(value.trim().to_string());
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Axis::parse(text).unwrap_or_else(|e| panic!("{e}")).values
    }

    #[test]
    fn lists_and_ranges_are_parsed() {
        assert_eq!(values("flows.up.cc=cubic, bbr,reno"), ["cubic", "bbr", "reno"]);
        let tables = values("a.b={ kind = \"x\", y = [1, 2] },'p,q'");
        assert_eq!(tables, ["{ kind = \"x\", y = [1, 2] }", "'p,q'"]);
        assert_eq!(values("a=1Mbit/s..100Mbit/s:log:3"), ["1Mbit/s", "10Mbit/s", "100Mbit/s"]);
        assert_eq!(values("a=5..20ms:lin:4"), ["5ms", "10ms", "15ms", "20ms"]);
        assert_eq!(values("a=0.001..0.1:log:3"), ["0.001", "0.01", "0.1"]);
        assert_eq!(values("a=1..9e6:lin:3"), ["1", "4500000", "9000000"]);
        assert_eq!(values("a=1..2:log:3"), ["1", "1.414", "2"]);
    }

    #[test]
    fn an_axis_may_have_a_name_and_several_keys() {
        let axis = Axis::parse("rtt: links.a.forward.d.delay + links.a.backward.d.delay=1ms,2ms").unwrap();
        assert_eq!(axis.name, "rtt");
        let sets: Vec<String> = axis.overrides(1).collect();
        assert_eq!(sets, ["links.a.forward.d.delay=2ms", "links.a.backward.d.delay=2ms"]);
        assert_eq!(axis.numbers(), Some((vec![1.0, 2.0], "ms")));
        let axis = Axis::parse("x.y=1ms,2s").unwrap();
        assert_eq!((axis.name.as_str(), axis.numbers()), ("x.y", None));
    }

    #[test]
    fn a_wrong_axis_is_refused_with_the_reason() {
        for (text, why) in [
            ("links.a", "`=` is missing"),
            ("=1,2", "a key is missing"),
            ("a=", "a value is missing"),
            ("a=1,,2", "a value is missing"),
            ("a=1,2,1", "is given twice"),
            ("a=1ms..2s:lin:3", "different units"),
            ("a=0..2s:log:3", "above 0"),
            ("a=1..2:sqrt:3", "by `lin` or by `log`"),
            ("a=1..2:lin:1", "2 to 100000"),
            ("a=x..2:lin:4", "`x` is not a number"),
            ("a=1..2:lin:many", "not a number of values"),
        ] {
            let said = Axis::parse(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
