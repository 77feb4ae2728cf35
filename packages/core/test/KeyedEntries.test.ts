import { KeyedEntries } from "@breakwater/core"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"

interface Made {
  readonly number: number
  readonly key: string | undefined
}

const registry = (options: { readonly maxKeys?: number; readonly idleTimeToLive?: number } = {}) => {
  let made = 0
  return new KeyedEntries.KeyedEntries<string, Made>({ where: "test", make: (_, key) => ({ number: ++made, key }), ...options })
}

describe("the entry of a key", () => {
  it("is the same while it is used, and afterwards until it has been idle for too long", () => {
    const entries = registry({ idleTimeToLive: 100 })
    const first = entries.acquire("a", 0)
    assert.strictEqual(entries.acquire("a", 10), first)
    entries.release(first, 20)
    entries.release(first, 20)
    const again = entries.acquire("a", 119)
    assert.strictEqual(again, first)
    entries.release(again, 119)
    assert.notStrictEqual(entries.acquire("a", 219), first)
  })

  it("is never taken away while it is used, however long", () => {
    const entries = registry({ idleTimeToLive: 0, maxKeys: 1 })
    const first = entries.acquire("a", 0)
    entries.acquire("b", 1e9)
    assert.strictEqual(entries.acquire("a", 1e12), first)
  })

  it("that has been idle longest makes room for a newcomer", () => {
    const entries = registry({ maxKeys: 2 })
    const [a, b] = [entries.acquire("a", 0), entries.acquire("b", 0)]
    entries.release(b, 1)
    entries.release(a, 2)
    const c = entries.acquire("c", 3)
    assert.deepStrictEqual([entries.size, c.value.number], [2, 3])
    assert.strictEqual(entries.acquire("a", 4), a)
  })

  it("is shared by newcomers where nobody is idle, and their own again where there is room", () => {
    const entries = registry({ maxKeys: 1 })
    const a = entries.acquire("a", 0)
    const [b, c] = [entries.acquire("b", 0), entries.acquire("c", 0)]
    assert.strictEqual(b, c)
    assert.notStrictEqual(b, a)
    assert.deepStrictEqual([a.value.key, b.value.key], ["a", undefined])
    assert.deepStrictEqual([entries.size, entries.inUse], [1, 2])
    entries.release(a, 1)
    assert.strictEqual(entries.acquire("b", 2).value.key, "b")
    // Who has the shared one keeps it, and newcomers find it where it is.
    assert.strictEqual(entries.acquire("d", 3), b)
  })

  it("that is shared is kept between uses as others are", () => {
    const entries = registry({ maxKeys: 1, idleTimeToLive: 100 })
    entries.acquire("a", 0)
    const shared = entries.acquire("b", 0)
    entries.release(shared, 0)
    assert.strictEqual(entries.acquire("c", 99), shared)
    entries.release(shared, 99)
    assert.notStrictEqual(entries.acquire("c", 199), shared)
  })

  it("that is given back once too often stays what it is", () => {
    const entries = registry()
    const a = entries.acquire("a", 0)
    entries.release(a, 0)
    entries.release(a, 0)
    assert.deepStrictEqual([entries.size, entries.inUse], [1, 0])
    assert.strictEqual(entries.acquire("a", 1), a)
    assert.strictEqual(entries.inUse, 1)
  })
})

it("a key may be any value, none among them", () => {
  const entries = new KeyedEntries.KeyedEntries<string | undefined, object>({ where: "test", make: () => ({}), maxKeys: 1 })
  const none = entries.acquire(undefined, 0)
  assert.notStrictEqual(entries.acquire("a", 0), none)
  entries.release(none, 0)
  assert.deepStrictEqual([entries.size, entries.inUse], [1, 1])
})

/** The same by definition: looks through everything it has. */
class Model {
  private own: Array<{ key: string | undefined; number: number; users: number; since: number; turn: number }> = []
  private shared: { key: string | undefined; number: number; users: number; since: number; turn: number } | undefined
  private made = 0
  private turns = 0

  constructor(
    private readonly maxKeys: number,
    private readonly idleTimeToLive: number
  ) {}

  private make(key: string | undefined) {
    return { key, number: ++this.made, users: 0, since: 0, turn: 0 }
  }

