//! Solves the linear equations of Newton's method, by which logit weights are learned.

/// Solves a x = b by Gaussian elimination; `a` is symmetric and positive definite.
pub fn solved(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for i in 0..n {
        let (above, below) = a.split_at_mut(i + 1);
        let pivot = &above[i];
        for (row, left) in below.iter_mut().enumerate() {
            let share = left[i] / pivot[i];
            if share != 0.0 {
                left[i..].iter_mut().zip(&pivot[i..]).for_each(|(x, y)| *x -= share * y);
                b[i + 1 + row] -= share * b[i];
            }
        }
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| a[i][j] * b[j]).sum();
        b[i] = (b[i] - known) / a[i][i];
    }
    b
}
