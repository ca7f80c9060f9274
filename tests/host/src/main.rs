//! A host in a package of its own: runs one cell and prints its outcome.

use warmcell::{Language, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = Session::builder(Language::Python).open_blocking()?;
    let outcome = session.run("1 + 1".into())?.wait();
    println!("{}", serde_json::to_string(&outcome)?);
    Ok(())
}
