//! Number formatting.

/// Formats with three significant digits, as a whole number at 100 and above: `0.123`, `4.10`, `19.1`, `941`,
/// `12345`.
pub fn three_digits(x: f64) -> String {
    // Thresholds lie where rounding carries into the next digit: 9.996 becomes `10.0`, not `10.00`.
    let decimals = match x.abs() {
        a if a < 0.9995 => 3,
        a if a < 9.995 => 2,
        a if a < 99.95 => 1,
        _ => 0,
    };
    format!("{x:.decimals$}")
}

/// 10 to an integer power, correctly rounded from -22 to 22. `powi` and `powf` are inexact for negative
/// powers on Windows.
pub fn power_of_ten(power: i32) -> f64 {
    let whole = (0..power.unsigned_abs()).fold(1.0, |whole, _| whole * 10.0);
    if power < 0 { 1.0 / whole } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_equal_their_literals() {
        for power in -22..=22 {
            assert_eq!(Ok(power_of_ten(power)), format!("1e{power}").parse(), "{power}");
        }
    }

    #[test]
    fn rounding_up_does_not_add_a_digit() {
        let got = [0.0, -0.1234, 0.9996, 4.104, 9.996, 19.14, 99.96, 941.4, 12_345.0].map(three_digits);
        assert_eq!(got, ["0.000", "-0.123", "1.00", "4.10", "10.0", "19.1", "100", "941", "12345"]);
    }
}
