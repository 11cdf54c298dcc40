import type { AuditFilter } from '../../gql/schema';
import { saveFile } from '../../kit/csv';
import { accessToken, RequestError } from '../../session/session';

// exportAudit saves the entries of a filter as the file that the service makes of all of them. A file that breaks off half
// way is an error, so a saved one is complete.
export async function exportAudit(format: 'csv' | 'jsonl', filter: AuditFilter): Promise<void> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) if (value) query.set(name, String(value));
  const response = await fetch(`/api/v1/audit-log.${format}?${query}`, {
    headers: { Authorization: `Bearer ${(await accessToken()) ?? ''}` },
  });
  if (!response.ok) {
    const answer = await response.json().catch(() => ({}));
    throw new RequestError(
      response.status,
      answer?.error?.code ?? 'internal',
      answer?.error?.message ?? response.statusText,
      response.headers.get('X-Request-Id'),
      null,
    );
  }
  saveFile(`audit-log.${format}`, await response.blob(), format === 'csv' ? 'text/csv' : 'application/jsonl');
}
