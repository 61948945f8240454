/** What programs say to ask for an address, by what they are written in. */

export const PROGRAMS = { curl, Python: python, TypeScript: typescript }

export type Language = keyof typeof PROGRAMS

/** For a shell. */
function curl(address: string): string {
  return `curl '${address.replaceAll("'", '%27')}'`
}

/** With what comes with Python. */
function python(address: string): string {
  return `import json
from urllib.request import urlopen

with urlopen(${JSON.stringify(address)}) as answer:
    print(json.load(answer))`
}

function typescript(address: string): string {
  return `const answer = await fetch(${JSON.stringify(address)})
if (!answer.ok) throw new Error(await answer.text())
console.log(await answer.json())`
}
