//! Any bytes are frames, or refused: before the proof, and after it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| slackline::bridge::fuzz::frames(bytes));
