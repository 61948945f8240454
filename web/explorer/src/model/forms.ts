/** The forms in which a node is downloaded, with all below it. */

export interface Form {
  called: string
  /** How it is asked for. */
  query: { format?: string; layout?: 'pretty' | 'compact' }
  /** Of the file's name. */
  ending: string
  /** Has it a place for whatever there is? */
  fitsAll: boolean
}

const FORMS: readonly Form[] = [
  { called: 'JSON to read', query: { layout: 'pretty' }, ending: 'json', fitsAll: true },
  { called: 'compact JSON', query: { layout: 'compact' }, ending: 'json', fitsAll: true },
  { called: 'YAML', query: { format: 'yaml' }, ending: 'yaml', fitsAll: true },
  { called: 'XML', query: { format: 'xml' }, ending: 'xml', fitsAll: false },
  { called: 'CSV', query: { format: 'csv' }, ending: 'csv', fitsAll: false },
  { called: 'Markdown', query: { format: 'markdown' }, ending: 'md', fitsAll: false },
]

/** All revisions, a line each: they are of the whole tree. */
const HISTORY: Form = { called: 'NDJSON, all revisions', query: { format: 'ndjson' }, ending: 'ndjson', fitsAll: true }

/** Those that there are of the node at this path. */
export const formsOf = (path: string): readonly Form[] => (path === '/' ? [...FORMS, HISTORY] : FORMS)
