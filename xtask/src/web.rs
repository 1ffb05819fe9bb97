//! Sets up and builds `web/` and what is built with its tools, doing nothing when nothing changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::process;

/// Oldest Node that the viewer's tools run on, major and minor; `web/package.json` says the same.
const NODE_MIN: (u32, u32) = (20, 19);

/// What is built with the tools of `web/`: the client package, of which the viewer is made too, and an example.
const BESIDE: [&str; 2] = ["../sdk/typescript", "../examples/browser-game"];

/// Folders that are made, not written.
const MADE: [&str; 5] = ["node_modules", "dist", "test-results", "playwright-report", "coverage"];

/// True when there is a web part to build.
pub(crate) fn present(root: &Path) -> bool {
    root.join("web/package.json").is_file()
}

/// Installs exactly the packages of the lock file if that changed, and builds the viewer if a source is newer than the last
/// build.
pub(crate) fn prepare(root: &Path) -> Result<(), String> {
    if !present(root) {
        return Err("web/package.json is missing".to_string());
    }
    check_tools()?;
    let web = root.join("web");
    let lock = fs::read(web.join("package-lock.json")).map_err(|error| format!("web/package-lock.json: {error}"))?;
    // The stamp is a copy of the lock file that was installed.
    let stamp = web.join("node_modules/.installed-lock");
    if fs::read(&stamp).ok().as_ref() != Some(&lock) {
        println!("installing the packages of web/ (npm ci)");
        process::run(npm(root).args(["ci", "--no-audit", "--no-fund"]))?;
        let written = fs::create_dir_all(web.join("node_modules")).and_then(|()| fs::write(&stamp, &lock));
        written.map_err(|error| format!("{}: {error}", stamp.display()))?;
    }
    if is_stale(&web) {
        println!("building the viewer (npm run build)");
        process::run(npm(root).args(["run", "build"]))?;
        if is_stale(&web) {
            return Err("`npm run build` did not write web/dist/index.html".to_string());
        }
    }
    Ok(())
}

/// `npm` in `web/`. Browsers come from the system, so packages may not fetch their own.
pub(crate) fn npm(root: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(root.join("web")).env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    command
}

/// The type check: the package's own script if it names one, else the compiler.
pub(crate) fn type_check(root: &Path) -> Command {
    let manifest = fs::read_to_string(root.join("web/package.json")).unwrap_or_default();
    let mut command = npm(root);
    match manifest.contains("\"typecheck\"") {
        true => command.args(["run", "typecheck"]),
        false => command.args(["exec", "--no", "--", "tsc", "--noEmit"]),
    };
    command
}

fn check_tools() -> Result<(), String> {
    let remedy = format!("install Node.js {}.{} or newer, with npm, and put both on PATH", NODE_MIN.0, NODE_MIN.1);
    let version = process::answer(Command::new("node").arg("--version"));
    match version.as_deref().map(|version| (version, node_version(version))) {
        None => return Err(format!("`node` was not found: {remedy}")),
        Some((_, Some(version))) if version >= NODE_MIN => {}
        Some((version, _)) => return Err(format!("`node` is {version}, which is too old: {remedy}")),
    }
    match process::answer(Command::new("npm").arg("--version")) {
        Some(_) => Ok(()),
        None => Err(format!("`npm` was not found: {remedy}")),
    }
}

/// 20 and 11 of `v20.11.1`.
fn node_version(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim().strip_prefix('v')?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// True when the viewer was never built or something it is made of is newer than the build.
fn is_stale(web: &Path) -> bool {
    let Some(built) = modified(&web.join("dist/index.html")) else { return true };
    let installed = modified(&web.join("node_modules/.installed-lock"));
    newest_source(web).max(installed).is_some_and(|newest| newest > built)
}

/// Latest change below `web/` and what is built with it. Folders count too: their time is all that is left of a removed file.
fn newest_source(web: &Path) -> Option<SystemTime> {
    let mut newest = None;
    let beside = BESIDE.iter().flat_map(|folder| entries(&web.join(folder)));
    let mut waiting: Vec<PathBuf> = entries(web).into_iter().chain(beside).collect();
    waiting.retain(|path| !MADE.iter().any(|made| path.ends_with(made)));
    while let Some(path) = waiting.pop() {
        newest = newest.max(modified(&path));
        if path.is_dir() {
            waiting.extend(entries(&path));
        }
    }
    newest
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|data| data.modified()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn reads_and_orders_versions_of_node() {
        assert_eq!(node_version("v20.11.1"), Some((20, 11)));
        assert!(node_version("v9.30.0\n").unwrap() < NODE_MIN && node_version("v22.0.0").unwrap() > NODE_MIN);
        assert_eq!(node_version("20.11.1"), None);
        assert_eq!(node_version("v20"), None);
    }

    #[test]
    fn a_build_is_stale_when_a_source_is_newer_and_not_when_a_made_file_is() {
        let root = std::env::temp_dir().join(format!("nimbus-xtask-web-{}", std::process::id()));
        let web = root.join("web");
        let at = |path: &str, seconds: u64| {
            let path = web.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "x").unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        let year_2100 = 4_102_444_800;
        at("src/main.ts", 1000);
        assert!(is_stale(&web), "never built");
        at("dist/index.html", year_2100);
        at("node_modules/some/file.js", year_2100 + 10);
        assert!(!is_stale(&web), "built after the last change");
        at("src/main.ts", year_2100 + 5);
        assert!(is_stale(&web), "a source changed");
        at("src/main.ts", 1000);
        at("node_modules/.installed-lock", year_2100 + 5);
        assert!(is_stale(&web), "the packages changed");
        at("node_modules/.installed-lock", 1000);
        at("../sdk/typescript/src/index.ts", 1000);
        at("../sdk/typescript/dist/index.js", year_2100 + 5);
        assert!(!is_stale(&web), "only what is made of the client package is newer");
        at("../sdk/typescript/src/index.ts", year_2100 + 5);
        assert!(is_stale(&web), "the client package changed");
        fs::remove_dir_all(&root).unwrap();
    }
}
