use super::*;

const PACE: Pace = Pace { rate: 0.1, decay: 0.0 };

/// The weight 1 after these gradients.
fn after(optimizer: Optimizer, gradients: &[f32], pace: Pace) -> f32 {
    let (mut weights, mut kept) = (vec![1.0; 37], vec![0.0; optimizer.n_kept(37)]);
    for (step, gradient) in gradients.iter().enumerate() {
        optimizer.fold((&mut weights, &[*gradient; 37]), &mut kept, &[], (step as u64 + 1, pace));
    }
    assert!(weights.iter().all(|weight| *weight == weights[0]), "every lane does the same");
    weights[0]
}

fn near(found: f32, expected: f64) {
    assert!((f64::from(found) - expected).abs() < 1e-6, "{found}, expected {expected}");
}

#[test]
fn descent_moves_against_the_gradient_and_decay_towards_zero() {
    let plain = Optimizer::Sgd { momentum: 0.0 };
    near(after(plain, &[2.0], PACE), 0.8);
    near(after(plain, &[0.0, 0.0], Pace { rate: 0.1, decay: 0.5 }), 0.95 * 0.95);
}

#[test]
fn momentum_sums_up_to_the_gradient_divided_by_one_less_mu() {
    let optimizer = Optimizer::Sgd { momentum: 0.5 };
    near(after(optimizer, &[1.0, 1.0, 1.0], PACE), 1.0 - 0.1 * (1.0 + 1.5 + 1.75));
}

#[test]
fn adagrad_divides_by_the_root_of_the_sum_of_squares() {
    near(after(Optimizer::AdaGrad, &[3.0, 4.0], PACE), 1.0 - 0.1 * (1.0 + 4.0 / 5.0));
}

#[test]
fn adam_follows_the_algorithm_of_its_paper() {
    let (mut m, mut v, mut w) = (0.0f64, 0.0f64, 1.0f64);
    let gradients = [0.5, -2.0, 0.25, 1.0, 1.0];
    for (t, g) in gradients.iter().enumerate() {
        let (g, t) = (f64::from(*g) + 0.01 * w, t as i32 + 1);
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        w -= 0.1 * (m / (1.0 - 0.9f64.powi(t))) / ((v / (1.0 - 0.999f64.powi(t))).sqrt() + 1e-8);
    }
    near(after(Optimizer::Adam, &gradients, Pace { rate: 0.1, decay: 0.01 }), w);
    near(after(Optimizer::Adam, &[1e-3], PACE), 0.9); // the first step is as long as the rate, whatever the gradient
}

/// AdaRevision word for word as the paper's algorithm 1 has it, for one coordinate: `old` is the sum of all gradients as it
/// was when the weight was read.
struct Paper {
    w: f64,
    z: f64,
    largest: f64,
    sum: f64,
}

impl Paper {
    fn fold(&mut self, g: f64, old: f64) {
        let back = self.sum - old;
        let before = 0.1 / self.largest.sqrt();
        self.z += g * g + 2.0 * g * back;
        self.largest = self.largest.max(self.z);
        let after = 0.1 / self.largest.sqrt();
        self.w = self.w - after * g + (before - after) * back;
        self.sum += g;
    }
}

#[test]
fn adarevision_follows_the_algorithm_of_its_paper_for_late_gradients() {
    let optimizer = Optimizer::AdaRevision;
    let (mut weights, mut kept) = ([1.0f32], vec![0.0; 2]);
    let mut paper = Paper { w: 1.0, z: 1.0, largest: 1.0, sum: 0.0 };
    // (gradient, how many of those before it its maker had read)
    let late: [(f32, usize); 6] = [(1.0, 0), (2.0, 0), (-0.5, 1), (1.5, 3), (-3.0, 2), (0.5, 5)];
    let mut folded: Vec<[f32; 1]> = Vec::new();
    for (step, (gradient, read)) in late.into_iter().enumerate() {
        let since: Vec<&[f32]> = folded[read..].iter().map(|gradient| &gradient[..]).collect();
        optimizer.fold((&mut weights, &[gradient]), &mut kept, &since, (step as u64 + 1, PACE));
        paper.fold(f64::from(gradient), folded[..read].iter().map(|g| f64::from(g[0])).sum());
        folded.push([gradient]);
        near(weights[0], paper.w);
    }
}

#[test]
fn the_steps_taken_are_kept_beside_a_page() {
    let rates = Rates { first: 0.1, course: Course::Decay(0.5), pass: 1, passes: 10 };
    let fold = Fold { optimizer: Optimizer::Sgd { momentum: 0.0 }, rates, decay: 0.0 };
    let (mut weights, mut kept) = ([1.0], vec![0.0]);
    (0..3).for_each(|_| fold.step(&mut weights, &[1.0], &mut kept, &[]));
    near(weights[0], 1.0 - 0.1 - 0.05 - 0.025);
    assert_eq!(kept[0].to_bits(), 3);
}
