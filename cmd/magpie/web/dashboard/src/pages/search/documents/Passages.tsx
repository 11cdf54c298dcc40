import { Button, Loader, Paper, Stack, Text } from '@mantine/core';
import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { formatNumber, t } from '../../../i18n';
import { Markdown } from '../../../kit/Markdown';
import { ProblemNotice } from '../../../kit/Problem';
import { usePaged } from '../../../kit/usePaged';
import { type DocumentsPassageFieldsFragment, DocumentsPassagesDocument } from './documents.gql';

interface Props {
  passage: DocumentsPassageFieldsFragment;
  isMarked?: boolean;
}

// PassageText is a passage with its headings. A marked one is that of a search or a citation.
export function PassageText({ passage, isMarked = false }: Props) {
  const facts = [t('search.doc.passageNumber', { n: passage.position + 1 })];
  if (passage.page != null) facts.push(t('search.doc.page', { page: passage.page }));
  return (
    <Paper
      p="sm"
      id={`passage-${passage.position + 1}`}
      aria-current={isMarked ? 'true' : undefined}
      style={{
        scrollMarginTop: 72,
        borderInlineStart: isMarked ? '4px solid var(--mantine-primary-color-filled)' : undefined,
        background: isMarked ? 'var(--mantine-color-default-hover)' : undefined,
      }}
    >
      <Text size="xs" c="dimmed" className="wrap">
        {[...facts, passage.headingPath.join(' › ')].filter(Boolean).join(' · ')}
      </Text>
      <Markdown>{passage.text}</Markdown>
    </Paper>
  );
}

// Passages are the pieces of a document that are searched. The one that the fragment of the address names is marked.
export function Passages({ id }: { id: string }) {
  const hash = useRouterState({ select: (state) => state.location.hash });
  const wanted = Number(/^passage-(\d+)$/.exec(hash)?.[1] ?? 0);
  const list = usePaged(DocumentsPassagesDocument, { id }, (data) => data.document.passages);
  const { rows, hasMore, fetching, more } = list;
  const isThere = rows.length >= wanted;
  const next = useRef(more);
  next.current = more;
  useEffect(() => {
    if (!isThere && hasMore && !fetching) next.current();
  }, [isThere, hasMore, fetching]);
  useEffect(() => {
    if (wanted > 0 && isThere) document.getElementById(`passage-${wanted}`)?.scrollIntoView({ block: 'center' });
  }, [wanted, isThere]);
  if (list.error && rows.length === 0) return <ProblemNotice error={list.error} retry={list.reload} />;
  if (list.loading) return <Loader aria-label={t('common.loading')} />;
  if (rows.length === 0) return <Text c="dimmed">{t('search.doc.noPassages')}</Text>;
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        {t('search.doc.passageCount', { shown: formatNumber(rows.length), total: formatNumber(list.total ?? rows.length) })}
      </Text>
      {rows.map((passage) => (
        <PassageText key={passage.id} passage={passage} isMarked={passage.position + 1 === wanted} />
      ))}
      {hasMore && (
        <Button variant="default" onClick={more} loading={fetching} style={{ alignSelf: 'center' }}>
          {t('common.more')}
        </Button>
      )}
    </Stack>
  );
}
