import { Catalogue, HtmlReport, SixClients, Storm } from "@breakwater/storm"
import * as Decisions from "@breakwater/storm/Decisions"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import type { Readable, Writable } from "node:stream"
import { pathToFileURL } from "node:url"

// -----------------------------------------------------------------------------
// Chromium
// -----------------------------------------------------------------------------

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const chromium = ["chromium", "chromium-browser", "google-chrome"]
  .flatMap((name) => (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name)))
  .find(isExecutable)

// Where servers are needed, that there is no browser is a failure of the tests, and no reason to leave them out.
const isSkipped = chromium === undefined && process.env["BREAKWATER_NEEDS_SERVERS"] !== "1"

type Message = { readonly id?: number; readonly method?: string; readonly params?: unknown } & Answer

interface Answer {
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

/** A headless Chromium that is spoken to over a pipe, in the DevTools protocol. */
class Browser {
  private readonly open = new Map<number, (answer: Answer) => void>()
  private readonly waiting = new Map<string, () => void>()
  private readonly input: Writable
  private sent = 0
  private received = ""
  private session: string | undefined
  /** Everything that was told, in order. */
  readonly events: Array<{ readonly method: string; readonly params: unknown }> = []

  private constructor(private readonly program: ChildProcess) {
    this.input = program.stdio[3] as Writable
    const output = program.stdio[4] as Readable
    output.setEncoding("utf8").on("data", (chunk: string) => this.receive(chunk))
  }

  static async start(profile: string): Promise<Browser> {
    if (chromium === undefined) throw new Error("there is no Chromium in PATH")
    // Its sandbox does not run as root.
    const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : []
    const flags = [
      "--headless",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--remote-debugging-pipe",
      `--user-data-dir=${profile}`
    ]
    const browser = new Browser(
      spawn(chromium, [...flags, ...sandbox], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] })
    )
    const { targetId } = await browser.send<{ targetId: string }>("Target.createTarget", { url: "about:blank" })
    const { sessionId } = await browser.send<{ sessionId: string }>("Target.attachToTarget", { targetId, flatten: true })
    browser.session = sessionId
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await browser.send(`${domain}.enable`)
    return browser
  }

  send<A = unknown>(method: string, params: object = {}): Promise<A> {
    const id = ++this.sent
    this.input.write(`${JSON.stringify({ id, method, params, sessionId: this.session })}\0`)
    return new Promise((resolve, reject) =>
      this.open.set(id, ({ error, result }) => (error === undefined ? resolve(result as A) : reject(new Error(error.message))))
    )
  }

  private receive(chunk: string): void {
    const messages = (this.received + chunk).split("\0")
    this.received = messages.pop()!
    for (const text of messages) {
      const { id, method, params, ...answer } = JSON.parse(text) as Message
      if (id !== undefined) this.open.get(id)?.(answer)
      if (method === undefined) continue
      this.events.push({ method, params })
      this.waiting.get(method)?.()
    }
  }

  async load(url: string): Promise<void> {
    const loaded = new Promise<void>((resolve) => this.waiting.set("Page.loadEventFired", resolve))
    await this.send("Page.navigate", { url })
    await loaded
  }

  async resize(width: number, scheme: "light" | "dark" = "light"): Promise<void> {
    await this.send("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: 1, mobile: width < 500 })
    await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] })
  }

  async evaluate<A>(expression: string): Promise<A> {
    const { result } = await this.send<{ result: { value: A } }>("Runtime.evaluate", { expression, returnByValue: true })
    return result.value
  }

  async press(key: "Tab" | "Enter"): Promise<void> {
    const stroke = { Tab: { windowsVirtualKeyCode: 9 }, Enter: { windowsVirtualKeyCode: 13, text: "\r" } }[key]
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, code: key, ...stroke })
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, code: key, ...stroke })
  }

  async stop(): Promise<void> {
    const stopped = new Promise((resolve) => this.program.once("exit", resolve))
    this.program.kill()
    await stopped
  }
}

// -----------------------------------------------------------------------------
// the page
// -----------------------------------------------------------------------------

const crowd = Catalogue.storms.find(({ id }) => id === "S2d")!

/** Lanes, a distribution, a crowd. */
const storms: ReadonlyArray<Storm.Storm> = [
  SixClients.whatToRetry,
  SixClients.retryAtOnce,
  SixClients.fullJitter,
  { ...SixClients.fullJitterManySeeds, replicas: 50, figures: [] },
  crowd
]

const page = Effect.gen(function* () {
  const checked = yield* Effect.forEach(storms, (storm) => Storm.check(storm))
  const recordings = yield* Effect.forEach(storms, ({ scenario, seed }) => Decisions.record(scenario, { seed }))
  return HtmlReport.render(checked, {
    decisions: Object.fromEntries(recordings.map(({ decisions }, index) => [storms[index]!.id, decisions]))
  })
})

