//! Child processes that never outlive the command that started them.
//!
//! Every child leads its own process group and has a guard beside it: a shell that waits on a pipe from us. When we end
//! in whatever way (an error, Ctrl-C, even SIGKILL) the pipe closes and the guard ends the whole group.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};

use crate::count::Tally;

/// `read` fails at the end of the pipe; a line on it means that the child has ended and nothing is left to do. Not
/// SIGINT, because what a shell runs in the background inherits that as ignored.
const GUARD: &str = r#"read line || { kill -s TERM -- "-$1"; sleep 3; kill -s KILL -- "-$1"; } 2>/dev/null"#;

/// A running child; dropping it kills what is left of its process group.
pub(crate) struct Child {
    child: std::process::Child,
    guard: std::process::Child,
    ended: bool,
}

impl Child {
    /// Starts a command in its own group, without a standard input.
    pub(crate) fn spawn(command: &mut Command) -> Result<Child, String> {
        let name = shown(command);
        let mut child = command
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("cannot start `{name}`: {error}"))?;
        let guard = Command::new("sh")
            .args(["-c", GUARD, "guard", &child.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn();
        match guard {
            Ok(guard) => Ok(Child { child, guard, ended: false }),
            Err(error) => {
                // The child is not guarded, so it may not live; that it has ended already is just as good.
                let _ = child.kill();
                Err(format!("cannot start `sh` to guard `{name}`: {error}"))
            }
        }
    }

    /// Waits for the end.
    pub(crate) fn wait(&mut self) -> Result<ExitStatus, String> {
        let status = self.child.wait().map_err(|error| format!("cannot wait for a child: {error}"))?;
        self.ended = true;
        Ok(status)
    }

    /// The exit status if the child has ended.
    pub(crate) fn try_wait(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().ok().flatten();
        self.ended |= status.is_some();
        status
    }

    /// Asks the child to stop, as Ctrl-C would.
    pub(crate) fn interrupt(&self) {
        signal("INT", &self.child.id().to_string());
    }

    #[cfg(test)]
    fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Also after an orderly end: a failed test may have left processes of its own in the group.
        signal("KILL", &format!("-{}", self.child.id()));
        if !self.ended {
            let _ = self.child.wait();
        }
        if let Some(mut pipe) = self.guard.stdin.take() {
            let _ = pipe.write_all(b"ended\n");
        }
        let _ = self.guard.wait();
    }
}

/// Runs a command with its output on the terminal; an error says how it ended.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let name = shown(command);
    let status = Child::spawn(command)?.wait()?;
    verdict(&name, status)
}

/// Runs a command, passes its output through to the terminal, and counts the tests in it line by line.
pub(crate) fn run_counted(command: &mut Command, count: fn(&str) -> Tally) -> (Tally, Result<(), String>) {
    let name = shown(command);
    let mut tally = Tally::default();
    let result = Child::spawn(command.stdout(Stdio::piped())).and_then(|mut child| {
        if let Some(output) = child.child.stdout.take() {
            tally =
                pass_through(output, io::stdout(), count).map_err(|error| format!("output of `{name}`: {error}"))?;
        }
        verdict(&name, child.wait()?)
    });
    (tally, result)
}

/// What a short command prints, or nothing if it is missing or fails.
pub(crate) fn answer(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

fn pass_through(mut from: impl Read, mut to: impl Write, count: fn(&str) -> Tally) -> io::Result<Tally> {
    let mut tally = Tally::default();
    let mut line = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        let length = match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        to.write_all(&chunk[..length])?;
        to.flush()?;
        for &byte in &chunk[..length] {
            if byte == b'\n' {
                tally += count(&String::from_utf8_lossy(&line));
                line.clear();
            } else {
                line.push(byte);
            }
        }
    }
    tally += count(&String::from_utf8_lossy(&line));
    Ok(tally)
}

fn verdict(name: &str, status: ExitStatus) -> Result<(), String> {
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(format!("`{name}` ended with code {code}")),
        None => Err(format!("`{name}` was ended by a signal")),
    }
}

/// The command as one would type it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Sends a signal through the shell, whose `kill` is built in; a target that is gone already is no error.
fn signal(name: &str, target: &str) {
    let _ = Command::new("sh")
        .args(["-c", r#"kill -s "$1" -- "$2" 2>/dev/null"#, "signal", name, target])
        .stdin(Stdio::null())
        .status();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::count::rust_line;
    use std::time::Duration;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn group_lives(id: u32) -> bool {
        answer(&mut sh(&format!("kill -s 0 -- -{id}"))).is_some()
    }

    #[test]
    fn dropping_a_child_ends_its_whole_group() {
        let child = Child::spawn(&mut sh("sleep 60 & sleep 60")).unwrap();
        let id = child.id();
        assert!(group_lives(id));
        drop(child);
        assert_eq!(clock::poll(Duration::from_secs(5), || (!group_lives(id)).then_some(())), Some(()));
    }

    #[test]
    fn what_an_ended_child_leaves_behind_is_ended_too() {
        let mut child = Child::spawn(&mut sh("sleep 60 & exit 1")).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1));
        let id = child.id();
        assert!(group_lives(id));
        drop(child);
        assert_eq!(clock::poll(Duration::from_secs(5), || (!group_lives(id)).then_some(())), Some(()));
    }

    #[test]
    fn the_guard_ends_the_group_when_the_pipe_closes() {
        let mut child = Child::spawn(&mut sh("sleep 60")).unwrap();
        drop(child.guard.stdin.take());
        let status = clock::poll(Duration::from_secs(10), || child.try_wait()).expect("the guard should have acted");
        assert!(!status.success());
    }

    #[test]
    fn a_child_that_handles_a_signal_can_end_well() {
        // Not SIGINT: when these tests run in the background of a shell, it is ignored and no shell can trap it.
        let script = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done";
        let mut child = Child::spawn(sh(script).stdout(Stdio::piped())).unwrap();
        let mut ready = [0; 5];
        child.child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
        signal("TERM", &child.id().to_string());
        let status = clock::poll(Duration::from_secs(5), || child.try_wait()).expect("should stop on SIGTERM");
        assert_eq!(status.code(), Some(0));
    }

    #[test]
    fn failures_say_which_command_and_how() {
        assert_eq!(run(&mut sh("exit 3")), Err("`sh -c exit 3` ended with code 3".to_string()));
        let missing = run(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(missing.starts_with("cannot start `no-such-program-here`"), "{missing}");
    }

    #[test]
    fn output_is_passed_on_unchanged_and_counted() {
        let text = "noise\ntest result: ok. 2 passed; 0 failed; 1 ignored\nlast line without an end";
        let mut seen = Vec::new();
        let tally = pass_through(text.as_bytes(), &mut seen, rust_line).unwrap();
        assert_eq!(tally, Tally { passed: 2, failed: 0, skipped: 1 });
        assert_eq!(seen, text.as_bytes());
    }
}
