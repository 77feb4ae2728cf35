/** What an operator sees: spans and metrics through OpenTelemetry's in-memory exporters, logs through a logger. */
import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import { LocalRefusal, Retry, RetryBudget } from "@breakwater/resilience"
import { Backoff, Limit } from "@breakwater/schedule"
import { assert, describe, it } from "@effect/vitest"
import type { MetricReader } from "@opentelemetry/sdk-metrics"
import { AggregationTemporality, InMemoryMetricExporter, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics"
import { InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { scripted } from "./operation.js"

const schedule = Backoff.constant({ delay: 1 }).pipe(Limit.attempts(3))

describe("spans", () => {
  const exported = async (program: Effect.Effect<unknown, unknown>) => {
    const exporter = new InMemorySpanExporter()
    const sdk = NodeSdk.layer(() => ({
      resource: { serviceName: "test" },
      spanProcessor: new SimpleSpanProcessor(exporter)
    }))
    let finished: ReturnType<InMemorySpanExporter["getFinishedSpans"]> = []
    const seen = Effect.sync(() => void (finished = exporter.getFinishedSpans()))
    await Effect.runPromise(Effect.ensuring(Effect.exit(program), seen).pipe(Effect.provide(sdk)))
    return finished
  }

  it("there is one for each attempt, under the caller's span, with its number and its failure", async () => {
    const { call } = scripted([{ fails: "down" }, {}])
    const spans = await exported(Retry.retry(call, { name: "payments", schedule, log: false }).pipe(Effect.withSpan("charge")))
    const charge = spans.find(({ name }) => name === "charge")!
    const attempts = spans.filter(({ name }) => name === "retry.attempt")
    assert.deepStrictEqual(
      attempts.map(({ attributes, parentSpanContext, status }) => [
        attributes["retry.policy"],
        attributes["retry.attempt"],
        status.code,
        parentSpanContext?.spanId === charge.spanContext().spanId
      ]),
      // 1: ok, 2: error
      [
        ["payments", 1, 2, true],
        ["payments", 2, 1, true]
      ]
    )
  })

  it("an attempt that is cut has one that ends with the cut", async () => {
    const spans = await exported(Retry.retry(Effect.never, { schedule, attemptTimeout: 10, idempotent: false, log: false }))
    assert.strictEqual(spans.filter(({ name }) => name === "retry.attempt").length, 1)
  })
})

describe("metrics", () => {
  it("reach a collector with their names and labels, each thing counted once", async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const reader: MetricReader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1e6 })
    const sdk = NodeSdk.layer(() => ({ resource: { serviceName: "test" }, metricReader: reader }))
    const program = Effect.gen(function* () {
      const budget = yield* RetryBudget.make(RetryBudget.fixedRate({ retries: 3 }), { name: "collected" })
      const policy = Retry.retry({ name: "collected", schedule, budget, log: false })
      yield* policy(scripted([{}]).call)
      yield* policy(scripted([{ fails: "down" }, {}]).call)
      yield* Effect.ignore(policy(scripted([{ fails: "down" }]).call))
      yield* Effect.ignore(policy(scripted([{ fails: "down" }]).call))
      yield* Effect.promise(() => reader.forceFlush())
    })
    await Effect.runPromise(Effect.provide(program, sdk))
    const points = exporter
      .getMetrics()
      .at(-1)!
      .scopeMetrics.flatMap(({ metrics }) => metrics)
      .flatMap(({ dataPoints, descriptor }) =>
        dataPoints.map(({ attributes, value }) => ({ ...attributes, name: descriptor.name, value }))
      )
      .filter((point: Record<string, unknown>) => point["policy"] === "collected" || point["budget"] === "collected")
    const value = (name: string, label?: string) =>
      points.find(
        (point: Record<string, unknown>) =>
          point["name"] === name && (label === undefined || Object.values(point).includes(label))
      )?.value
    assert.deepStrictEqual(
      {
        first: value("retry_first_attempts"),
        retries: value("retry_retries"),
        succeeded: value("retry_operations", "succeeded"),
        afterRetry: value("retry_operations", "succeeded-after-retry"),
        failed: value("retry_operations", "failed"),
        exhausted: value("retry_give_ups", "exhausted"),
        withoutBudget: value("retry_give_ups", "budget-exhausted"),
        balance: value("retry_budget_balance"),
        refusals: value("retry_budget_refusals")
      },
      { first: 4, retries: 3, succeeded: 1, afterRetry: 1, failed: 2, exhausted: 1, withoutBudget: 1, balance: 0, refusals: 1 }
    )
    const durations = value("retry_attempt_duration_seconds") as { readonly count: number }
    assert.strictEqual(durations.count, 7)
  })
})

