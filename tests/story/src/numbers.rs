//! Numbers in a sentence, with the precision to which they are printed.

/// A printed number, and the largest error that its digits permit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    pub value: f64,
    /// Half a unit of the last digit; for `<.01`, everything below.
    pub within: f64,
}

impl Printed {
    /// Returns whether the number can stand for `x`.
    pub fn is(self, x: f64) -> bool {
        (self.value - x).abs() <= self.within * (1.0 + 1e-9) + 1e-12
    }
}

/// Removes names from the text: everything in quotes or between the marks that isolate a name's direction.
pub fn unquoted(text: &str) -> String {
    let mut depth = 0;
    let keep = |c: char| {
        depth += i32::from(c == '“' || c == '\u{2068}');
        let inside = depth > 0;
        depth -= i32::from(c == '”' || c == '\u{2069}');
        !inside
    };
    let mut keep = keep;
    text.chars().filter(|&c| keep(c)).collect()
}

/// Finds all numbers except those inside words, as in "p95" and "BBRv3".
pub fn numbers(text: &str) -> Vec<Printed> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let begins = chars[i].is_ascii_digit() || (chars[i] == '.' && i > 0 && chars[i - 1] == '<');
        if !begins {
            i += 1;
            continue;
        }
        let in_word = i > 0 && chars[i - 1].is_ascii_alphabetic();
        let end = (i..chars.len())
            .find(|&j| !(chars[j].is_ascii_digit() || (chars[j] == '.' && is_digit(&chars, j + 1))))
            .unwrap_or(chars.len());
        let text: String = chars[i..end].iter().collect();
        if !in_word {
            // The suffix of a thousand, not the kilo of a unit.
            let thousand =
                chars.get(end) == Some(&'k') && !chars.get(end + 1).is_some_and(|c| c.is_ascii_alphabetic());
            found.extend(printed(&text, thousand, i > 0 && chars[i - 1] == '<'));
        }
        i = end.max(i + 1);
    }
    found
}

fn is_digit(chars: &[char], at: usize) -> bool {
    chars.get(at).is_some_and(char::is_ascii_digit)
}

fn printed(text: &str, thousand: bool, below: bool) -> Option<Printed> {
    let text = if text.starts_with('.') { format!("0{text}") } else { text.to_string() };
    let value: f64 = text.parse().ok()?;
    if below {
        return Some(Printed { value: value / 2.0, within: value / 2.0 });
    }
    let decimals = text.split_once('.').map_or(0, |d| d.1.len());
    let unit = if thousand { 1e3 } else { 1.0 };
    Some(Printed { value: value * unit, within: 0.5 * unit * 10f64.powi(-(decimals as i32)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_with_their_precision() {
        let values = |text: &str| numbers(text).iter().map(|n| n.value).collect::<Vec<_>>();
        assert_eq!(
            values("carries 4.00 Mbit/s, 20.0 % of it: <.01 % p95 BBRv3 (p95), 12.3k."),
            [4.0, 20.0, 0.005, 12_300.0]
        );
        assert_eq!(values(&unquoted("“v1” has 3, “x 5” 7 at \u{2068}wan.4\u{2069} 8")), [3.0, 7.0, 8.0]);
        let one = numbers("19.6")[0];
        assert_eq!(values("\"450kbit/s\" 40kB"), [450.0, 40.0]);
        assert!(one.is(19.64) && one.is(19.55) && !one.is(19.66));
        assert!(numbers("2290 ms")[0].is(2290.4) && !numbers("2290 ms")[0].is(2291.0));
        assert!(numbers("<.01")[0].is(0.004) && !numbers("<.01")[0].is(0.02));
    }
}
