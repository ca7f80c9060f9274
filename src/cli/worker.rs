//! `warmcell worker`: what sessions in processes of their own run on. Hidden: nobody else has a use for it.

/// Run a session's worker or supervisor, for a host that holds the other end of standard input
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// `run` or `supervise`
    role: String,
}

pub(super) fn main(options: Options) -> anyhow::Result<u8> {
    Ok(warmcell::worker::main(&options.role))
}
