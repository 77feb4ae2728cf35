import { InvalidOption } from "@breakwater/core"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"

/**
 * Reads options from the configuration and builds something of them. An option that the rules refuse fails as what it is, a wrong
 * value in the configuration, under the key it was read from; also where a `Config.map` makes something of a value that checks it.
 */
export const fromConfig = <Options, A>(
  wrapped: Config.Config.Wrap<Options>,
  build: (options: Options) => A
): Effect.Effect<A, ConfigError.ConfigError> =>
  Config.unwrap(wrapped).pipe(
    Effect.map(build),
    Effect.catchAllDefect((defect) =>
      defect instanceof InvalidOption.InvalidOption
        ? Effect.flatMap(keyOf(wrapped, defect.field), (key) => Effect.fail(ConfigError.InvalidData(key, defect.message)))
        : Effect.die(defect)
    )
  )

/** The key that a field is read from, which is what an empty configuration says it lacks; of one with a default, the field. */
const keyOf = (wrapped: unknown, field: string): Effect.Effect<Array<string>> => {
  const config = field.split(".").reduce<unknown>((found, name) => (found as Record<string, unknown>)?.[name], wrapped)
  return Config.isConfig(config)
    ? Effect.match(ConfigProvider.fromMap(new Map()).load(config as Config.Config<unknown>), {
        onSuccess: () => [field],
        onFailure: (error) => (error._op === "MissingData" ? error.path : [field])
      })
    : Effect.succeed([field])
}
