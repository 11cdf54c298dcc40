// Texts of the service in the person's language, as gettext has them: the keys of src/words/<family>.<language>.json are
// what the service says in English. A key with {1}, {2} stands for all texts with values in these places; {*1} in its
// words is a value that has words itself. English has no files.
const exact = new Map<string, string>();
const patterns: { pattern: RegExp; words: string; length: number }[] = [];

export function addWords(words: Record<string, string>) {
  for (const [text, other] of Object.entries(words)) {
    const parts = text.split(/\{\d\}/);
    if (parts.length === 1) exact.set(text, other);
    else {
      const source = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('(.*?)');
      patterns.push({ pattern: new RegExp(`^${source}$`, 's'), words: other, length: parts.join('').length });
    }
  }
  patterns.sort((a, b) => b.length - a.length); // the most particular one first
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
  return text;
}
