//! How many files the process may have open. Every connection is one.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Allows as many as the system lets the process have: what is usual, 1,024, is fewer than the clients that are let in. Says so
/// when they are fewer than are `wanted` all the same.
pub(crate) fn raise_limit(wanted: u64) {
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
        if soft < hard {
            setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
        }
        Ok(hard)
    });
    match raised {
        Ok(most) if most < wanted => {
            eprintln!(
                "nimbus: {most} files may be open, which is too few for all clients; allow {wanted} (`ulimit -n`)"
            );
        }
        Ok(_) => {}
        Err(error) => eprintln!("nimbus: the limit of open files stays as it is: {error}"),
    }
}
