//! The browser tests: a real Chromium against a real `nimbus demo`.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::count::{self, Tally};
use crate::process::{self, Child};
use crate::{clock, suite, web};

/// Names under which the browser is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// How long the demo may take to answer; debug builds load their scene slowly on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How long the demo may take to stop after Ctrl-C.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Runs the browser tests from nothing: browser, binary, demo, tests, and an orderly stop.
pub(crate) fn run(root: &Path) -> (Tally, Result<(), String>) {
    let mut tally = Tally::default();
    let result = prepare(root).and_then(|(chromium, nimbus)| {
        let demo = Demo::start(root, &nimbus)?;
        let screenshot = root.join("target/screenshots/demo.png");
        create_folder_of(&screenshot)?;
        let mut tests = web::npm(root);
        tests
            .args(["run", "e2e"])
            .env("NIMBUS_URL", demo.url())
            .env("NIMBUS_BIN", &nimbus)
            .env("NIMBUS_SCREENSHOT", &screenshot)
            .env("CHROMIUM", chromium);
        let (counted, result) = process::run_counted(&mut tests, count::web_line);
        tally = counted;
        result.map_err(|problem| format!("{problem}\n{}", demo.last_words()))?;
        demo.stop()
    });
    (tally, result)
}

fn prepare(root: &Path) -> Result<(PathBuf, PathBuf), String> {
    let chromium = chromium()?;
    println!("browser: {}", chromium.display());
    // The whole workspace is selected so that features, and with them the artefacts, are those of the other steps.
    process::run(suite::in_root(root).args(["build", "--workspace", "--bin", "nimbus"]))?;
    Ok((chromium, target_folder(root)?.join("debug/nimbus")))
}

/// A demo that was started for the tests.
struct Demo {
    process: Child,
    port: u16,
    log: PathBuf,
}

impl Demo {
    fn start(root: &Path, nimbus: &Path) -> Result<Demo, String> {
        let port = free_port()?;
        let log = root.join("target/xtask/demo.log");
        create_folder_of(&log)?;
        let output = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let errors = output.try_clone().map_err(|error| format!("{}: {error}", log.display()))?;
        let mut command = Command::new(nimbus);
        command.args(["demo", "--port", &port.to_string()]).current_dir(root).stdout(output).stderr(errors);
        let mut demo = Demo { process: Child::spawn(&mut command)?, port, log };
        let started = clock::poll(START_LIMIT, || match demo.process.try_wait() {
            Some(status) => Some(Err(format!("`nimbus demo` ended at once ({status})"))),
            None => is_healthy(port).then_some(Ok(())),
        });
        let silent = || Err(format!("`nimbus demo` did not answer on /healthz within {} s", START_LIMIT.as_secs()));
        match started.unwrap_or_else(silent) {
            Ok(()) => Ok(demo),
            Err(problem) => Err(format!("{problem}\n{}", demo.last_words())),
        }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Stops the demo the way a person does and holds it to ending well and soon.
    fn stop(mut self) -> Result<(), String> {
        self.process.interrupt();
        let problem = match clock::poll(STOP_LIMIT, || self.process.try_wait()) {
            Some(status) if status.code() == Some(0) => return Ok(()),
            Some(status) => format!("`nimbus demo` did not end well after Ctrl-C: {status}"),
            None => format!("`nimbus demo` still ran {} s after Ctrl-C", STOP_LIMIT.as_secs()),
        };
        Err(format!("{problem}\n{}", self.last_words()))
    }

    /// The end of what the demo printed, for a failure message.
    fn last_words(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let tail = lines[lines.len().saturating_sub(30)..].join("\n");
        format!("last lines of {}:\n{tail}", self.log.display())
    }
}

/// Finds Chromium; installs it where that is possible without asking.
fn chromium() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("CHROMIUM").filter(|name| !name.is_empty()) {
        let named = PathBuf::from(named);
        let found = if named.is_file() { Some(named.clone()) } else { on_path(&named.to_string_lossy()) };
        return found.ok_or_else(|| format!("CHROMIUM names {}, which does not exist", named.display()));
    }
    let find = || NAMES.iter().find_map(|name| on_path(name));
    if let Some(found) = find() {
        return Ok(found);
    }
    let is_root = process::answer(Command::new("id").arg("-u")).as_deref() == Some("0");
    if !is_root || on_path("apt-get").is_none() {
        let names = NAMES.join(", ");
        return Err(format!(
            "no Chromium: none of {names} is on PATH. Install one (Debian: `sudo apt-get install chromium`), or set \
             CHROMIUM to its path, or leave the browser out with `cargo xtask test --quick`"
        ));
    }
    println!("installing Chromium with apt-get");
    process::run(Command::new("apt-get").arg("update"))?;
    process::run(
        Command::new("apt-get")
            .args(["install", "-y", "--no-install-recommends", "chromium"])
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )?;
    find().ok_or_else(|| "apt-get installed chromium but it is not on PATH".to_string())
}

/// The program of this name on PATH.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Where cargo puts binaries, whatever sets it: environment, configuration or default.
fn target_folder(root: &Path) -> Result<PathBuf, String> {
    let metadata = process::answer(suite::in_root(root).args(["metadata", "--no-deps", "--format-version", "1"]));
    let metadata = metadata.ok_or("`cargo metadata` failed")?;
    let folder = metadata.split_once("\"target_directory\":\"").and_then(|(_, rest)| rest.split_once('"'));
    folder.map(|(folder, _)| PathBuf::from(folder)).ok_or_else(|| "`cargo metadata` names no target folder".into())
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| format!("no free port: {error}"))
}

fn is_healthy(port: u16) -> bool {
    let ask = || -> std::io::Result<[u8; 12]> {
        let wait = Duration::from_secs(1);
        let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), wait)?;
        stream.set_read_timeout(Some(wait))?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        Ok(status)
    };
    ask().is_ok_and(|status| &status == b"HTTP/1.1 200")
}

fn create_folder_of(file: &Path) -> Result<(), String> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_is_a_200_and_nothing_else() {
        for (reply, healthy) in [("HTTP/1.1 200 OK\r\n\r\n", true), ("HTTP/1.1 503 Busy\r\n\r\n", false), ("", false)] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let (mut stream, _) = listener.accept().unwrap();
                    let mut request = [0; 16];
                    stream.read_exact(&mut request).unwrap();
                    stream.write_all(reply.as_bytes()).unwrap();
                });
                assert_eq!(is_healthy(port), healthy, "{reply:?}");
            });
        }
        assert!(!is_healthy(free_port().unwrap()), "nobody listens");
    }

    #[test]
    fn a_demo_that_ends_at_once_is_reported_with_its_last_words() {
        let root = std::env::temp_dir().join(format!("nimbus-xtask-browser-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        // `ls` knows no such options: it complains and ends.
        let problem = Demo::start(&root, Path::new("ls")).err().expect("ls is no demo");
        assert!(problem.contains("ended at once") && problem.contains("option"), "{problem}");
        fs::remove_dir_all(&root).unwrap();
    }
}
