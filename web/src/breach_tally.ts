/**
 * Counts breaches of the last minute, in all and by factor and server, and says it in one line. An overloaded machine
 * breaks hundreds of promises a minute: people are told how many, and see each only when they ask.
 */

import type { Breach } from "@nimbus/client";
import { breachText } from "./breach_words";
import { MinuteCount } from "./minute_count";

/** The line changes at most this often, so that it can be read, ms. */
export const LINE_MS = 1000;
/** Groups kept; those that were not heard of for the longest time make room. */
export const GROUPS_MAX = 64;
/** How long a group is shown after its latest breach, ms. */
const GROUP_MS = 60_000;

/** Breaches of one factor on one server. */
export interface BreachGroup {
  /** Names the group: the same factor on the same server has the same key. */
  key: string;
  latest: Breach;
  /** How many there were in the last minute, as far as they were told in detail. */
  count: number;
}

interface Counted {
  latest: Breach;
  at: number;
  order: number;
  count: MinuteCount;
}

export class BreachTally {
  private readonly all = new MinuteCount();
  private readonly byGroup = new Map<string, Counted>();
  /** What the gateway counted so far; null while it is not known. It counts on when another world is loaded. */
  private total: number | null = null;
  private latest: Breach | null = null;
  private order = 0;
  private words = "";
  private wordsAt = -Infinity;

  /** The gateway counted `total` breaches so far. It tells `fresh` ones in detail, but not all when there are many. */
  take(total: number, fresh: readonly Breach[], nowMs: number): void {
    // A total that is smaller than before is that of servers that began anew.
    const grown = this.total !== null && total > this.total ? total - this.total : 0;
    this.total = Number.isFinite(total) ? total : null;
    this.all.add(nowMs, Math.max(grown, fresh.length));
    for (const breach of fresh) this.count(breach, nowMs);
    this.latest = fresh.at(-1) ?? this.latest;
  }

  /** The next total comes from somewhere else and says nothing about how many there were since the last. */
  forgetTotal(): void {
    this.total = null;
  }

  /** Another world: nothing happened in it yet. */
  restart(): void {
    this.all.clear();
    this.byGroup.clear();
    this.latest = null;
    this.words = "";
    this.wordsAt = -Infinity;
  }

  /** How many there were in the last minute. */
  inLastMinute(nowMs: number): number {
    return this.all.at(nowMs);
  }

  /** The groups of the last minute, the one with the latest breach first. */
  groups(nowMs: number): BreachGroup[] {
    for (const [key, { at }] of this.byGroup) if (nowMs - at >= GROUP_MS) this.byGroup.delete(key);
    return [...this.byGroup]
      .sort(([, a], [, b]) => b.order - a.order)
      .map(([key, { latest, count }]) => ({ key, latest, count: count.at(nowMs) }));
  }

  /** The one line; empty when there were none. Changes at most once in `LINE_MS`. */
  line(nowMs: number): string {
    if (nowMs - this.wordsAt < LINE_MS) return this.words;
    this.wordsAt = nowMs;
    const count = this.all.at(nowMs);
    if (count === 0) this.latest = null;
    this.words = lineOf(this.latest, count);
    return this.words;
  }

  private count(breach: Breach, nowMs: number): void {
    const key = `${breach.factor} ${breach.region}`;
    const known = this.byGroup.get(key);
    const group = known ?? { latest: breach, at: nowMs, order: 0, count: new MinuteCount() };
    group.latest = breach;
    group.at = nowMs;
    group.order = this.order++;
    group.count.add(nowMs);
    // Deleted and set again, so that the map is in the order of the latest breaches.
    this.byGroup.delete(key);
    this.byGroup.set(key, group);
    if (this.byGroup.size > GROUPS_MAX) this.byGroup.delete(this.byGroup.keys().next().value as string);
  }
}

/** What was broken last and how often that happens. */
function lineOf(latest: Breach | null, count: number): string {
  if (count === 0) return "";
  const often = `${count} ${count === 1 ? "breach" : "breaches"} in the last minute`;
  return latest ? `${breachText(latest)} · ${often}` : often;
}
