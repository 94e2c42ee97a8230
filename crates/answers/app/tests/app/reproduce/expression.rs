//! Claims: their meaning, and their robustness against arbitrary text.

use app::reproduce::{CellName, CellNumbers, ClaimExpression};
use proptest::prelude::*;

/// The cells `t.r.a`, `t.r.b`, … are 1, 2, …, and ten times that is published. `t.r.z` has neither number.
struct Letters;

impl CellNumbers for Letters {
    fn ours(&self, cell: &CellName) -> Option<f64> {
        let letter = cell.column.bytes().next()?;
        (letter != b'z').then(|| f64::from(letter - b'a' + 1))
    }
    fn published(&self, cell: &CellName) -> Option<f64> {
        self.ours(cell).map(|x| 10.0 * x)
    }
}

fn holds(text: &str) -> bool {
    ClaimExpression::parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).prove(&Letters).expect(text).holds
}

#[test]
fn claims_follow_the_rules_of_arithmetic_and_comparison() {
    for claim in [
        "t.r.a < t.r.b",
        "t.r.a < t.r.b < t.r.c <= 3",
        "1 + 2 * 3 >= 7 and (1 + 2) * 3 >= 9",
        "8 / 2 / 2 <= 2 and 8 - 2 - 2 <= 4",
        "t.r.b within 10 % of 2.2",
        "published(t.r.c) within 0 % of 10 * t.r.c",
        "max(t.r.a, t.r.d, t.r.b) >= 4 and min(3, t.r.b) <= 2 and mean(1, 2, 6) >= 3",
        "abs(t.r.a - t.r.d) >= 3",
        "15 % <= 0.15",
        "t.r.android < 2",
    ] {
        assert!(holds(claim), "{claim}");
    }
    for claim in ["t.r.a > t.r.b", "1 < 2 < 2", "t.r.b within 9 % of 2.2", "1 < 2 and 2 < 1", "1 - 2 >= 0"] {
        assert!(!holds(claim), "{claim}");
    }
}

#[test]
fn a_missing_number_leaves_a_claim_undecided_and_is_named() {
    let claim = ClaimExpression::parse("1 < 2 and t.r.z > 0").unwrap();
    assert_eq!(claim.prove(&Letters).unwrap_err(), "nothing was measured for t.r.z");
    let claim = ClaimExpression::parse("1 / (t.r.a - 1) > 0").unwrap();
    assert_eq!(claim.prove(&Letters).unwrap_err(), "a division has no result");
}

#[test]
fn each_comparison_is_reported_with_its_numbers() {
    let claim = ClaimExpression::parse("t.r.a < t.r.b <= 1 and t.r.c within 12.5 % of 4").unwrap();
    let proved = claim.prove(&Letters).unwrap();
    let steps: Vec<(&str, bool)> = proved.steps.iter().map(|(t, h)| (t.as_str(), *h)).collect();
    assert_eq!(
        steps,
        [("1.00 < 2.00", true), ("2.00 <= 1.00", false), ("3.00 within 12.5 % of 4.00", false)]
    );
}

#[test]
fn a_malformed_claim_is_refused_with_its_place() {
    for (text, at, message) in [
        ("", 0, "expected a number"),
        ("t.r.a", 5, "expected `<`"),
        ("t.r.a < ", 8, "expected a number"),
        ("t.r < 1", 0, "table.row.column"),
        ("least(1) < 2", 0, "no function `least`"),
        ("(1 < 2", 3, "expected `)`"),
        ("1 within of 2", 9, "expected a share"),
        ("1 within 5 % 2", 13, "expected `of`"),
        ("1 < 2 or 1 < 2", 6, "expected `and`"),
        ("abs(1, 2) > 0", 0, "abs takes one"),
        ("published(1) > 0", 10, "table.row.column"),
    ] {
        let error = ClaimExpression::parse(text).expect_err(text);
        assert!(error.message.contains(message) && error.at == at, "{text}: {} {}", error.at, error.message);
    }
    let deep = format!("{}1{} < 2", "(".repeat(1000), ")".repeat(1000));
    assert!(ClaimExpression::parse(&deep).unwrap_err().message.contains("within each other"));
    assert!(ClaimExpression::parse(&"1 + ".repeat(3000)).unwrap_err().message.contains("bytes"));
}

/// An arithmetic text, and its value computed by Rust.
fn arithmetic() -> impl Strategy<Value = (String, f64)> {
    let leaf = prop_oneof![
        (1u32..1000).prop_map(|n| (n.to_string(), f64::from(n))),
        (1u32..100).prop_map(|n| (format!("{n} %"), f64::from(n) / 100.0)),
        (0u8..25).prop_map(|n| (format!("t.r.{}", char::from(b'a' + n)), f64::from(n + 1))),
    ];
    leaf.prop_recursive(5, 40, 2, |inner| {
        (inner.clone(), inner, 0..5u8).prop_map(|((a, x), (b, y), how)| match how {
            0 => (format!("({a} + {b})"), x + y),
            1 => (format!("({a} - {b})"), x - y),
            2 => (format!("({a}) * ({b})"), x * y),
            3 => (format!("max({a}, {b})"), x.max(y)),
            _ => (format!("mean({a},{b})"), (x + y) / 2.0),
        })
    })
}

proptest! {
    #[test]
    fn sums_agree_with_floating_point_arithmetic((text, value) in arithmetic()) {
        // Products have parentheses, so that the operator's precedence does not matter.
        let tolerance = 1e-9 * value.abs().max(1.0);
        let claim = ClaimExpression::parse(&format!("abs(({text}) - 0) <= {:.9}", value.abs() + tolerance)).unwrap();
        prop_assert!(claim.prove(&Letters).unwrap().holds, "{text} = {value}");
        let claim = ClaimExpression::parse(&format!("abs({text}) >= {:.9}", (value.abs() - tolerance).max(0.0))).unwrap();
        prop_assert!(claim.prove(&Letters).unwrap().holds, "{text} = {value}");
    }

    #[test]
    fn random_claims_do_not_panic(text in "[a-z0-9.()<>=+*/% ,-]{0,60}") {
        if let Ok(claim) = ClaimExpression::parse(&text) {
            let _ = claim.prove(&Letters);
        }
    }

    #[test]
    fn random_characters_do_not_panic(text in "\\PC{0,40}") {
        let _ = ClaimExpression::parse(&text);
    }

    #[test]
    fn a_claim_and_its_opposite_never_hold_together((a, x) in arithmetic(), (b, y) in arithmetic()) {
        let less = ClaimExpression::parse(&format!("{a} < {b}")).unwrap().prove(&Letters).unwrap().holds;
        let not = ClaimExpression::parse(&format!("{a} >= {b}")).unwrap().prove(&Letters).unwrap().holds;
        prop_assert!(less != not);
        if (x - y).abs() > 1e-6 * x.abs().max(y.abs()) {
            prop_assert_eq!(less, x < y);
        }
    }
}
