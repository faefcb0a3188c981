//! How the rate changes in the course of a run.

/// The course of the rate from the first step to the last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Course {
    /// The same all along.
    Constant,
    /// Multiplied by this once a pass, in small parts at every step.
    Decay(f64),
    /// Half a cosine from the first rate down to 0 (Loshchilov and Hutter 2017, without restarts).
    Cosine,
}

/// The rate of every step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// The first rate, more than 0.
    pub first: f64,
    /// How it goes on.
    pub course: Course,
    /// Steps of a pass, 1 or more.
    pub pass: u64,
    /// Passes, 1 or more.
    pub passes: u64,
}

impl Rates {
    /// The rate of a step, numbered from 1; steps beyond the last have its rate.
    pub fn at(&self, step: u64) -> f32 {
        let all = self.pass.saturating_mul(self.passes);
        let before = step.saturating_sub(1).min(all.saturating_sub(1)) as f64;
        let rate = match self.course {
            Course::Constant => self.first,
            Course::Decay(factor) => self.first * factor.powf(before / self.pass as f64),
            Course::Cosine => self.first * 0.5 * (1.0 + (std::f64::consts::PI * before / all as f64).cos()),
        };
        rate as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(course: Course, step: u64) -> f32 {
        Rates { first: 0.5, course, pass: 10, passes: 4 }.at(step)
    }

    #[test]
    fn a_constant_rate_stays() {
        assert_eq!([1, 17, 40].map(|step| at(Course::Constant, step)), [0.5; 3]);
    }

    #[test]
    fn a_decay_multiplies_the_rate_once_a_pass() {
        assert_eq!([1, 11, 21, 31].map(|step| at(Course::Decay(0.5), step)), [0.5, 0.25, 0.125, 0.0625]);
        assert!((at(Course::Decay(0.25), 6) - 0.25).abs() < 1e-7, "half a pass multiplies by the root");
    }

    #[test]
    fn a_cosine_falls_from_the_first_rate_through_half_of_it_to_almost_nothing() {
        assert_eq!((at(Course::Cosine, 1), at(Course::Cosine, 21)), (0.5, 0.25));
        assert!(at(Course::Cosine, 40) > 0.0 && at(Course::Cosine, 40) < 0.001);
        assert_eq!(at(Course::Cosine, 41), at(Course::Cosine, 40), "there is no step beyond the last");
    }
}
