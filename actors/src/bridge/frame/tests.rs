use super::*;
use crate::bridge::batch::{Batch, Parcel};
use crate::bridge::wire::{Parts, Segment};
use proptest::prelude::*;
use std::sync::Arc;

fn segment() -> impl Strategy<Value = Segment> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..3000).prop_map(|v| Segment::Bytes(Arc::new(v))),
        proptest::collection::vec(any::<u32>(), 0..900).prop_map(|v| Segment::U32(Arc::new(v))),
        proptest::collection::vec(any::<u64>(), 0..40).prop_map(|v| Segment::U64(Arc::new(v))),
        proptest::collection::vec(any::<f32>(), 0..900).prop_map(|v| Segment::F32(Arc::new(v))),
        proptest::collection::vec(any::<f64>(), 0..40).prop_map(|v| Segment::F64(Arc::new(v))),
        proptest::collection::vec(any::<i32>(), 0..40).prop_map(|v| Segment::I32(Arc::new(v))),
    ]
}

fn parcel() -> impl Strategy<Value = Parcel> {
    let head = prop_oneof![
        9 => proptest::collection::vec(any::<u8>(), 0..200),
        1 => (65_000usize..66_000).prop_map(|n| vec![7; n]),
    ];
    let numbers = (any::<u32>(), any::<u64>(), any::<u64>());
    (head, proptest::collection::vec(segment(), 0..6), numbers).prop_map(|(head, segments, (a, b, c))| {
        let to = Address { generation: a, actor: Actor::of(4, a).unwrap() };
        let prefix = Prefix {
            to,
            sequence: b,
            acked: c,
            handled: b,
            correlation: c,
            name: b,
            ..Prefix::new(Kind::Ask)
        };
        Parcel::new(prefix, Parts { head, segments }).unwrap()
    })
}

fn bytes_of(parcels: &[Parcel], step: usize) -> Vec<u8> {
    let mut batch = Batch::default();
    parcels.iter().for_each(|parcel| batch.push(parcel.prefix, &parcel.parts));
    let mut bytes = Vec::new();
    while batch.bytes() > 0 {
        let n = {
            let slices = batch.slices();
            let all: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).take(step).collect();
            bytes.extend_from_slice(&all);
            all.len()
        };
        batch.wrote(n);
    }
    bytes
}

/// Feeds bytes in pieces; hands frames and the most that was asked for at once to `see`.
fn decode(bytes: &[u8], limits: Limits, step: usize) -> Result<Vec<Frame>, FrameError> {
    let (mut decoder, mut frames) = (Decoder::new(limits), Vec::new());
    for mut piece in bytes.chunks(step) {
        while !piece.is_empty() {
            frames.extend(decoder.feed(&mut piece)?);
            assert!(decoder.wants().len() <= limits.head + ENTRY * limits.segments + limits.body.max(PREFIX));
        }
    }
    Ok(frames)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn frames_come_out_as_they_went_in(
        parcels in proptest::collection::vec(parcel(), 1..4), out in 1usize..5000, step in 1usize..5000
    ) {
        let frames = decode(&bytes_of(&parcels, out), Limits::PEER, step).unwrap();
        prop_assert_eq!(frames.len(), parcels.len());
        for (frame, parcel) in frames.into_iter().zip(parcels) {
            prop_assert_eq!(frame.prefix, parcel.prefix);
            let mut segments = frame.segments;
            for (is, was) in segments.iter_mut().zip(&parcel.parts.segments) {
                prop_assert_eq!(&*is.bytes_mut(), was.bytes());
            }
            prop_assert_eq!(segments.len(), parcel.parts.segments.len());
            prop_assert_eq!(frame.head, parcel.parts.head);
        }
    }

    /// A body may be large, so its limit is small here: what is asked for never passes the limits.
    #[test]
    fn garbage_is_refused_or_waited_for(bytes in proptest::collection::vec(any::<u8>(), 0..400), step in 1usize..100) {
        decode(&bytes, Limits { head: 300, segments: 4, body: 1000 }, step).ok();
        decode(&bytes, Limits::STRANGER, step).ok();
    }

    /// The same near the truth: a frame with one byte changed.
    #[test]
    fn a_frame_with_a_wrong_byte_is_refused_or_another(
        mut parcel in parcel(), at: proptest::sample::Index, byte: u8
    ) {
        parcel.parts.head.truncate(usize::from(u16::MAX));
        let mut bytes = bytes_of(&[parcel], 1 << 20);
        let at = at.index(bytes.len().min(PREFIX + 300));
        bytes[at] = byte;
        decode(&bytes, Limits { head: 70_000, segments: 100, body: 200_000 }, 1 << 20).ok();
    }
}

#[test]
fn lengths_that_lie_are_refused_with_the_limit() {
    let read = |prefix: Prefix, limits| Prefix::read(&prefix.to_bytes(), &limits).unwrap_err().to_string();
    let prefix = Prefix { body: 1, ..Prefix::new(Kind::Hello) };
    assert_eq!(read(prefix, Limits::STRANGER), "a body of 1 bytes, at most 0 are allowed");
    let prefix = Prefix { head: 60_000, ..Prefix::new(Kind::Hello) };
    assert_eq!(read(prefix, Limits::STRANGER), "a head of 60000 bytes, at most 4096 are allowed");
    let prefix = Prefix { segments: 1 << 20, ..Prefix::new(Kind::Tell) };
    assert_eq!(read(prefix, Limits::PEER), "1048576 segments, at most 65536 are allowed");
    let prefix = Prefix { body: 3 << 30, ..Prefix::new(Kind::Tell) };
    assert_eq!(read(prefix, Limits::PEER), "a body of 3221225472 bytes, at most 1073741824 are allowed");
}

#[test]
fn a_table_that_does_not_add_up_is_refused() {
    let one = entry(Grain::F32, 8);
    assert_eq!(table(&one, 8).unwrap(), [(Grain::F32, 8)]);
    assert_eq!(table(&one, 12).unwrap_err(), FrameError::Sum { sum: 8, body: 12 });
    assert_eq!(table(&entry(Grain::F64, 12), 12).unwrap_err(), FrameError::Uneven { bytes: 12, width: 8 });
    assert_eq!(table(&[8, 0, 0, 0, 9, 0, 0, 0], 8).unwrap_err(), FrameError::Grain(9));
}

#[test]
fn a_head_that_is_too_large_for_its_place_travels_as_a_segment() {
    let parts = Parts { head: vec![1; 100_000], segments: vec![Segment::U32(Arc::new(vec![5]))] };
    let parcel = Parcel::new(Prefix::new(Kind::Tell), parts).unwrap();
    let mut frames = decode(&bytes_of(&[parcel], 1 << 20), Limits::PEER, 1 << 20).unwrap();
    let mut received = frames.remove(0).received().unwrap();
    assert_eq!(received.head().len(), 100_000);
    assert_eq!(received.take::<u32>().unwrap(), [5]);
}
