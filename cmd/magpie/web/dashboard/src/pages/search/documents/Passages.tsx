import { Button, Loader, Paper, Stack, Text } from '@mantine/core';
import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { formatNumber, t } from '../../../i18n';
import { Markdown } from '../../../kit/Markdown';
import { ProblemNotice } from '../../../kit/Problem';
import { usePaged } from '../../../kit/usePaged';
import { useWindowed } from '../../../kit/useWindowed';
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

const windowedFrom = 100; // passages

// Passages are the pieces of a document that are searched. The one that the fragment of the address names is marked. Of
// many, those in view are in the page.
export function Passages({ id }: { id: string }) {
  const hash = useRouterState({ select: (state) => state.location.hash });
  const wanted = Number(/^passage-(\d+)$/.exec(hash)?.[1] ?? 0);
  const list = usePaged(DocumentsPassagesDocument, { id }, (data) => data.document.passages, { pageSize: wanted > 50 ? 200 : 50 });
  const { rows, hasMore, fetching, more } = list;
  const isThere = rows.length >= wanted;
  const next = useRef(more);
  next.current = more;
  useEffect(() => {
    if (!isThere && hasMore && !fetching) next.current();
  }, [isThere, hasMore, fetching]);
  const body = useRef<HTMLDivElement>(null);
  const { pieces, measure } = useWindowed({
    body,
    count: rows.length,
    enabled: rows.length > windowedFrom,
    kept: wanted - 1,
    height: 220,
    overscan: 8,
  });
  useEffect(() => {
    if (wanted === 0 || !isThere) return;
    // The heights of the passages around it are known only after they are in the page.
    let frames = 20;
    let frame = 0;
    const approach = () => {
      document.getElementById(`passage-${wanted}`)?.scrollIntoView({ block: 'center' });
      if (--frames > 0) frame = requestAnimationFrame(approach);
    };
    approach();
    return () => cancelAnimationFrame(frame);
  }, [wanted, isThere]);
  if (list.error && rows.length === 0) return <ProblemNotice error={list.error} retry={list.reload} />;
  if (list.loading) return <Loader aria-label={t('common.loading')} />;
  if (rows.length === 0) return <Text c="dimmed">{t('search.doc.noPassages')}</Text>;
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        {t('search.doc.passageCount', { shown: formatNumber(rows.length), total: formatNumber(list.total ?? rows.length) })}
      </Text>
      <div ref={body}>
        {pieces.map((piece) => {
          if ('height' in piece) return <div key={piece.key} style={{ height: piece.height }} />;
          const passage = rows[piece.index];
          if (!passage) return null;
          return (
            <div key={passage.id} ref={measure} data-index={piece.index} style={{ paddingBlock: 6 }}>
              <PassageText passage={passage} isMarked={passage.position + 1 === wanted} />
            </div>
          );
        })}
      </div>
      {hasMore && (
        <Button variant="default" onClick={more} loading={fetching} style={{ alignSelf: 'center' }}>
          {t('common.more')}
        </Button>
      )}
    </Stack>
  );
}
