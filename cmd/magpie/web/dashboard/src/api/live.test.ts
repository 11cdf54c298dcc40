import { parse } from 'graphql';
import { afterEach, expect, test, vi } from 'vitest';
import { disconnect, watch } from './live';

// A WebSocket that is not opened.
class Closed {
  static asked: string[] = [];
  constructor(url: string) {
    Closed.asked.push(url);
  }
  close() {}
}

afterEach(() => {
  disconnect();
  vi.unstubAllGlobals();
});

test('subscriptions on a collection have a WebSocket with its route, all others share one', () => {
  vi.stubGlobal('WebSocket', Closed);
  vi.stubGlobal('window', { location: { origin: 'https://magpie.example' }, addEventListener() {}, clearTimeout });
  const document = parse('subscription { chat { seq } }') as never;
  for (const route of [undefined, 'a', 'b&c', 'a', undefined]) watch({ document, variables: () => ({}), onData() {}, route });
  expect(Closed.asked).toEqual([
    'wss://magpie.example/graphql',
    'wss://magpie.example/graphql?route=a',
    'wss://magpie.example/graphql?route=b%26c',
  ]);
});
