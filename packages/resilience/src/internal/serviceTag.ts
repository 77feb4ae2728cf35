import type * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { fromConfig } from "./config.js"

/** The tag of a service that is made of options, with its layers. */
export interface ServiceTag<Self, Id extends string, Service, Options> extends Context.TagClass<Self, Id, Service> {
  readonly layer: (options: Options) => Layer.Layer<Self>
  readonly layerConfig: (options: Config.Config.Wrap<NonNullable<Options>>) => Layer.Layer<Self, ConfigError.ConfigError>
}

/** `make` throws `InvalidOption` when it is called, so that a wrong value of the configuration is found out under its key. */
export const serviceTag = <Self, Id extends string, Service, Options>(
  id: Id,
  make: (options: Options) => Effect.Effect<Service, never, unknown>
): ServiceTag<Self, Id, Service, Options> =>
  class extends Context.Tag(id)<Self, Service>() {
    static layer(options: Options) {
      return Layer.effect(this, make(options))
    }
    static layerConfig(options: Config.Config.Wrap<NonNullable<Options>>) {
      return Layer.effect(
        this,
        Effect.flatten(fromConfig<NonNullable<Options>, Effect.Effect<Service, never, unknown>>(options, make))
      )
    }
  } as unknown as ServiceTag<Self, Id, Service, Options>
