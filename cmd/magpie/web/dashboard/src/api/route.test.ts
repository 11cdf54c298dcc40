import { Client, fetchExchange, gql } from 'urql';
import { expect, test } from 'vitest';
import { address, routeExchange } from './route';

test('operations on one collection name it in their address', async () => {
  const asked: unknown[] = [];
  const client = new Client({
    url: address,
    preferGetMethod: false,
    fetch: async (url) => {
      asked.push(url);
      return new Response('{"data":{}}', { headers: { 'Content-Type': 'application/json' } });
    },
    exchanges: [routeExchange, fetchExchange],
  });
  const search = gql('query($input: SearchInput!) { search(input: $input) { total } }');
  const suggest = gql('query($prefix: String!, $collection: ID) { searchSuggestions(prefix: $prefix, collection: $collection) { text } }');
  await client.query(search, { input: { query: 'keys', collection: 'a' } });
  await client.query(suggest, { prefix: 'ke', collection: 'b&c' });
  await client.query(search, { input: { query: 'keys' } });
  await client.query(gql('{ usage { queries } }'), {});
  expect(asked).toEqual(['/graphql?route=a', '/graphql?route=b%26c', '/graphql', '/graphql']);
});
