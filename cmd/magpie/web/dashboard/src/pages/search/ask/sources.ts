import type { Cited, Source } from './answers';

// sourcesOf reads the sources of a stored message.
export function sourcesOf(message: { sources?: Record<string, unknown>[] | null }): Source[] {
  return (message.sources ?? []).flatMap(({ id, title, url, passages }) =>
    typeof id === 'string' && typeof title === 'string'
      ? [{ id, title, url: typeof url === 'string' ? url : null, passages: citedOf(passages) }]
      : [],
  );
}

// citedOf reads the passages of a source; messages of earlier versions have none.
function citedOf(passages: unknown): Cited[] {
  if (!Array.isArray(passages)) return [];
  return passages.flatMap((one) =>
    typeof one?.id === 'string'
      ? [{ id: one.id, headingPath: Array.isArray(one.headingPath) ? one.headingPath.map(String) : [], excerpt: String(one.excerpt ?? '') }]
      : [],
  );
}
