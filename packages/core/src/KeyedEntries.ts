/**
 * The entries of a keyed registry, one for each host or tenant: which is in use, which is idle, and which goes when there are too
 * many. What is looked up in it is never refused.
 *
 * ```text
 *            acquire                     release by the last user
 * (no entry) -------> in use (n users) -------------------------> idle
 *                        ^                                         |  idle for too long, or first in line
 *                        +---------------- acquire ----------------+  when a newcomer needs the room: gone
 * ```
 *
 * Where the room is taken and nobody is idle, newcomers share one entry. Every step is O(1), however many keys there are; there is
 * no timer, entries that were idle for too long are found at the next look. The structure is changed in place: a copy would cost
 * as much as it has keys.
 *
 * @since 0.1.0
 */
import * as InvalidOption from "./InvalidOption.js"

// -----------------------------------------------------------------------------
// models and options
// -----------------------------------------------------------------------------

/**
 * @category models
 * @since 0.1.0
 */
export interface Options<A> {
  /** The function whose options these are, for errors. */
  readonly where: string
  /** Makes the entry of a key that has none. */
  readonly make: (now: number) => A
  /** How many keys have an entry of their own at a time. Default 1,000. */
  readonly maxKeys?: number | undefined
  /** How long an entry is kept that nobody uses, in milliseconds. Default 5 minutes. */
  readonly idleTimeToLive?: number | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface Entry<A> {
  readonly value: A
}

interface Kept<Key, A> extends Entry<A> {
  /** Nothing for the one that newcomers share. */
  readonly key: Key | undefined
  users: number
  idleSince: number
}

// -----------------------------------------------------------------------------
// rules
// -----------------------------------------------------------------------------

/**
 * @example
 * ```ts
 * import { KeyedEntries } from "@breakwater/core"
 *
 * const hosts = new KeyedEntries.KeyedEntries<string, { calls: number }>({ where: "docs", make: () => ({ calls: 0 }), maxKeys: 1 })
 * const a = hosts.acquire("a", 0)
 * const b = hosts.acquire("b", 0) // no room, and "a" is in use
 * console.log(a.value === hosts.acquire("a", 0).value, b.value === hosts.acquire("c", 0).value) // true true
 * ```
 * @category rules
 * @since 0.1.0
 */
export class KeyedEntries<Key, A> {
  private readonly make: (now: number) => A
  private readonly maxKeys: number
  private readonly idleTimeToLive: number
  private readonly used = new Map<Key, Kept<Key, A>>()
  /** Longest idle first. */
  private readonly idle = new Map<Key, Kept<Key, A>>()
  private shared: Kept<Key, A> | undefined

  constructor({ idleTimeToLive = 300_000, make, maxKeys = 1000, where }: Options<A>) {
    this.make = make
    this.maxKeys = InvalidOption.count(where, "maxKeys", maxKeys, 1)
    this.idleTimeToLive = InvalidOption.wholeMillisOrInfinity(where, "idleTimeToLive", idleTimeToLive)
  }

  /** The entry of a key, in use until it is released as often as it was acquired. */
  acquire(key: Key, now: number): Entry<A> {
    this.evict(now)
    const entry = this.used.get(key) ?? this.taken(key) ?? this.added(key, now)
    entry.users++
    return entry
  }

  release(entry: Entry<A>, now: number): void {
    const kept = entry as Kept<Key, A>
    if (kept.users === 0) return
    kept.users--
    if (kept.users > 0) return
    kept.idleSince = now
    if (kept.key === undefined) return
    this.used.delete(kept.key)
    this.idle.set(kept.key, kept)
  }

  /** How many keys have an entry of their own. */
  get size(): number {
    return this.used.size + this.idle.size
  }

  /** How many entries are in use, the shared one included. */
  get inUse(): number {
    return this.used.size + (this.shared !== undefined && this.shared.users > 0 ? 1 : 0)
  }

  private evict(now: number): void {
    const isOver = (entry: Kept<Key, A>) => entry.users === 0 && now - entry.idleSince >= this.idleTimeToLive
    if (this.shared !== undefined && isOver(this.shared)) this.shared = undefined
    for (const [key, entry] of this.idle) {
      if (!isOver(entry)) return
      this.idle.delete(key)
    }
  }

  /** Takes an idle entry back into use. */
  private taken(key: Key): Kept<Key, A> | undefined {
    const entry = this.idle.get(key)
    if (entry === undefined) return undefined
    this.idle.delete(key)
    this.used.set(key, entry)
    return entry
  }

  private added(key: Key, now: number): Kept<Key, A> {
    if (this.size >= this.maxKeys) {
      const longestIdle = this.idle.keys().next()
      if (longestIdle.done === true) return (this.shared ??= this.made(undefined, now))
      this.idle.delete(longestIdle.value)
    }
    const entry = this.made(key, now)
    this.used.set(key, entry)
    return entry
  }

  private made(key: Key | undefined, now: number): Kept<Key, A> {
    return { key, value: this.make(now), users: 0, idleSince: 0 }
  }
}
