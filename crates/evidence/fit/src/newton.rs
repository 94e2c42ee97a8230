//! The Gauss-Newton step: moves all numbers of a path together, by how the figures depend on each.
//!
//! The misfit is a sum of squared residuals, and near the minimum a residual is linear in the logarithm of
//! each number. The step solves (JᵀWJ + P) d = -(JᵀWr + P s), with J the derivatives of the figures, W what
//! each difference counts, r the residuals, P the precision of the first guess and s how far the path is from
//! it (Nocedal and Wright 2006, "Numerical Optimization", section 10.3).

use crate::figures::{FIGURES, LogFigures};

/// The dependence of the figures on one number.
#[derive(Clone, Copy, Debug)]
pub struct Tangent {
    /// Derivatives of the figures with respect to the number's logarithm.
    pub slope: LogFigures,
    /// The number's logarithm minus that of the first guess.
    pub strain: f64,
    /// Inverse of the variance of the first guess's logarithm.
    pub precision: f64,
}

/// The step of each number's logarithm; `None` if the equations are singular. `residuals` are the figures of
/// the trial minus those of the capture, `weights` the weights of their squares.
pub fn step(tangents: &[Tangent], residuals: &LogFigures, weights: &LogFigures) -> Option<Vec<f64>> {
    let n = tangents.len();
    let dot = |a: &LogFigures, b: &LogFigures| -> f64 {
        (0..FIGURES).map(|i| weights[i] * a[i] * b[i]).filter(|x| x.is_finite()).sum()
    };
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(n);
    for (i, t) in tangents.iter().enumerate() {
        let mut row: Vec<f64> = tangents.iter().map(|u| dot(&t.slope, &u.slope)).collect();
        row[i] += t.precision;
        row.push(-dot(&t.slope, residuals) - t.precision * t.strain);
        rows.push(row);
    }
    solve(rows)
}

/// Solves linear equations by Gaussian elimination with partial pivoting; the last column is the right-hand
/// side.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let n = rows.len();
    for i in 0..n {
        let pivot = (i..n).max_by(|&a, &b| rows[a][i].abs().total_cmp(&rows[b][i].abs()))?;
        rows.swap(i, pivot);
        let above = rows[i].clone();
        if above[i].abs() < 1e-12 {
            return None;
        }
        for row in rows.iter_mut().skip(i + 1) {
            let by = row[i] / above[i];
            row.iter_mut().zip(&above).for_each(|(x, a)| *x -= by * a);
        }
    }
    let mut out = vec![0.0; n];
    for i in (0..n).rev() {
        let rest: f64 = (i + 1..n).map(|j| rows[i][j] * out[j]).sum();
        out[i] = (rows[i][n] - rest) / rows[i][i];
    }
    out.iter().all(|x| x.is_finite()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_step_solves_a_linear_problem() {
        // Goodput is the first number, the least round trip is the sum of both.
        let mut slopes = [[f64::NAN; FIGURES]; 2];
        (slopes[0][0], slopes[1][0]) = (1.0, 0.0);
        (slopes[0][1], slopes[1][1]) = (1.0, 1.0);
        let tangents = slopes.map(|slope| Tangent { slope, strain: 0.0, precision: 1e-9 });
        let mut residuals = [f64::NAN; FIGURES];
        (residuals[0], residuals[1]) = (0.3, -0.1);
        let by = step(&tangents, &residuals, &[1.0; FIGURES]).unwrap();
        assert!((by[0] + 0.3).abs() < 1e-6 && (by[1] - 0.4).abs() < 1e-6, "{by:?}");
        // A number on which no figure depends returns to the first guess.
        let deaf = Tangent { slope: [0.0; FIGURES], strain: 0.2, precision: 4.0 };
        assert!((step(&[deaf], &residuals, &[1.0; FIGURES]).unwrap()[0] + 0.2).abs() < 1e-9);
    }
}
