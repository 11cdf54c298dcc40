import { Drawer } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { t } from '../../i18n';
import type { Cited, Source } from './ask/answers';
import { PassageView } from './PassageView';

// usePassageDrawer returns a function that opens a passage of a source, by default the first that is cited, and the drawer
// that shows it.
export function usePassageDrawer(): { cite: (source: Source, passage?: Cited) => void; drawer: ReactNode } {
  const [cited, setCited] = useState<{ source: Source; passage: Cited | undefined } | null>(null);
  return {
    cite: (source, passage = source.passages[0]) => setCited({ source, passage }),
    drawer: (
      <Drawer
        opened={cited !== null}
        onClose={() => setCited(null)}
        position="right"
        size="xl"
        title={cited?.source.title}
        styles={{ title: { overflowWrap: 'anywhere', fontWeight: 600 } }}
        closeButtonProps={{ 'aria-label': t('common.close') }}
      >
        {cited && <PassageView documentId={cited.source.id} passageId={cited.passage?.id ?? null} url={cited.source.url} />}
      </Drawer>
    ),
  };
}
