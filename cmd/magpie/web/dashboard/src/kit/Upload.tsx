import { ActionIcon, Button, Group, Paper, Progress, ScrollArea, Stack, Text, Tooltip } from '@mantine/core';
import { type DragEvent, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { useQuery } from 'urql';
import { formatBytes, formatNumber, t } from '../i18n';
import { Icon } from './Icon';
import { problemLine } from './Problem';
import { sendTo } from './sendFile';
import { UploadLimitsDocument } from './upload.gql';
import { type Choice, chosen, dropped, totals, type UploadItem, UploadQueue, visible } from './uploads';

interface Props {
  // A connector of a kind that accepts files.
  connectorId: string;
  // Called each time the last open upload has ended, with the number of files that were stored.
  onDone?: (stored: number) => void;
}

const shown = 100; // rows of the list of uploads

// Upload sends files and folders to a connector: chosen or dropped, three at a time, with the progress of each. A page
// that shows it loads the messages "upload".
export function Upload({ connectorId, onDone }: Props) {
  const latest = useRef(onDone);
  latest.current = onDone;
  const [queue] = useState(() => {
    let stored = 0;
    const made: UploadQueue = new UploadQueue(sendTo(connectorId), () => {
      const done = totals(made.items).done;
      latest.current?.(done - stored);
      stored = done;
    });
    return made;
  });
  const [{ data }] = useQuery({ query: UploadLimitsDocument, requestPolicy: 'cache-first' });
  const limit = data?.limits.uploadFileBytes ?? null;
  if (limit !== null) queue.limit = limit;
  const items = useSyncExternalStore(queue.subscribe, queue.current);
  const [over, setOver] = useState(false);
  const [skipped, setSkipped] = useState(0);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  useEffect(() => () => queue.cancel(), [queue]);
  const open = items.some(({ state }) => state === 'waiting' || state === 'sending');
  useEffect(() => {
    if (!open) return;
    const stay = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', stay);
    return () => window.removeEventListener('beforeunload', stay);
  }, [open]);
  const add = (choice: Choice[]) => {
    const wanted = visible(choice);
    setSkipped(choice.length - wanted.length);
    queue.add(wanted);
  };
  const drop = async (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    add(await dropped(event.dataTransfer));
  };
  return (
    <Stack gap="sm">
      <Paper
        p="lg"
        role="group"
        aria-label={t('upload.area')}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => void drop(event)}
        bd={over ? '2px dashed var(--mantine-primary-color-filled)' : '2px dashed var(--mantine-color-default-border)'}
        bg={over ? 'var(--mantine-color-default-hover)' : undefined}
      >
        <Stack align="center" gap="xs">
          <Icon name="upload" size={26} />
          <Text fw={600}>{t('upload.drop')}</Text>
          <Text size="sm" c="dimmed" ta="center">
            {limit !== null && t('upload.help', { limit: formatBytes(limit) })}
          </Text>
          <Group gap="xs">
            <Button variant="default" leftSection={<Icon name="document" size={16} />} onClick={() => files.current?.click()}>
              {t('upload.files')}
            </Button>
            <Button variant="default" leftSection={<Icon name="folder" size={16} />} onClick={() => folder.current?.click()}>
              {t('upload.folder')}
            </Button>
          </Group>
          <input
            ref={files}
            type="file"
            multiple
            hidden
            aria-label={t('upload.files')}
            onChange={(event) => {
              if (event.currentTarget.files) add(chosen(event.currentTarget.files));
              event.currentTarget.value = '';
            }}
          />
          <input
            ref={(input) => {
              folder.current = input;
              input?.setAttribute('webkitdirectory', '');
            }}
            type="file"
            multiple
            hidden
            aria-label={t('upload.folder')}
            onChange={(event) => {
              if (event.currentTarget.files) add(chosen(event.currentTarget.files));
              event.currentTarget.value = '';
            }}
          />
        </Stack>
      </Paper>
      {skipped > 0 && (
        <Text size="sm" c="dimmed">
          {t('upload.skipped', { count: skipped })}
        </Text>
      )}
      {items.length > 0 && <Uploads queue={queue} items={items} />}
    </Stack>
  );
}

