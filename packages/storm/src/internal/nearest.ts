import * as AutoCorrect from "@effect/cli/AutoCorrect"
import * as CliConfig from "@effect/cli/CliConfig"

/** The names that somebody may have meant, the likeliest first: at most three. */
export const nearest = (name: string, names: Iterable<string>): ReadonlyArray<string> => {
  const distance = (other: string) => AutoCorrect.levensteinDistance(name, other, CliConfig.defaultConfig)
  return [...names]
    .map((other) => ({ other, distance: distance(other) }))
    .filter(({ distance, other }) => distance <= Math.max(2, Math.ceil(other.length / 3)))
    .sort((one, two) => one.distance - two.distance)
    .slice(0, 3)
    .map(({ other }) => other)
}

/** As the next sentence of a message. */
export const didYouMean = (name: string, names: Iterable<string>): string => {
  const found = nearest(name, names)
  return found.length === 0 ? "" : ` Did you mean ${found.map((one) => JSON.stringify(one)).join(", ")}?`
}
