import { Button, Group, Kbd, Select, Stack, Text, Textarea, Title } from '@mantine/core';
import { useState } from 'react';
import { useClient } from 'urql';
import { formatDuration, formatNumber, t } from '../../../i18n';
import { Icon } from '../../../kit/Icon';
import { ProblemNotice } from '../../../kit/Problem';
import { ConnectorsRowsDocument, type ConnectorsRowsQuery } from './databases.gql';
import { Rows } from './Rows';

interface Props {
  databaseId: string;
  text: string;
  onText: (text: string) => void;
  onRun: (sql: string) => void;
}

// Statement runs one statement that only reads, and shows its rows.
export function Statement({ databaseId, text, onText, onRun }: Props) {
  const client = useClient();
  const [limit, setLimit] = useState('100');
  const [running, setRunning] = useState(false);
  const [answer, setAnswer] = useState<{ rows: ConnectorsRowsQuery['queryDatabase'] | null; error: unknown }>({ rows: null, error: null });
  const run = async () => {
    const sql = text.trim();
    if (sql === '' || running) return;
    setRunning(true);
    onRun(sql);
    const { data, error } = await client
      .query(ConnectorsRowsDocument, { sql, database: databaseId, limit: Number(limit) }, { requestPolicy: 'network-only' })
      .toPromise();
    setAnswer({ rows: data?.queryDatabase ?? null, error: error ?? null });
    setRunning(false);
  };
  const { rows, error } = answer;
  return (
    <Stack component="section" gap="sm">
      <Title order={2} size="h5">
        {t('connectors.sql')}
      </Title>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <Stack gap="sm">
          <Textarea
            id="statement"
            label={t('connectors.sql.label')}
            description={t('connectors.sql.help')}
            value={text}
            onChange={(event) => onText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
              event.preventDefault();
              void run();
            }}
            autosize
            minRows={3}
            maxRows={16}
            maxLength={10_000}
            spellCheck={false}
            className="mono"
          />
          <Group align="flex-end">
            <Select
              label={t('connectors.sql.limit')}
              data={['20', '100', '500', '1000']}
              value={limit}
              onChange={(next) => next && setLimit(next)}
              allowDeselect={false}
              w="8rem"
            />
            <Button type="submit" loading={running} disabled={text.trim() === ''} leftSection={<Icon name="play" size={16} />}>
              {t('connectors.sql.run')}
            </Button>
            <Kbd visibleFrom="sm">Ctrl Enter</Kbd>
          </Group>
        </Stack>
      </form>
      {error !== null && <ProblemNotice error={error} />}
      {rows && (
        <>
          <Text size="sm" role="status">
            {t('connectors.sql.rows', { count: rows.rows.length, time: formatDuration(rows.tookMs / 1000) })}
            {rows.leftOut > 0 &&
              ` ${t(rows.leftOutAtLeast ? 'connectors.sql.leftOutAtLeast' : 'connectors.sql.leftOut', { count: formatNumber(rows.leftOut) })}`}
          </Text>
          {rows.notice && (
            <Text size="sm" c="dimmed">
              {rows.notice}
            </Text>
          )}
          {rows.columns.length > 0 && (
            <Rows label={t('connectors.sql.result')} columns={rows.columns} types={rows.types} rows={rows.rows} />
          )}
        </>
      )}
    </Stack>
  );
}