describe("logs", () => {
  const logged = async (program: Effect.Effect<unknown, unknown>) => {
    const lines: Array<Record<string, unknown>> = []
    const logger = Logger.make(({ annotations, cause, logLevel, message }) => {
      lines.push({
        level: logLevel.label,
        message: String(message),
        cause: Cause.isEmpty(cause) ? undefined : Cause.pretty(cause),
        ...Object.fromEntries(HashMap.toEntries(annotations))
      })
    })
    const layer = Layer.merge(Logger.replace(Logger.defaultLogger, logger), Logger.minimumLogLevel(LogLevel.All))
    await Effect.runPromise(Effect.exit(program).pipe(Effect.provide(layer)))
    return lines
  }

  it("a failure that is retried is information, only the final one is an error", async () => {
    const { call } = scripted([{ fails: new Error("down") }])
    const lines = await logged(Retry.retry(call, { name: "payments", schedule }))
    assert.deepStrictEqual(
      lines.map(({ attempt, level, message, policy, reason, wait }) => ({ attempt, level, message, policy, reason, wait })),
      [
        {
          attempt: 1,
          level: "INFO",
          message: "Attempt 1 failed, next in 1ms",
          policy: "payments",
          reason: undefined,
          wait: "1ms"
        },
        {
          attempt: 2,
          level: "INFO",
          message: "Attempt 2 failed, next in 1ms",
          policy: "payments",
          reason: undefined,
          wait: "1ms"
        },
        {
          attempt: 3,
          level: "ERROR",
          message: "Gave up after attempt 3: exhausted",
          policy: "payments",
          reason: "exhausted",
          wait: undefined
        }
      ]
    )
    assert.isTrue(lines.every(({ cause }) => String(cause).includes("down")))
  })

  it("what succeeds in the end logs no error, what succeeds at once logs nothing", async () => {
    const levels = async (script: Parameters<typeof scripted<string>>[0]) =>
      (await logged(Retry.retry(scripted(script).call, { schedule }))).map(({ level }) => level)
    assert.deepStrictEqual(await levels([{ fails: "down" }, {}]), ["INFO"])
    assert.deepStrictEqual(await levels([{}]), [])
  })

  it("inside of another retry nothing is final: one error for the whole", async () => {
    const inner = Retry.retry(scripted([{ fails: "down" }]).call, { name: "inner", schedule })
    const lines = await logged(Retry.retry(inner, { name: "outer", schedule }))
    assert.deepStrictEqual(
      lines.filter(({ level }) => level === "ERROR").map(({ policy }) => policy),
      ["outer"]
    )
  })

  it("an interruption is no error, a local refusal is one with its reason", async () => {
    const interrupted = await logged(Retry.retry(Effect.never, { schedule }).pipe(Effect.timeout(5)))
    assert.deepStrictEqual(interrupted, [])
    const open = new LocalRefusal.CircuitOpen({ breaker: "default", retryAfter: Duration.seconds(5) })
    const [line] = await logged(Retry.retry(Effect.fail(open), { schedule }))
    assert.deepStrictEqual([line!["level"], line!["reason"]], ["ERROR", "refused-locally"])
    assert.include(String(line!["cause"]), 'The circuit breaker "default" is open; try again in 5s')
  })

  it("can be left out", async () => {
    assert.deepStrictEqual(await logged(Retry.retry(Effect.fail("down"), { schedule, log: false })), [])
  })
})
