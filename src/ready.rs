//! The ready-made capabilities, as clients and flags ask for them; a build without them refuses them by name.

use std::path::Path;

use warmcell::{Capability, RuntimeError};

/// The capability of a name, in a folder.
#[cfg(feature = "capabilities")]
pub(crate) fn named(name: &str, folder: &Path) -> Result<Capability, RuntimeError> {
    warmcell::capabilities::named(name, folder)
}

#[cfg(not(feature = "capabilities"))]
pub(crate) fn named(name: &str, _: &Path) -> Result<Capability, RuntimeError> {
    Err(not_built(name, "capabilities"))
}

/// The capability that reaches these hosts.
#[cfg(feature = "http")]
pub(crate) fn http(hosts: Vec<String>) -> Result<Capability, RuntimeError> {
    warmcell::capabilities::http(hosts)
}

#[cfg(not(feature = "http"))]
pub(crate) fn http(_: Vec<String>) -> Result<Capability, RuntimeError> {
    Err(not_built("http", "http"))
}

#[cfg(not(feature = "http"))]
fn not_built(name: &str, feature: &str) -> RuntimeError {
    RuntimeError::InvalidOption(format!(
        "this build has no capability `{name}`\nhint: build warmcell with the feature `{feature}`"
    ))
}
