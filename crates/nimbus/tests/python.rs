//! The example in another language, which knows nothing but the page about the protocol, against the real binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A world that ends with the test.
struct Served {
    process: Child,
    port: String,
}

impl Served {
    fn start() -> Served {
        let mut process = Command::new(env!("CARGO_BIN_EXE_nimbus"))
            .arg("run")
            .arg(examples().join("hello.toml"))
            .args(["--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let port = first.split("http://127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next());
        let port = port.unwrap_or_else(|| panic!("no address in {first}")).to_owned();
        Served { process, port }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Runs the example; none where there is no Python.
fn throw(port: &str) -> Option<Output> {
    let script = examples().join("python/throw.py");
    let run = Command::new("python3").arg("-B").arg(script).args(["127.0.0.1", port]).output();
    if run.is_err() {
        println!("skipped: python3 is not on PATH");
    }
    run.ok()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_client_with_python_throws_a_ball_and_asks_where_it_is() {
    let world = Served::start();
    let Some(output) = throw(&world.port) else { return };
    let said = said(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for part in ["world `hello`", "2 regions", "x cuboid", "threw ball", "the ray meets", "nearest to where the ball"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_client_with_python_says_when_there_is_no_gateway() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let Some(output) = throw(&free) else { return };
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("throw: ") && !said.contains("Traceback"), "{said}");
}
