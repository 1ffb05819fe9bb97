//! How many servers: one number, or a range such as `2..25` that a swarm goes through.

use std::fmt;
use std::str::FromStr;

/// Most servers that a simulated cluster may have.
const SERVERS_MAX: u16 = 64;

/// A number of servers, or several to choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServerCounts {
    pub(crate) least: u16,
    pub(crate) most: u16,
}

impl ServerCounts {
    /// The number, when there is no choice.
    pub(crate) fn only(self) -> Option<u16> {
        (self.least == self.most).then_some(self.least)
    }
}

impl FromStr for ServerCounts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |what: &str| format!("{what}; write a number from 1 to {SERVERS_MAX}, or a range such as 2..25");
        let number =
            |text: &str| text.parse::<u16>().map_err(|_| wrong(&format!("`{text}` is not a number of servers")));
        let (least, most) = match text.split_once("..") {
            Some((least, most)) => (number(least)?, number(most.trim_start_matches('='))?),
            None => (number(text)?, number(text)?),
        };
        if least < 1 || most > SERVERS_MAX || least > most {
            return Err(wrong(&format!("{text} servers cannot be simulated")));
        }
        Ok(ServerCounts { least, most })
    }
}

impl fmt::Display for ServerCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.only() {
            Some(count) => write!(f, "{count}"),
            None => write!(f, "{}..{}", self.least, self.most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_or_a_range() {
        assert_eq!("4".parse::<ServerCounts>().unwrap().only(), Some(4));
        let range: ServerCounts = "2..25".parse().unwrap();
        assert_eq!((range.least, range.most, range.only()), (2, 25, None));
        assert_eq!(range.to_string(), "2..25");
        for wrong in ["0", "65", "9..2", "x", "2..", "2..99", "-1"] {
            assert!(wrong.parse::<ServerCounts>().unwrap_err().contains("2..25"), "{wrong}");
        }
    }
}
