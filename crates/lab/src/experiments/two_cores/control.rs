//! The control: one server whose engine steps on two threads. The engine is built for threads or for one, and ours is
//! built for one, so the control is a program of its own that is built when the experiment needs it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::measure::{Rain, Tried};
use crate::cluster_run::unix_us;
use crate::experiment::LabError;
use nimbus_model::world_file;

/// Names a program that has been built already, for machines without the sources.
const PROGRAM: &str = "NIMBUS_ONE_SERVER";
const THREADS: &str = "2";

/// The program.
pub(super) struct Control(PathBuf);

impl Control {
    /// Builds it, in the way in which this program was built.
    pub(super) fn build() -> Result<Control, LabError> {
        if let Some(program) = std::env::var_os(PROGRAM) {
            return Ok(Control(program.into()));
        }
        let failed = |why: &str| LabError::Failed(format!("cannot build the control ({why}); name one with {PROGRAM}"));
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut cargo = Command::new("cargo");
        cargo.current_dir(root).args(["build", "-q", "-p", "nimbus-node", "--example", "one_server"]);
        cargo.args(["--features", "parallel", "--message-format", "json-render-diagnostics"]);
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        let output = cargo.output().map_err(|error| failed(&error.to_string()))?;
        let told = String::from_utf8_lossy(&output.stdout);
        let executable = told.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let executable =
            executable.filter_map(|message| Some(message.get("executable")?.as_str()?.to_owned())).next_back();
        match executable {
            Some(path) if output.status.success() => Ok(Control(path.into())),
            _ => Err(failed(&String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// Lets it rain on it.
    pub(super) fn try_out(&self, rain: Rain, scale: f32) -> Result<Tried, LabError> {
        let failed = |why: String| LabError::Failed(format!("the control gave no result: {why}"));
        let path = std::env::temp_dir().join(format!("nimbus-lab-{}-{}.toml", std::process::id(), unix_us()));
        std::fs::write(&path, world_file::write(&rain.world(1, scale))).map_err(|error| failed(error.to_string()))?;
        let (first, last) = rain.ticks();
        let output = Command::new(&self.0)
            .arg(&path)
            .args([first.0.to_string(), last.0.to_string()])
            .env("RAYON_NUM_THREADS", THREADS)
            .output();
        _ = std::fs::remove_file(&path);
        let output = output.map_err(|error| failed(error.to_string()))?;
        let told = String::from_utf8_lossy(&output.stdout);
        let numbers: Vec<u64> = told.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        match numbers.as_slice() {
            [_, _, _, _, _, 1] => Err(failed("it was built without the feature `parallel`".to_owned())),
            &[p50_us, p99_us, ticks, ticks_lost, bodies, _] => {
                Ok(Tried { bodies, p50_ms: p50_us as f64 / 1e3, p99_ms: p99_us as f64 / 1e3, ticks, ticks_lost })
            }
            _ => Err(failed(String::from_utf8_lossy(&output.stderr).into_owned())),
        }
    }
}
