/** Arrays that grow. */

interface Growable<T> {
  readonly length: number;
  set(from: T): void;
}

/** A longer array with what the old one held at its beginning. */
export function grown<T extends Growable<T>>(old: T, length: number): T {
  const next = new (old.constructor as new (length: number) => T)(length);
  next.set(old);
  return next;
}
