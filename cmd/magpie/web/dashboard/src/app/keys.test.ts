import { describe, expect, it } from 'vitest';
import { isSlash } from './keys';

const none = { ctrlKey: false, metaKey: false, altKey: false, target: { tagName: 'BODY' } as unknown as EventTarget };

describe('the slash', () => {
  it('is known by its character, with or without Shift', () => {
    expect(isSlash({ ...none, key: '/' })).toBe(true);
    expect(isSlash({ ...none, key: '/', ...{ shiftKey: true } })).toBe(true);
    expect(isSlash({ ...none, key: '7' })).toBe(false);
  });
  it('is text in fields, and another command with other keys', () => {
    expect(isSlash({ ...none, key: '/', target: { tagName: 'TEXTAREA' } as unknown as EventTarget })).toBe(false);
    expect(isSlash({ ...none, key: '/', target: { tagName: 'DIV', isContentEditable: true } as unknown as EventTarget })).toBe(false);
    for (const key of ['ctrlKey', 'metaKey', 'altKey']) expect(isSlash({ ...none, key: '/', [key]: true })).toBe(false);
  });
});
