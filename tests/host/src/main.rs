//! Prints the version of the libpython that this program has loaded.

use std::ffi::{CStr, c_char};

// Links the library, and libpython with it.
use warmcell as _;

unsafe extern "C" {
    safe fn Py_GetVersion() -> *const c_char;
}

fn main() {
    // SAFETY: it is a static text that ends with a zero byte.
    let version = unsafe { CStr::from_ptr(Py_GetVersion()) };
    println!("{}", version.to_string_lossy());
}
