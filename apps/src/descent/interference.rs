//! How much two columns interfere: the correlation that the dependency schedule bounds.

use std::sync::Arc;

use slackline::VariableId;

use super::columns::{Column, Columns};
use super::run::Interference;
use super::words::Layout;

/// How much the variables of a problem of `n_parts` parts interfere, for the dependency schedule; `columns` gives those
/// of a part.
pub(crate) fn interference<P: Send + Sync + 'static>(
    problem: &Arc<P>,
    n_parts: usize,
    columns: fn(&P, usize) -> &Columns,
    centred: bool,
) -> Interference {
    let layout = Layout::new((0..n_parts).map(|part| columns(problem, part).n_columns()));
    let problem = Arc::clone(problem);
    Box::new(move |a: VariableId, b: VariableId| {
        let ((part_a, a), (part_b, b)) = (layout.column(a), layout.column(b));
        correlation((columns(&problem, part_a), a), (columns(&problem, part_b), b), centred)
    })
}

/// |correlation| of two columns over the same rows; about their means when `centred`. 0 where one does not vary.
pub fn correlation(a: (&Columns, u32), b: (&Columns, u32), centred: bool) -> f64 {
    let ((x, sum_x, square_x), (y, sum_y, square_y)) = (facts(a), facts(b));
    let n = a.0.n_rows().max(1) as f64;
    let off = |product: f64, sums: f64| if centred { product - sums / n } else { product };
    let product = off(product(x, y), sum_x * sum_y);
    let scale = off(square_x, sum_x * sum_x).max(0.0) * off(square_y, sum_y * sum_y).max(0.0);
    if scale > 0.0 { (product.abs() / scale.sqrt()).min(1.0) } else { 0.0 }
}

/// A column with the sum of its entries and of their squares.
fn facts((columns, j): (&Columns, u32)) -> (Column<'_>, f64, f64) {
    let j = j as usize;
    (columns.column(j), columns.sums()[j], columns.squares()[j])
}

/// The product of two columns whose entries come in row order.
fn product(x: Column<'_>, y: Column<'_>) -> f64 {
    match (x, y) {
        (Column::Dense(values), other) | (other, Column::Dense(values)) => other.dot(values),
        (Column::Ones(a), Column::Ones(b)) => common(a.as_slice(), b.as_slice(), |_, _| 1.0),
        (Column::Ones(a), Column::Valued(b, values)) | (Column::Valued(b, values), Column::Ones(a)) => {
            common(a.as_slice(), b.as_slice(), |_, at| values[at])
        }
        (Column::Valued(a, left), Column::Valued(b, right)) => {
            common(a.as_slice(), b.as_slice(), |i, j| left[i] * right[j])
        }
    }
}

/// Sums over the rows that two lists share, each in rising order. Which list is behind is a coin toss to the branch
/// predictor, so both are advanced without a branch.
#[inline]
fn common(a: &[u32], b: &[u32], term: impl Fn(usize, usize) -> f64) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.len() && j < b.len() {
        let (left, right) = (a[i], b[j]);
        if left == right {
            sum += term(i, j);
        }
        i += usize::from(left <= right);
        j += usize::from(right <= left);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descent::columns::split;

    /// Columns (1, 2, 3), (2, 4, 6) and (3, 0, -1).
    fn columns() -> Columns {
        let dense = ndarray::arr2(&[[1.0, 2.0, 3.0], [2.0, 4.0, 0.0], [3.0, 6.0, -1.0]]);
        let mut rows = sprs::TriMatI::<f64, u32>::new((3, 3));
        dense.indexed_iter().filter(|(_, v)| **v != 0.0).for_each(|((i, j), v)| rows.add_triplet(i, j, *v));
        split(rows.to_csr(), 1).remove(0)
    }

    #[test]
    fn a_multiple_interferes_fully_and_the_rest_as_far_as_it_correlates() {
        let columns = columns();
        let place = |name: u32| columns.names().iter().position(|n| *n == name).unwrap() as u32;
        let between = |a, b, centred| correlation((&columns, place(a)), (&columns, place(b)), centred);
        assert!((between(0, 1, false) - 1.0).abs() < 1e-12);
        assert!((between(0, 1, true) - 1.0).abs() < 1e-12);
        assert!((between(0, 2, false) - 0.0).abs() < 1e-12, "1·3 + 2·0 − 3·1 = 0");
        // numpy.corrcoef([1, 2, 3], [3, 0, -1])[0, 1] = -0.960768922830523
        assert!((between(0, 2, true) - 0.960_768_922_830_523).abs() < 1e-12);
    }
}
