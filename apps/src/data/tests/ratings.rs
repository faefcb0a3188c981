//! Ratings text, read and refused.

use proptest::prelude::*;

use super::*;

fn read(text: impl AsRef<[u8]>) -> Ratings {
    read_ratings(&file(text).path, &quiet).unwrap()
}

fn triples(ratings: &Ratings) -> Vec<(String, String, f32)> {
    let pairs = ratings.users.iter().zip(&ratings.items).zip(&ratings.values);
    pairs
        .map(|((&user, &item), &value)| {
            (ratings.user_ids.id(user).into_owned(), ratings.item_ids.id(item).into_owned(), value)
        })
        .collect()
}

fn refused(text: impl AsRef<[u8]>) -> String {
    let kept = file(text);
    message(read_ratings(&kept.path, &quiet), &kept.path)
}

#[test]
fn every_separator_header_and_extra_column_is_understood() {
    let cases = [
        ("7\t9\t3.5\t881250949\n3\t9\t4\t881250950\n", Separator::Tab, false),
        ("7::9::3.5::978300760\r\n3::9::4::978302109\r\n", Separator::Colons, false),
        ("userId,movieId,rating,timestamp\n7,9,3.5,964982703\n3,9,4.0,964981247", Separator::Comma, true),
        (
            "\"user\";\"item\";\"rating\"\n\"7\";\"9\";\"3.5\"\n\"3\";\"9\";\"4\"\n",
            Separator::Semicolon,
            true,
        ),
        ("# note\n\n  7   9 3.5\n3 9\t4 \n", Separator::Blanks, false),
        ("7, 9, 3.5\n3, 9, 4\n", Separator::Comma, false),
    ];
    for (text, separator, header) in cases {
        let ratings = read(text);
        let wanted = [("7", "9", 3.5), ("3", "9", 4.0)].map(|(u, i, v)| (u.into(), i.into(), v));
        assert_eq!(triples(&ratings), wanted, "{text}");
        assert_eq!((ratings.facts.separator, ratings.facts.header), (Some(separator), header), "{text}");
        assert_eq!(ratings.users, [1, 0], "whole numbers count in ascending order");
    }
}

#[test]
fn ids_may_be_any_text() {
    let ratings = read("bob,\"Heat, the film\",5\nann,#2,1\nbob,naïve,2\n7,#2,3\n");
    assert_eq!(ratings.user_ids.iter().collect::<Vec<_>>(), ["bob", "ann", "7"]);
    assert_eq!(ratings.item_ids.iter().collect::<Vec<_>>(), ["Heat, the film", "#2", "naïve"]);
    assert_eq!((ratings.users, ratings.items), (vec![0, 1, 0, 2], vec![0, 1, 2, 1]));
}

#[test]
fn repeated_pairs_are_kept_and_counted() {
    let ratings = read("1 1 5\n2 1 4\n1 1 3\n1 2 3\n1 1 5\n");
    assert_eq!((ratings.values.len(), ratings.facts.repeated), (5, 2));
    assert_eq!(
        ratings.facts.to_string(),
        "ratings between spaces, 2 users x 2 items, 5 ratings from 3 to 5, 2 ratings of a repeated user and item (all kept)"
    );
}

#[test]
fn a_matrix_market_file_is_users_by_items() {
    let ratings = read("%%MatrixMarket matrix coordinate real general\n9 9 3\n9 2 4\n3 2 1.5\n9 8 2\n");
    assert_eq!(ratings.user_ids.iter().collect::<Vec<_>>(), ["3", "9"]);
    assert_eq!(
        (ratings.users, ratings.items, ratings.values),
        (vec![1, 0, 1], vec![0, 0, 1], vec![4., 1.5, 2.])
    );
}

#[test]
fn held_out_ratings_keep_unseen_ids_apart() {
    let train = read("10 1 5\n20 2 4\n");
    let kept = file("20 1 3\n30 2 3\n10 9 1\n30 2 3\n");
    let test = read_ratings_with(&kept.path, &train.user_ids, &train.item_ids, &quiet).unwrap();
    assert_eq!(test.users, [Some(1), None, Some(0), None]);
    assert_eq!(test.items, [Some(0), Some(1), None, Some(1)]);
    assert_eq!((test.facts.unseen_users, test.facts.unseen_items), (2, 1));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let first = "1 2 3\n\n";
    let cases = [
        ("1 2 nan", "the rating nan is not a finite number; drop the line or put a number in its place"),
        ("1 2 1e39", "the rating 1e39 is not a finite number; drop the line or put a number in its place"),
        ("1 2 x", "the rating x is not a number"),
        ("1 2", "1 2 has 2 of the 3 fields user, item and rating between spaces"),
        ("1", "1 has 1 of the 3 fields user, item and rating between spaces"),
    ];
    for (line, problem) in cases {
        assert_eq!(refused(format!("{first}{line}\n1 2 3\n")), format!(":3: {problem}"), "{line}");
    }
    assert_eq!(refused("1\t\t3\n"), ":1: the item is missing, expected user, item and rating");
    assert_eq!(refused("1,2,3\n,2,3\n"), ":2: the user is missing, expected user, item and rating");
    assert_eq!(refused("1,2,x\n"), ":1: the rating x is not a number");
    assert_eq!(
        refused("1,2,nan\n"),
        ":1: the rating nan is not a finite number; drop the line or put a number in its place"
    );
    assert_eq!(refused("bob Top Gun 5\n"), ":1: the rating Gun is not a number");
    assert_eq!(refused("u,i,r\nu,i,r\n"), ":2: the rating r is not a number");
    assert_eq!(
        refused(b"1,2,3\n\xE9,2,3\n"),
        ":2: the id is not UTF-8 text; convert the file with iconv -t UTF-8"
    );
    assert_eq!(refused(""), ": no ratings in the file, expected lines such as `user item rating`");
    assert_eq!(refused("a,b,c\n"), ": no ratings in the file, expected lines such as `user item rating`");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_was_written_is_read_however_many_threads_read(
        rows in prop::collection::vec(("[0-9]{1,4}|[a-z#é-]{1,5}", 0u64..u64::MAX, -50i16..50), 1..200),
        separator in prop::sample::select(vec!["\t", "::", ";", ",", " "]),
    ) {
        let rows: Vec<_> = rows.into_iter().map(|(u, i, v)| (format!("u{u}"), i.to_string(), f32::from(v) / 4.0)).collect();
        let text: String = rows.iter().map(|(u, i, v)| format!("{u}{separator}{i}{separator}{v}\n")).collect();
        let kept = file(text);
        let serial = read_ratings(&kept.path, &quiet).unwrap();
        prop_assert_eq!(triples(&serial), rows);
        let source = Source::open(&kept.path).unwrap().with_chunk_bytes(32);
        let parallel = super::super::ratings::read(source, 3, &quiet).unwrap().into_ratings();
        prop_assert_eq!(&parallel.user_ids, &serial.user_ids);
        prop_assert_eq!(&parallel.item_ids, &serial.item_ids);
        prop_assert_eq!((&parallel.users, &parallel.items), (&serial.users, &serial.items));
        prop_assert_eq!(parallel.facts, serial.facts);
    }
}
