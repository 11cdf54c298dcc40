// Tables as files that spreadsheets open.

export type Cell = string | number | boolean | null | undefined;

// csv returns rows as CSV. A text that a spreadsheet would treat as a formula gets a leading apostrophe.
export function csv(rows: Cell[][]): string {
  const cell = (value: Cell) => {
    if (value === null || value === undefined) return '';
    const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

// saveFile gives a file to the person.
export function saveFile(name: string, content: BlobPart, type: string) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
