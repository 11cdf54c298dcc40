import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { attributes, filterNames, labelNames, languages, line, widgetSettings } from './widgetSettings';

const here = dirname(fileURLToPath(import.meta.url));
const asset = (name: string) => readFileSync(join(here, '../../../../../../../rest/widget/asset', name), 'utf8');

describe('the line of the widget', () => {
  it('names only what differs from the defaults', () => {
    expect(line('https://m.example', 'svc_pk_1', { mode: 'both', theme: 'auto', button: true })).toBe(
      '<script src="https://m.example/widget.js" data-key="svc_pk_1" defer></script>',
    );
  });
  it('has attributes that stay attributes', () => {
    const text = line('https://m.example', 'svc_pk_1', {
      title: '"><b>&',
      minScore: 0.3,
      hotkey: '',
      labels: { open: 'Find' },
      button: false,
    });
    expect(text).toContain('data-title="&quot;>&lt;b>&amp;"');
    expect(text).toContain('data-min-score="0.3"');
    expect(text).toContain('data-hotkey=""');
    expect(text).toContain('data-button="false"');
    expect(text).toContain('data-labels="{&quot;open&quot;:&quot;Find&quot;}"');
  });
});

describe('the filters of the widget', () => {
  it('are those that it takes, tags and kinds as lists', () => {
    const [, names] = asset('widget.js').match(/const FILTERS = \[([^\]]+)\]/) ?? [];
    expect(JSON.parse(`[${names}]`)).toEqual(filterNames);
    expect(attributes({ filters: { section: ' guides ', tags: 'a, b,', version: ' ' } }).filters).toBe(
      '{"section":"guides","tags":["a","b"]}',
    );
    expect(attributes({ filters: { section: '' }, versions: ' , ' })).toEqual({});
    expect(widgetSettings({ filters: { section: 'guides', other: 'x', tags: 1 } }).filters).toEqual({ section: 'guides' });
  });
});

describe('the languages of the widget', () => {
  it('can all be chosen', () => {
    const [, names] = asset('label.js').match(/const LANGUAGES = \[([^\]]+)\]/) ?? [];
    expect(['en', ...JSON.parse(`[${names}]`)].sort()).toEqual(Object.keys(languages).sort());
  });
});

describe('the form of the widget', () => {
  it('has every text of the widget', () => {
    const names = [...asset('label.js').matchAll(/^ {2}(\w+): "/gm)]
      .map(([, name]) => name)
      .filter((name) => name !== 'title' && name !== 'placeholder');
    expect([...labelNames].sort()).toEqual(names.sort());
  });
  it('has every attribute that the widget reads', () => {
    const read = [...asset('widget.js').matchAll(/\b(?:data|dataset)\.(\w+)|\bobject\("(\w+)"\)/g)].map(
      ([, name, json]) => (name ?? json) as string,
    );
    const all = attributes({
      collection: 'c',
      filters: { tags: 'a, b' },
      versions: '2.0, 1.9',
      name: 'api',
      mode: 'chat',
      theme: 'dark',
      accent: '#fff',
      button: false,
      hotkey: '/',
      title: 't',
      placeholder: 'p',
      lang: 'de',
      labels: { open: 'o' },
      minScore: 0.5,
      baseUrl: 'https://m.example',
    });
    expect(['key', ...Object.keys(all)].sort()).toEqual([...new Set(read)].sort());
  });
});

describe('settings of an address', () => {
  it('leave out what the widget would refuse', () => {
    expect(
      widgetSettings({
        mode: 'shout',
        accent: 'red',
        minScore: 7,
        labels: { open: 'Find', other: 'x' },
        theme: 'dark',
        baseUrl: 'javascript:1',
      }),
    ).toEqual({
      theme: 'dark',
      labels: { open: 'Find' },
    });
  });
});
