import { expect, it } from 'vitest';
import { addWords, word } from './words';

it('translates texts of the service', () => {
  addWords('problems', {
    'No text (really).': 'Kein Text.',
    '{1} of {2} are gone.': 'Von {2} fehlen {1}.',
    '{1} of {2} are gone. Wait.': 'Von {2} fehlen {1}. Warten Sie.',
    'Skipped: {1}.': 'Übersprungen: {*1}.',
    empty: 'leer',
    'must have {1} bytes': 'muss {1} Bytes haben',
    '"{1}" is in {2}': '„{1}“ ist in {2}',
  });
  addWords('values', { 'the files of {1}': 'die Dateien von {1}', 'a file': 'eine Datei', 'the site': 'die Website' });
  expect(word('No text (really).')).toBe('Kein Text.');
  expect(word('3 of 4 are gone.')).toBe('Von 4 fehlen 3.');
  expect(word('3 of 4 are gone. Wait.')).toBe('Von 4 fehlen 3. Warten Sie.');
  expect(word('Skipped: empty.')).toBe('Übersprungen: leer.');
  expect(word('Skipped: odd.')).toBe('Übersprungen: odd.');
  expect(word('Unknown')).toBe('Unknown');
  expect(word('name: must have 3 bytes')).toBe('name: muss 3 Bytes haben');
  expect(word('name: unknown: empty')).toBe('name: unknown: leer');
  expect(word('a file of the files of x are gone.')).toBe('Von die Dateien von x fehlen eine Datei.');
  expect(word('"the site" is in the site')).toBe('„the site“ ist in die Website');
  expect(word('the site: must have 3 bytes')).toBe('die Website: muss 3 Bytes haben');
  expect(word('must have 3 bytes: odd')).toBe('muss 3 Bytes haben: odd');
});

it('knows each text among all others', async () => {
  const families = Object.entries(import.meta.glob<{ default: Record<string, string> }>('../words/*.de.json'));
  const all = await Promise.all(families.map(async ([path, load]) => ({ path, words: (await load()).default })));
  for (const { path, words } of all) addWords(path.replace(/.*\/|\..*/g, ''), words);
  const filled = (text: string) => text.replace(/\{\*?(\d)\}/g, 'Wert$1');
  for (const { words } of all) {
    for (const [text, german] of Object.entries(words)) expect(word(filled(text)), text).toBe(filled(german));
  }
  expect(word('Email or password is wrong')).toBe('E-Mail-Adresse oder Passwort ist falsch');
  expect(word('read the groups: Jira cannot answer now (503): Try later')).toBe(
    'Lesen der Gruppen: Jira kann jetzt nicht antworten (503): Try later',
  );
  expect(word('https://a.example/: read robots.txt: the site cannot be reached: connect to a.example:1: refused')).toBe(
    'https://a.example/: Lesen von robots.txt: die Website ist nicht erreichbar: Verbinden mit a.example:1: refused',
  );
  expect(word('list the bucket "a b": the answer is cut off')).toBe('Auflisten des Buckets „a b“: die Antwort ist abgeschnitten');
  expect(word('Notion goes round in circles in the list of pages: after its last page comes "a page", which was read before')).toBe(
    'Notion dreht sich im Kreis (die Liste (pages)): Nach der letzten Seite kommt „a page“, das schon gelesen wurde',
  );
  expect(word('The arguments has none of the allowed forms; in one of them it must be at least 3.')).toBe(
    'Die Argumente: hat keine der erlaubten Formen; in einer davon: muss mindestens 3 sein.',
  );
  expect(word('The service took too long. (Status 504.)')).toBe('Der Dienst hat zu lange gebraucht. (Status 504.)');
  expect(
    word(
      'the model "a" does not work, so that nothing was changed. The service refused the key, or it may not use this model. (Status 401.) It said: Bad key: a. Correct its settings or its service, and try again.',
    ),
  ).toBe(
    'das Modell „a“ funktioniert nicht; es wurde nichts geändert. Der Dienst hat den Schlüssel abgelehnt, oder dieser darf das Modell nicht benutzen. (Status 401.) Er sagte: Bad key: a. Berichtigen Sie seine Einstellungen oder seinen Dienst, und versuchen Sie es noch einmal.',
  );
  expect(word('Your role does not allow this; it needs the role owner')).toBe('Ihre Rolle erlaubt das nicht; es braucht die Rolle Inhaber');
}, 60_000); // each of thousands of texts is compared with all patterns
