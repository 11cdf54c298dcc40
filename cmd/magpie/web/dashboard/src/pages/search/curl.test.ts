import { describe, expect, it } from 'vitest';
import { curlGraphQL, curlKey, curlREST, quoted } from './curl';

const input = { query: "it's", limit: 20, filters: { docTypes: ['how_to', 'faq'], sections: ['guides'] }, facets: {} };

describe('a search as a command line', () => {
  it('quotes for the shell', () => {
    expect(quoted("a'b $c")).toBe(`'a'\\''b $c'`);
  });
  it('has the parameters of REST', () => {
    expect(curlREST('http://h', input)).toContain(
      "search?query=it'\\''s&limit=20&filters%5Bdoc_types%5D=how_to&filters%5Bdoc_types%5D=faq&filters%5Bsections%5D=guides",
    );
  });
  it('has a body for the public API and for GraphQL', () => {
    expect(curlKey('http://h', input)).toContain('"filters":{"section":"guides","doc_types":["how_to","faq"]}');
    expect(curlGraphQL('http://h', input)).not.toContain('facets');
  });
});