function Uploads({ queue, items }: { queue: UploadQueue; items: readonly UploadItem[] }) {
  const sum = totals(items);
  const percent = sum.bytes === 0 ? (sum.open === 0 ? 100 : 0) : Math.floor((100 * sum.sent) / sum.bytes);
  // What is not finished comes first, so that failures are seen among thousands of files.
  const rank = { failed: 0, sending: 1, canceled: 2, waiting: 3, done: 4 };
  const rows = [...items].sort((a, b) => rank[a.state] - rank[b.state] || a.key - b.key).slice(0, shown);
  return (
    <Paper p="sm">
      <Stack gap="xs">
        <Group justify="space-between" gap="xs">
          <Text size="sm" role="status">
            {sum.open > 0
              ? t('upload.progress', { done: formatNumber(sum.done), files: formatNumber(sum.files), percent })
              : t('upload.ended', { done: sum.done, failed: sum.failed + sum.canceled })}
          </Text>
          <Group gap="xs">
            {sum.open > 0 && (
              <Button size="xs" variant="default" onClick={() => queue.cancel()}>
                {t('upload.cancelAll')}
              </Button>
            )}
            {sum.failed + sum.canceled > 0 && (
              <Button size="xs" variant="default" onClick={() => queue.retry()}>
                {t('upload.retryAll', { count: sum.failed + sum.canceled })}
              </Button>
            )}
            {sum.open === 0 && (
              <Button size="xs" variant="subtle" onClick={() => queue.clear()}>
                {t('upload.clear')}
              </Button>
            )}
          </Group>
        </Group>
        <Progress value={percent} aria-label={t('upload.total')} color={sum.failed > 0 ? 'yellow' : undefined} />
        <ScrollArea.Autosize mah="16rem" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': t('upload.list') }}>
          <Stack gap={4} component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
            {rows.map((item) => (
              <Row key={item.key} item={item} queue={queue} />
            ))}
          </Stack>
        </ScrollArea.Autosize>
        {items.length > shown && (
          <Text size="xs" c="dimmed">
            {t('upload.more', { count: items.length - shown })}
          </Text>
        )}
      </Stack>
    </Paper>
  );
}

function Row({ item, queue }: { item: UploadItem; queue: UploadQueue }) {
  const { key, path, state, file, sent, problem } = item;
  const isOpen = state === 'waiting' || state === 'sending';
  const why = () => {
    if (problem === 'tooLarge') return t('upload.tooLarge', { size: formatBytes(file.size), limit: formatBytes(queue.limit) });
    return problem === 'unreadable' ? t('upload.unreadable') : problemLine(problem);
  };
  const note =
    state === 'failed'
      ? why()
      : state === 'sending' && file.size > 0
        ? `${formatBytes(sent)} / ${formatBytes(file.size)}`
        : t(`upload.state.${state}`);
  return (
    <Group component="li" gap="xs" wrap="nowrap" justify="space-between">
      <Text size="sm" className="wrap" style={{ minWidth: 0, flex: 1 }}>
        {path}
        <Text span size="xs" ml={8} c={state === 'failed' ? 'var(--mantine-color-error)' : 'dimmed'}>
          {note}
        </Text>
      </Text>
      {state !== 'done' && (
        <Tooltip label={isOpen ? t('common.cancel') : t('common.retry')}>
          <ActionIcon
            variant="subtle"
            color="gray"
            onClick={() => (isOpen ? queue.cancel(key) : queue.retry(key))}
            aria-label={`${isOpen ? t('common.cancel') : t('common.retry')}: ${path}`}
          >
            <Icon name={isOpen ? 'close' : 'refresh'} size={16} />
          </ActionIcon>
        </Tooltip>
      )}
    </Group>
  );
}
