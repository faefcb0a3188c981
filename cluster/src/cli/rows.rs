//! Predictions as text: a table between tabs, or a JSON object a row.

use std::io::{Result, Write};

use serde_json::{Map, Value};
use slackline_apps::prediction::{Cell, Column, Kind, Predictions};

/// A header line and a line for each row. A tab, a line end or a backslash in a name is written `\t`, `\n` or `\\`.
pub(super) fn table(predictions: Predictions, to: &mut dyn Write) -> Result<()> {
    let Predictions { columns, rows, .. } = predictions;
    let mut line: String = columns.iter().map(|column| escaped(&column.name)).collect::<Vec<_>>().join("\t");
    writeln!(to, "{line}")?;
    for row in rows {
        line.clear();
        for (cell, column) in row.iter().zip(&columns) {
            if !line.is_empty() {
                line.push('\t');
            }
            match cell {
                Cell::Text(text) => line.push_str(&escaped(text)),
                Cell::Number(number) => line.push_str(&shortest(*number, column)),
            }
        }
        writeln!(to, "{line}")?;
    }
    Ok(())
}

/// An object for each row, with the columns as its keys.
pub(super) fn json(predictions: Predictions, to: &mut dyn Write) -> Result<()> {
    let Predictions { columns, rows, .. } = predictions;
    for row in rows {
        let entry = |(cell, column): (Cell, &Column)| {
            let value = match cell {
                Cell::Text(text) => text.into(),
                Cell::Number(number) => {
                    serde_json::from_str(&shortest(number, column)).unwrap_or(Value::Null)
                }
            };
            (column.name.clone(), value)
        };
        let object: Map<String, Value> = row.into_iter().zip(&columns).map(entry).collect();
        serde_json::to_writer(&mut *to, &object)?;
        writeln!(to)?;
    }
    Ok(())
}

/// The shortest text that reads back as the same number, of the precision of the column; small ones with an exponent.
fn shortest(number: f64, column: &Column) -> String {
    let plain = number == 0.0 || (1e-5..1e15).contains(&number.abs()) || !number.is_finite();
    match (column.kind, plain) {
        (Kind::Single, true) => (number as f32).to_string(),
        (Kind::Single, false) => format!("{:e}", number as f32),
        (_, true) => number.to_string(),
        (_, false) => format!("{number:e}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predictions() -> Predictions {
        let row =
            |id: &str, number: f64| vec![Cell::Text(id.into()), Cell::Number(number), Cell::Number(number)];
        Predictions {
            columns: vec![Column::name("id"), Column::double("a"), Column::single("b")],
            n_rows: 3,
            rows: Box::new([row("x\ty", 0.1), row("\"日\"", 3.0), row("z", 1.5e-9)].into_iter()),
        }
    }

    #[test]
    fn a_table_has_a_header_and_no_name_can_break_a_line() {
        let mut text = Vec::new();
        table(predictions(), &mut text).unwrap();
        let expected = "id\ta\tb\nx\\ty\t0.1\t0.1\n\"日\"\t3\t3\nz\t1.5e-9\t1.5e-9\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn a_row_of_json_is_an_object_of_the_columns() {
        let mut text = Vec::new();
        json(predictions(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], r#"{"id":"x\ty","a":0.1,"b":0.1}"#);
        assert_eq!(lines[1], r#"{"id":"\"日\"","a":3,"b":3}"#);
        let small: Value = serde_json::from_str(lines[2]).unwrap();
        assert_eq!(small["a"].as_f64(), Some(1.5e-9));
    }
}
