import { describe, expect, it } from 'vitest';
import { isHostAllowed, isHostEntry, pageOf } from './hosts';

const allows = (entry: string, page: string) => isHostAllowed([entry], new URL(page));

describe('allowed hosts', () => {
  it('are compared as the service does', () => {
    for (const [entry, page, want] of [
      ['example.com', 'https://example.com/a', true],
      ['example.com', 'http://EXAMPLE.com:8080/', true],
      ['example.com', 'https://www.example.com', false],
      ['example.com:8443', 'https://example.com:8443', true],
      ['example.com:8443', 'https://example.com', false],
      ['example.com:443', 'https://example.com', true],
      ['example.com:80', 'https://example.com', false],
      ['*.example.com', 'https://docs.example.com', true],
      ['*.example.com', 'https://a.b.example.com', true],
      ['*.example.com', 'https://example.com', false],
      ['*.example.com', 'https://badexample.com', false],
      ['127.0.0.1', 'http://127.0.0.1:8090', true],
      ['[::1]:3000', 'http://[::1]:3000', true],
      ['bücher.example', 'https://xn--bcher-kva.example', true],
      ['https://example.com/', 'https://example.com', true],
      ['*', 'https://anything.example', true],
      ['*:8080', 'https://anything.example', false],
    ] as const)
      expect(allows(entry, page), `${entry} ${page}`).toBe(want);
  });
  it('have a form', () => {
    expect(['example.com', '*', '*.example.com', '[::1]', 'localhost:3000'].every(isHostEntry)).toBe(true);
    expect(['', 'example.com/docs', 'a b', 'me@example.com'].some(isHostEntry)).toBe(false);
  });
  it('are asked with an address or a bare host', () => {
    expect(pageOf('www.example.com/docs')?.href).toBe('https://www.example.com/docs');
    expect(pageOf('http://localhost:3000')?.port).toBe('3000');
    expect(pageOf('ftp://example.com')).toBeNull();
    expect(pageOf('')).toBeNull();
  });
});
