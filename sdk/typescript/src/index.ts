/** For browser games and tools that take part in a Nimbus world. `Connection.connect(url)` is where to begin. */

export * from "./connection.js";
export * from "./events.js";
export * from "./gateways.js";
export * from "./link.js";
export * from "./pending.js";
export * from "./playhead.js";
export * from "./pose.js";
export * from "./protocol.js";
export * from "./replicas.js";
export * from "./round_trip.js";
export * from "./session.js";
export * from "./stream/decoder.js";
export * from "./tickets.js";
