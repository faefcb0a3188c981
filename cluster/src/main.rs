//! The `slackline` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    slackline_cluster::cli::run(slackline_apps::catalog::apps(), std::env::args_os().collect())
}
