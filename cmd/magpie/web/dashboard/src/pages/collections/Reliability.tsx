import { Alert, Anchor, Badge, Button, Group, List, Loader, NumberInput, Select, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useQuery } from 'urql';
import { formatNumber, formatPercent, formatTime, t } from '../../i18n';
import { Empty } from '../../kit/Empty';
import { Figure } from '../../kit/Facts';
import { Icon } from '../../kit/Icon';
import { TextLink } from '../../kit/links';
import { ProblemNotice } from '../../kit/Problem';
import { moveBetweenRows } from '../../kit/rowKeys';
import { useAction } from '../../kit/useAction';
import {
  CollectionsJudgedDocument,
  CollectionsMeasureDocument,
  CollectionsQualityDocument,
  type CollectionsRunFragment,
} from './collections.gql';
import { GoldenSet } from './GoldenSet';

const route = getRouteApi('/shell/collections/$collectionId');

const figure = (value: number | null | undefined) => (value == null ? '–' : formatNumber(value, 3));

// Reliability shows measurements of search quality by the questions that people asked, and makes one.
export function Reliability({ collectionId }: { collectionId: string }) {
  const { run, question } = route.useSearch();
  const navigate = route.useNavigate();
  const [days, setDays] = useState<number | string>(30);
  const [latest, setLatest] = useState<CollectionsRunFragment | null>(null);
  const [{ data, error }, again] = useQuery({ query: CollectionsQualityDocument, variables: { collection: collectionId } });
  const measure = useAction(CollectionsMeasureDocument);
  const begin = async () => {
    const measured = await measure.run({ input: { collectionId, days: Number(days) } });
    if (!measured) return;
    setLatest(measured.measureSearchQuality);
    void navigate({ search: (old) => ({ ...old, run: undefined }), replace: true });
    again({ requestPolicy: 'network-only' });
  };
  if (error && !data) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (!data) return <Loader aria-label={t('common.loading')} />;
  const runs = data.searchQuality;
  const shown = runs.find(({ measuredAt }) => measuredAt === run) ?? latest ?? runs[0] ?? null;
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {t('collections.quality.help')}
      </Text>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void begin();
        }}
      >
        <Group align="flex-end">
          <NumberInput
            label={t('collections.quality.days')}
            value={days}
            onChange={setDays}
            min={1}
            max={366}
            allowDecimal={false}
            w="9rem"
          />
          <Button type="submit" loading={measure.running} disabled={Number(days) < 1}>
            {t('collections.quality.measure')}
          </Button>
          {runs.length > 1 && (
            <Select
              label={t('collections.quality.run')}
              data={runs.map(({ measuredAt }) => ({ value: measuredAt, label: formatTime(measuredAt) }))}
              value={runs.some(({ measuredAt }) => measuredAt === shown?.measuredAt) ? (shown?.measuredAt ?? null) : null}
              onChange={(next) => void navigate({ search: (old) => ({ ...old, run: next ?? undefined }) })}
              allowDeselect={false}
            />
          )}
        </Group>
      </form>
      {shown ? (
        <Run run={shown} />
      ) : (
        <Empty icon="gauge" title={t('collections.quality.none')}>
          {t('collections.quality.noneHelp')}
        </Empty>
      )}
      <GoldenSet key={question} collectionId={collectionId} question={question} />
    </Stack>
  );
}

