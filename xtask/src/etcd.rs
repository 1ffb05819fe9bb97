//! etcd for the tests that need one: the one on PATH, or Debian's, unpacked into the target folder.
//!
//! Debian's package is not installed, because that would also start a service. Unpacked, it needs nothing but the C library.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::browser::on_path;
use crate::process;

/// What the names of tests that need etcd have in common.
pub(crate) const TESTS: &str = "with_etcd";

/// PATH for the tests, on which etcd is; or why there is none.
pub(crate) fn path(root: &Path) -> Result<OsString, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if on_path("etcd").is_some() {
        return Ok(path);
    }
    let folder = root.join("target/xtask/etcd");
    let program = folder.join("usr/bin/etcd");
    if !program.is_file() {
        unpack(&folder)?;
    }
    if process::answer(Command::new(&program).arg("--version")).is_none() {
        return Err(format!("{} does not run; install etcd 3.4 or newer on PATH", program.display()));
    }
    let folders = std::iter::once(folder.join("usr/bin")).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).map_err(|error| format!("PATH: {error}"))
}

/// Fetches Debian's package and unpacks it.
fn unpack(folder: &Path) -> Result<(), String> {
    let missing = "etcd is not on PATH; install it (Debian and Ubuntu: `apt-get install etcd-server`)";
    if on_path("apt-get").is_none() || on_path("dpkg-deb").is_none() {
        return Err(missing.to_string());
    }
    println!("fetching etcd with apt-get");
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let fetch = || process::run(Command::new("apt-get").args(["download", "etcd-server"]).current_dir(folder));
    if fetch().is_err() {
        // The lists of packages may be missing; only root can get them.
        process::run(Command::new("apt-get").arg("update")).map_err(|problem| format!("{missing} ({problem})"))?;
        fetch().map_err(|problem| format!("{missing} ({problem})"))?;
    }
    let package = package_in(folder).ok_or_else(|| missing.to_string())?;
    process::run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(folder))
}

/// The package in a folder.
fn package_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let is_package = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("etcd-server") && name.ends_with(".deb")
    };
    entries.filter(is_package).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_is_told_from_other_files() {
        let folder = std::env::temp_dir().join(format!("nimbus-xtask-etcd-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("etcd-server.log"), "").unwrap();
        fs::write(folder.join("other.deb"), "").unwrap();
        assert_eq!(package_in(&folder), None);
        let package = folder.join("etcd-server_3.4.23-4_amd64.deb");
        fs::write(&package, "").unwrap();
        assert_eq!(package_in(&folder), Some(package));
        fs::remove_dir_all(&folder).unwrap();
    }
}
