fn main() {
    if let Ok(libdir) = std::env::var("DEP_WARMCELL_LIBDIR") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{libdir}");
    }
}
