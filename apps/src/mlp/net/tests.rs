use rand::{RngExt, SeedableRng};

use super::*;

/// A net in double precision by plain loops, for the loss only.
struct Plain<'a> {
    net: &'a Net,
    /// W (outputs x inputs) and b of each layer.
    layers: Vec<(Array2<f64>, Vec<f64>)>,
    /// Of each hidden layer, rows x units; none where none is left out.
    kept: Vec<Array2<f64>>,
}

impl Plain<'_> {
    fn mean_loss(&self, inputs: &Array2<f64>, targets: &Targets<'_>) -> f64 {
        let losses = inputs.outer_iter().enumerate().map(|(row, x)| {
            let z = self.outputs(row, x.to_vec());
            match (self.net.loss, targets) {
                (Loss::Softmax, Targets::Classes(classes)) => {
                    z.iter().map(|z| z.exp()).sum::<f64>().ln() - z[classes[row] as usize]
                }
                (Loss::Squared, Targets::Classes(classes)) => {
                    let target = |k: usize| f64::from(u8::from(k == classes[row] as usize));
                    z.iter().enumerate().map(|(k, z)| 0.5 * (z - target(k)).powi(2)).sum()
                }
                (_, Targets::Numbers(numbers)) => 0.5 * (z[0] - f64::from(numbers[row])).powi(2),
            }
        });
        losses.sum::<f64>() / inputs.nrows() as f64
    }

    fn outputs(&self, row: usize, mut x: Vec<f64>) -> Vec<f64> {
        for (number, (weights, bias)) in self.layers.iter().enumerate() {
            let sum =
                |k: usize| bias[k] + x.iter().enumerate().map(|(j, x)| weights[[k, j]] * x).sum::<f64>();
            let z: Vec<f64> = (0..bias.len()).map(sum).collect();
            if number + 1 == self.layers.len() {
                return z;
            }
            let unit = |(k, z): (usize, f64)| {
                let y = match self.net.activation {
                    Activation::Relu => z.max(0.0),
                    Activation::Sigmoid => 1.0 / (1.0 + (-z).exp()),
                    Activation::Tanh => z.tanh(),
                };
                y * self.kept.get(number).map_or(1.0, |kept| kept[[row, k]])
            };
            x = z.into_iter().enumerate().map(unit).collect();
        }
        x
    }
}

/// Random numbers, rows x columns.
fn random(rows: usize, columns: usize, rng: &mut Xoshiro256PlusPlus) -> Array2<f32> {
    Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0..1.0))
}

/// Cuts weights into tiles of so many rows and columns.
fn cut(weights: &Array2<f32>, rows: usize, columns: usize) -> Vec<Tile<'_>> {
    let (n, m) = weights.dim();
    let of = |row: usize, column: usize| {
        let (rows, columns) = (row..(row + rows).min(n), column..(column + columns).min(m));
        let view = weights.slice(s![rows.clone(), columns.clone()]);
        Tile { rows, columns, weights: view }
    };
    (0..n).step_by(rows).flat_map(|row| (0..m).step_by(columns).map(move |column| of(row, column))).collect()
}

