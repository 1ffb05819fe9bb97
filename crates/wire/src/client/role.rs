//! What a client may do, by the role it was let in with.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

use super::{Authority, FromClient};

/// The roles, each of which may do what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClientRole {
    /// Looks and asks.
    Viewer,
    /// Throws, pushes, steers and ties bodies together.
    Player,
    /// Removes bodies, puts statics in and draws regions.
    Builder,
    /// Decides about the clock, the world and its servers.
    Admin,
}

impl ClientRole {
    /// Every role, the least first.
    pub const ALL: [ClientRole; 4] = [ClientRole::Viewer, ClientRole::Player, ClientRole::Builder, ClientRole::Admin];

    /// The least role that may ask for this.
    pub fn needed_for(command: &FromClient) -> ClientRole {
        match command {
            // It takes the time of every server.
            FromClient::Query { authority: Authority::Servers { .. }, .. } => ClientRole::Player,
            FromClient::Overlays { .. }
            | FromClient::Inspect { .. }
            | FromClient::Query { .. }
            | FromClient::Touches { .. }
            | FromClient::Watch(_) => ClientRole::Viewer,
            FromClient::Spawn(_)
            | FromClient::Impulse { .. }
            | FromClient::Game { .. }
            | FromClient::Velocity { .. }
            | FromClient::Target { .. }
            | FromClient::Join { .. } => ClientRole::Player,
            FromClient::Despawn { .. } | FromClient::Static(_) | FromClient::Regions { .. } => ClientRole::Builder,
            FromClient::Reset
            | FromClient::Scene { .. }
            | FromClient::Pause { .. }
            | FromClient::Step { .. }
            | FromClient::Speed { .. }
            | FromClient::Kill { .. } => ClientRole::Admin,
        }
    }

    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            ClientRole::Viewer => "viewer",
            ClientRole::Player => "player",
            ClientRole::Builder => "builder",
            ClientRole::Admin => "admin",
        }
    }
}

impl fmt::Display for ClientRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a role is one of viewer, player, builder and admin")]
pub struct NoRole;

impl FromStr for ClientRole {
    type Err = NoRole;

    fn from_str(text: &str) -> Result<ClientRole, NoRole> {
        ClientRole::ALL.into_iter().find(|role| role.name() == text).ok_or(NoRole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_written_as_they_are_read() {
        for role in ClientRole::ALL {
            assert_eq!(role.name().parse(), Ok(role));
            assert_eq!(serde_json::to_string(&role).unwrap(), format!("\"{role}\""));
        }
        assert_eq!("root".parse::<ClientRole>(), Err(NoRole));
    }

    #[test]
    fn nobody_below_an_admin_touches_the_clock_or_a_server() {
        let needed = |text: &str| ClientRole::needed_for(&FromClient::parse(text).unwrap().command);
        assert_eq!(needed(r#"{"type":"inspect","nid":"0.1"}"#), ClientRole::Viewer);
        assert_eq!(needed(r#"{"type":"impulse","nid":"0.1","impulse":[0,1,0]}"#), ClientRole::Player);
        let ray = r#""queries":[{"nearest":{"position":[0,0,0],"max":1}}]"#;
        assert_eq!(needed(&format!(r#"{{"type":"query",{ray}}}"#)), ClientRole::Viewer);
        assert_eq!(needed(&format!(r#"{{"type":"query","authoritative":true,{ray}}}"#)), ClientRole::Player);
        assert_eq!(needed(r#"{"type":"despawn","nid":"0.1"}"#), ClientRole::Builder);
        for text in [
            r#"{"type":"reset"}"#,
            r#"{"type":"scene","name":"rain"}"#,
            r#"{"type":"pause","paused":true}"#,
            r#"{"type":"step","ticks":1}"#,
            r#"{"type":"speed","factor":1}"#,
            r#"{"type":"kill","server":0}"#,
        ] {
            assert_eq!(needed(text), ClientRole::Admin, "{text}");
        }
    }
}
