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
 * Where the room is taken and nobody is idle, newcomers share one entry; who has it keeps it until it is released, also when there
 * is room again. Every step is O(1), amortised, however many keys there are. There is no timer: entries that were idle for too long
 * go at the next `acquire`. The structure is changed in place: a copy would cost as much as it has keys.
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
export interface Options<Key, A> {
  /** The function whose options these are, for errors. */
  readonly where: string
  /** Makes the entry of a key that has none; without a key, the one that newcomers share. */
  readonly make: (now: number, key: Key | undefined) => A
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
  /** Its neighbours in the queue of the idle. */
  before: Kept<Key, A> | undefined
  after: Kept<Key, A> | undefined
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
  private readonly make: (now: number, key: Key | undefined) => A
  private readonly maxKeys: number
  private readonly idleTimeToLive: number
  private readonly own = new Map<Key, Kept<Key, A>>()
  private readonly idle = new IdleQueue<Key, A>()
  private ownInUse = 0
  private shared: Kept<Key, A> | undefined

  constructor({ idleTimeToLive = 300_000, make, maxKeys = 1000, where }: Options<Key, A>) {
    this.make = make
    this.maxKeys = InvalidOption.count(where, "maxKeys", maxKeys, 1)
    this.idleTimeToLive = InvalidOption.wholeMillisOrInfinity(where, "idleTimeToLive", idleTimeToLive)
  }

  /** The entry of a key, in use until it is released as often as it was acquired. */
  acquire(key: Key, now: number): Entry<A> {
    this.evict(now)
    const entry = this.own.get(key) ?? this.added(key, now)
    if (entry.users === 0 && entry !== this.shared) {
      this.idle.remove(entry)
      this.ownInUse++
    }
    entry.users++
    return entry
  }

  /** Once for each `acquire`. The release of an entry that nobody uses changes nothing. */
  release(entry: Entry<A>, now: number): void {
    const kept = entry as Kept<Key, A>
    if (kept.users === 0) return
    kept.users--
    if (kept.users > 0) return
    kept.idleSince = now
    if (kept === this.shared) return
    this.ownInUse--
    this.idle.add(kept)
  }

  /** How many keys have an entry of their own. */
  get size(): number {
    return this.own.size
  }

  /** How many entries are in use, the shared one included. */
  get inUse(): number {
    return this.ownInUse + (this.shared !== undefined && this.shared.users > 0 ? 1 : 0)
  }

  private evict(now: number): void {
    const isOver = (entry: Kept<Key, A>) => entry.users === 0 && now - entry.idleSince >= this.idleTimeToLive
    if (this.shared !== undefined && isOver(this.shared)) this.shared = undefined
    while (this.idle.first !== undefined && isOver(this.idle.first)) this.drop(this.idle.first)
  }

  private drop(entry: Kept<Key, A>): void {
    this.idle.remove(entry)
    this.own.delete(entry.key as Key)
  }

  private added(key: Key, now: number): Kept<Key, A> {
    if (this.size >= this.maxKeys) {
      if (this.idle.first === undefined) return (this.shared ??= this.made(undefined, now))
      this.drop(this.idle.first)
    }
    const entry = this.made(key, now)
    this.own.set(key, entry)
    this.idle.add(entry)
    return entry
  }

  private made(key: Key | undefined, now: number): Kept<Key, A> {
    return { key, value: this.make(now, key), users: 0, idleSince: now, before: undefined, after: undefined }
  }
}

/**
 * The entries of their own that nobody uses, longest idle first. It is no Map in the order of insertion: what was deleted from
 * its front stays in the way of whoever looks for the first, and the look costs as much as there are keys.
 */
class IdleQueue<Key, A> {
  first: Kept<Key, A> | undefined
  private last: Kept<Key, A> | undefined

  add(entry: Kept<Key, A>): void {
    entry.before = this.last
    if (this.last === undefined) this.first = entry
    else this.last.after = entry
    this.last = entry
  }

  remove(entry: Kept<Key, A>): void {
    const { after, before } = entry
    if (before === undefined) this.first = after
    else before.after = after
    if (after === undefined) this.last = before
    else after.before = before
    entry.before = entry.after = undefined
  }
}