describe.skipIf(isSkipped)("the HTML report in Chromium", () => {
  let folder: string
  let url: string
  let browser: Browser

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "breakwater-report-"))
    const file = join(folder, "report.html")
    url = pathToFileURL(file).href
    writeFileSync(file, await Effect.runPromise(page))
    browser = await Browser.start(join(folder, "profile"))
    await browser.load(url)
  })

  afterAll(async () => {
    // There is none where it could not be started.
    await (browser as Browser | undefined)?.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })

  it("loads nothing but itself, and the console stays empty", () => {
    const requests = browser.events.flatMap(({ method, params }) =>
      method === "Network.requestWillBeSent" ? [(params as { request: { url: string } }).request.url] : []
    )
    assert.deepStrictEqual(
      requests.filter((request) => request !== "data:,"),
      [url]
    )
    const told = browser.events.filter(({ method }) =>
      ["Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"].includes(method)
    )
    assert.deepStrictEqual(told, [])
  })

  it("has the right numbers in the overview and in the table of a storm", async () => {
    const rows = (selector: string) =>
      browser.evaluate<ReadonlyArray<ReadonlyArray<string>>>(
        `[...document.querySelectorAll(${JSON.stringify(selector)})].map((row) => [...row.cells].map((cell) => cell.innerText.replaceAll("\\u00a0", " ")))`
      )
    assert.deepStrictEqual((await rows("#storms > section:first-child tbody tr")).slice(0, 3), [
      ["A1 What to retry", "8", "5 of 6", "none", "ok"],
      ["A2 Retry at once", "120", "0 of 6", "none", "ok"],
      ["A4 Full jitter, one run", "19", "6 of 6", "649 ms", "ok"]
    ])
    assert.deepStrictEqual((await rows("#A2 .tables .part:last-child tbody tr")).slice(0, 4), [
      ["attempts", "120"],
      ["amplification", "× 20.00"],
      ["succeeded", "0 of 6"],
      ["gave up", "0"]
    ])
  })

  it.each([
    [360, "light"],
    [360, "dark"],
    [768, "light"],
    [1280, "dark"]
  ] as const)("does not scroll sideways at %i px, %s, even with all the numbers open", async (width, scheme) => {
    await browser.resize(width, scheme)
    await browser.evaluate(`document.querySelectorAll("details").forEach((details) => (details.open = true))`)
    const { inner, outer } = await browser.evaluate<{ inner: number; outer: number }>(
      `({ inner: document.documentElement.scrollWidth, outer: innerWidth })`
    )
    assert.isAtMost(inner, outer)
    await browser.evaluate(`document.querySelectorAll("details").forEach((details) => (details.open = false))`)
  })

  it("is dark where dark is preferred", async () => {
    const ground = () => browser.evaluate<string>(`getComputedStyle(document.body).backgroundColor`)
    await browser.resize(1280, "light")
    const light = await ground()
    await browser.resize(1280, "dark")
    assert.notStrictEqual(await ground(), light)
  })

  it("shows every picture, none of them empty, and its words inside of it", async () => {
    await browser.resize(1280)
    const pictures = await browser.evaluate<ReadonlyArray<{ name: string; height: number; marks: number; outside: string[] }>>(
      `[...document.querySelectorAll("figure svg")].map((svg) => {
        const box = svg.getBoundingClientRect()
        const isOutside = (text) => {
          const { left, right } = text.getBoundingClientRect()
          return left < box.left - 12 || right > box.right + 12
        }
        return {
          name: svg.getAttribute("aria-label"),
          height: box.height,
          marks: svg.querySelectorAll("rect, path").length,
          outside: [...svg.querySelectorAll("text")].filter(isOutside).map((text) => text.textContent)
        }
      })`
    )
    assert.isAbove(pictures.length, 20)
    for (const { height, marks, name, outside } of pictures) {
      assert.isAbove(height, 50, name)
      assert.isAbove(marks, 0, name)
      assert.deepStrictEqual(outside, [], name)
    }
  })

  it("is walked through by keyboard: past the contents, and into the numbers of a picture", async () => {
    await browser.resize(1280)
    await browser.load(url)
    const focused = () => browser.evaluate<string>(`document.activeElement.innerText ?? ""`)
    await browser.press("Tab")
    assert.strictEqual(await focused(), "Skip to the storms")
    const top = await browser.evaluate<number>(`document.activeElement.getBoundingClientRect().top`)
    assert.isAtLeast(top, 0, "the skip link is seen when it has the focus")
    await browser.press("Enter")
    assert.strictEqual(await browser.evaluate(`document.activeElement.id`), "storms")

    await browser.evaluate(`document.querySelector("#A4 figure summary").focus()`)
    await browser.press("Enter")
    assert.isTrue(await browser.evaluate(`document.querySelector("#A4 figure details").open`))
    await browser.press("Tab")
    assert.strictEqual(
      await browser.evaluate(`document.activeElement.getAttribute("aria-label")`),
      "Numbers of A4, What the clients do"
    )
  })
})
