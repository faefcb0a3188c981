//! Predictions as a NumPy array, written as they are computed: version 1.0 of the format, C order.

use std::io::{Result, Write};

use slackline_apps::prediction::{Cell, Kind, Predictions};

/// The header ends where a multiple of this many bytes does.
const ALIGNMENT: usize = 64;

/// All columns but names: rows x columns, or one number a row where there is one column. Single precision if all are.
pub(super) fn write(predictions: Predictions, to: &mut dyn Write) -> Result<()> {
    let Predictions { columns, n_rows, rows } = predictions;
    let of_kind = |kind: Kind| columns.iter().filter(move |column| column.kind == kind).count();
    let n_columns = columns.len() - of_kind(Kind::Name);
    let single = of_kind(Kind::Single) == n_columns;
    let shape = if n_columns == 1 { format!("({n_rows},)") } else { format!("({n_rows}, {n_columns})") };
    let descriptor = if single { "<f4" } else { "<f8" };
    to.write_all(&header(descriptor, &shape))?;
    for row in rows {
        for (cell, _) in row.iter().zip(&columns).filter(|(_, column)| column.kind != Kind::Name) {
            let Cell::Number(number) = cell else { continue };
            match single {
                true => to.write_all(&(*number as f32).to_le_bytes())?,
                false => to.write_all(&number.to_le_bytes())?,
            }
        }
    }
    Ok(())
}

fn header(descriptor: &str, shape: &str) -> Vec<u8> {
    let mut header = b"\x93NUMPY\x01\x00\x00\x00".to_vec();
    header.extend(format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': {shape}, }}").bytes());
    header.resize((header.len() + 1).next_multiple_of(ALIGNMENT) - 1, b' ');
    header.push(b'\n');
    let length = u16::try_from(header.len() - 10).expect("a shape has few digits");
    header[8..10].copy_from_slice(&length.to_le_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, Array2};
    use ndarray_npy::ReadNpyExt;
    use slackline_apps::prediction::Column;

    fn written(columns: Vec<Column>) -> Vec<u8> {
        let cells = |row: usize| -> Vec<Cell> {
            let number = |column| Cell::Number((row * 10 + column) as f64 / 4.0);
            [Cell::Text("x".into())].into_iter().chain((1..columns.len()).map(number)).collect()
        };
        let rows: Vec<_> = (0..3).map(cells).collect();
        let mut bytes = Vec::new();
        write(Predictions { columns, n_rows: 3, rows: Box::new(rows.into_iter()) }, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn numbers_are_read_back_without_the_names() {
        let bytes = written(vec![Column::name("id"), Column::single("a"), Column::single("b")]);
        assert_eq!(bytes.len() % ALIGNMENT, 3 * 2 * 4);
        let array = Array2::<f32>::read_npy(&bytes[..]).unwrap();
        assert_eq!(array, ndarray::arr2(&[[0.25, 0.5], [2.75, 3.0], [5.25, 5.5]]));
        let bytes = written(vec![Column::name("id"), Column::double("a")]);
        assert_eq!(Array1::<f64>::read_npy(&bytes[..]).unwrap().to_vec(), [0.25, 2.75, 5.25]);
    }
}
