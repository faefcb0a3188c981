//! Any head and segments are a message of the ring, or refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| slackline::bridge::fuzz::messages(bytes));