  acquire(key: string, now: number) {
    const stays = (entry: { users: number; since: number }) => entry.users > 0 || now - entry.since < this.idleTimeToLive
    this.own = this.own.filter(stays)
    if (this.shared !== undefined && !stays(this.shared)) this.shared = undefined
    let entry = this.own.find((one) => one.key === key)
    if (entry === undefined) {
      const [longestIdle] = this.own.filter(({ users }) => users === 0).sort((a, b) => a.turn - b.turn)
      if (this.own.length < this.maxKeys || longestIdle !== undefined) {
        if (this.own.length >= this.maxKeys) this.own = this.own.filter((one) => one !== longestIdle)
        this.own.push((entry = this.make(key)))
      } else entry = this.shared ??= this.make(undefined)
    }
    entry.users++
    return entry
  }

  release(entry: { users: number; since: number; turn: number }, now: number) {
    if (entry.users === 0 || --entry.users > 0) return
    entry.since = now
    entry.turn = ++this.turns
  }

  get counts() {
    const users = [...this.own, this.shared].filter((entry) => entry !== undefined && entry.users > 0)
    return [this.own.length, users.length]
  }
}

describe("every sequence of uses", () => {
  const keys = ["a", "b", "c", "d", "e"] as const
  const step = fc.oneof(
    fc.record({ do: fc.constant("acquire" as const), key: fc.constantFrom(...keys), after: fc.nat(40) }),
    fc.record({ do: fc.constant("release" as const), which: fc.nat(20), after: fc.nat(40) })
  )

  // Without a size there are ten steps at the most.
  const steps = fc.array(step, { maxLength: 200, size: "max" })

  it("gives each key what the definition gives, releases that come too often included", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.nat(100), steps, (maxKeys, idleTimeToLive, steps) => {
        const entries = registry({ maxKeys, idleTimeToLive })
        const model = new Model(maxKeys, idleTimeToLive)
        // All that were ever given: some have long been released, or gone.
        const given: Array<[KeyedEntries.Entry<Made>, ReturnType<Model["acquire"]>]> = []
        let now = 0
        for (const next of steps) {
          now += next.after
          if (next.do === "acquire") {
            const [entry, expected] = [entries.acquire(next.key, now), model.acquire(next.key, now)]
            assert.deepStrictEqual(entry.value, { number: expected.number, key: expected.key })
            given.push([entry, expected])
          } else if (given.length > 0) {
            const [entry, expected] = given[given.length - 1 - (next.which % given.length)]!
            entries.release(entry, now)
            model.release(expected, now)
          }
          assert.deepStrictEqual([entries.size, entries.inUse], model.counts)
        }
      }),
      { numRuns: 500 }
    )
  })

  it("keeps its bound, loses nothing that is used, and counts exactly", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.nat(100), steps, (maxKeys, idleTimeToLive, steps) => {
        const entries = registry({ maxKeys, idleTimeToLive })
        const held: Array<{ readonly key: string; readonly entry: KeyedEntries.Entry<Made> }> = []
        let now = 0
        for (const next of steps) {
          now += next.after
          if (next.do === "acquire") {
            const entry = entries.acquire(next.key, now)
            held.push({ key: next.key, entry })
          } else if (held.length > 0) {
            const [released] = held.splice(next.which % held.length, 1)
            entries.release(released!.entry, now)
          }
          const users = new Map<unknown, Set<string>>()
          for (const { entry, key } of held) users.set(entry, (users.get(entry) ?? new Set()).add(key))
          // Its own, and the one that newcomers share.
          for (const key of keys)
            assert.isAtMost(new Set(held.filter((one) => one.key === key).map(({ entry }) => entry)).size, 2)
          assert.isAtMost(Array.from(users.values()).filter((keys) => keys.size > 1).length, 1)
          assert.isAtMost(entries.size, maxKeys)
          assert.strictEqual(entries.inUse, new Set(held.map(({ entry }) => entry)).size)
        }
        for (const { entry } of held) entries.release(entry, now)
        assert.strictEqual(entries.inUse, 0)
      }),
      { numRuns: 100 }
    )
  })
})

describe("wrong options", () => {
  it("name the function that was given them", () => {
    const made = (options: object) => () =>
      new KeyedEntries.KeyedEntries({ where: "RetryBudget.makeKeyed", make: () => 1, ...options })
    assert.throws(made({ maxKeys: 0 }), "RetryBudget.makeKeyed: maxKeys must be a whole number, at least 1, or Infinity, got 0")
    assert.throws(
      made({ idleTimeToLive: -1 }),
      "RetryBudget.makeKeyed: idleTimeToLive must be a whole number of milliseconds, at least 0, or infinite, got -1"
    )
  })
})
