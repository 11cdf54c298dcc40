import { describe, expect, it } from 'vitest';
import { line, widgetSettings } from './widgetSettings';

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

describe('settings of an address', () => {
  it('leave out what the widget would refuse', () => {
    expect(widgetSettings({ mode: 'shout', accent: 'red', minScore: 7, labels: { open: 'Find', other: 'x' }, theme: 'dark' })).toEqual({
      theme: 'dark',
      labels: { open: 'Find' },
    });
  });
});
