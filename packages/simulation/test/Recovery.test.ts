import { InvalidOption } from "@breakwater/core"
import type { Trace } from "@breakwater/simulation"
import { Recovery } from "@breakwater/simulation"
import { assert, describe, it } from "@effect/vitest"

/** An operation that begins at a millisecond, the later attempts it makes, and whether it gets through. */
const operation = (
  at: number,
  retriesAt: ReadonlyArray<number> = [],
  outcome: Trace.OperationOutcome | "unfinished" = "succeeded"
) => ({
  at,
  retriesAt,
  outcome
})

const trace = (operations: ReadonlyArray<ReturnType<typeof operation>>, to = 0, until = 1000): Trace.Trace => ({
  scenario: "by hand",
  seed: 1,
  engine: 2,
  generator: "none",
  clients: operations.length,
  slots: null,
  layers: ["service"],
  disturbances: to === 0 ? [] : [{ from: 0, to: to * 1000 }],
  until: until * 1000,
  events: operations.flatMap(({ at, outcome, retriesAt }, client): Array<Trace.Event> => {
    const starts = [at, ...retriesAt]
    const last = starts[starts.length - 1]! * 1000
    return [
      { _tag: "OperationStarted", at: at * 1000, client, operation: 0 },
      ...starts.map((start, index) => ({
        _tag: "AttemptStarted" as const,
        at: start * 1000,
        client,
        operation: 0,
        attempt: index + 1
      })),
      ...(outcome === "unfinished" ? [] : [{ _tag: "OperationEnded" as const, at: last, client, operation: 0, outcome }])
    ]
  })
})

const every = (step: number, from: number, to: number) =>
  Array.from({ length: Math.ceil((to - from) / step) }, (_, index) => operation(from + index * step))

const recovered = (after: number): Recovery.Recovery => ({ _tag: "Recovered", after })

describe("when is a run well again?", () => {
  it("at once, if nothing is wrong any more", () => {
    assert.deepStrictEqual(Recovery.of(trace(every(10, 0, 1000), 100)), recovered(0))
  })

  it("from the first of the windows that are well in a row", () => {
    const failing = [operation(110, [], "gave up"), operation(260, [], "gave up")]
    assert.deepStrictEqual(Recovery.of(trace([...every(10, 0, 1000), ...failing], 100)), recovered(200))
  })

  it("not before enough windows in a row: what fails between them begins the count anew", () => {
    const failing = [operation(310, [], "gave up")]
    assert.deepStrictEqual(Recovery.of(trace([...every(10, 0, 1000), ...failing], 100)), recovered(250))
    assert.deepStrictEqual(Recovery.of(trace([...every(10, 0, 1000), ...failing], 100), { windows: 4 }), recovered(0))
  })

  it("not while retries carry the success, whichever operation they belong to", () => {
    // All succeed, but those of the first 200 ms after the trigger are repeated 100 ms later.
    const retried = every(10, 100, 300).map(({ at }) => operation(at, [at + 100]))
    const later = [...every(10, 0, 100), ...retried, ...every(10, 300, 1000)]
    assert.deepStrictEqual(Recovery.of(trace(later, 100)), recovered(300))
  })

  it("with a quarter more attempts than operations at the most", () => {
    const windowOf = (retries: number) =>
      trace(
        [
          ...every(5, 0, 1000),
          operation(
            100,
            Array.from({ length: retries }, (_, index) => 101 + index)
          )
        ],
        100
      )
    // 11 operations in the first window: two more attempts are 13 / 11, three are 14 / 11.
    assert.deepStrictEqual(Recovery.of(windowOf(2)), recovered(0))
    assert.deepStrictEqual(Recovery.of(windowOf(3)), recovered(50))
  })

  it("never, as an outcome of its own, with how long it was watched", () => {
    const failing = every(40, 100, 1000).map(({ at }) => operation(at, [], "gave up"))
    assert.deepStrictEqual(Recovery.of(trace([...every(10, 0, 1000), ...failing], 100)), { _tag: "NotRecovered", within: 900 })
  })

  it("not by operations whose end was not seen", () => {
    const pending = every(10, 700, 1000).map(({ at }) => operation(at, [], "unfinished"))
    const failing = every(10, 100, 500).map(({ at }) => operation(at, [], "gave up"))
    const late = [...failing, ...every(10, 500, 700), ...pending]
    assert.deepInclude(Recovery.of(trace(late, 100)), { _tag: "NotRecovered" })
  })

  it("not by silence: windows without operations are passed over, retries in them are not", () => {
    const sparse = [operation(100), operation(300), operation(500), operation(700), operation(900)]
    assert.deepStrictEqual(Recovery.of(trace(sparse, 100)), recovered(0))
    assert.deepInclude(Recovery.of(trace(sparse.slice(0, 4), 100)), { _tag: "NotRecovered" })
    const retrying = [operation(100, [210]), ...sparse.slice(1)]
    assert.deepInclude(Recovery.of(trace(retrying, 100)), { _tag: "NotRecovered" })
  })

  it("counts from the end of the last disturbance, or from where it is told", () => {
    const two = {
      ...trace(every(10, 0, 1000)),
      disturbances: [
        { from: 0, to: 400_000 },
        { from: 100_000, to: 200_000 }
      ]
    }
    const failing = {
      ...two,
      events: [...two.events, ...trace([operation(210, [], "gave up")]).events.map((e) => ({ ...e, client: 100 }))]
    }
    assert.deepStrictEqual(Recovery.of(failing), recovered(0))
    assert.deepStrictEqual(Recovery.of(failing, { after: 200 }), recovered(50))
    assert.isUndefined(Recovery.of(trace(every(10, 0, 1000))))
  })

  it("refuses a window without length", () => {
    assert.throws(() => Recovery.of(trace([], 100), { window: 0 }), InvalidOption.InvalidOption, "Recovery.of: window must be")
  })
})
