//! Who takes part.

/// One participant of the universe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Actor {
    /// The server of the region with this number.
    Node(u16),
    /// A gateway.
    Gateway(u16),
    /// Whoever keeps what the server of the region with this number wrote down.
    Backup(u16),
    /// The process at this place, where a coordinator says what each process serves and keeps.
    Process(u16),
    /// Whoever decides where boundaries lie, and who serves what.
    Coordinator,
    /// A client of the gateway.
    Client(u32),
}
