import { hue } from '../model/words.ts'

/** A name with its colour. */
export function Person({ name }: { name: string | null }) {
  return (
    <span class={`person hue-${hue(name)}`}>
      <span class="dot" aria-hidden="true" />
      {name ?? 'nobody named'}
    </span>
  )
}
