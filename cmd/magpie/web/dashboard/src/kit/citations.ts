// The citations of an answer: numbers in brackets.
const code = /(```[\s\S]*?(?:```|$)|~~~[\s\S]*?(?:~~~|$)|`[^`\n]+`)/;
// Brackets with a number are citations, but not directly after a word, a call or another bracket, or escaped.
const citations = /(?<![\]\\)_\p{N}\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}])((?:\[\d{1,3}\])+)(?!\()/gu;

// withCitations makes links of the citations of an answer, outside of code.
export function withCitations(text: string): string {
  return text
    .split(code)
    .map((part, n) => (n % 2 === 1 ? part : part.replace(citations, (run) => run.replace(/\[(\d+)\]/g, '[$1](#cite-$1)'))))
    .join('');
}
