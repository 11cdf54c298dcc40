// Texts of the service in the person's language, as gettext has them: the keys of src/words/<family>.<language>.json are
// what the service says in English. A key with {1}, {2} stands for all texts with values in these places; {*1} in its
// words is a value that has words itself. A text without words that ends with one that has some, after a colon, gets those,
// as "name: must not be blank" does. English has no files.
const exact = new Map<string, string>();
const patterns: { pattern: RegExp; words: string; begins: number; length: number }[] = [];

export function addWords(words: Record<string, string>) {
  for (const [text, other] of Object.entries(words)) {
    const parts = text.split(/\{\d\}/);
    if (parts.length === 1) exact.set(text, other);
    else {
      const source = parts
        .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        .join('(.*?)')
        .replace(/^\(\.\*\?\)/, '((?:(?!: ).)*?)');
      // What is before a colon is no part of a value that the text begins with.
      patterns.push({ pattern: new RegExp(`^${source}$`, 's'), words: other, begins: parts[0] ? 1 : 0, length: parts.join('').length });
    }
  }
  // The most particular one first; one that begins with a value may take what others begin with for it.
  patterns.sort((a, b) => b.begins - a.begins || b.length - a.length);
}

// word returns a text of the service in the person's language, or the text itself if it has no words.
export function word(text: string): string {
  const known = exact.get(text);
  if (known !== undefined) return known;
  for (const { pattern, words } of patterns) {
    const values = pattern.exec(text);
    if (values) {
      return words.replace(/\{(\*?)(\d)\}/g, (_, again: string, place: string) => {
        const value = values[Number(place)] ?? '';
        return again ? word(value) : value;
      });
    }
  }
  const at = text.indexOf(': ') + 2;
  return at > 1 && patterns.length > 0 ? text.slice(0, at) + word(text.slice(at)) : text;
}
