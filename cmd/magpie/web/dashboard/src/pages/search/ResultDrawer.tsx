import { Drawer, Stack, Tabs } from '@mantine/core';
import type { SearchInput } from '../../gql/schema';
import { t } from '../../i18n';
import { useMay } from '../../session/Me';
import { ResultExplanation } from './Explanation';
import { PassageView } from './PassageView';
import type { View } from './state';
import type { Result } from './useSearch';
import { WhyVisible } from './WhyVisible';

interface Props {
  // Null while nothing is shown.
  result: Result | null;
  // Its place among the results, from 0.
  place: number;
  input: SearchInput | null;
  view: View;
  onView: (view: View) => void;
  onClose: () => void;
}

// ResultDrawer shows a result in its document, why it was found, and who finds it.
export function ResultDrawer({ result, place, input, view, onView, onClose }: Props) {
  const isAdmin = useMay('ADMIN');
  return (
    <Drawer
      opened={result !== null}
      onClose={onClose}
      position="right"
      size="xl"
      title={result?.title}
      styles={{ title: { overflowWrap: 'anywhere', fontWeight: 600 } }}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      {result && (
        <Tabs value={view} onChange={(next) => onView(next as View)} keepMounted={false}>
          <Tabs.List>
            <Tabs.Tab value="passage">{t('search.passage')}</Tabs.Tab>
            <Tabs.Tab value="why">{t('search.why')}</Tabs.Tab>
            {isAdmin && <Tabs.Tab value="readers">{t('search.readers')}</Tabs.Tab>}
          </Tabs.List>
          <Stack pt="md">
            <Tabs.Panel value="passage">
              <PassageView documentId={result.documentId} passageId={result.id} url={result.url} />
            </Tabs.Panel>
            <Tabs.Panel value="why">{input && <ResultExplanation input={input} passageId={result.id} place={place} />}</Tabs.Panel>
            {isAdmin && (
              <Tabs.Panel value="readers">
                <WhyVisible documentId={result.documentId} />
              </Tabs.Panel>
            )}
          </Stack>
        </Tabs>
      )}
    </Drawer>
  );
}
