/** A PostgreSQL server of its own, for as long as a scope: empty, on a free port, in a folder that goes with it. */
import { Command, FileSystem } from "@effect/platform"
import { Data, Effect } from "effect"
import { existsSync, readdirSync } from "node:fs"
import { createServer } from "node:net"
import { userInfo } from "node:os"
import { delimiter, join } from "node:path"

export class ServerFailed extends Data.TaggedError("ServerFailed")<{ readonly message: string }> {}

const debian = "/usr/lib/postgresql"

/** Where the programs of the server are. Debian has a folder for each version, none of which is on the path. */
export const findPrograms = (): string | undefined => {
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const folders = [...versions.map((version) => join(debian, version, "bin")), ...(process.env["PATH"] ?? "").split(delimiter)]
  return folders.find((folder) => ["initdb", "pg_ctl", "postgres"].every((program) => existsSync(join(folder, program))))
}

const freePort = Effect.async<number>((resume) => {
  const socket = createServer().listen(0, "127.0.0.1", () => {
    const address = socket.address()
    socket.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

export const server = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const programs = findPrograms()
  if (programs === undefined) return yield* new ServerFailed({ message: "There is no PostgreSQL on this machine" })

  const folder = yield* fs.makeTempDirectoryScoped({ prefix: "postgres-retry-" })
  // PostgreSQL refuses to run as root; its package comes with a user for it.
  const isRoot = userInfo().uid === 0
  if (isRoot) {
    const uid = Number(yield* Command.string(Command.make("id", "-u", "postgres")))
    const gid = Number(yield* Command.string(Command.make("id", "-g", "postgres")))
    yield* fs.chown(folder, uid, gid)
  }
  const data = join(folder, "data")
  const log = join(folder, "log")

  const run = (program: string, ...args: ReadonlyArray<string>) => {
    const line = [...(isRoot ? ["runuser", "-u", "postgres", "--"] : []), join(programs, program), ...args]
    const [first = program, ...rest] = line
    return Command.make(first, ...rest).pipe(
      Command.workingDirectory(folder),
      Command.exitCode,
      Effect.filterOrElse(
        (code) => code === 0,
        () =>
          fs.readFileString(log).pipe(
            Effect.orElseSucceed(() => ""),
            Effect.flatMap((said) => new ServerFailed({ message: `${line.join(" ")} failed. ${said}` }))
          )
      )
    )
  }

  const port = yield* freePort
  const settings = [
    "-c listen_addresses=127.0.0.1",
    `-c port=${port}`,
    `-c unix_socket_directories=${folder}`,
    // What it keeps is deleted anyway.
    "-c fsync=off",
    "-c deadlock_timeout=100ms"
  ]
  const start = run("pg_ctl", "start", "--wait", "--pgdata", data, "--log", log, "--options", settings.join(" "))
  const stop = run("pg_ctl", "stop", "--wait", "--pgdata", data, "--mode", "fast")

  yield* run(
    "initdb",
    "--pgdata",
    data,
    "--username",
    "postgres",
    "--auth",
    "trust",
    "--encoding",
    "UTF8",
    "--locale",
    "C",
    "--no-sync"
  )
  // Before the start, which may fail halfway; a server that is stopped already is as good.
  yield* Effect.addFinalizer(() => Effect.ignore(stop))
  yield* start
  return { folder, start, stop, config: { host: "127.0.0.1", port, username: "postgres", database: "postgres" } }
})
