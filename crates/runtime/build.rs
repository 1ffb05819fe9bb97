//! Puts the built viewer into the binary. Without one the build still succeeds, and a plain page says what to do.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").ok_or(io::ErrorKind::NotFound)?);
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);
    let dist = here.join("../../web/dist");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={}", dist.display());
    // The files are copied, so that a viewer that is built anew meanwhile does not pull them away.
    let copies = out.join("viewer");
    if copies.exists() {
        fs::remove_dir_all(&copies)?;
    }
    fs::create_dir_all(&copies)?;
    let mut files = Vec::new();
    if dist.is_dir() {
        list(&dist, "", &mut files)?;
    }
    files.sort();
    let mut listing = String::from("&[\n");
    for (index, name) in files.iter().enumerate() {
        let copy = copies.join(index.to_string());
        fs::copy(dist.join(name), &copy)?;
        writeln!(listing, "    ({name:?}, include_bytes!({:?})),", copy.display().to_string())
            .map_err(io::Error::other)?;
    }
    listing.push_str("]\n");
    fs::write(out.join("viewer_files.rs"), listing)
}

fn list(folder: &Path, prefix: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{prefix}{name}/"), files)?;
        } else {
            files.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}
