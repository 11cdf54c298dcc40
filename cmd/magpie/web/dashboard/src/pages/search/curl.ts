// A search as a command line, for those who use the API.
import type { SearchInput } from '../../gql/schema';

// quoted returns a text as one word of a shell.
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

// parameters returns a search as the query string of GET /api/v1/search.
function parameters(input: SearchInput): string {
  const pairs: [string, string][] = [['query', input.query]];
  if (input.collection) pairs.push(['collection', input.collection]);
  if (input.limit != null) pairs.push(['limit', String(input.limit)]);
  if (input.minScore != null) pairs.push(['min_score', String(input.minScore)]);
  if (input.highlight) pairs.push(['highlight', 'true']);
  for (const [name, value] of Object.entries(input.filters ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) pairs.push([`filters[${snake(name)}]`, String(one)]);
  }
  return pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');
}

// curlREST returns the search as a request to the REST API of people, with a token of a session.
export function curlREST(origin: string, input: SearchInput): string {
  return [`curl ${quoted(`${origin}/api/v1/search?${parameters(input)}`)}`, `  -H "Authorization: Bearer $MAGPIE_TOKEN"`].join(' \\\n');
}

// curlKey returns the search as a request to the public API, with an API key. That API takes one value of a filter where it
// has no list, and no filters beyond those of its own.
export function curlKey(origin: string, input: SearchInput): string {
  const { sections, versions, languages, tags, docTypes, dateAfter, dateBefore } = input.filters ?? {};
  const filters = {
    section: sections?.[0],
    version: versions?.[0],
    language: languages?.[0],
    tags: tags ?? undefined,
    doc_types: docTypes ?? undefined,
    date_after: dateAfter ?? undefined,
    date_before: dateBefore ?? undefined,
  };
  const body = {
    query: input.query,
    collection: input.collection ?? undefined,
    limit: input.limit,
    min_score: input.minScore ?? undefined,
    filters: Object.values(filters).some((value) => value !== undefined) ? filters : undefined,
  };
  return [
    `curl ${quoted(`${origin}/v1/docs/search`)}`,
    `  -H "X-Service-Key: $MAGPIE_KEY"`,
    `  -H 'Content-Type: application/json'`,
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join(' \\\n');
}

// curlGraphQL returns the search as a request to the GraphQL API.
export function curlGraphQL(origin: string, input: SearchInput): string {
  const query =
    'query Search($input: SearchInput!) { search(input: $input) { total results { documentId title url snippet score headingPath } } }';
  return [
    `curl ${quoted(`${origin}/graphql`)}`,
    `  -H "Authorization: Bearer $MAGPIE_TOKEN"`,
    `  -H 'Content-Type: application/json'`,
    `  -d ${quoted(JSON.stringify({ query, variables: { input: { ...input, offset: undefined, facets: undefined, prefix: undefined } } }))}`,
  ].join(' \\\n');
}
