import { Button, Loader, SimpleGrid, Stack, Tabs, Text, Title } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useQuery } from 'urql';
import { oneOf } from '../../app/params';
import { formatDay, formatNumber, formatPercent, t } from '../../i18n';
import { Chart } from '../../kit/Chart';
import { csv, saveFile } from '../../kit/csv';
import { Empty } from '../../kit/Empty';
import { Figure } from '../../kit/Facts';
import { Icon } from '../../kit/Icon';
import { Needs } from '../../kit/Needs';
import { Page } from '../../kit/Page';
import { ProblemNotice } from '../../kit/Problem';
import { AnalyticsFilters } from './AnalyticsFilters';
import { InsightsAnalyticsDocument, type InsightsAnalyticsQuery, type InsightsTotalsFragment } from './insights.gql';
import { Questions } from './Questions';
import { lists, spanOf } from './span';

const route = getRouteApi('/shell/analytics');

// AnalyticsPage shows what people ask, and what they do not find.
export function AnalyticsPage() {
  return (
    <Page title={t('common.nav.analytics')} description={t('insights.about')}>
      <Needs atLeast="EDITOR">
        <Statistics />
      </Needs>
    </Page>
  );
}

function Statistics() {
  const search = route.useSearch();
  const { days, from, to } = search;
  const span = useMemo(() => spanOf({ days, from, to }), [days, from, to]);
  const [{ data, error, fetching }, again] = useQuery({
    query: InsightsAnalyticsDocument,
    variables: { ...span, collectionId: search.collection ?? null, apiKeyId: search.key ?? null, kind: search.kind ?? null },
  });
  return (
    <Stack>
      <AnalyticsFilters />
      {error && <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />}
      {fetching && !data && <Loader aria-label={t('common.loading')} />}
      {data && <Report data={data} />}
    </Stack>
  );
}

function Report({ data }: { data: InsightsAnalyticsQuery }) {
  const { list = lists[0] } = route.useSearch();
  const navigate = route.useNavigate();
  const { totals, daily } = data.now;
  if (totals.searches + totals.chats === 0 && data.before.totals.searches + data.before.totals.chats === 0) {
    return (
      <Empty
        icon="chart"
        title={t('insights.none')}
        action={
          <Button component={Link} to="/search" variant="default">
            {t('common.nav.search')}
          </Button>
        }
      >
        {t('insights.noneHelp')}
      </Empty>
    );
  }
  const labels = daily.map(({ date }) => formatDay(date));
  const series = (key: 'searches' | 'chats' | 'zeroResults' | 'clicks' | 'positiveFeedback' | 'negativeFeedback') => ({
    key,
    name: t(`insights.${key}`),
    values: daily.map((one) => one[key]),
  });
  return (
    <>
      <Totals now={totals} before={data.before.totals} />
      <Title order={2} size="h4">
        {t('insights.perDay')}
      </Title>
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        <Chart
          label={t('insights.questionsPerDay')}
          help={t('insights.chartHelp')}
          labels={labels}
          series={[series('searches'), series('chats'), series('zeroResults')]}
        />
        <Chart
          kind="bars"
          label={t('insights.clicksPerDay')}
          help={t('insights.chartHelp')}
          labels={labels}
          series={[series('clicks'), series('positiveFeedback'), series('negativeFeedback')]}
        />
      </SimpleGrid>
      <Title order={2} size="h4">
        {t('insights.questions')}
      </Title>
      <Tabs
        value={list}
        onChange={(next) =>
          void navigate({ search: (old) => ({ ...old, list: next === lists[0] ? undefined : oneOf(next, lists) }), replace: true })
        }
        keepMounted={false}
      >
        <Tabs.List aria-label={t('insights.questions')}>
          {lists.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {t(`insights.${name}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {lists.map((name) => (
          <Tabs.Panel key={name} value={name} pt="sm">
            <Text size="sm" c="dimmed" mb="xs">
              {t(`insights.${name}Help`)}
            </Text>
            <Questions label={t(`insights.${name}`)} rows={data.now[name]} />
          </Tabs.Panel>
        ))}
      </Tabs>
      <div>
        <Button variant="default" leftSection={<Icon name="download" size={16} />} onClick={() => exportCSV(data)}>
          {t('insights.export')}
        </Button>
      </div>
    </>
  );
}

function Totals({ now, before }: { now: InsightsTotalsFragment; before: InsightsTotalsFragment }) {
  const milliseconds = (value: number) => t('insights.ms', { value: formatNumber(value) });
  const figure = (
    label: string,
    key: keyof Omit<InsightsTotalsFragment, '__typename'>,
    format: (value: number) => string = formatNumber,
  ) => <Figure label={label} value={format(now[key])} hint={t('insights.before', { value: format(before[key]) })} />;
  const percent = (value: number) => formatPercent(value, 1);
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} spacing="sm">
      {figure(t('insights.searches'), 'searches')}
      {figure(t('insights.chats'), 'chats')}
      {figure(t('insights.zeroRate'), 'zeroResultRate', percent)}
      {figure(t('insights.clickRate'), 'clickThroughRate', percent)}
      {figure(t('insights.rank'), 'meanReciprocalClickRank', (value) => formatNumber(value, 2))}
      {figure(t('insights.positiveFeedback'), 'positiveFeedback')}
      {figure(t('insights.negativeFeedback'), 'negativeFeedback')}
      {figure(t('insights.median'), 'p50Ms', milliseconds)}
      {figure(t('insights.slow'), 'p95Ms', milliseconds)}
    </SimpleGrid>
  );
}

// exportCSV saves the days and the lists as one table.
function exportCSV({ now }: InsightsAnalyticsQuery) {
  const rows = [
    ['list', 'date', 'query', 'searches', 'chats', 'count', 'zero_results', 'clicks', 'positive', 'negative', 'average_score', 'last_at'],
    ...now.daily.map((day) => [
      'daily',
      day.date,
      null,
      day.searches,
      day.chats,
      day.searches + day.chats,
      day.zeroResults,
      day.clicks,
      day.positiveFeedback,
      day.negativeFeedback,
      null,
      null,
    ]),
    ...lists.flatMap((name) =>
      now[name].map((row) => [
        name,
        null,
        row.query,
        null,
        null,
        row.count,
        row.zeroResults,
        row.clicks,
        null,
        null,
        row.averageScore,
        row.lastAt,
      ]),
    ),
  ];
  saveFile(`analytics-${now.from.slice(0, 10)}-${now.to.slice(0, 10)}.csv`, csv(rows), 'text/csv');
}
