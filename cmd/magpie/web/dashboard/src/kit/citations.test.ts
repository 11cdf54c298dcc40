import { describe, expect, it } from 'vitest';
import { withCitations } from './citations';

describe('citations of an answer', () => {
  it('become links, also side by side and after scripts without blanks', () => {
    expect(withCitations('so [1][2]. 文本[3]')).toBe('so [1](#cite-1)[2](#cite-2). 文本[3](#cite-3)');
  });
  it('are no indices, escaped brackets, links or code', () => {
    const text = 'args[1] a[0][2] f(x)[1] \\[1\\] [1](http://x) `b [1]`\n```\nc [1]\n```\n';
    expect(withCitations(text)).toBe(text);
  });
});
