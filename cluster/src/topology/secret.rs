//! Where the token of a cluster comes from: the environment or a file; never a flag, never the topology itself.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use slackline::cluster::Token;

use super::Topology;
use crate::Error;

/// The variable that holds the token.
pub(super) const VARIABLE: &str = "SLACKLINE_TOKEN";

/// A longer file is not a token.
const LONGEST: u64 = 4096;

/// Random bytes of a token that is made for one run.
const BYTES: usize = 32;

fn variable() -> Option<std::ffi::OsString> {
    std::env::var_os(VARIABLE).filter(|value| !value.is_empty())
}

/// The token of the environment, or else of the topology's file, if there is one.
///
/// # Errors
/// It cannot be read, or could be guessed. The token itself is never shown.
pub(crate) fn configured(topology: &Topology) -> Result<Option<Token>, Error> {
    if let Some(text) = variable() {
        let text = text.into_string().map_err(|_| Error::Usage(format!("{VARIABLE} is not valid UTF-8")))?;
        return Token::new(&text).map(Some).map_err(|why| Error::Usage(format!("{VARIABLE}: {why}")));
    }
    topology.token_file.as_deref().map(from_file).transpose()
}

/// The token in a file.
pub(crate) fn from_file(path: &Path) -> Result<Token, Error> {
    let problem = |why: String| Error::Usage(format!("the token file {}: {why}", path.display()));
    let mut text = String::new();
    let file = File::open(path).map_err(|error| problem(error.to_string()))?;
    file.take(LONGEST).read_to_string(&mut text).map_err(|error| problem(error.to_string()))?;
    Token::new(&text).map_err(problem)
}

/// A token for one run.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn generated() -> Result<String, Error> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; BYTES];
    File::open(path).and_then(|mut file| file.read_exact(&mut bytes)).map_err(Error::file(path))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
