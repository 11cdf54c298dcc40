import { Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { formatNumber, t } from '../../../i18n';
import { Markdown } from '../../../kit/Markdown';

const first = 40_000; // characters that are shown at once

// beginning returns the beginning of a long text, up to the end of a paragraph.
export function beginning(content: string, most = first): string {
  if (content.length <= most) return content;
  const end = content.lastIndexOf('\n\n', most);
  return content.slice(0, end > most / 2 ? end : most);
}

// DocumentText shows the text of a document: of a huge one the first part, and the rest on request.
export function DocumentText({ content }: { content: string }) {
  const [all, setAll] = useState(false);
  if (content.trim() === '') return <Text c="dimmed">{t('search.doc.noText')}</Text>;
  const shown = all ? content : beginning(content);
  return (
    <Stack>
      <Markdown>{shown}</Markdown>
      {shown.length < content.length && (
        <Button variant="default" onClick={() => setAll(true)} style={{ alignSelf: 'center' }}>
          {t('search.doc.showAll', { share: `${formatNumber(shown.length)} / ${formatNumber(content.length)}` })}
        </Button>
      )}
    </Stack>
  );
}