/// A random net's gradients by back-propagation against those by finite differences of the plain net.
fn check(net: &Net, targets: Targets<'_>, tiles: (usize, usize)) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let n = targets.len();
    let weights: Vec<_> = net.sizes.windows(2).map(|pair| random(pair[1], pair[0], &mut rng)).collect();
    let biases: Vec<Vec<f32>> =
        net.sizes[1..].iter().map(|size| random(1, *size, &mut rng).into_raw_vec_and_offset().0).collect();
    let layers: Vec<_> = weights
        .iter()
        .zip(&biases)
        .map(|(weights, bias)| Layer { tiles: cut(weights, tiles.0, tiles.1), bias: bias.clone() })
        .collect();
    let mut room = Room::new(net, n + 3);
    let inputs = random(n, net.sizes[0], &mut rng);
    room.inputs.slice_mut(s![..n, ..]).assign(&inputs);
    let mut found: Vec<(Array2<f32>, Vec<f32>)> =
        weights.iter().map(|weights| (Array2::zeros(weights.dim()), vec![0.0; weights.nrows()])).collect();
    let mut order = Vec::new();
    let score = net.step(&layers, (&mut room, targets), &mut rng, |number, gradient| {
        for Tile { rows, columns, .. } in &layers[number].tiles {
            let mut tile = vec![f32::NAN; rows.len() * columns.len()];
            gradient.weights(rows.clone(), columns.clone(), &mut tile);
            let tile = Array2::from_shape_vec((rows.len(), columns.len()), tile).unwrap();
            found[number].0.slice_mut(s![rows.clone(), columns.clone()]).assign(&tile);
        }
        gradient.bias(&mut found[number].1);
        order.push(number);
    });
    assert_eq!(order, (0..net.n_layers()).rev().collect::<Vec<_>>());
    let double = |x: &Array2<f32>| x.mapv(f64::from);
    let mut plain = Plain {
        net,
        layers: weights
            .iter()
            .zip(&biases)
            .map(|(w, b)| (double(w), b.iter().map(|x| f64::from(*x)).collect()))
            .collect(),
        kept: room.kept.iter().map(double).collect(),
    };
    let inputs = double(&inputs);
    let loss = plain.mean_loss(&inputs, &targets);
    assert!((score.loss / n as f64 - loss).abs() < 1e-5 * loss, "{} against {loss}", score.loss / n as f64);
    const H: f64 = 1e-6;
    let near = |found: f32, expected: f64, what: &str| {
        assert!((f64::from(found) - expected).abs() < 1e-5, "{what}: {found}, expected {expected}");
    };
    for (number, (of_weights, of_bias)) in found.iter().enumerate() {
        for ((k, j), gradient) in of_weights.indexed_iter() {
            let mut at = |by: f64| {
                plain.layers[number].0[[k, j]] += by;
                let loss = plain.mean_loss(&inputs, &targets);
                plain.layers[number].0[[k, j]] -= by;
                loss
            };
            near(*gradient, (at(H) - at(-H)) / (2.0 * H), &format!("weight {k}, {j} of layer {number}"));
        }
        for (k, gradient) in of_bias.iter().enumerate() {
            let mut at = |by: f64| {
                plain.layers[number].1[k] += by;
                let loss = plain.mean_loss(&inputs, &targets);
                plain.layers[number].1[k] -= by;
                loss
            };
            near(*gradient, (at(H) - at(-H)) / (2.0 * H), &format!("bias {k} of layer {number}"));
        }
    }
}

const CLASSES: Targets<'static> = Targets::Classes(&[0, 2, 1, 1, 0, 2, 2]);

fn net(activation: Activation, loss: Loss, dropout: f32) -> Net {
    Net { sizes: vec![5, 8, 6, 3], activation, loss, dropout }
}

#[test]
fn every_gradient_is_that_of_finite_differences() {
    for activation in Activation::ALL {
        for loss in [Loss::Softmax, Loss::Squared] {
            check(&net(activation, loss, 0.0), CLASSES, (100, 100));
        }
    }
    let one = Net { sizes: vec![4, 5, 1], ..net(Activation::Tanh, Loss::Squared, 0.0) };
    check(&one, Targets::Numbers(&[0.5, -1.0, 2.0, 0.0]), (100, 100));
    let linear = Net { sizes: vec![4, 3], ..net(Activation::Relu, Loss::Softmax, 0.0) };
    check(&linear, CLASSES, (100, 100));
}

#[test]
fn weights_in_tiles_of_any_size_have_the_same_gradients() {
    for tiles in [(1, 100), (4, 3), (3, 2)] {
        check(&net(Activation::Relu, Loss::Softmax, 0.0), CLASSES, tiles);
    }
}

#[test]
fn units_that_are_left_out_have_no_part_in_the_gradient_and_the_others_a_greater_one() {
    for activation in Activation::ALL {
        check(&net(activation, Loss::Softmax, 0.4), CLASSES, (100, 100));
    }
}

#[test]
fn as_many_units_are_left_out_as_was_asked_for_and_the_mean_stays() {
    let mut kept = vec![0.0; 100_001];
    leave_out(0.3, &mut Xoshiro256PlusPlus::seed_from_u64(1), &mut kept);
    let left_out = kept.iter().filter(|kept| **kept == 0.0).count() as f64 / kept.len() as f64;
    assert!((left_out - 0.3).abs() < 0.006, "{left_out}");
    let mean = kept.iter().map(|kept| f64::from(*kept)).sum::<f64>() / kept.len() as f64;
    assert!((mean - 1.0).abs() < 0.01, "{mean}");
}
