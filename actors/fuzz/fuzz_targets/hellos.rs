//! Any hello and proof are refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| slackline::bridge::fuzz::hellos(bytes));
