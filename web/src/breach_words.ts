/** What a breach is called: its factor, how much was measured, what was promised. */

import type { Breach } from "@nimbus/client";

const UNITS: Record<string, string> = {
  speed: "m/s",
  latency: "ms",
  frame_time: "ms",
  time_lost: "ticks",
  cluster_size: "bodies",
  silence: "ticks",
  compute: "ms",
  skew: "ms",
  commit: "ms",
  budget: "bodies",
};

const WORDS: Record<string, string> = {
  speed: "speed",
  latency: "latency",
  frame_time: "frame time",
  time_lost: "time lost",
  cluster_size: "cluster size",
  silence: "silence",
  compute: "compute time",
  skew: "clock skew",
  commit: "commit time",
  budget: "bodies of the budget",
};

/** A breach in words: what was exceeded, by how much, against which limit. */
export function breachText(breach: Breach): string {
  const digits = (value: number): string =>
    Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toFixed(1)));
  const unit = UNITS[breach.factor] ?? "";
  return `${WORDS[breach.factor] ?? breach.factor} ${digits(breach.value)} > ${digits(breach.limit)} ${unit}`.trimEnd();
}
