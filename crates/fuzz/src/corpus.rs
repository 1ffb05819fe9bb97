//! The messages that fuzzing begins with, and inputs that once were findings: one file each, in a folder per target.

use nimbus_model::Rng;
use std::io;
use std::path::{Path, PathBuf};

use crate::Target;
use crate::runner::Finding;

/// Messages per target.
const MESSAGES: u64 = 6;

/// The folder of messages, in the sources of this crate.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The folder of former findings.
pub fn regressions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions")
}

/// The files of a target in one of the folders, by name; none when it has no folder.
pub fn load(folder: &Path, target: &Target) -> io::Result<Vec<Vec<u8>>> {
    let entries = match std::fs::read_dir(folder.join(target.name)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    paths.sort_unstable();
    paths.iter().map(std::fs::read).collect()
}

/// Makes the messages of a target anew; always the same ones.
pub fn make(folder: &Path, target: &Target) -> io::Result<()> {
    let mut rng = Rng::new(1);
    std::fs::create_dir_all(folder.join(target.name))?;
    for number in 0..MESSAGES {
        std::fs::write(folder.join(target.name).join(format!("{number}.bin")), (target.make)(&mut rng))?;
    }
    Ok(())
}

/// Writes a finding where the tests will find it, under a name that follows from its bytes.
pub fn store(folder: &Path, target: &Target, finding: &Finding) -> io::Result<PathBuf> {
    let mut mixer = nimbus_model::Mixer::new();
    mixer.bytes(&finding.input);
    let path = folder.join(target.name).join(format!("{:016x}.bin", mixer.finish()));
    std::fs::create_dir_all(folder.join(target.name))?;
    std::fs::write(&path, &finding.input)?;
    Ok(path)
}
