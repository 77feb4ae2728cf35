import * as Source from "@breakwater/storm/Source"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as path from "node:path"
import { pathToFileURL } from "node:url"

const file = path.join(import.meta.dirname, "fixtures/scenarios.ts")

const fixture = (name: string, module = file): Source.Source => ({ _tag: "Module", module, export: name })

describe("what a source names", () => {
  it.each<{ what: string; source: Source.Source; name: string }>([
    { what: "a storm of the catalogue", source: { _tag: "Catalogue", id: "A4" }, name: "full jitter" },
    { what: "a scenario by an absolute path", source: fixture("calm"), name: "calm" },
    { what: "a scenario by a file URL", source: fixture("calm", pathToFileURL(file).href), name: "calm" },
    {
      what: "a scenario by a path from the working directory",
      source: fixture("calm", `./${path.relative(process.cwd(), file)}`),
      name: "calm"
    },
    { what: "the scenario of a storm", source: fixture("stormOfIt"), name: "calm" },
    { what: "what a function gives", source: fixture("make"), name: "calm" },
    {
      what: "a policy of a file",
      source: {
        _tag: "File",
        file: path.join(import.meta.dirname, "../templates/storm.yaml"),
        policy: "full jitter",
        set: { name: "in the afternoon" }
      },
      name: "in the afternoon, full jitter"
    }
  ])("is loaded: $what", async ({ name, source }) => {
    assert.strictEqual((await Effect.runPromise(Source.load(source))).name, name)
    assert.deepStrictEqual(Schema.decodeUnknownSync(Source.schema)(JSON.parse(JSON.stringify(source))), source)
  })

  it.each<{ what: string; source: Source.Source; missing: Source.SourceError["missing"]; says: RegExp }>([
    {
      what: "a storm that is not in the catalogue",
      source: { _tag: "Catalogue", id: "A44" },
      missing: "storm",
      says: /"A44".*Did you mean "A4"/
    },
    {
      what: "a file that is not there, with its neighbours",
      source: fixture("calm", file.replace("scenarios", "scenrios")),
      missing: "module",
      says: /no file .*scenrios\.ts.*Did you mean "scenarios\.ts"/
    },
    {
      what: "a package that is not there, and what else it could be",
      source: fixture("calm", "no-such-package/storms"),
      missing: "module",
      says: /no module "no-such-package\/storms".*begins with a dot/
    },
    {
      what: "an export that is not there, with the names of others",
      source: fixture("clam"),
      missing: "export",
      says: /exports no "clam"\. Did you mean "calm"/
    },
    {
      what: "an export that is no scenario",
      source: fixture("notOne"),
      missing: "scenario",
      says: /notOne of .* must be a storm, a scenario or a function that gives one, got an object with name/
    },
    { what: "a function that throws", source: fixture("throwing"), missing: "scenario", says: /throws: no scenario today/ },
    {
      what: "a file without the policy",
      source: {
        _tag: "File",
        file: path.join(import.meta.dirname, "../templates/storm.yaml"),
        policy: "ful jitter",
        set: {}
      },
      missing: "policy",
      says: /Did you mean "full jitter"/
    },
    {
      what: "a storm file that is not there",
      source: { _tag: "File", file: "nowhere.yaml", policy: "patient", set: {} },
      missing: "file",
      says: /nowhere\.yaml/
    }
  ])("is missed: $what", async ({ missing, says, source }) => {
    const error = await Effect.runPromise(Effect.flip(Source.load(source)))
    assert.strictEqual(error.missing, missing)
    assert.match(error.message, says)
    assert.deepStrictEqual(error.source, source)
  })
})
