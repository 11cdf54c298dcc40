import { Anchor, Button, Group, List, Loader, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { useQuery } from 'urql';
import { formatNumber, t } from '../../i18n';
import { confirm } from '../../kit/confirm';
import { TextLink } from '../../kit/links';
import { ProblemNotice } from '../../kit/Problem';
import { useAction } from '../../kit/useAction';
import {
  CollectionsCandidatesDocument,
  CollectionsGoldenDocument,
  type CollectionsGoldenQuery,
  CollectionsJudgeDocument,
  CollectionsRemoveGoldenDocument,
} from './collections.gql';

type Golden = CollectionsGoldenQuery['goldenQuestions'][number];

// GoldenSet shows the questions for which people named the right documents, and takes more. The question is one to begin with.
export function GoldenSet({ collectionId, question }: { collectionId: string; question?: string }) {
  const [{ data, error }, again] = useQuery({ query: CollectionsGoldenDocument, variables: { collection: collectionId } });
  const [text, setText] = useState(question ?? '');
  const [asked, setAsked] = useState(question ?? '');
  const reload = () => again({ requestPolicy: 'network-only' });
  if (error && !data) return <ProblemNotice error={error} retry={reload} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const golden = data.goldenQuestions;
  const form = { collectionId, golden, reload };
  return (
    <Stack>
      <Title order={2} size="h4">
        {t('collections.golden.title', { questions: formatNumber(golden.length) })}
      </Title>
      <Text size="sm" c="dimmed">
        {t('collections.golden.help')}
      </Text>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(text.trim());
        }}
      >
        <Group align="flex-end">
          <TextInput
            label={t('collections.golden.question')}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            maxLength={200}
            flex={1}
          />
          <Button type="submit" variant="default" disabled={!text.trim()}>
            {t('collections.golden.find')}
          </Button>
        </Group>
      </form>
      {asked && <Candidates key={asked} question={asked} {...form} />}
      {golden.length > 0 && (
        <List listStyleType="none" spacing="sm" aria-label={t('collections.golden.list')}>
          {golden.map((one) => (
            <List.Item key={one.query}>
              <Question one={one} {...form} />
            </List.Item>
          ))}
        </List>
      )}
    </Stack>
  );
}

interface Form {
  collectionId: string;
  golden: Golden[];
  reload: () => void;
}

// same is the form of a question in which those that count as one are equal.
const same = (question: string) => question.toLowerCase().split(/\s+/).filter(Boolean).join(' ');

// Candidates are the documents that are found for a question, each with its grade.
function Candidates({ question, ...form }: { question: string } & Form) {
  const [{ data, error }] = useQuery({
    query: CollectionsCandidatesDocument,
    variables: { input: { query: question, collection: form.collectionId, limit: 30, minScore: 0 } },
    requestPolicy: 'network-only',
  });
  if (error && !data) return <ProblemNotice error={error} />;
  if (!data) return <Loader size="sm" aria-label={t('common.loading')} />;
  const found = new Map(data.search.results.map(({ documentId, title }) => [documentId, title]));
  if (found.size === 0) return <Text size="sm">{t('collections.golden.none')}</Text>;
  return (
    <Stack gap="xs" role="group" aria-label={t('collections.golden.found')}>
      {[...found].slice(0, 10).map(([id, title]) => (
        <Grade key={id} question={question} documentId={id} title={title} {...form} />
      ))}
    </Stack>
  );
}

// Question is one of the golden set. Its documents are shown on request.
function Question({ one, ...form }: { one: Golden } & Form) {
  const [open, setOpen] = useState(false);
  const remove = useAction(CollectionsRemoveGoldenDocument, { success: t('collections.golden.removed') });
  const erase = async () => {
    const isCertain = await confirm({
      title: t('collections.golden.removeTitle'),
      body: t('collections.golden.removeBody', { documents: one.documents.length }),
      action: t('common.remove'),
      typed: one.query,
    });
    if (isCertain && (await remove.run({ collection: form.collectionId, query: one.query }))) form.reload();
  };
  return (
    <Stack gap="xs">
      <Group justify="space-between" wrap="nowrap">
        <Anchor component="button" type="button" size="sm" ta="left" className="wrap" onClick={() => setOpen(!open)} aria-expanded={open}>
          {one.query}
        </Anchor>
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => void erase()}
          aria-label={t('collections.golden.remove', { question: one.query })}
        >
          {t('common.remove')}
        </Button>
      </Group>
      {open &&
        one.documents.map(({ documentId, title, grade }, n) =>
          documentId ? (
            <Grade key={documentId} question={one.query} documentId={documentId} title={title ?? ''} {...form} />
          ) : (
            <Text key={n} size="sm">
              {t('collections.quality.unreadable')}: {t(`collections.golden.grade${grade as 1 | 2 | 3}`)}
            </Text>
          ),
        )}
    </Stack>
  );
}

// Grade is a document with a list of the grades that it may have for a question.
function Grade({
  question,
  documentId,
  title,
  collectionId,
  golden,
  reload,
}: { question: string; documentId: string; title: string } & Form) {
  const judge = useAction(CollectionsJudgeDocument);
  const named = golden.find(({ query }) => same(query) === same(question))?.documents.find((one) => one.documentId === documentId);
  const change = async (grade: string | null) => {
    const input = { collectionId, query: question, documentId, grade: Number(grade) };
    if (await judge.run({ input })) reload();
  };
  return (
    <Group justify="space-between">
      <TextLink to="/documents/$documentId" params={{ documentId }} size="sm">
        {title || documentId}
      </TextLink>
      <Select
        size="xs"
        w="14rem"
        aria-label={t('collections.golden.of', { title: title || documentId })}
        data={(['0', '1', '2', '3'] as const).map((value) => ({ value, label: t(`collections.golden.grade${value}`) }))}
        value={String(named?.grade ?? 0)}
        onChange={(next) => void change(next)}
        allowDeselect={false}
        disabled={judge.running}
      />
    </Group>
  );
}
