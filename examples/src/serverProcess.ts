/**
 * A server of an example in a process of its own, so that its count owes nothing to the client. It is a file `server.ts` beside the
 * caller, prints its port as one line of JSON, and ends with its parent.
 */
import { Command } from "@effect/platform"
import { Effect, Schema, Stream } from "effect"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

/** The server beside a module, for as long as the scope: closing it, also by an interrupt, ends the process and waits for the end. */
export const serverBeside = Effect.fn(function* (module: string) {
  const child = yield* Command.make(process.execPath, "--import", "jiti/register", "server.ts").pipe(
    // Node looks for what it imports from here, wherever the example was started.
    Command.workingDirectory(dirname(fileURLToPath(module))),
    Command.stderr("inherit"),
    Command.start
  )
  const line = yield* child.stdout.pipe(Stream.decodeText(), Stream.splitLines, Stream.runHead, Effect.flatten)
  const { port } = yield* Schema.decode(Schema.parseJson(Schema.Struct({ port: Schema.Number })))(line)
  return `http://127.0.0.1:${port}`
})
