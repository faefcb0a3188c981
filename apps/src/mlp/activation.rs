//! What a hidden unit makes of its sum.

/// The activation of hidden units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// `max(z, 0)`
    Relu,
    /// `1 / (1 + e⁻ᶻ)`
    Sigmoid,
    /// `tanh z`
    Tanh,
}

impl Activation {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Relu, Self::Sigmoid, Self::Tanh];

    /// As the option has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relu => "relu",
            Self::Sigmoid => "sigmoid",
            Self::Tanh => "tanh",
        }
    }

    /// Sums become outputs.
    pub fn apply(self, values: &mut [f32]) {
        match self {
            Self::Relu => values.iter_mut().for_each(|z| *z = z.max(0.0)),
            Self::Sigmoid => values.iter_mut().for_each(|z| *z = 1.0 / (1.0 + (-*z).exp())),
            Self::Tanh => values.iter_mut().for_each(|z| *z = z.tanh()),
        }
    }

    /// Multiplies what comes back to outputs by the slope there, which the output tells: what comes back to sums.
    pub fn back(self, outputs: &[f32], errors: &mut [f32]) {
        let pairs = errors.iter_mut().zip(outputs);
        match self {
            Self::Relu => pairs.for_each(|(error, y)| *error = if *y > 0.0 { *error } else { 0.0 }),
            Self::Sigmoid => pairs.for_each(|(error, y)| *error *= y * (1.0 - y)),
            Self::Tanh => pairs.for_each(|(error, y)| *error *= 1.0 - y * y),
        }
    }

    /// The bound of first weights, drawn evenly from -bound to bound, of a layer of `inputs` and `outputs`: He et al. (2015)
    /// for `relu`, variance `2 / inputs`; Glorot and Bengio (2010) for the others, variance `2 / (inputs + outputs)`.
    pub fn first_bound(self, inputs: usize, outputs: usize) -> f32 {
        let fan = match self {
            Self::Relu => inputs,
            Self::Sigmoid | Self::Tanh => inputs + outputs,
        };
        (6.0 / fan.max(1) as f32).sqrt()
    }
}
