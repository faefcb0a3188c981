//! The state of a schedule or a guide as bytes: its name, a version, then MessagePack of a plain struct.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes `state` as the state of `what`, in its version `version`.
///
/// # Errors
/// A sentence where the state cannot be written.
pub fn pack<T: Serialize>(what: &str, version: u32, state: &T) -> Result<Vec<u8>, String> {
    let refuse = |error: rmp_serde::encode::Error| format!("the state of {what} cannot be written: {error}");
    let mut bytes = rmp_serde::to_vec(&(what, version)).map_err(refuse)?;
    rmp_serde::encode::write_named(&mut bytes, state).map_err(refuse)?;
    Ok(bytes)
}

/// Reads what [`pack`] wrote under the same name and version.
///
/// # Errors
/// A sentence: the state of something else, of another version, or no state at all.
pub fn unpack<T: DeserializeOwned>(what: &str, version: u32, bytes: &[u8]) -> Result<T, String> {
    let torn = |error: rmp_serde::decode::Error| format!("the state of {what} cannot be read: {error}");
    let mut reader = rmp_serde::Deserializer::new(bytes);
    let (name, found): (String, u32) = Deserialize::deserialize(&mut reader).map_err(torn)?;
    if name != what {
        return Err(format!("the state is that of {name}, expected {what}"));
    }
    if found != version {
        return Err(format!("the state of {what} has version {found}, this program reads version {version}"));
    }
    let state = T::deserialize(&mut reader).map_err(torn)?;
    match reader.get_ref().len() {
        0 => Ok(state),
        more => Err(format!("the state of {what} has {more} bytes too many")),
    }
}

/// Bytes inside a state, such as the state of a wrapped schedule: one run, not a list of numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Run;
        impl Visitor<'_> for Run {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
            fn visit_byte_buf<E: serde::de::Error>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }
            fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<Bytes, E> {
                Err(E::custom("text where bytes were expected"))
            }
        }
        deserializer.deserialize_byte_buf(Run).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_reads_as_it_was_written_and_under_no_other_name_or_version() {
        let bytes = pack("rotation", 2, &(Bytes(vec![0, 200]), 1.5)).unwrap();
        assert_eq!(unpack("rotation", 2, &bytes), Ok((Bytes(vec![0, 200]), 1.5)));
        let why = |what, version, bytes: &[u8]| unpack::<(Bytes, f64)>(what, version, bytes).unwrap_err();
        assert_eq!(why("fixed", 2, &bytes), "the state is that of rotation, expected fixed");
        let expected = "the state of rotation has version 2, this program reads version 3";
        assert_eq!(why("rotation", 3, &bytes), expected);
        assert!(why("rotation", 2, &bytes[..bytes.len() - 1]).starts_with("the state of rotation cannot"));
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(why("rotation", 2, &longer), "the state of rotation has 1 bytes too many");
    }
}
