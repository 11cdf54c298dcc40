// Snippet shows a snippet of a search: text in which the service escaped everything but its own mark tags. It is taken
// apart as text, so that nothing in it can become markup.
export function Snippet({ html }: { html: string }) {
  const parts = html.split(/(<mark>|<\/mark>)/);
  let marked = false;
  return (
    <>
      {parts.map((part, n) => {
        if (part === '<mark>' || part === '</mark>') {
          marked = part === '<mark>';
          return null;
        }
        const text = unescapeHTML(part);
        return marked ? <mark key={n}>{text}</mark> : <span key={n}>{text}</span>;
      })}
    </>
  );
}

const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&#34;': '"', '&quot;': '"', '&#39;': "'" };

// unescapeHTML undoes the escaping of text that the service did.
export function unescapeHTML(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#34|#39);/g, (entity) => entities[entity] ?? entity);
}
