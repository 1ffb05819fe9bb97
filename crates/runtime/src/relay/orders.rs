//! What a relay can be told while it runs, a line each.

use std::str::FromStr;
use std::time::Duration;

use crate::mesh::ProcessName;

/// The longest cut that can be told.
pub const CUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// An order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// `cut NAME MILLISECONDS`: cut a process off from all others.
    Cut(ProcessName, Duration),
    /// `heal`: end every cut.
    Heal,
    /// `counts`: say what became of packets so far.
    Counts,
    /// `end`: end.
    End,
}

/// A line that is no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no order; say `cut NAME MILLISECONDS`, `heal`, `counts` or `end`")]
pub struct OrderError;

impl FromStr for Order {
    type Err = OrderError;

    fn from_str(line: &str) -> Result<Order, OrderError> {
        let words: Vec<&str> = line.split_whitespace().take(4).collect();
        match words[..] {
            ["cut", name, time] => {
                let name = ProcessName::new(name).map_err(|_| OrderError)?;
                let time = Duration::from_millis(time.parse().map_err(|_| OrderError)?);
                (time <= CUT_MAX).then_some(Order::Cut(name, time)).ok_or(OrderError)
            }
            ["heal"] => Ok(Order::Heal),
            ["counts"] => Ok(Order::Counts),
            ["end"] => Ok(Order::End),
            _ => Err(OrderError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relay_orders_are_read() {
        let name = ProcessName::new("node-1").unwrap();
        assert_eq!(" cut node-1  3000\n".parse(), Ok(Order::Cut(name, Duration::from_secs(3))));
        assert_eq!("heal".parse(), Ok(Order::Heal));
        assert_eq!("counts".parse(), Ok(Order::Counts));
        assert_eq!("end".parse(), Ok(Order::End));
        for line in
            ["", "cut", "cut node-1", "cut node-1 -3", "cut Node 3", "heal now", "cut node-1 3 4", "cut a 86400001"]
        {
            assert_eq!(line.parse::<Order>(), Err(OrderError), "{line}");
        }
    }
}
