//! `nimbus token`: lets one client in, once and for a short time.

use anyhow::bail;
use clap::Args;
use nimbus::runtime::Clock;
use nimbus::runtime::access::{Secret, VALID_MAX};
use nimbus::wire::client::ClientRole;
use std::path::PathBuf;
use std::time::Duration;

use crate::exit::Verdict;

/// Make a token for one connection to a gateway that asks for them
///
/// A client gives it in the address: ws://host:port/ws?token=..., and the viewer takes it from its own: http://host:port/?token=...
#[derive(Args)]
pub(crate) struct Token {
    /// The file with the secret that gateways have, too
    secret: PathBuf,
    /// Make the secret first, in a file that is not there yet
    #[arg(long)]
    new: bool,
    /// What the client may do: viewer, player, builder or admin
    #[arg(long, default_value = "player")]
    role: ClientRole,
    /// For how many seconds it is good, an hour at most
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    seconds: u64,
}

impl Token {
    pub(crate) fn run(self) -> anyhow::Result<Verdict> {
        let valid = Duration::from_secs(self.seconds);
        if valid.is_zero() || valid > VALID_MAX {
            bail!("a token is good for 1 to {} seconds", VALID_MAX.as_secs());
        }
        if self.new {
            Secret::make(&self.secret)?;
        }
        println!("{}", Secret::read(&self.secret)?.issue(self.role, valid, Clock::unix_us() / 1_000_000)?);
        Ok(Verdict::Good)
    }
}
