import { expect, it } from 'vitest';
import { addWords, word } from './words';

it('translates texts of the service', () => {
  addWords({
    'No text (really).': 'Kein Text.',
    '{1} of {2} are gone.': 'Von {2} fehlen {1}.',
    '{1} of {2} are gone. Wait.': 'Von {2} fehlen {1}. Warten Sie.',
    'Skipped: {1}.': 'Übersprungen: {*1}.',
    empty: 'leer',
  });
  expect(word('No text (really).')).toBe('Kein Text.');
  expect(word('3 of 4 are gone.')).toBe('Von 4 fehlen 3.');
  expect(word('3 of 4 are gone. Wait.')).toBe('Von 4 fehlen 3. Warten Sie.');
  expect(word('Skipped: empty.')).toBe('Übersprungen: leer.');
  expect(word('Skipped: odd.')).toBe('Übersprungen: odd.');
  expect(word('Unknown')).toBe('Unknown');
});
