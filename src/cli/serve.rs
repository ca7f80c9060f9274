//! `warmcell serve`.

use std::path::PathBuf;

use anyhow::Context;

use super::descriptors;
use super::signals::Input;
use crate::serve;

/// Serve sessions to another program: JSON-RPC 2.0, one message a line, on standard input and output
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Where sessions that name no folder keep what is too large for an outcome [default: nowhere]
    #[arg(long, value_name = "FOLDER")]
    artifacts: Option<PathBuf>,
}

pub(super) fn main(options: Options) -> anyhow::Result<u8> {
    // Before anything else: from here on no cell can reach the protocol.
    let input = descriptors::take_stdin().context("cannot use standard input")?;
    let output = descriptors::take_stdout().context("cannot use standard output")?;
    let input = Input::new(input).context("cannot listen for signals")?;
    serve::serve(input, output, options.artifacts)?;
    Ok(0)
}
