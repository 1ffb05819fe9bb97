/**
 * What happened at the seams over the last minute: hand-overs and breaches, gathered in buckets of half a second.
 *
 * Time is the world's, in ticks, so that a paused world keeps its history. Memory is bounded: a ring of buckets, and in
 * each a bounded number of pairs of servers and of breaches; what does not fit is still counted.
 */

import type { Breach } from "@nimbus/client";

/** What the strip shows, seconds of the world. */
export const SPAN_SECONDS = 60;
export const BUCKETS = 120;
/** Different ways (from one server to another) that a bucket can tell apart. */
export const WAYS_MAX = 16;
/** Breaches that a bucket remembers in full. */
export const BREACHES_MAX = 8;

/** Hand-overs from one server to another within a bucket. */
export interface Way {
  from: number;
  to: number;
  count: number;
  /** The first of the bodies that went this way, and when. */
  nid: string;
  tick: number;
}

export interface Bucket {
  /** The first tick in it, and the first of the next. */
  start: number;
  end: number;
  handOvers: number;
  ways: Way[];
  breachCount: number;
  breaches: Breach[];
}

export class Timeline {
  /** Things that happened before the strip begins, or at no time at all. */
  ignored = 0;
  private readonly ring: (Bucket | null)[] = new Array<Bucket | null>(BUCKETS).fill(null);
  private width = (60 * SPAN_SECONDS) / BUCKETS;
  /** Number of the newest bucket with something in it; -1 before the first. */
  private newest = -1;

  /** A new world: nothing happened in it yet. */
  reset(tickHz: number): void {
    this.ring.fill(null);
    this.width = Math.max(1, Math.round((tickHz * SPAN_SECONDS) / BUCKETS));
    this.newest = -1;
  }

  /** A body changed hands. `nid` is asked for only where a bucket has none for this way yet. */
  handOver(tick: number, from: number, to: number, nid: () => string): void {
    const bucket = this.bucketAt(tick);
    if (!bucket) return;
    bucket.handOvers++;
    const known = bucket.ways.find((way) => way.from === from && way.to === to);
    if (known) known.count++;
    else if (bucket.ways.length < WAYS_MAX) bucket.ways.push({ from, to, count: 1, nid: nid(), tick });
  }

  breach(breach: Breach): void {
    const bucket = this.bucketAt(breach.tick);
    if (!bucket) return;
    bucket.breachCount++;
    if (bucket.breaches.length < BREACHES_MAX) bucket.breaches.push(breach);
  }

  /** The strip as it is at a tick, oldest first: always `BUCKETS` places, null where nothing happened. */
  at(tick: number): (Bucket | null)[] {
    const last = Math.floor(Math.max(tick, 0) / this.width);
    return Array.from({ length: BUCKETS }, (_, i) => {
      const number = last - (BUCKETS - 1 - i);
      const bucket = number < 0 ? null : this.ring[number % BUCKETS];
      return bucket?.start === number * this.width ? bucket : null;
    });
  }

  /** How much of each it holds at a tick. */
  totals(tick: number): { handOvers: number; breaches: number } {
    const total = { handOvers: 0, breaches: 0 };
    for (const bucket of this.at(tick)) {
      total.handOvers += bucket?.handOvers ?? 0;
      total.breaches += bucket?.breachCount ?? 0;
    }
    return total;
  }

  /** The bucket of a tick, made if need be; null for what is older than the strip. */
  private bucketAt(tick: number): Bucket | null {
    const number = Math.floor(tick / this.width);
    if (!(number >= 0) || number <= this.newest - BUCKETS) {
      this.ignored++;
      return null;
    }
    this.newest = Math.max(this.newest, number);
    const start = number * this.width;
    const place = number % BUCKETS;
    let bucket = this.ring[place];
    if (bucket?.start !== start) {
      bucket = { start, end: start + this.width, handOvers: 0, ways: [], breachCount: 0, breaches: [] };
      this.ring[place] = bucket;
    }
    return bucket;
  }
}

/** A part of a bucket's column: what went to one server, as a share of all. */
export interface Segment {
  to: number;
  share: number;
  /** From 0 at the foot of the column to 1 at its head. */
  from: number;
}

/** A bucket's hand-overs by the server they went to, in the order of their numbers, stacked from the foot. */
export function segmentsOf(bucket: Bucket): Segment[] {
  const counts = new Map<number, number>();
  for (const { to, count } of bucket.ways) counts.set(to, (counts.get(to) ?? 0) + count);
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  let from = 0;
  return [...counts]
    .sort(([a], [b]) => a - b)
    .map(([to, count]) => {
      const segment = { to, share: count / all, from };
      from += segment.share;
      return segment;
    });
}

/**
 * The bodies that a click on a bucket may mean, the likeliest first. `height` is how far up the column the click was, 0
 * to 1; null for a click on its breaches.
 */
export function bodiesMeant(bucket: Bucket, height: number | null): string[] {
  const broken = bucket.breaches.flatMap((breach) => breach.bodies);
  const segments = segmentsOf(bucket);
  const hit = segments.find(({ from, share }) => height !== null && height >= from && height < from + share);
  const ways = [...bucket.ways].sort((a, b) => Number(b.to === hit?.to) - Number(a.to === hit?.to) || b.count - a.count);
  const moved = ways.map((way) => way.nid);
  return height === null ? [...broken, ...moved] : [...moved, ...broken];
}
