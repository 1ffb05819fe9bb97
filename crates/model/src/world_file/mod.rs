//! The world file: a world as TOML, for people to write.
