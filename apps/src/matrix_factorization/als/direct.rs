//! The normal equations of one row, solved exactly: with Cholesky's factors, or for what is not negative.

/// A symmetric positive semidefinite system `A x = b`.
#[derive(Debug, Clone, Default)]
pub struct Equations {
    /// The matrix, row by row (n × n).
    pub matrix: Vec<f64>,
    /// The right-hand side (n).
    pub right: Vec<f64>,
}

/// A pivot below this share of its diagonal entry stands for a direction that the equations do not determine.
const SINGULAR: f64 = 1e-12;

impl Equations {
    fn n(&self) -> usize {
        self.right.len()
    }

    /// Solves by `A = L Lᵀ`. A direction that is not determined stays 0.
    pub fn solve(mut self) -> Vec<f64> {
        let n = self.n();
        let matrix = &mut self.matrix;
        for column in 0..n {
            let mut line = matrix[column * n..(column + 1) * n].to_vec();
            let squares: f64 = line[..column].iter().map(|value| value * value).sum();
            let pivot = line[column] - squares;
            line[column] = if pivot > SINGULAR * line[column] { pivot.sqrt() } else { f64::INFINITY };
            matrix[column * n + column] = line[column];
            for below in matrix[(column + 1) * n..].chunks_exact_mut(n) {
                let dot: f64 = below[..column].iter().zip(&line).map(|(a, b)| a * b).sum();
                below[column] = (below[column] - dot) / line[column];
            }
        }
        let mut x = self.right;
        for row in 0..n {
            let line = &matrix[row * n..(row + 1) * n];
            let dot: f64 = line[..row].iter().zip(&x).map(|(a, b)| a * b).sum();
            x[row] = (x[row] - dot) / line[row];
        }
        for row in (0..n).rev() {
            let dot: f64 = (row + 1..n).map(|below| matrix[below * n + row] * x[below]).sum();
            x[row] = (x[row] - dot) / matrix[row * n + row];
        }
        x
    }

    /// Minimises `½ xᵀA x - bᵀx` over `x ≥ 0`, but for entry `free`, by cyclic coordinate descent from `x` until no entry
    /// moves by more than `tolerance` of the largest, at most `sweeps` times over all.
    pub fn descend(&self, x: &mut [f64], free: Option<usize>, tolerance: f64, sweeps: usize) {
        let n = self.n();
        let line = |row: usize| &self.matrix[row * n..(row + 1) * n];
        let dot = |row: usize, x: &[f64]| -> f64 { line(row).iter().zip(x).map(|(a, x)| a * x).sum() };
        let mut gradient: Vec<f64> = (0..n).map(|row| dot(row, x) - self.right[row]).collect();
        for _ in 0..sweeps {
            let (mut moved, mut largest) = (0.0f64, 0.0f64);
            for row in 0..n {
                let curvature = line(row)[row];
                if curvature <= 0.0 {
                    continue;
                }
                let wanted = x[row] - gradient[row] / curvature;
                let wanted = if Some(row) == free { wanted } else { wanted.max(0.0) };
                let change = wanted - x[row];
                if change != 0.0 {
                    x[row] = wanted;
                    gradient.iter_mut().zip(line(row)).for_each(|(g, a)| *g += a * change);
                }
                moved = moved.max(change.abs());
                largest = largest.max(wanted.abs());
            }
            if moved <= tolerance * largest {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `B Bᵀ + I` of a matrix without a pattern, and a right-hand side.
    fn equations(n: usize) -> Equations {
        let number = |k: usize| ((k as f64 + 1.0) * 12.9898).sin();
        let b: Vec<f64> = (0..n * n).map(number).collect();
        let entry = |i: usize, j: usize| -> f64 {
            (0..n).map(|k| b[i * n + k] * b[j * n + k]).sum::<f64>() + f64::from(u8::from(i == j))
        };
        let matrix = (0..n * n).map(|k| entry(k / n, k % n)).collect();
        Equations { matrix, right: (0..n).map(|k| number(k + 1000)).collect() }
    }

    fn gradient(of: &Equations, x: &[f64]) -> Vec<f64> {
        let n = x.len();
        (0..n).map(|i| (0..n).map(|j| of.matrix[i * n + j] * x[j]).sum::<f64>() - of.right[i]).collect()
    }

    #[test]
    fn a_solution_satisfies_its_equations() {
        for n in [1, 2, 7, 20] {
            let equations = equations(n);
            let x = equations.clone().solve();
            assert!(gradient(&equations, &x).iter().all(|g| g.abs() < 1e-9));
        }
    }

    #[test]
    fn a_direction_that_nothing_determines_stays_zero() {
        let x = Equations { matrix: vec![4.0, 0.0, 0.0, 0.0], right: vec![2.0, 0.0] }.solve();
        assert_eq!(x, [0.5, 0.0]);
        let twice = Equations { matrix: vec![1.0; 4], right: vec![3.0; 2] }.solve();
        assert_eq!(twice, [3.0, 0.0]);
    }

    #[test]
    fn what_is_not_negative_satisfies_the_conditions_of_karush_kuhn_and_tucker() {
        let equations = equations(12);
        let (mut x, free) = (vec![0.0; 12], 5);
        equations.descend(&mut x, Some(free), 1e-13, 10_000);
        let gradient = gradient(&equations, &x);
        assert!((0..12).any(|k| k != free && x[k] == 0.0) && (0..12).any(|k| x[k] > 0.0));
        for k in 0..12 {
            if k != free {
                assert!(x[k] >= 0.0 && gradient[k] > -1e-9);
            }
            assert!(k != free && x[k] == 0.0 || gradient[k].abs() < 1e-9, "{k}: {} {}", x[k], gradient[k]);
        }
    }
}
