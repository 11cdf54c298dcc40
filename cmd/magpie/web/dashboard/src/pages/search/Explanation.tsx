import { Loader, Stack, Table, Text } from '@mantine/core';
import { useQuery } from 'urql';
import type { SearchInput } from '../../gql/schema';
import { formatNumber, formatPercent, t, tValue } from '../../i18n';
import { ProblemNotice } from '../../kit/Problem';
import { SearchExplainedDocument, type SearchExplanationFieldsFragment } from './search.gql';
import { pageSize } from './state';

interface Props {
  input: SearchInput;
  passageId: string;
  // Its place among the results, from 0.
  place: number;
}

// ResultExplanation asks the search again, for the explanation of one of its results.
export function ResultExplanation({ input, passageId, place }: Props) {
  const [{ data, error, fetching }, again] = useQuery({
    query: SearchExplainedDocument,
    variables: { input: { ...input, offset: place - (place % pageSize), explain: true, facets: undefined, highlight: false } },
    requestPolicy: 'cache-first',
  });
  if (error) return <ProblemNotice error={error} retry={() => again({ requestPolicy: 'network-only' })} />;
  if (fetching || !data) return <Loader aria-label={t('common.loading')} />;
  const explanation = data.search.results.find(({ id }) => id === passageId)?.explanation;
  return explanation ? <Explanation explanation={explanation} /> : <Text size="sm">{t('search.explain.gone')}</Text>;
}

// sentences says in words what counted, the most important first.
function sentences(explanation: SearchExplanationFieldsFragment): string[] {
  const { words, similarity, evidence, secondPass, rating, confidence } = explanation;
  const said = words.map(({ text, fields, documentFrequency }) =>
    t('search.explain.word', {
      word: text,
      places: fields.map(({ field, occurrences }) => t(`search.explain.in.${field}`, { count: occurrences })).join(', '),
      count: documentFrequency,
    }),
  );
  if (words.length === 0) said.push(t('search.explain.noWord'));
  if (words.length > 1) said.push(t('search.explain.coverage', { share: formatPercent(evidence.coverage) }));
  if (similarity) {
    const strength = similarity.zScore >= 2 ? 'strong' : similarity.zScore >= 1 ? 'some' : 'weak';
    said.push(t(`search.explain.similar.${strength}`, { deviations: formatNumber(similarity.zScore, 1) }));
  } else said.push(t('search.explain.noVector'));
  if (evidence.proximity >= 0.5) said.push(t('search.explain.proximity'));
  if (evidence.title >= 0.5) said.push(t('search.explain.title'));
  if (evidence.heading >= 0.5) said.push(t('search.explain.heading'));
  const added = secondPass.terms.filter(({ matches, score }) => matches && score > 0).slice(0, 5);
  if (added.length > 0) said.push(t('search.explain.added', { terms: added.map(({ term }) => term).join(', ') }));
  said.push(
    rating == null
      ? t('search.explain.confidence', { confidence: formatPercent(confidence) })
      : t('search.explain.rating', { rating: formatPercent(rating), confidence: formatPercent(confidence) }),
  );
  return said;
}

// Explanation says how a score came about: in sentences, and with the numbers.
export function Explanation({ explanation }: { explanation: SearchExplanationFieldsFragment }) {
  return (
    <Stack gap="md">
      <Stack component="ul" gap={4} m={0} pl="lg">
        {sentences(explanation).map((sentence) => (
          <Text component="li" size="sm" key={sentence} className="wrap">
            {sentence}
          </Text>
        ))}
      </Stack>
      <Numbers
        label={t('search.explain.words')}
        head={[t('search.explain.wordTitle'), t('search.explain.where'), t('search.explain.passages'), t('search.explain.part')]}
        rows={explanation.words.map(({ text, fields, documentFrequency, score }) => [
          text,
          fields.map(({ field, occurrences }) => `${t(`search.explain.field.${field}`)} ${occurrences}×`).join(', '),
          formatNumber(documentFrequency),
          formatNumber(score, 2),
        ])}
      />
      <Sum label={t('search.explain.order')} sum={explanation.order} />
      <Sum label={t('search.explain.logOdds')} sum={explanation.logOdds} />
      <Text size="xs" c="dimmed">
        {t(`search.explain.tier.${explanation.tier}`)}
      </Text>
    </Stack>
  );
}

function Sum({ label, sum }: { label: string; sum: SearchExplanationFieldsFragment['order'] }) {
  const terms = sum.terms.filter(({ contribution }) => contribution !== 0);
  return (
    <Numbers
      label={label}
      head={[t('search.explain.evidence'), t('search.explain.value'), t('search.explain.weight'), t('search.explain.part')]}
      rows={[
        ...terms.map(({ name, value, weight, contribution }) => [
          tValue(`search.term.${name}`, name.replaceAll('_', ' ')),
          formatNumber(value, 2),
          formatNumber(weight, 2),
          formatNumber(contribution, 2),
        ]),
        [t('search.explain.total'), '', '', formatNumber(sum.total, 2)],
      ]}
    />
  );
}

// Numbers is a small table whose first column has names.
function Numbers({ label, head, rows }: { label: string; head: string[]; rows: string[][] }) {
  if (rows.length === 0) return null;
  return (
    <div>
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <Table.ScrollContainer minWidth={0} type="native">
        <Table fz="xs" verticalSpacing={4} aria-label={label}>
          <Table.Thead>
            <Table.Tr>
              {head.map((title, n) => (
                <Table.Th key={title} ta={n === 0 ? 'left' : 'right'}>
                  {title}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(([name, ...values]) => (
              <Table.Tr key={name}>
                <Table.Td className="wrap">{name}</Table.Td>
                {values.map((value, n) => (
                  <Table.Td key={head[n + 1]} ta="right" className="wrap">
                    {value}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </div>
  );
}
