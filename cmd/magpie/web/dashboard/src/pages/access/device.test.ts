import { describe, expect, it } from 'vitest';
import { deviceName } from './device';

describe('the name of a device in a link', () => {
  it('stays as it is', () => {
    expect(deviceName('Größe 1 🖥')).toBe('Größe 1 🖥');
  });
  it('is one line without invisible characters and those that reorder text', () => {
    expect(deviceName(' lap\n\ttop\u0000\u202Eevil\u2066\u200B\u061C ')).toBe('lap topevil');
  });
  it('has at most 100 characters', () => {
    expect(deviceName('🖥'.repeat(100))).toBe('🖥'.repeat(100));
    expect(deviceName('🖥'.repeat(101))).toBe(`${'🖥'.repeat(99)}…`);
  });
  it('may be missing', () => {
    expect([deviceName(null), deviceName('\u202E \n')]).toEqual([null, null]);
  });
});
