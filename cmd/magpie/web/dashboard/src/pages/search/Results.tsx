import { ActionIcon, Anchor, Badge, Group, Menu, Paper, Stack, Text, Title, Tooltip } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import { Fragment, type KeyboardEvent, type MouseEvent } from 'react';
import { formatNumber, formatPercent, t, tValue } from '../../i18n';
import { Icon } from '../../kit/Icon';
import { done, failed } from '../../kit/notify';
import { Snippet } from '../../kit/Snippet';
import { Ago } from '../../kit/Time';
import { useMay } from '../../session/Me';
import type { View } from './state';
import type { Result } from './useSearch';

interface Found {
  document: Result;
  passages: Result[];
}

// grouped puts the passages of a document together, at the place of its best one.
export function grouped(results: Result[]): Found[] {
  const groups = new Map<string, Found>();
  for (const result of results) {
    const group = groups.get(result.documentId);
    if (group) group.passages.push(result);
    else groups.set(result.documentId, { document: result, passages: [result] });
  }
  return [...groups.values()];
}

// focusResult moves the focus to a result, or to another one from the one that has it.
export function focusResult(move: number | 'first') {
  const all = [...document.querySelectorAll<HTMLElement>('[data-result]')];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next = move === 'first' ? 0 : at + move;
  if (move === -1 && at <= 0) document.querySelector<HTMLElement>('[data-search-box]')?.focus();
  else all[Math.min(next, all.length - 1)]?.focus();
}

interface Props {
  results: Result[];
  dimmed: boolean;
  // Opens the preview of a result.
  onOpen: (result: Result, view: View) => void;
}

// Results are the passages that a search found, by their documents. The arrow keys, j and k move between them.
export function Results({ results, dimmed, onOpen }: Props) {
  useHotkeys([
    ['j', () => focusResult(1)],
    ['k', () => focusResult(-1)],
  ]);
  const onKey = (event: KeyboardEvent) => {
    if (!(event.target as HTMLElement).dataset.result) return;
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    focusResult(move);
  };
  return (
    <Stack
      component="ol"
      gap="sm"
      m={0}
      p={0}
      onKeyDown={onKey}
      aria-busy={dimmed}
      aria-label={t('search.results')}
      style={{ listStyle: 'none', opacity: dimmed ? 0.65 : 1 }}
    >
      {grouped(results).map(({ document, passages }) => (
        <Paper key={document.documentId} component="li" p="md" className="far">
          <DocumentLine document={document} onOpen={onOpen} />
          <Stack gap="sm" mt="xs">
            {passages.map((passage, n) => (
              <Fragment key={passage.id}>
                <Passage passage={passage} isFirst={n === 0} onOpen={onOpen} />
              </Fragment>
            ))}
          </Stack>
        </Paper>
      ))}
    </Stack>
  );
}

// plain reports whether a click is to be handled by the page, and not to open another tab.
const plain = (event: MouseEvent) => event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);

function DocumentLine({ document, onOpen }: { document: Result; onOpen: Props['onOpen'] }) {
  const facts = [document.collection, document.section, document.version, document.language?.toUpperCase()].filter(Boolean);
  return (
    <Stack gap={2}>
      <Title order={2} size="h4" className="wrap">
        <Anchor
          component={Link}
          to={`/documents/${document.documentId}`}
          data-result={document.id}
          inherit
          onClick={(event: MouseEvent) => {
            if (!plain(event)) return;
            event.preventDefault();
            onOpen(document, 'passage');
          }}
        >
          {document.title}
        </Anchor>
      </Title>
      <Group gap="xs">
        <Badge size="sm" variant="default" tt="none">
          {tValue(`search.source.${document.source}`, document.source.replaceAll('_', ' '))}
        </Badge>
        <Text size="xs" c="dimmed" className="wrap">
          {facts.join(' · ')}
        </Text>
        {document.updatedAt && (
          <Text size="xs" c="dimmed" component="span">
            {t('search.updated')} <Ago at={document.updatedAt} />
          </Text>
        )}
      </Group>
    </Stack>
  );
}

function Passage({ passage, isFirst, onOpen }: { passage: Result; isFirst: boolean; onOpen: Props['onOpen'] }) {
  const path = passage.headingPath.join(' › ');
  return (
    <Group align="flex-start" gap="xs" justify="flex-end">
      <div style={{ flex: '1 1 16rem', minWidth: 0 }}>
        {(path || !isFirst) && (
          <Text size="sm" fw={600} className="wrap">
            {isFirst ? (
              path
            ) : (
              <Anchor
                component="button"
                type="button"
                size="sm"
                ta="left"
                data-result={passage.id}
                onClick={() => onOpen(passage, 'passage')}
              >
                {path || t('search.anotherPassage')}
              </Anchor>
            )}
          </Text>
        )}
        <Text size="sm" className="wrap" lineClamp={5} style={{ whiteSpace: 'pre-line' }}>
          <Snippet html={passage.snippet} />
        </Text>
        {passage.duplicates && (
          <Text size="xs" c="dimmed" className="wrap">
            {passage.duplicates.versions.length > 0
              ? t('search.alsoIn', { versions: passage.duplicates.versions.join(', ') })
              : t('search.copies', { count: passage.duplicates.count })}
          </Text>
        )}
      </div>
      <Group gap="xs" wrap="nowrap">
        <Score score={passage.score} />
        <PassageMenu passage={passage} onOpen={onOpen} />
      </Group>
    </Group>
  );
}

// Score is the confidence of a result, as a quiet bar.
export function Score({ score }: { score: number }) {
  const percent = formatPercent(score);
  return (
    <Tooltip label={t('search.score', { score: formatNumber(score, 3) })}>
      <Group gap={6} wrap="nowrap" role="img" aria-label={t('search.score', { score: percent })}>
        <div style={{ width: 40, height: 4, borderRadius: 2, background: 'var(--mantine-color-default-border)' }}>
          <div style={{ width: `${score * 100}%`, height: 4, borderRadius: 2, background: 'var(--mantine-color-dimmed)' }} />
        </div>
        <Text size="xs" c="dimmed" w="2.4rem" ta="right">
          {percent}
        </Text>
      </Group>
    </Tooltip>
  );
}

function PassageMenu({ passage, onOpen }: { passage: Result; onOpen: Props['onOpen'] }) {
  const isAdmin = useMay('ADMIN');
  const copyLink = () =>
    navigator.clipboard
      .writeText(passage.url ?? `${window.location.origin}/documents/${passage.documentId}`)
      .then(() => done(t('common.copied')), failed);
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={t('search.resultActions', { title: passage.title })}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<Icon name="eye" size={16} />} onClick={() => onOpen(passage, 'passage')}>
          {t('search.preview')}
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="info" size={16} />} onClick={() => onOpen(passage, 'why')}>
          {t('search.why')}
        </Menu.Item>
        {isAdmin && (
          <Menu.Item leftSection={<Icon name="people" size={16} />} onClick={() => onOpen(passage, 'readers')}>
            {t('search.readers')}
          </Menu.Item>
        )}
        <Menu.Divider />
        <Menu.Item component={Link} to={`/documents/${passage.documentId}`} leftSection={<Icon name="document" size={16} />}>
          {t('search.openDocument')}
        </Menu.Item>
        {passage.url && (
          <Menu.Item
            component="a"
            href={passage.url}
            target="_blank"
            rel="noopener noreferrer"
            leftSection={<Icon name="external" size={16} />}
          >
            {t('search.openSource')}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<Icon name="copy" size={16} />} onClick={copyLink}>
          {t('search.copyLink')}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
