// Texts of the service in the person's language, as gettext has them: the keys of src/words/<family>.<language>.json are
// what the service says in English. A key with {1}, {2} stands for all texts with values in these places. Values of the
// service, such as "the site", have words in the family values, and nowhere else; in quotes they are somebody's text, which
// stays. {*1} in the words of a text is a value that is a text itself. A text without words is a value or a text before a
// colon, and a text after it, as in "name: must not be blank". English has no files.
type Words = Record<string, string>;

// vocabulary returns what adds words, and what finds the words of a text; value and text give those of what is in it.
function vocabulary(value: (text: string) => string, text: (text: string) => string) {
  const exact = new Map<string, string>();
  const patterns: { pattern: RegExp; parts: string[]; words: string }[] = [];
  const add = (words: Words) => {
    for (const [key, other] of Object.entries(words)) {
      const parts = key.split(/\{\d\}/);
      if (parts.length === 1) exact.set(key, other);
      else {
        const source = parts
          .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
          .join('(.*?)')
          .replace(/^\(\.\*\?\)/, '((?:(?!: ).)*?)');
        // What is before a colon is no part of a value that the text begins with.
        patterns.push({ pattern: new RegExp(`^${source}$`, 's'), parts, words: other });
      }
    }
    // The most particular one first; one that begins with a value may take what others begin with for it.
    const begins = ({ parts }: { parts: string[] }) => (parts[0] ? 1 : 0);
    patterns.sort((a, b) => begins(b) - begins(a) || b.parts.join('').length - a.parts.join('').length);
  };
  const find = (said: string): string | undefined => {
    const known = exact.get(said);
    if (known !== undefined) return known;
    for (const { pattern, parts, words } of patterns) {
      const values = pattern.exec(said);
      if (values) {
        return words.replace(/\{(\*?)(\d)\}/g, (_, isText: string, place: string) => {
          const found = values[Number(place)] ?? '';
          const isQuoted = parts[Number(place) - 1]?.endsWith('"');
          return isText ? text(found) : isQuoted ? found : value(found);
        });
      }
    }
    return undefined;
  };
  return { add, find };
}

const value = (said: string): string => values.find(said) ?? said;
const values = vocabulary(value, value);
const texts = vocabulary(value, word);

// addWords adds the words of a family.
export function addWords(family: string, words: Words) {
  (family === 'values' ? values : texts).add(words);
}

// word returns a text of the service in the person's language, or the text itself if it has no words.
export function word(said: string): string {
  const at = said.indexOf(': ');
  const subject = at < 0 ? undefined : values.find(said.slice(0, at));
  const found = subject === undefined ? (texts.find(said) ?? values.find(said)) : undefined;
  if (found !== undefined || at < 0) return found ?? said;
  const before = said.slice(0, at);
  return `${subject ?? texts.find(before) ?? before}: ${word(said.slice(at + 2))}`;
}
