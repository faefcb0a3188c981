//! Labels as classes: which there are, and which one a sample has.

use std::path::Path;

use crate::Error;
use crate::data::{LabelSet, text};

/// Most classes that are not taken for a mistake (such as the targets of a regression).
const MOST: usize = LabelSet::FEW;
const FILE: &str = "classes.txt";

/// The distinct labels, ascending: class `k` is the `k`-th of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Classes(pub Vec<f64>);

impl Classes {
    /// The classes of training labels.
    ///
    /// # Errors
    /// Fewer than two classes, or so many that they cannot be meant as classes.
    pub fn of(labels: &[f64], path: &Path) -> Result<Self, Error> {
        let refuse = |problem: String| Err(Error::Data { path: path.to_owned(), problem });
        let mut distinct = labels.to_vec();
        distinct.sort_unstable_by(f64::total_cmp);
        distinct.dedup();
        match distinct.len() {
            0 => refuse("has no samples".to_owned()),
            1 => {
                refuse(format!("every sample has the label {}: there is nothing to tell apart", distinct[0]))
            }
            2..=MOST => Ok(Self(distinct)),
            n => refuse(format!(
                "has {n} different labels, expected at most {MOST} classes; is this a regression?"
            )),
        }
    }

    /// How many there are.
    pub fn n(&self) -> usize {
        self.0.len()
    }

    /// The class of a label, if it is one of them.
    pub fn class(&self, label: f64) -> Option<u32> {
        let place = self.0.binary_search_by(|class| class.total_cmp(&label)).ok();
        place.map(|place| place as u32)
    }

    /// Labels of two classes as −1 and 1, the larger being 1.
    pub fn signs(&self, labels: &[f64]) -> Vec<f64> {
        labels.iter().map(|label| if *label >= self.0[1] { 1.0 } else { -1.0 }).collect()
    }

    /// For `model/`: a label a line.
    pub fn text(&self) -> (String, Vec<String>) {
        (FILE.to_owned(), self.0.iter().map(ToString::to_string).collect())
    }

    /// The classes of a written model.
    ///
    /// # Errors
    /// A folder that holds no such model.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let parse = |line: &String| line.parse::<f64>().ok();
        let classes: Option<Vec<f64>> = text::read_lines(&path)?.iter().map(parse).collect();
        classes.filter(|classes| classes.len() >= 2).map(Self).ok_or_else(|| Error::Data {
            path,
            problem: "does not list two or more labels: is this a model of logistic?".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_two_labels_are_used_the_larger_is_the_positive_class() {
        for labels in [[0.0, 1.0], [-1.0, 1.0], [1.0, 2.0]] {
            let classes = Classes::of(&[labels[1], labels[0], labels[1]], Path::new("x")).unwrap();
            assert_eq!(classes.signs(&labels), [-1.0, 1.0]);
            assert_eq!((classes.class(labels[1]), classes.class(7.5)), (Some(1), None));
        }
    }

    #[test]
    fn one_label_and_a_regression_are_refused() {
        let error = |labels: &[f64]| Classes::of(labels, Path::new("a.svm")).unwrap_err().to_string();
        assert_eq!(error(&[3.0, 3.0]), "a.svm: every sample has the label 3: there is nothing to tell apart");
        let many: Vec<f64> = (0..2000).map(f64::from).collect();
        assert!(error(&many).contains("2000 different labels"));
    }
}
