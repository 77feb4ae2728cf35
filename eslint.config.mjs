import tseslint from "typescript-eslint"

/** Which packages of ours each package may import. Nothing points back; see docs/decisions/0001-workspace.md. */
const mayImport = {
  core: [],
  schedule: ["core"],
  resilience: ["core", "schedule"],
  simulation: ["core"],
  storm: ["core", "schedule", "resilience", "simulation"]
}
/** The tests of any package may run it in the simulator. */
const testsMayImport = (name) => [...mayImport[name], name, "schedule", "simulation"]

/** The only files of packages that may touch real time, real chance and the real event loop. */
const engineRoom = ["packages/simulation/src/internal/realAsynchrony.ts", "packages/resilience/src/internal/liveTimer.ts"]

const importsOf = (allowed) => [
  {
    regex: `^@breakwater/(?!(${["$none", ...allowed].join("|")})(/|$))`,
    message: "The arrows of docs/decisions/0001-workspace.md do not allow this import."
  },
  { regex: "^@breakwater/[^/]+/(internal|src|dist)(/|$)", message: "Another package's inside is its own." },
  { regex: `^(\\.\\./)+(packages|${Object.keys(mayImport).join("|")})/`, message: "Import another package by its name." }
]

const restrictImports = (...patterns) => ({ "no-restricted-imports": ["error", { patterns }] })

const realTime = "Time comes from Clock and chance from Random; only the engine room may touch the real ones."

export default tseslint.config(
  { ignores: ["**/dist", "**/coverage", "examples/.snippets"] },
  ...tseslint.configs.strict,
  {
    rules: {
      "@typescript-eslint/consistent-type-imports": "error",
      // `noUncheckedIndexedAccess` needs a `!` wherever an index is in range by construction.
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      // Effect<void> is how an effect without a result is written.
      "@typescript-eslint/no-invalid-void-type": "off",
      eqeqeq: "error",
      "no-console": "error"
    }
  },
  ...Object.entries(mayImport).flatMap(([name, allowed]) => [
    {
      files: [`packages/${name}/src/**`],
      rules: restrictImports(
        ...importsOf(allowed),
        { regex: "^effect$", message: "Import the module: effect/Effect." },
        ...(name === "core" ? [{ regex: "^[^.]", message: "core imports nothing." }] : [])
      )
    },
    { files: [`packages/${name}/test/**`], rules: restrictImports(...importsOf(testsMayImport(name))) }
  ]),
  {
    files: ["packages/*/src/**"],
    ignores: engineRoom,
    rules: {
      "no-restricted-globals": [
        "error",
        ...["setTimeout", "setInterval", "setImmediate", "queueMicrotask", "performance", "crypto"].map((name) => ({
          name,
          message: realTime
        }))
      ],
      "no-restricted-properties": [
        "error",
        { object: "Date", property: "now", message: realTime },
        { object: "Math", property: "random", message: realTime },
        { object: "process", property: "hrtime", message: realTime },
        { object: "globalThis", property: "setTimeout", message: realTime }
      ],
      "no-restricted-syntax": [
        "error",
        { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: realTime },
        { selector: "CallExpression[callee.name='Date']", message: realTime }
      ]
    }
  },
  // Examples and benchmarks print what they do.
  { files: ["examples/**", "bench/**", "**/*.mjs"], rules: { "no-console": "off" } }
)
