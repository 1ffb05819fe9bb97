//! What gateways and clients say to each other.
