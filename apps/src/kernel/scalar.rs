//! The definition of correct: every kernel as the plain loop it stands for.

/// `Σ v[i]` over the indices: the product of a column of ones with a vector.
pub fn gather_sum(rows: &[u32], vector: &[f64]) -> f64 {
    rows.iter().map(|&i| vector[i as usize]).sum()
}

/// `Σ x · v[i]` over a sparse column.
pub fn gather_dot(rows: &[u32], values: &[f64], vector: &[f64]) -> f64 {
    rows.iter().zip(values).map(|(&i, x)| x * vector[i as usize]).sum()
}

/// `v[i] += a` for every index.
pub fn scatter_add(a: f64, rows: &[u32], vector: &mut [f64]) {
    for &i in rows {
        vector[i as usize] += a;
    }
}

/// `v[i] += a · x` over a sparse column.
pub fn scatter_axpy(a: f64, rows: &[u32], values: &[f64], vector: &mut [f64]) {
    for (&i, x) in rows.iter().zip(values) {
        vector[i as usize] += a * x;
    }
}

/// `v[i] += a · w[i]` for every index.
pub fn scatter_weighted(a: f64, rows: &[u32], weights: &[f64], vector: &mut [f64]) {
    for &i in rows {
        vector[i as usize] += a * weights[i as usize];
    }
}

/// `v[i] += a · x · w[i]` over a sparse column.
pub fn scatter_axpy_weighted(a: f64, (rows, values): (&[u32], &[f64]), weights: &[f64], vector: &mut [f64]) {
    for (&i, x) in rows.iter().zip(values) {
        vector[i as usize] += a * x * weights[i as usize];
    }
}

/// `Σ x² · w[i]` over a sparse column.
pub fn gather_square(rows: &[u32], values: &[f64], weights: &[f64]) -> f64 {
    rows.iter().zip(values).map(|(&i, x)| x * x * weights[i as usize]).sum()
}

/// `Σ x · v`.
pub fn dot(x: &[f64], v: &[f64]) -> f64 {
    x.iter().zip(v).map(|(x, v)| x * v).sum()
}

/// `v += a · x`.
pub fn axpy(a: f64, x: &[f64], v: &mut [f64]) {
    for (v, x) in v.iter_mut().zip(x) {
        *v += a * x;
    }
}
