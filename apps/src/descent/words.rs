//! Orders and reports as numbers, since between actors a task carries numbers: each list is written and read here.

use std::collections::BTreeMap;

use slackline::{Findings, VariableId};

use super::task::{Candidate, FocusReport, Orders, SweepReport};

/// Which variables of the schedule are the columns of which part: part after part.
#[derive(Debug, Clone)]
pub struct Layout {
    starts: Vec<u32>,
}

impl Layout {
    /// From the number of columns of each part.
    pub fn new(n_columns: impl IntoIterator<Item = usize>) -> Self {
        let starts = n_columns.into_iter().scan(0u32, |end, n| {
            let start = *end;
            *end += u32::try_from(n).expect("column indices are u32");
            Some(start)
        });
        Self { starts: starts.collect() }
    }

    /// First variable of each part.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The variable of a column of a part.
    pub fn variable(&self, part: usize, column: u32) -> VariableId {
        VariableId(self.starts[part] + column)
    }

    /// The part of a variable and its column there.
    pub fn column(&self, variable: VariableId) -> (usize, u32) {
        let part = self.starts.partition_point(|start| *start <= variable.0) - 1;
        (part, variable.0 - self.starts[part])
    }
}

/// Numbers of [`Orders`].
const ORDERS: usize = 7;

/// Orders as a task carries them.
pub fn write_orders(orders: &Orders) -> Vec<f64> {
    let Orders { lambda, ridge, intercept, quota, tolerance, max_epochs, sigma } = *orders;
    vec![lambda, ridge, intercept, quota as f64, tolerance, max_epochs as f64, sigma]
}

/// Columns in an order that matters, by the part they were worked on, or `None` for several at once.
pub type Arranged = BTreeMap<Option<usize>, Vec<VariableId>>;

/// Adds to orders the columns that the last focuses left in an order that matters.
pub fn write_arranged(arranged: &Arranged, orders: &mut Vec<f64>) {
    for (part, columns) in arranged {
        orders.extend([part.map_or(-1.0, |part| part as f64), columns.len() as f64]);
        orders.extend(columns.iter().map(|variable| f64::from(variable.0)));
    }
}

/// The columns that orders name in an order that matters, for one part or for several.
pub fn read_arranged(mut numbers: &[f64], part: Option<usize>, layout: &Layout) -> Vec<(u32, u32)> {
    let key = part.map_or(-1.0, |part| part as f64);
    numbers = numbers.get(ORDERS..).unwrap_or_default();
    while let [of, n, rest @ ..] = numbers {
        let (columns, others) = rest.split_at((*n as usize).min(rest.len()));
        if *of == key {
            let column = |variable: &f64| layout.column(VariableId(*variable as u32));
            return columns.iter().map(column).map(|(part, column)| (part as u32, column)).collect();
        }
        numbers = others;
    }
    Vec::new()
}

/// Orders as they were written.
///
/// # Panics
/// On a list that [`write_orders`] did not make.
pub fn read_orders(numbers: &[f64]) -> Orders {
    let [lambda, ridge, intercept, quota, tolerance, max_epochs, sigma, ..] = *numbers else {
        panic!("orders are seven numbers and more, not {}", numbers.len())
    };
    Orders {
        lambda,
        ridge,
        intercept,
        quota: quota as usize,
        tolerance,
        max_epochs: max_epochs as usize,
        sigma,
    }
}

/// What a sweep found, as its step tells it.
pub fn write_sweep(report: &SweepReport, layout: &Layout) -> Findings {
    let variable = |candidate: &Candidate| layout.variable(report.part, candidate.column);
    let with_value = report.candidates.iter().filter(|candidate| candidate.value != 0.0);
    Findings {
        cost: report.loss,
        sums: vec![
            report.loss,
            report.intercept,
            report.l1,
            report.square,
            report.steepest,
            report.scale,
            report.dual,
            report.excess,
            report.violation,
            report.violators as f64,
            report.nonzero as f64,
            report.visited as f64,
        ],
        priorities: report.candidates.iter().map(|c| (variable(c), c.priority)).collect(),
        values: with_value.map(|c| (variable(c), c.value)).collect(),
    }
}

/// What a sweep over `part` found, from what its step told.
///
/// # Panics
/// On findings that [`write_sweep`] did not make.
pub fn read_sweep(part: usize, findings: &Findings, layout: &Layout) -> SweepReport {
    let [loss, intercept, l1, square, steepest, scale, dual, excess, violation, violators, nonzero, visited] =
        findings.sums[..]
    else {
        panic!("a sweep tells twelve numbers, not {}", findings.sums.len())
    };
    let mut values = findings.values.iter().peekable();
    let mut candidate = |(variable, priority): &(VariableId, f32)| Candidate {
        column: layout.column(*variable).1,
        priority: *priority,
        value: values.next_if(|(with_value, _)| with_value == variable).map_or(0.0, |(_, value)| *value),
    };
    SweepReport {
        part,
        loss,
        intercept,
        l1,
        square,
        steepest,
        scale,
        dual,
        excess,
        violation,
        violators: violators as usize,
        nonzero: nonzero as usize,
        visited: visited as usize,
        candidates: findings.priorities.iter().map(&mut candidate).collect(),
    }
}

/// What a focus did, as its step tells it.
pub fn write_focus(report: &FocusReport) -> Findings {
    let FocusReport { arrival, departure, epochs, products, nonzero } = *report;
    let sums = vec![arrival, departure, epochs as f64, products as f64, nonzero as f64];
    Findings { sums, ..Findings::default() }
}

/// What a focus did. One that a schedule split up tells sums: violations that are too large, never too small.
///
/// # Panics
/// On findings that [`write_focus`] did not make.
pub fn read_focus(findings: &Findings) -> FocusReport {
    let [arrival, departure, epochs, products, nonzero] = findings.sums[..] else {
        panic!("a focus tells five numbers, not {}", findings.sums.len())
    };
    FocusReport {
        arrival,
        departure,
        epochs: epochs as usize,
        products: products as usize,
        nonzero: nonzero as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descent::task::ACTIVE;

    #[test]
    fn a_variable_is_one_column_of_one_part_also_beside_empty_parts() {
        let layout = Layout::new([3, 0, 2]);
        assert_eq!(layout.variable(2, 1), VariableId(4));
        assert_eq!(layout.column(VariableId(4)), (2, 1));
        assert_eq!(layout.column(VariableId(2)), (0, 2));
        assert_eq!(layout.column(VariableId(3)), (2, 0));
    }

    #[test]
    fn reports_and_orders_read_as_they_were_written() {
        let layout = Layout::new([10, 10]);
        let candidate = |column, priority, value| Candidate { column, priority, value };
        let report = SweepReport {
            part: 1,
            loss: 0.5,
            scale: 0.9,
            violators: 3,
            visited: 7,
            candidates: vec![candidate(2, 1.5, 0.0), candidate(4, ACTIVE, -0.25), candidate(9, 0.95, 0.0)],
            ..SweepReport::default()
        };
        assert_eq!(read_sweep(1, &write_sweep(&report, &layout), &layout), report);
        let focus = FocusReport { arrival: 0.1, departure: 0.01, epochs: 5, products: 2, nonzero: 9 };
        assert_eq!(read_focus(&write_focus(&focus)), focus);
        let orders = Orders {
            lambda: 0.1,
            ridge: 0.0,
            intercept: -1.0,
            quota: 100,
            tolerance: 1e-3,
            max_epochs: 7,
            sigma: 2.0,
        };
        assert_eq!(read_orders(&write_orders(&orders)), orders);
    }
}