function Run({ run }: { run: CollectionsRunFragment }) {
  return (
    <Stack>
      <Text size="sm" role="status">
        {t('collections.quality.of', { time: formatTime(run.measuredAt), days: run.days })}
      </Text>
      {run.note && (
        <Alert color="blue" variant="light" icon={<Icon name="info" />}>
          <Text size="sm" className="wrap">
            {run.note}
          </Text>
        </Alert>
      )}
      <SimpleGrid cols={{ base: 2, sm: 3, md: 6 }}>
        <Figure label={t('collections.quality.questions')} value={formatNumber(run.questionCount)} />
        <Figure label={t('collections.quality.judged')} value={formatNumber(run.judged)} />
        <Figure label="nDCG@10" value={figure(run.ndcg10)} hint={t('collections.quality.ndcgHelp')} />
        <Figure label="MRR@10" value={figure(run.mrr10)} hint={t('collections.quality.mrrHelp')} />
        <Figure label={t('collections.quality.zero')} value={formatPercent(run.zeroResultRate)} />
        <Figure label={t('collections.quality.low')} value={formatPercent(run.lowScoreRate)} />
      </SimpleGrid>
      {run.questions.length > 0 && (
        <Table.ScrollContainer minWidth={0} type="native">
          <Table aria-label={t('collections.quality.questions')}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t('collections.quality.question')}</Table.Th>
                <Table.Th ta="right">{t('collections.quality.asked')}</Table.Th>
                <Table.Th ta="right" visibleFrom="sm">
                  {t('collections.quality.clicks')}
                </Table.Th>
                <Table.Th ta="right" visibleFrom="md">
                  {t('collections.quality.relevant')}
                </Table.Th>
                <Table.Th ta="right">nDCG@10</Table.Th>
                <Table.Th ta="right" visibleFrom="md">
                  {t('collections.quality.results')}
                </Table.Th>
                <Table.Th ta="right" visibleFrom="sm">
                  {t('collections.quality.score')}
                </Table.Th>
                <Table.Th visibleFrom="sm">{t('collections.quality.change')}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody onKeyDown={moveBetweenRows}>
              {run.questions.map((one, n) => (
                <Question key={one.query} run={run} one={one} isFirst={n === 0} />
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Stack>
  );
}

// Question is the measurement of one question. The documents that people chose for it are shown below it on request.
function Question({
  run,
  one,
  isFirst,
}: {
  run: CollectionsRunFragment;
  one: CollectionsRunFragment['questions'][number];
  isFirst: boolean;
}) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Table.Tr
        className="reached"
        tabIndex={isFirst ? 0 : -1}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && event.target === event.currentTarget && one.relevant > 0) setOpen(!open);
        }}
      >
        <Table.Td className="wrap">
          {one.relevant > 0 ? (
            <Anchor component="button" type="button" size="sm" ta="left" onClick={() => setOpen(!open)} aria-expanded={open}>
              {one.query}
            </Anchor>
          ) : (
            one.query
          )}
          {one.golden && (
            <Badge size="xs" variant="light" ml="xs">
              {t('collections.golden.badge')}
            </Badge>
          )}
        </Table.Td>
        <Table.Td ta="right">{formatNumber(one.asked)}</Table.Td>
        <Table.Td ta="right" visibleFrom="sm">
          {formatNumber(one.clicks)}
        </Table.Td>
        <Table.Td ta="right" visibleFrom="md">
          {formatNumber(one.relevant)}
        </Table.Td>
        <Table.Td ta="right">
          {figure(one.ndcg10)}
          {one.previousNdcg10 != null && (
            <Text size="xs" c="dimmed">
              {t('collections.quality.before', { value: figure(one.previousNdcg10) })}
            </Text>
          )}
        </Table.Td>
        <Table.Td ta="right" visibleFrom="md">
          {formatNumber(one.results)}
        </Table.Td>
        <Table.Td ta="right" visibleFrom="sm">
          {one.topScore == null ? '–' : formatPercent(one.topScore)}
        </Table.Td>
        <Table.Td visibleFrom="sm">{t(`collections.change.${one.change}`)}</Table.Td>
      </Table.Tr>
      {open && (
        <Table.Tr>
          <Table.Td colSpan={8}>
            <Judged collection={run.collectionId} query={one.query} days={run.days} />
          </Table.Td>
        </Table.Tr>
      )}
    </>
  );
}

// Judged are the documents that people chose for a question, with their places in today's results.
function Judged(variables: { collection: string; query: string; days: number }) {
  const [{ data, error }] = useQuery({ query: CollectionsJudgedDocument, variables, requestPolicy: 'network-only' });
  if (error && !data) return <ProblemNotice error={error} />;
  if (!data) return <Loader size="sm" aria-label={t('common.loading')} />;
  if (data.searchQualityDocuments.length === 0) return <Text size="sm">{t('collections.quality.noneChosen')}</Text>;
  return (
    <List size="sm" aria-label={t('collections.quality.chosen')}>
      {data.searchQualityDocuments.map(({ documentId, title, rank, grade, golden, clicks }, n) => (
        <List.Item key={documentId ?? n}>
          {documentId ? (
            <TextLink to="/documents/$documentId" params={{ documentId }} size="sm">
              {title || documentId}
            </TextLink>
          ) : (
            t('collections.quality.unreadable')
          )}
          {': '}
          {rank == null ? t('collections.quality.notFound') : t('collections.quality.rank', { rank })}
          {', '}
          {t('collections.quality.grade', { grade, clicks })}
          {golden && `, ${t('collections.golden.named')}`}
        </List.Item>
      ))}
    </List>
  );
}
