import { Paper, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { language, t } from '../../i18n';
import { attributes, type WidgetSettings } from './widgetSettings';

// WidgetPreview shows a page with the widget: public/widget-preview.html, which has a content security policy of its own
// and reads its settings from the fragment of its address.
export function WidgetPreview({ settings, publishable }: { settings: WidgetSettings; publishable: string }) {
  const fragment = new URLSearchParams({
    ...attributes(settings),
    ...(publishable ? { key: publishable } : {}),
    heading: t('people.widget.pageTitle'),
    text: publishable ? t('people.widget.pageText') : t('people.widget.pageNoKey'),
    open: t('people.widget.pageOpen'),
    pageLang: language,
  }).toString();
  const [shown] = useDebouncedValue(fragment, 600);
  return (
    <Paper style={{ overflow: 'hidden' }}>
      {/* A page makes the widget once, so each change is a new page. */}
      <iframe
        key={shown}
        src={`/widget-preview.html#${shown}`}
        title={t('people.widget.preview')}
        style={{ width: '100%', height: '32rem', border: 0, display: 'block' }}
      />
      <Text size="xs" c="dimmed" p="xs">
        {t('people.widget.previewHelp')}
      </Text>
    </Paper>
  );
}
