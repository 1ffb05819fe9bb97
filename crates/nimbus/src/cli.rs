//! The command line. Each command has a file of its own in `commands`.

use clap::{Parser, Subcommand};
use nimbus::runtime::Play;
use nimbus::runtime::mesh::Role;
use std::process::ExitCode;

use crate::exit::{self, Verdict};
use crate::{commands, logging};

/// One seamless physics world on many servers.
#[derive(Parser)]
#[command(name = "nimbus", version, about, arg_required_else_help = true)]
struct Cli {
    /// Say on standard error what happens while it runs, for example nimbus::handover; NIMBUS_LOG does the same
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a scene in one process, with the viewer in the browser
    Demo(commands::demo::Demo),
    /// Run your own world the same way
    Run(commands::run::Run),
    /// Check a world file and say what is wrong, with line and remedy
    Check(commands::check::Check),
    /// Run a world without a viewer and record it
    Record(commands::record::Record),
    /// Run a recording again and compare every recorded state
    Replay(commands::replay::Replay),
    /// Say who owned which body when in a recording
    Inspect(commands::inspect::Inspect),
    /// Run a whole cluster under virtual time, from one seed
    Universe(commands::universe::Universe),
    /// Run all processes of a cluster on this host
    Cluster(commands::cluster::Cluster),
    /// Have a running cluster write down its world at one tick
    Checkpoint(commands::checkpoint::Checkpoint),
    /// Run a coordinator of a cluster
    Coordinator(commands::roles::CoordinatorArgs),
    /// Run a node of a cluster
    Node(commands::roles::RoleArgs),
    /// Run a gateway of a cluster
    Gateway(commands::roles::RoleArgs),
    /// Make the network between the processes of a cluster a bad one
    Relay(commands::relay::RelayArgs),
    /// Make a private CA and certificates for the processes of a cluster
    Certs(commands::certs::Certs),
    Token(commands::token::Token),
    /// Measure what the system reaches
    Lab(commands::lab::Lab),
}

/// Runs the command that this process was started with, as the binary `nimbus` does, with a game for whatever it runs.
///
/// A program that calls this from its `main` is `nimbus` with a game: `demo`, `run`, `record`, `replay`, `universe`, and
/// `cluster`, which starts its processes from the same program.
pub fn command_line(play: Option<Play>) -> ExitCode {
    let cli = Cli::parse();
    let outcome = logging::begin(cli.log.as_deref()).and_then(|()| run(cli, play));
    logging::flush();
    exit::report(outcome)
}

fn run(cli: Cli, play: Option<Play>) -> anyhow::Result<Verdict> {
    match cli.command {
        Command::Demo(command) => command.run(play),
        Command::Run(command) => command.run(play),
        Command::Check(command) => command.run(),
        Command::Record(command) => command.run(play),
        Command::Replay(command) => command.run(play),
        Command::Inspect(command) => command.run(),
        Command::Universe(command) => command.run(play),
        Command::Cluster(command) => command.run(cli.log.as_deref()),
        Command::Checkpoint(command) => command.run(),
        Command::Coordinator(args) => args.run(),
        Command::Node(args) => args.run(Role::Node, play),
        Command::Gateway(args) => args.run(Role::Gateway, None),
        Command::Relay(args) => args.run(),
        Command::Certs(command) => command.run(),
        Command::Token(command) => command.run(),
        Command::Lab(command) => command.run(),
    }
}
