//! Network namespaces for the tests that need several hosts: permitted here, or why not.

use std::process::Command;

/// What the names of tests that need them have in common.
pub(crate) const TESTS: &str = "with_namespaces";

/// Tries what the tests do: a bridge and a cable in a network of their own, as root or as root among one's own.
pub(crate) fn permitted() -> Result<(), String> {
    let wire = "ip link add switch type bridge && ip link add one type veth peer name two && unshare --net true";
    attempt("unshare", wire)
}

fn attempt(unshare: &str, wire: &str) -> Result<(), String> {
    let mut why = String::new();
    for more in [&[][..], &["--user", "--map-root-user"]] {
        let own = ["--net", "--pid", "--fork", "--kill-child", "sh", "-c", wire];
        match Command::new(unshare).args(more).args(own).output() {
            Ok(tried) if tried.status.success() => return Ok(()),
            Ok(tried) => why = String::from_utf8_lossy(&tried.stderr).trim().to_owned(),
            Err(error) => why = format!("{unshare}: {error}"),
        }
    }
    Err(format!("they need `unshare` and `ip`, and the right to make network namespaces: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_why_they_are_not_permitted() {
        let none = attempt("no-such-unshare", "true").unwrap_err();
        assert!(none.contains("no-such-unshare:"), "{none}");
        let refused = attempt("unshare", "echo not here >&2; exit 1").unwrap_err();
        assert!(refused.contains("need `unshare`"), "{refused}");
    }
}
