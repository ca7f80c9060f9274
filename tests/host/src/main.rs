//! Prints the version of the libpython that this program has loaded, and what a cell returns.

use std::error::Error;
use std::ffi::{CStr, c_char};

use warmcell::{Language, Session};

unsafe extern "C" {
    safe fn Py_GetVersion() -> *const c_char;
}

fn main() -> Result<(), Box<dyn Error>> {
    // SAFETY: it is a static text that ends with a zero byte.
    let version = unsafe { CStr::from_ptr(Py_GetVersion()) };
    println!("{}", version.to_string_lossy());
    let session = Session::builder(Language::Python).open_blocking()?;
    let outcome = session.run("1 + 1".into())?.wait();
    println!("{}", outcome.value.ok_or("the cell has no value")?);
    Ok(())
}
