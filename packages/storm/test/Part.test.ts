import { SixClients } from "@breakwater/storm"
import { Simulation, type Summary } from "@breakwater/simulation"
import * as Part from "@breakwater/storm/Part"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import * as fc from "effect/FastCheck"

const summaries = await Effect.runPromise(Simulation.replicate(SixClients.fullJitter.scenario, { seeds: 60 }))

const part = (from: number, to: number, changes: Partial<Part.Part> = {}): Part.Part => ({
  ...Part.make({
    source: { _tag: "Catalogue", id: "A4" },
    scenario: "full jitter",
    engine: 2,
    generator: "sfc32/1",
    seeds: { from, to },
    summaries: summaries.slice(from - 1, to)
  }),
  ...changes
})

const read = (text: string) => Either.getOrThrow(Part.read(text))

describe("a part as a text", () => {
  it("is read as it was", () => {
    assert.deepStrictEqual(read(Part.toText(part(1, 60))), part(1, 60))
  })

  it("keeps the recovery of a run, and that there was none to look for", () => {
    const recovered: Summary.Summary = { ...summaries[0]!, recovery: { _tag: "Recovered", after: 12.5 } }
    const ill: Summary.Summary = { ...summaries[1]!, recovery: { _tag: "NotRecovered", within: 1000 } }
    const one = part(1, 3, { summaries: [recovered, ill, summaries[2]!] })
    assert.deepStrictEqual(read(Part.toText(one)), one)
  })

  it("does not depend on the order of the fields", () => {
    const reversed = <A extends object>(value: A): A => Object.fromEntries(Object.entries(value).reverse()) as A
    const one = part(1, 5)
    const other = reversed({ ...one, source: reversed(one.source), seeds: reversed(one.seeds) })
    assert.strictEqual(Part.toText({ ...other, summaries: other.summaries.map(reversed) }), Part.toText(one))
  })

  const text = Part.toText(part(1, 3))
  it.each([
    { what: "no JSON", text: "seeds 1 to 3", says: /^Not a part of a sweep: the text: must be the JSON object/ },
    { what: "something else", text: "[]", says: /: the text: must be the JSON object/ },
    { what: "another format", text: text.replace('"format": 1', '"format": 2'), says: /: format: Expected 1, actual 2$/ },
    { what: "no source", text: text.replace('"source"', '"origin"'), says: /: source: is missing$/ },
    { what: "a source of no kind", text: text.replace('"Catalogue"', '"Cloud"'), says: /: source\._tag: / },
    {
      what: "no seeds",
      text: text.replace('"from":1,"to":3', '"from":1,"to":0'),
      says: /: seeds\.to: must be at least 1, got 0$/
    },
    {
      what: "a summary too few",
      text: text.replace('"to":3', '"to":4'),
      says: /: summaries\[3\]\.seed: must be 4, got no more$/
    },
    { what: "one too many", text: text.replace('"to":3', '"to":2'), says: /: summaries\[2\]: must not be there: .* 2$/ },
    {
      what: "that of another seed",
      text: text.replace('"seed":2', '"seed":9'),
      says: /: summaries\[1\]\.seed: must be 2, got 9$/
    },
    { what: "half a call", text: text.replace(/"attempts":\d+/, '"attempts":1.5'), says: /: summaries\[0\]\.attempts: / },
    {
      what: "a gap at the end",
      text: text.replace('"missing": []', '"missing": [{"from":3,"to":3}]'),
      says: /: missing\[0\]\.to: must be below 3, got 3$/
    }
  ])("is refused, with field and rule: $what", ({ says, text }) => {
    const error = Either.getOrThrow(Either.flip(Part.read(text)))
    assert.strictEqual(error._tag, "PartInvalid")
    assert.match(error.message, says)
  })
})

describe("parts together", () => {
  it("are as if one machine had run it all, in whatever order they come", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: 59 }), { maxLength: 6 }),
        fc.infiniteStream(fc.nat()),
        (cuts, chance) => {
          const ends = [...cuts.sort((a, b) => a - b), 60]
          const parts = ends.map((to, index) => part((ends[index - 1] ?? 0) + 1, to))
          const [first, ...others] = parts
            .map((part) => ({ part, order: chance.next().value }))
            .sort((a, b) => a.order - b.order)
            .map(({ part }) => read(Part.toText(part)))
          assert.strictEqual(Part.toText(Either.getOrThrow(Part.merge([first!, ...others]))), Part.toText(part(1, 60)))
        }
      )
    )
  })

  it("name the seeds between them that are missing, and take them in later", () => {
    const refused = Either.getOrThrow(Either.flip(Part.merge([part(31, 60), part(1, 10), part(11, 20), part(25, 29)])))
    assert.strictEqual(refused.message, "The parts do not belong together: seeds: no part has seeds 21 to 24, seed 30")
    const holed = Either.getOrThrow(Part.merge([part(31, 60), part(1, 10), part(11, 20), part(25, 29)], { allowGaps: true }))
    assert.deepStrictEqual(holed.seeds, { from: 1, to: 60 })
    assert.deepStrictEqual(holed.missing, [
      { from: 21, to: 24 },
      { from: 30, to: 30 }
    ])
    const again = read(Part.toText(holed))
    assert.deepStrictEqual(again, holed)
    assert.deepStrictEqual(Either.getOrThrow(Part.merge([part(30, 30), again, part(21, 24)])), part(1, 60))
  })

  it.each([
    { what: "a seed in both", parts: [part(1, 10), part(10, 20)], says: "seeds: more than one part has seed 10" },
    { what: "one within the other", parts: [part(1, 30), part(10, 20)], says: "seeds: more than one part has seeds 10 to 20" },
    {
      what: "another source",
      parts: [part(1, 10), part(11, 20, { source: { _tag: "Catalogue", id: "A5" } })],
      says: 'source: {"_tag":"Catalogue","id":"A4"} in one, {"_tag":"Catalogue","id":"A5"} in another'
    },
    { what: "another engine", parts: [part(1, 10), part(11, 20, { engine: 3 })], says: "engine: 2 in one, 3 in another" },
    {
      what: "another generator",
      parts: [part(1, 10), part(11, 20, { generator: "sfc32/2" })],
      says: 'generator: "sfc32/1" in one, "sfc32/2" in another'
    }
  ])("are refused: $what", ({ parts: [one, other], says }) => {
    for (const parts of [
      [one!, other!],
      [other!, one!]
    ] as const) {
      const refused = Either.getOrThrow(Either.flip(Part.merge(parts, { allowGaps: true })))
      assert.strictEqual(refused.message, `The parts do not belong together: ${says}`)
    }
  })
})
