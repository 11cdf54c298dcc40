import { useCallback, useEffect, useState } from 'react';
import { useClient } from 'urql';
import type { SearchInput } from '../../gql/schema';
import { SearchPageDocument, type SearchPageQuery } from './search.gql';
import { pageSize } from './state';

type Answer = SearchPageQuery['search'];
export type Result = Answer['results'][number];

interface Found {
  // The query that these results are of.
  query: string;
  first: Answer;
  results: Result[];
}

export interface Search {
  // The results last received: those of an earlier query until the next arrive.
  found: Found | null;
  fetching: boolean;
  error: unknown;
  again: () => void;
}

// useSearch searches for an input and reads as many pages of its results as are asked for. It asks for nothing without an
// input. Answers are kept, so that going back shows them at once; again asks anew.
export function useSearch(input: SearchInput | null, pages: number): Search {
  const client = useClient();
  const [found, setFound] = useState<Found | null>(null);
  const [status, setStatus] = useState<{ fetching: boolean; error: unknown }>({ fetching: false, error: null });
  const [round, setRound] = useState(0);
  const key = input ? JSON.stringify(input) : null;
  useEffect(() => {
    if (key === null) {
      setFound(null);
      setStatus({ fetching: false, error: null });
      return;
    }
    let current = true;
    const input: SearchInput = JSON.parse(key);
    const read = async () => {
      setStatus({ fetching: true, error: null });
      let first: Answer | null = null;
      const results = new Map<string, Result>();
      for (let page = 0; page < pages; page++) {
        const { data, error } = await client
          .query(
            SearchPageDocument,
            { input: page === 0 ? input : { ...input, offset: page * pageSize, facets: undefined } },
            { requestPolicy: page === 0 && round > 0 ? 'network-only' : 'cache-first' },
          )
          .toPromise();
        if (!current) return;
        if (error || !data) {
          setStatus({ fetching: false, error });
          return;
        }
        first ??= data.search;
        for (const result of data.search.results) results.set(result.id, result);
        if (results.size >= data.search.total || data.search.results.length === 0) break;
      }
      if (!first) return;
      setFound({ query: input.query, first, results: [...results.values()] });
      setStatus({ fetching: false, error: null });
    };
    void read();
    return () => {
      current = false;
    };
  }, [key, pages, round, client]);
  const again = useCallback(() => setRound((n) => n + 1), []);
  return { found, ...status, again };
}
