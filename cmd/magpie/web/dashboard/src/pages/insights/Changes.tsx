import { Anchor, Code, Stack, Table, Text } from '@mantine/core';
import { useId, useState } from 'react';
import { t } from '../../i18n';
import type { InsightsAuditQuery } from './insights.gql';

type Entry = NonNullable<NonNullable<NonNullable<InsightsAuditQuery['auditLog']['edges']>[number]>['node']>;

const shown = (value: unknown) => (value === null || value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value));

// Changes shows the changed fields of an entry on request, from old to new. Secret and personal values are not recorded.
export function Changes({ entry }: { entry: Entry }) {
  const [open, setOpen] = useState(false);
  const id = useId();
  const { changes } = entry;
  if (changes.length === 0 && !entry.requestId) return null;
  return (
    <Stack gap={4}>
      <Anchor component="button" type="button" size="sm" aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)} ta="left">
        {open ? t('common.hide') : t('insights.audit.fields', { count: changes.length })}
      </Anchor>
      <div id={id}>
        {open && (
          <>
            {changes.length > 0 && (
              <Table aria-label={t('insights.audit.changes')} fz="xs" verticalSpacing={2}>
                <Table.Tbody>
                  {changes.map((change) => (
                    <Table.Tr key={change.field}>
                      <Table.Th scope="row" className="wrap">
                        {change.field}
                      </Table.Th>
                      <Table.Td className="wrap">
                        {change.hidden ? (
                          <Text size="xs" c="dimmed" fs="italic">
                            {t('insights.audit.hidden')}
                          </Text>
                        ) : (
                          <>
                            <Code>{shown(change.old)}</Code> → <Code>{shown(change.new)}</Code>
                          </>
                        )}
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            )}
            {entry.requestId && (
              <Text size="xs" c="dimmed" className="mono wrap">
                {t('common.requestId', { id: entry.requestId })}
              </Text>
            )}
          </>
        )}
      </div>
    </Stack>
  );
}
