import { expect, it } from 'vitest';
import { addWords, word } from './words';

it('translates texts of the service', () => {
  addWords({
    'No text (really).': 'Kein Text.',
    '{1} of {2} are gone.': 'Von {2} fehlen {1}.',
    '{1} of {2} are gone. Wait.': 'Von {2} fehlen {1}. Warten Sie.',
    'Skipped: {1}.': 'Übersprungen: {*1}.',
    empty: 'leer',
    'must have {1} bytes': 'muss {1} Bytes haben',
  });
  expect(word('No text (really).')).toBe('Kein Text.');
  expect(word('3 of 4 are gone.')).toBe('Von 4 fehlen 3.');
  expect(word('3 of 4 are gone. Wait.')).toBe('Von 4 fehlen 3. Warten Sie.');
  expect(word('Skipped: empty.')).toBe('Übersprungen: leer.');
  expect(word('Skipped: odd.')).toBe('Übersprungen: odd.');
  expect(word('Unknown')).toBe('Unknown');
  expect(word('name: must have 3 bytes')).toBe('name: muss 3 Bytes haben');
  expect(word('name: unknown: empty')).toBe('name: unknown: leer');
});

it('knows each text among all others', async () => {
  const families = Object.values(import.meta.glob<{ default: Record<string, string> }>('../words/*.de.json'));
  const all = await Promise.all(families.map((load) => load()));
  for (const { default: words } of all) addWords(words);
  const filled = (text: string) => text.replace(/\{\*?(\d)\}/g, 'Wert$1');
  for (const { default: words } of all) {
    for (const [text, german] of Object.entries(words)) expect(word(filled(text)), text).toBe(filled(german));
  }
  expect(word('Email or password is wrong')).toBe('E-Mail-Adresse oder Passwort ist falsch');
  expect(word('read the groups: Jira cannot answer now (503): Try later')).toBe(
    'Lesen der Gruppen: Jira kann jetzt nicht antworten (503): Try later',
  );
  expect(word('https://a.example/: read robots.txt: the site cannot be reached: connect to a.example:1: refused')).toBe(
    'https://a.example/: Lesen von robots.txt: the site ist nicht erreichbar: Verbinden mit a.example:1: refused',
  );
  expect(word('Your role does not allow this; it needs the role owner')).toBe('Ihre Rolle erlaubt das nicht; es braucht die Rolle Inhaber');
});
